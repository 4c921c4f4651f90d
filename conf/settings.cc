#include "conf/settings.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/base/nearest_word.h"

extern char** environ;

namespace baton::conf {
namespace {

constexpr std::string_view kOverridePrefix = "BATON__";

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool isOption(std::string_view override) { return override.starts_with("--"); }

// "BATON__HTTP__PORT", "--port http.port" -> "http.port"; empty when it has no two parts.
std::string keyOfOverride(std::string_view variable) {
  if (isOption(variable)) return lowered(variable.substr(variable.find(' ') + 1));
  const std::string rest = lowered(variable.substr(kOverridePrefix.size()));
  const size_t split = rest.find("__");
  if (split == rest.npos) return {};
  return rest.substr(0, split) + "." + rest.substr(split + 2);
}

std::vector<std::string> splitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

// A variable has no types: the key says how its text is meant.
RawValue rawFromVariable(const Key& key, const std::string& text) {
  RawValue raw;
  raw.text = text;
  if (key.type == KeyType::AddressList || key.type == KeyType::HostList) {
    raw.kind = RawValue::Kind::List;
    raw.items = splitCommas(text);
  } else if (key.type == KeyType::Labels) {
    raw.kind = RawValue::Kind::Map;
    for (const std::string& part : splitCommas(text)) {
      const size_t equals = part.find('=');
      raw.pairs.emplace_back(part.substr(0, equals),
                             equals == part.npos ? "" : part.substr(equals + 1));
    }
  }
  return raw;
}

std::string unknownKey(Program program, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Key& key : keysOf(program)) names.push_back(key.name);
  std::string_view nearest = nearestWord(name, names);
  // The other programs have some under the names of their own sections.
  const std::string_view last = name.substr(name.find('.') + 1);
  for (size_t i = 0; nearest.empty() && i < names.size(); ++i) {
    if (names[i].substr(names[i].find('.') + 1) == last) nearest = names[i];
  }
  const std::string hint = nearest.empty() ? "; `baton config keys` lists all"
                                           : fmt::format("; did you mean {}?", nearest);
  return fmt::format("is no setting of {}{}", sampleFileOf(program), hint);
}

}  // namespace

Environment overridesFromProcess() {
  Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (!text.starts_with(kOverridePrefix) || equals == text.npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Settings Settings::read(Program program, const std::string& file, std::string_view text,
                        const Environment& environment, std::vector<ConfigIssue>& issues) {
  Settings settings;
  settings.program_ = program;
  settings.file_ = file;
  const auto take = [&](const std::string& name, const RawValue& raw, const std::string& from,
                        int line) {
    const Key* key = findKey(program, name);
    if (key == nullptr) {
      issues.push_back({from, line, truncateUtf8(name, 80), unknownKey(program, name)});
      return;
    }
    auto value = readValue(*key, raw);
    if (!value.ok()) {
      issues.push_back({from, line, name, value.error().message()});
      value = Value{};  // Stands, so that it is not called missing too.
    }
    value->file = from;
    value->line = line;
    settings.values_[name] = std::move(value).value();
  };
  for (const RawEntry& entry : readYamlText(file, text, issues)) {
    if (entry.name.find('.') == entry.name.npos && entry.value.kind == RawValue::Kind::Null) {
      continue;  // A section all of whose keys are commented out.
    }
    take(entry.name, entry.value, file, entry.line);
  }
  for (const bool options : {false, true}) {
    for (const auto& [variable, value] : environment) {
      if (isOption(variable) != options) continue;
      const std::string name = keyOfOverride(variable);
      const Key* key = findKey(program, name);
      // Variables are there for all programs that are started from here; an option is for this one.
      if (key == nullptr && !options && isKnownAnywhere(name)) continue;
      take(name, key == nullptr ? RawValue{} : rawFromVariable(*key, value),
           variable.substr(0, variable.find(' ')), 0);
    }
  }
  for (const Key& key : keysOf(program)) {
    if (key.required && !settings.isSet(key.name)) {
      issues.push_back({file, 0, std::string(key.name), "is missing and has no default"});
    }
  }
  return settings;
}

bool Settings::isSet(std::string_view name) const { return values_.find(name) != values_.end(); }

const Value& Settings::valueOf(std::string_view name) const {
  static const Value kNone;
  const auto it = values_.find(name);
  if (it != values_.end()) return it->second;
  CHECK(findKey(program_, name) != nullptr);
  return kNone;
}

std::string Settings::text(std::string_view name) const {
  if (isSet(name)) return valueOf(name).text;
  const Key* key = findKey(program_, name);
  CHECK(key != nullptr);
  return std::string(key->def);
}

int64_t Settings::integer(std::string_view name) const {
  if (isSet(name)) return valueOf(name).number;
  const Key* key = findKey(program_, name);
  CHECK(key != nullptr);
  if (key->def.empty()) return 0;
  RawValue raw;
  raw.text = std::string(key->def);
  const auto value = readValue(*key, raw);
  CHECK(value.ok());
  return value->number;
}

bool Settings::boolean(std::string_view name) const { return integer(name) != 0; }

Millis Settings::duration(std::string_view name) const { return Millis(integer(name)); }

const std::vector<std::string>& Settings::list(std::string_view name) const {
  return valueOf(name).list;
}

const std::map<std::string, std::string>& Settings::labels(std::string_view name) const {
  return valueOf(name).labels;
}

ConfigIssue Settings::issueAt(std::string_view name, std::string message) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return {file_, 0, std::string(name), std::move(message)};
  return {it->second.file, it->second.line, std::string(name), std::move(message)};
}

Status toStatus(const std::vector<ConfigIssue>& issues) {
  if (issues.empty()) return {};
  std::string all;
  for (const ConfigIssue& issue : issues) {
    if (!all.empty()) all += '\n';
    all += issue.text();
  }
  return Error(ErrorCode::InvalidArgument, std::move(all));
}

}  // namespace baton::conf
