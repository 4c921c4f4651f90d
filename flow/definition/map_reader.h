#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/nearest_word.h"
#include "common/yaml/yaml_document.h"

namespace baton::flow {

// Gathers what is wrong with a definition, up to a bound.
class IssueList {
 public:
  static constexpr size_t kIssuesMax = 200;

  // `stored`: FlowSurroundings::stored.
  explicit IssueList(bool stored = false) : stored_(stored) {}

  void error(YamlMark mark, std::string path, std::string message) {
    add({mark, std::move(path), std::move(message), false});
  }
  // What earlier versions took: an error, but not in a stored definition.
  void refuse(YamlMark mark, std::string path, std::string message) {
    if (!stored_) error(mark, std::move(path), std::move(message));
  }
  void warning(YamlMark mark, std::string path, std::string message) {
    add({mark, std::move(path), std::move(message), true});
  }
  void add(YamlIssue issue) {
    errors_ += issue.warning ? 0 : 1;
    if (!isFull()) issues_.push_back(std::move(issue));
  }
  bool isFull() const { return issues_.size() >= kIssuesMax; }
  size_t errors() const { return errors_; }
  // By place, with a last one that says how many more there are.
  std::vector<YamlIssue> take();

 private:
  const bool stored_;
  std::vector<YamlIssue> issues_;
  size_t errors_ = 0;
};

// `"no"`, `a list`, `empty`: a node in a message.
std::string shownNode(const YamlNode& node);
// "a, b or c".
std::string joinWords(std::span<const std::string_view> words);

// Reads the keys of one map of a document into typed variables, strictly; a sibling of JsonReader
// that tells everything that is wrong, with its place. Each reader returns whether it has set the
// variable. finish() tells the keys that nobody asked for.
class MapReader {
 public:
  // `node` and `issues` outlive this. What is no map is told, and read as an empty one.
  MapReader(const YamlNode& node, std::string path, IssueList& issues);

  bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  // The entry, or nullptr; marks the key as known.
  const YamlEntry* take(std::string_view key);

  bool text(std::string_view key, std::string& out, size_t chars_max);
  // A name: see kNameRule.
  bool name(std::string_view key, std::string& out);
  bool boolean(std::string_view key, bool& out);
  bool integer(std::string_view key, int64_t& out, int64_t min, int64_t max);
  bool number(std::string_view key, double& out, double min, double max);
  bool duration(std::string_view key, Millis& out, Millis min, Millis max);
  bool instant(std::string_view key, WallTime& out);
  bool texts(std::string_view key, std::vector<std::string>& out, size_t count_max);
  bool textMap(std::string_view key, std::map<std::string, std::string>& out, size_t count_max);

  template <typename Value, size_t N>
  bool choice(std::string_view key, Value& out,
              const std::array<std::pair<std::string_view, Value>, N>& words) {
    const YamlEntry* entry = take(key);
    if (entry == nullptr) return false;
    std::array<std::string_view, N> names;
    for (size_t i = 0; i < N; ++i) {
      names[i] = words[i].first;
      if (entry->value.kind == YamlNode::Kind::Scalar && entry->value.text == names[i]) {
        out = words[i].second;
        return true;
      }
    }
    wrong(*entry, joinWords(names));
    return false;
  }

  // Tells "is VALUE, expected EXPECTATION" about an entry.
  void wrong(const YamlEntry& entry, std::string_view expectation);
  void fail(const YamlEntry& entry, std::string message);
  void failKey(std::string_view key, std::string message);    // At the key, else at the map.
  void refuseKey(std::string_view key, std::string message);  // Likewise: IssueList::refuse.
  std::string pathOf(std::string_view key) const;
  YamlMark mark() const { return node_.mark; }
  const YamlNode& node() const { return node_; }
  IssueList& issues() { return issues_; }

  void finish();

 private:
  // The entry if it is a scalar (else it is told), or nullptr.
  const YamlEntry* scalar(std::string_view key, std::string_view expectation);

  const YamlNode& node_;
  const std::string path_;
  IssueList& issues_;
  std::vector<std::string_view> known_;
};

// An item of a list as an entry, for messages.
std::string itemPath(const std::string& path, size_t index);

}  // namespace baton::flow
