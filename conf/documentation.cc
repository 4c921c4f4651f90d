#include "conf/documentation.h"

#include "common/base/duration_text.h"
#include "common/base/status.h"

namespace baton::conf {
namespace {

constexpr size_t kSampleWidth = 98;

std::string_view sectionOf(const Key& key) { return key.name.substr(0, key.name.find('.')); }
std::string_view leafOf(const Key& key) { return key.name.substr(key.name.find('.') + 1); }

// The words of `text` in lines of at most kSampleWidth with `lead` in front of each.
std::string wrapped(std::string_view text, std::string_view lead) {
  std::string out;
  std::string line(lead);
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text = blank == text.npos ? std::string_view() : text.substr(blank + 1);
    if (line.size() > lead.size() && line.size() + 1 + word.size() > kSampleWidth) {
      out += line + "\n";
      line = lead;
    }
    if (line.size() > lead.size()) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

std::string_view placeholderOf(const Key& key) {
  if (!key.example.empty()) return key.example;
  if (!key.def.empty()) return key.def;
  switch (key.type) {
    case KeyType::AddressList:
    case KeyType::HostList:
      return "[]";
    case KeyType::Labels:
      return "{}";
    default:
      return "";
  }
}

std::string boundsOf(const Key& key) {
  switch (key.type) {
    case KeyType::Integer:
      return fmt::format("{} to {}", key.min, key.max);
    case KeyType::Bytes:
      return fmt::format("{} to {} bytes", key.min, key.max);
    case KeyType::Duration:
      return fmt::format("{} to {}", formatDuration(Millis(key.min)),
                         formatDuration(Millis(key.max)));
    case KeyType::Choice: {
      std::string choices(key.choices);
      for (size_t bar = 0; (bar = choices.find('|', bar)) != choices.npos;) {
        choices.replace(bar, 1, ", ");
      }
      return choices;
    }
    case KeyType::Text:
      return fmt::format("{} to {} bytes", key.min, key.max);
    default:
      return "";
  }
}

}  // namespace

std::string renderSample(Program program) {
  std::string out = fmt::format(
      "# Settings of `baton {0}`. Keys that are commented out show their defaults.\n"
      "# Written by `baton config keys --sample {0}`; `baton config check` says what is wrong.\n"
      "# Each key can be set by the environment too: BATON__SECTION__KEY.\n",
      toString(program));
  std::string_view section;
  for (const Key& key : keysOf(program)) {
    if (sectionOf(key) != section) {
      section = sectionOf(key);
      out += fmt::format("\n{}:\n", section);
    }
    out += wrapped(key.doc, "  # ");
    const std::string_view value = placeholderOf(key);
    out += fmt::format("  {}{}:{}{}\n", key.example.empty() ? "# " : "", leafOf(key),
                       value.empty() ? "" : " ", value);
  }
  return out;
}

std::string renderConfigurationPage() {
  std::string out =
      "# Settings\n\n"
      "Written by `baton config keys --markdown` from the table in `conf/key_table.cc`; a test "
      "keeps both equal.\n\n"
      "A settings file is YAML with sections and keys. Numbers are plain decimals (`010`, `1e2`, "
      "`0x10` and `yes` are\nrefused), durations carry their unit (`250ms`, `90s`, `2h`), sizes "
      "may "
      "(`64MB`, powers of 1,024). Unknown keys,\nwrong types, values out of bounds and "
      "contradictions are errors that name file, line and key; all are shown\nat once, by the "
      "program itself and by `baton config check`.\n\n"
      "`BATON__SECTION__KEY` in the environment overrides the file (`BATON__HTTP__PORT=7500`); "
      "lists are separated by\ncommas, labels are written `a=b,c=d`. Secrets are files with one "
      "line that not everybody may read (`chmod 600`).\n\n"
      "\"Takes effect\": `restart` means with the next start of that program; `fixed` belongs to "
      "the cluster, see\n[operations](operations.md).\n";
  for (const Program program : {Program::Master, Program::Worker, Program::Standalone}) {
    out += fmt::format(
        "\n## {}\n\n| key | type | default | bounds | takes effect | meaning |\n"
        "|---|---|---|---|---|---|\n",
        sampleFileOf(program));
    for (const Key& key : keysOf(program)) {
      const std::string def = key.required      ? "**required**"
                              : key.def.empty() ? ""
                                                : fmt::format("`{}`", key.def);
      out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.name, toString(key.type), def,
                         boundsOf(key), toString(key.reload), key.doc);
    }
  }
  return out;
}

}  // namespace baton::conf
