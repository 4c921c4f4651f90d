#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

// A place in a text; lines and columns (in characters) count from 1, 0 where none can be named.
struct YamlMark {
  int line = 0;
  int column = 0;

  auto operator<=>(const YamlMark&) const = default;
};

// Something wrong in a text, or (warning) something that is probably not meant.
struct YamlIssue {
  YamlMark mark;
  std::string path;  // "tasks.load.needs[1]"; empty: the whole.
  std::string message;
  bool warning = false;
};

struct YamlEntry;

// A piece of a document as it was written: scalars are text, nobody gave them a type.
struct YamlNode {
  enum class Kind : uint8_t { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  bool quoted = false;             // Scalar in quotes or a block ("|", ">").
  std::string text;                // Scalar; Null: the word written, "null", "~" or nothing.
  std::vector<YamlNode> items;     // List.
  std::vector<YamlEntry> entries;  // Map, in the order written; each key once.
  YamlMark mark;                   // Where it begins; of an alias: where its anchor stands.

  const YamlEntry* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  YamlMark mark;  // Of the key.
  YamlNode value;
};

// "a list", "a map", …: the kind as a person says it.
std::string_view toString(YamlNode::Kind kind);

struct YamlLimits {
  // Of the text, and of all keys and values with what aliases stand for, so that they are no bombs.
  size_t bytes_max = 1024 * 1024;
  size_t depth_max = 16;
  size_t nodes_max = 200'000;  // With what aliases stand for, too.
};

// Reads one document of YAML 1.2, or JSON, which is YAML. Refused, each by name and place: what is
// no UTF-8 or has control characters, more than the limits, a second document, a key that stands
// twice in a map, keys that are no plain words, merge keys ("<<"), tags ("!!…"), anchors that hold
// themselves. Keys that stand twice are told and left out; all else ends the reading and gives
// nothing. An empty text is Null.
std::optional<YamlNode> readYaml(std::string_view text, const YamlLimits& limits,
                                 std::vector<YamlIssue>& issues);

}  // namespace baton
