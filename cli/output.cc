#include "cli/output.h"

#include <algorithm>

#include "common/model/task_spec.h"

namespace baton::cli {
namespace {

// Cells that a terminal shows wide count as two, so that columns stay straight.
size_t shownWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) == 0x80) continue;
    width += byte >= 0xe3 ? 2 : 1;  // From U+3000 on: the East Asian blocks and emoji.
  }
  return width;
}

std::string scalarText(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  return dumpJson(value);
}

// An object that holds nothing but scalars.
bool isFlat(const Json& value) {
  return value.is_object() && !value.empty() &&
         std::none_of(value.begin(), value.end(),
                      [](const Json& item) { return item.is_structured(); });
}

// "a=1,b=2" for an object of scalars, "x,y" for a list of them, "c=(a=1,b=2)" for one in another.
std::string compactText(const Json& value) {
  if (!value.is_structured()) return scalarText(value);
  std::string out;
  for (const auto& [key, item] : value.items()) {
    if (!out.empty()) out += ',';
    if (value.is_object()) out += key + "=";
    if (isFlat(item)) {
      out += "(" + compactText(item) + ")";
    } else {
      out += item.is_structured() ? dumpJson(item) : scalarText(item);
    }
  }
  return out;
}

// JSON scalars are YAML scalars; quotes round every string keep "no" and "010" what they are. Of
// what JSON leaves raw YAML knows no U+007F, and U+0085, U+2028, U+2029 are line ends to it.
std::string yamlScalar(const Json& value) {
  constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"\x7f", "\\x7f"},
      {"\xc2\x85", "\\x85"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"},
      {"\xef\xbb\xbf", "\\ufeff"}};
  std::string text = dumpJson(value);
  for (const auto& [raw, escape] : kEscapes) {
    for (size_t at = 0; (at = text.find(raw, at)) != text.npos; at += escape.size()) {
      text.replace(at, raw.size(), escape);
    }
  }
  return text;
}

std::string yamlKey(const std::string& key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  constexpr std::string_view kWords[] = {"y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null"};
  const bool word = std::find(std::begin(kWords), std::end(kWords), key) != std::end(kWords);
  return plain && !word ? key : yamlScalar(Json(key));
}

// Depth is bounded by the parser's limit on answers.
void writeYaml(std::ostream& out, const Json& json, size_t indent) {
  const std::string lead(indent, ' ');
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      out << lead << yamlKey(key) << ":";
      if (value.is_structured() && !value.empty()) {
        out << "\n";
        writeYaml(out, value, indent + 2);
      } else {
        out << " " << yamlScalar(value) << "\n";
      }
    }
    return;
  }
  for (const Json& value : json) {
    out << lead << "-";
    if (value.is_structured() && !value.empty()) {
      out << "\n";
      writeYaml(out, value, indent + 2);
    } else {
      out << " " << yamlScalar(value) << "\n";
    }
  }
}

}  // namespace

Result<Format> parseFormat(std::string_view word) {
  if (word.empty() || word == "table") return Format::Table;
  if (word == "json") return Format::Json;
  if (word == "yaml") return Format::Yaml;
  return Error::invalidArgument("output format is \"{}\", expected table, json or yaml",
                                truncateUtf8(word, 40));
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    // C1 controls are two bytes in UTF-8: 0xc2 0x80 to 0xc2 0x9f.
    const bool c1 =
        byte == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f || c1) {
      if (c1) out.erase(i, 1);
      out[i] = '?';
    }
  }
  return out;
}

std::string memberText(const Json& row, std::string_view name) {
  const auto it = row.find(std::string(name));
  return it == row.end() ? std::string() : compactText(*it);
}

Column memberColumn(std::string_view heading, std::string name) {
  return {heading, [name = std::move(name)](const Json& row) { return memberText(row, name); }};
}

std::string shortTime(std::string_view rfc3339) {
  const size_t point = rfc3339.find('.');
  const bool time = rfc3339.size() > 20 && rfc3339[10] == 'T' && point == 19;
  const size_t zone = time ? rfc3339.find_first_not_of("0123456789", point + 1) : rfc3339.npos;
  if (zone == rfc3339.npos) return std::string(rfc3339);
  return std::string(rfc3339.substr(0, point)) + std::string(rfc3339.substr(zone));
}

Column timeColumn(std::string_view heading, std::string name) {
  return {heading,
          [name = std::move(name)](const Json& row) { return shortTime(memberText(row, name)); }};
}

std::string tookText(const Json& row, WallTime now) {
  const auto started = parseRfc3339(memberText(row, "started_at"));
  if (!started.ok()) return {};
  const std::string end = memberText(row, "finished_at");
  const auto finished = end.empty() ? Result<WallTime>(now) : parseRfc3339(end);
  if (!finished.ok()) return {};
  const Millis took = std::chrono::duration_cast<Millis>(*finished - *started);
  const int64_t ms = std::max<int64_t>(took.count(), 0);
  const int64_t seconds = ms / 1'000;
  if (seconds < 60) return fmt::format("{}.{}s", seconds, ms % 1'000 / 100);
  if (seconds < 3'600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3'600, seconds % 3'600 / 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds % 86'400 / 3'600);
}

Column tookColumn(WallTime now) {
  return {"TOOK", [now](const Json& row) { return tookText(row, now); }};
}

void printTable(std::ostream& out, const std::vector<Column>& columns, const Json& rows,
                bool header) {
  std::vector<std::vector<std::string>> lines;
  if (header) {
    lines.emplace_back();
    for (const Column& column : columns) lines.back().emplace_back(column.heading);
  }
  for (const Json& row : rows) {
    lines.emplace_back();
    for (const Column& column : columns) {
      std::string cell = printable(column.cell(row));
      lines.back().push_back(cell.empty() ? "-" : std::move(cell));
    }
  }
  std::vector<size_t> widths(columns.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], shownWidth(line[i]));
  }
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      out << line[i];
      if (i + 1 < line.size()) out << std::string(widths[i] - shownWidth(line[i]) + 2, ' ');
    }
    out << "\n";
  }
}

void printMembers(std::ostream& out, const Json& object) {
  size_t width = 0;
  const auto shown = [](const Json& value) {
    return !value.is_null() && !(value.is_structured() && value.empty());
  };
  for (const auto& [key, value] : object.items()) {
    if (shown(value)) width = std::max(width, key.size());
  }
  for (const auto& [key, value] : object.items()) {
    if (!shown(value)) continue;
    out << printable(key) << ":" << std::string(width - key.size() + 1, ' ')
        << printable(compactText(value)) << "\n";
  }
}

void printFacts(std::ostream& out, const Facts& facts) {
  size_t width = 0;
  for (const auto& [label, value] : facts) {
    if (!value.empty()) width = std::max(width, label.size());
  }
  for (const auto& [label, value] : facts) {
    if (value.empty()) continue;
    const std::string lead = label.empty() ? std::string() : label + ":";
    out << lead << std::string(width + 2 - lead.size(), ' ') << printable(value) << "\n";
  }
}

void printJson(std::ostream& out, const Json& json) {
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void printYaml(std::ostream& out, const Json& json) {
  if (!json.is_structured() || json.empty()) {
    out << yamlScalar(json) << "\n";
    return;
  }
  writeYaml(out, json, 0);
}

}  // namespace baton::cli
