#include "flow/definition/map_reader.h"

#include <algorithm>

#include "common/base/duration_text.h"
#include "common/model/task_spec.h"
#include "common/yaml/plain_scalar.h"

namespace baton::flow {

std::vector<YamlIssue> IssueList::take() {
  std::stable_sort(issues_.begin(), issues_.end(),
                   [](const YamlIssue& a, const YamlIssue& b) { return a.mark < b.mark; });
  if (isFull()) {
    issues_.push_back(
        {{}, "", fmt::format("more is wrong; the first {} are listed", kIssuesMax), errors_ == 0});
  }
  return std::move(issues_);
}

std::string shownNode(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::Scalar) {
    return fmt::format("\"{}\"", truncateUtf8(node.text, 60));
  }
  if (node.kind == YamlNode::Kind::Null && !node.text.empty()) return node.text;
  if (node.kind == YamlNode::Kind::List && node.items.empty()) return "an empty list";
  if (node.kind == YamlNode::Kind::Map && node.entries.empty()) return "an empty map";
  return std::string(toString(node.kind));
}

std::string joinWords(std::span<const std::string_view> words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string itemPath(const std::string& path, size_t index) {
  return fmt::format("{}[{}]", path, index);
}

MapReader::MapReader(const YamlNode& node, std::string path, IssueList& issues)
    : node_(node), path_(std::move(path)), issues_(issues) {
  if (node.kind != YamlNode::Kind::Map) {
    issues_.error(node.mark, path_, fmt::format("is {}, expected a map", shownNode(node)));
  }
}

std::string MapReader::pathOf(std::string_view key) const {
  const std::string shown = truncateUtf8(key, 80);
  return path_.empty() ? shown : path_ + "." + shown;
}

const YamlEntry* MapReader::take(std::string_view key) {
  known_.push_back(key);
  return node_.find(key);
}

void MapReader::fail(const YamlEntry& entry, std::string message) {
  issues_.error(entry.value.mark, pathOf(entry.key), std::move(message));
}

void MapReader::wrong(const YamlEntry& entry, std::string_view expectation) {
  fail(entry, fmt::format("is {}, expected {}", shownNode(entry.value), expectation));
}

void MapReader::failKey(std::string_view key, std::string message) {
  const YamlEntry* entry = node_.find(key);
  issues_.error(entry == nullptr ? node_.mark : entry->mark, pathOf(key), std::move(message));
}

void MapReader::refuseKey(std::string_view key, std::string message) {
  const YamlEntry* entry = node_.find(key);
  issues_.refuse(entry == nullptr ? node_.mark : entry->mark, pathOf(key), std::move(message));
}

const YamlEntry* MapReader::scalar(std::string_view key, std::string_view expectation) {
  const YamlEntry* entry = take(key);
  if (entry == nullptr) return nullptr;
  if (entry->value.kind == YamlNode::Kind::Scalar) return entry;
  wrong(*entry, expectation);
  return nullptr;
}

bool MapReader::text(std::string_view key, std::string& out, size_t chars_max) {
  const YamlEntry* entry = scalar(key, "a text");
  if (entry == nullptr) return false;
  if (const size_t length = utf8Length(entry->value.text); length > chars_max) {
    fail(*entry, fmt::format("has {} characters, at most {} are accepted", length, chars_max));
    return false;
  }
  out = entry->value.text;
  return true;
}

bool MapReader::name(std::string_view key, std::string& out) {
  const std::string name_rule = fmt::format("a name of {}", kNameRule);
  const YamlEntry* entry = scalar(key, name_rule);
  if (entry == nullptr) return false;
  if (!isValidName(entry->value.text)) {
    wrong(*entry, name_rule);
    return false;
  }
  out = entry->value.text;
  return true;
}

bool MapReader::boolean(std::string_view key, bool& out) {
  const YamlEntry* entry = scalar(key, "true or false");
  if (entry == nullptr) return false;
  const YamlNode& value = entry->value;
  if (value.quoted || (value.text != "true" && value.text != "false")) {
    wrong(*entry, "true or false, without quotes");
    return false;
  }
  out = value.text == "true";
  return true;
}

bool MapReader::integer(std::string_view key, int64_t& out, int64_t min, int64_t max) {
  const std::string expectation =
      fmt::format("a whole number from {} to {}, in plain digits", min, max);
  const YamlEntry* entry = scalar(key, expectation);
  if (entry == nullptr) return false;
  const auto number = entry->value.quoted ? std::nullopt : plainInteger(entry->value.text);
  if (!number || *number < min || *number > max) {
    wrong(*entry, expectation);
    return false;
  }
  out = *number;
  return true;
}

bool MapReader::number(std::string_view key, double& out, double min, double max) {
  const std::string expectation = fmt::format("a number from {} to {}, in plain digits", min, max);
  const YamlEntry* entry = scalar(key, expectation);
  if (entry == nullptr) return false;
  const auto number = entry->value.quoted ? std::nullopt : plainNumber(entry->value.text);
  if (!number || *number < min || *number > max) {
    wrong(*entry, expectation);
    return false;
  }
  out = *number;
  return true;
}

bool MapReader::duration(std::string_view key, Millis& out, Millis min, Millis max) {
  const std::string expectation =
      fmt::format("a duration with its unit, such as 90s or 2h, from {} to {}", formatDuration(min),
                  formatDuration(max));
  const YamlEntry* entry = scalar(key, expectation);
  if (entry == nullptr) return false;
  const auto duration = plainDuration(entry->value.text);
  if (!duration || *duration < min || *duration > max) {
    wrong(*entry, expectation);
    return false;
  }
  out = *duration;
  return true;
}

bool MapReader::instant(std::string_view key, WallTime& out) {
  constexpr std::string_view kInstant =
      "an instant with its zone, such as 2026-01-01T00:00:00+01:00";
  const YamlEntry* entry = scalar(key, kInstant);
  if (entry == nullptr) return false;
  const auto time = parseRfc3339(entry->value.text);
  if (!time.ok()) {
    wrong(*entry, kInstant);
    return false;
  }
  out = *time;
  return true;
}

bool MapReader::texts(std::string_view key, std::vector<std::string>& out, size_t count_max) {
  const YamlEntry* entry = take(key);
  if (entry == nullptr) return false;
  if (entry->value.kind != YamlNode::Kind::List) {
    wrong(*entry, "a list of texts");
    return false;
  }
  if (entry->value.items.size() > count_max) {
    fail(*entry, fmt::format("has {} items, at most {} are accepted", entry->value.items.size(),
                             count_max));
    return false;
  }
  std::vector<std::string> found;
  for (size_t i = 0; i < entry->value.items.size(); ++i) {
    const YamlNode& item = entry->value.items[i];
    if (item.kind == YamlNode::Kind::Scalar) {
      found.push_back(item.text);
    } else {
      issues_.error(item.mark, itemPath(pathOf(key), i),
                    fmt::format("is {}, expected a text (in quotes if need be)", shownNode(item)));
    }
  }
  if (found.size() != entry->value.items.size()) return false;
  out = std::move(found);
  return true;
}

bool MapReader::textMap(std::string_view key, std::map<std::string, std::string>& out,
                        size_t count_max) {
  const YamlEntry* entry = take(key);
  if (entry == nullptr) return false;
  if (entry->value.kind != YamlNode::Kind::Map) {
    wrong(*entry, "a map of texts");
    return false;
  }
  if (entry->value.entries.size() > count_max) {
    fail(*entry, fmt::format("has {} keys, at most {} are accepted", entry->value.entries.size(),
                             count_max));
    return false;
  }
  bool right = true;
  for (const YamlEntry& item : entry->value.entries) {
    if (item.value.kind == YamlNode::Kind::Scalar) {
      out[item.key] = item.value.text;
      continue;
    }
    right = false;
    issues_.error(
        item.value.mark, fmt::format("{}.{}", pathOf(key), truncateUtf8(item.key, 80)),
        fmt::format("is {}, expected a text (in quotes if need be)", shownNode(item.value)));
  }
  return right;
}

void MapReader::finish() {
  for (const YamlEntry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    std::string hint = hintFor(entry.key, known_);
    if (hint.empty()) {
      std::sort(known_.begin(), known_.end());  // A key may have been asked for more than once.
      known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
      hint = fmt::format("; known are {}", joinWords(known_));
    }
    issues_.error(entry.mark, pathOf(entry.key), "is not a known key" + hint);
  }
}

}  // namespace baton::flow
