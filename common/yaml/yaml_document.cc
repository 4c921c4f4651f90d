#include "common/yaml/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/node/impl.h>
#include <yaml-cpp/node/parse.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <unordered_map>

#include "common/base/json.h"
#include "common/yaml/source_lines.h"

namespace baton {
namespace {

// Thrown through the parser when an issue ends the reading; never leaves this file.
struct StopReading {};

constexpr size_t kDoubledKeysMax = 100;  // Told; then the reading ends.

std::string shownKey(std::string_view key) { return truncateUtf8(key, 80); }

SourceLines::Place placeOf(const YAML::Mark& mark) { return {mark.line, mark.column}; }

// The parser makes single bytes, which are no UTF-8, of "\N" and "\_". As the source is UTF-8 a
// byte of these that begins no character comes from nowhere else.
std::string mendEscapes(const std::string& value) {
  if (isValidUtf8(value)) return value;
  std::string out;
  for (size_t i = 0; i < value.size();) {
    const std::string_view rest = std::string_view(value).substr(i);
    const size_t valid = validUtf8Prefix(rest);
    out += rest.substr(0, valid);
    if (valid < rest.size()) (out += '\xc2') += rest[valid];
    i += valid + 1;
  }
  return out;
}

// Builds the tree from the parser's events, and stops it before it recurses too deep.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(SourceLines& lines, const YamlLimits& limits, std::vector<YamlIssue>& issues)
      : lines_(lines), limits_(limits), issues_(issues) {
    root_.mark = {1, 1};  // Of an empty text.
  }

  YamlNode take() { return std::move(root_); }

  // The parser takes a line that begins with "%" for a directive, wherever it is, and passes over
  // it and over what is behind it in the same place.
  void refuseDirectives() {
    for (int number = 0; number < lines_.count(); ++number) {
      const std::string_view line = lines_.line(number);
      if (!line.starts_with('%')) continue;
      const bool quoted = std::any_of(quoted_lines_.begin(), quoted_lines_.end(), [&](auto text) {
        return text.data() < line.data() && line.data() < text.data() + text.size();
      });
      if (quoted) continue;
      issues_.push_back({{number + 1, 1}, "", "begins with \"%\"; directives are not accepted"});
      throw StopReading();
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    refuseDirectives();
    stop(mark, "has a second document (\"---\"); expected one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wantsKey())
      stop(mark,
           "a key is empty, null or over 1024 characters; write it in quotes if null is its name");
    YamlNode node = nodeAt(mark, YamlNode::Kind::Null);
    const std::string_view rest = lines_.line(mark.line).substr(
        std::min(static_cast<size_t>(std::max(mark.column, 0)), lines_.line(mark.line).size()));
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (rest.starts_with(word)) node.text = word;
    }
    if (node.text.empty() && !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::Map) {
      node.mark = frames_.back().key_mark;  // An empty value is nowhere.
    }
    attach(anchor, std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wantsKey()) stop(mark, "a key is an alias; expected a plain word");
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) stop(mark, "an alias stands inside its own anchor");
    count(mark, it->second.nodes, it->second.bytes);
    if (frames_.size() + it->second.depth > limits_.depth_max) stopTooDeep(mark);
    if (!frames_.empty()) {
      frames_.back().depth_below = std::max(frames_.back().depth_below, it->second.depth);
    }
    YamlNode copy = it->second.node;
    add(std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuseTag(mark, tag);
    if (value.find('\0') != value.npos) stop(mark, "has a NUL character");
    const bool quoted = tag == "!";
    std::string text = quoted ? textOf(mark, value) : value;
    if (wantsKey()) {
      takeKey(mark, text, quoted);
      return;
    }
    YamlNode node = nodeAt(mark, YamlNode::Kind::Scalar);
    node.quoted = quoted;
    node.text = std::move(text);
    count(mark, 0, node.text.size());
    attach(anchor, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::List);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::Map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    size_t nodes_before = 0;
    size_t bytes_before = 0;
    size_t depth_below = 0;  // Levels inside, so that an alias of it can be judged.
    bool has_key = false;    // Map: the key is read, its value is not.
    bool doubled = false;    // The key stood before: its value is left out.
    std::string key;
    YamlMark key_mark;
    std::unordered_map<std::string, int> lines_of_keys;
  };
  struct Anchored {
    YamlNode node;
    size_t nodes = 0;
    size_t bytes = 0;
    size_t depth = 0;
  };

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    issues_.push_back({lines_.markOf(placeOf(mark)), path(), std::move(message)});
    throw StopReading();
  }
  [[noreturn]] void stopTooDeep(const YAML::Mark& mark) {
    stop(mark, fmt::format("is nested too deep: over {} levels", limits_.depth_max));
  }

  std::string foldedText(const YAML::Mark& mark, std::string_view source, std::string value) {
    if (source[std::min(source.size() - 1, source.find_first_of("+ \t\r\n"))] == '+') {
      // It would lose an empty line at the end.
      stop(mark, "is folded and keeps its line ends (\">+\"), which is not accepted; write \"|+\"");
    }
    if (!value.ends_with(' ') || !endsInIndentation(source)) return value;
    value.pop_back();
    if (source[source.find_first_of("-#\n")] != '-') value += '\n';
    return value;
  }

  // What a text in quotes or a block stands for, where the parser is wrong.
  std::string textOf(const YAML::Mark& mark, const std::string& value) {
    const std::string_view source = lines_.from(placeOf(mark));
    if (source.starts_with('>')) return foldedText(mark, source, value);
    if (!source.starts_with('"') && !source.starts_with('\'')) return value;
    const auto quoted = findQuotedText(source);
    if (!quoted) stop(mark, "a quote begins here and does not end");
    if (source.substr(0, quoted->size).find('\n') != source.npos) {
      quoted_lines_.push_back(source.substr(0, quoted->size));
    }
    if (quoted->empty_lines == 0) return mendEscapes(value);
    // Of empty lines at the end it keeps one or none: it reads what is before them alone.
    const std::string head = std::string(quoted->head) + source.front();
    return mendEscapes(YAML::Load(head).Scalar()) + std::string(quoted->empty_lines, '\n');
  }

  std::string path() const {
    std::string out;
    for (const Frame& frame : frames_) {
      if (frame.node.kind == YamlNode::Kind::List) {
        out += fmt::format("[{}]", frame.node.items.size());
      } else if (frame.has_key) {
        out += (out.empty() ? "" : ".") + shownKey(frame.key);
      }
    }
    return out;
  }

  bool wantsKey() const {
    return !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::Map &&
           !frames_.back().has_key;
  }

  YamlNode nodeAt(const YAML::Mark& mark, YamlNode::Kind kind) {
    count(mark, 1, 0);
    YamlNode node;
    node.kind = kind;
    node.mark = lines_.markOf(placeOf(mark));
    return node;
  }

  void count(const YAML::Mark& mark, size_t nodes, size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > limits_.nodes_max) {
      stop(mark, fmt::format("has over {} values (aliases count as what they stand for)",
                             limits_.nodes_max));
    }
    if (bytes_ > limits_.bytes_max) {
      stop(mark, fmt::format("has over {} bytes of values (aliases count as what they stand for)",
                             limits_.bytes_max));
    }
  }

  void refuseTag(const YAML::Mark& mark, std::string tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag.starts_with(kCore)) tag = "!!" + tag.substr(kCore.size());
    stop(mark, fmt::format("has the tag {}; tags are not accepted", shownKey(tag)));
  }

  void takeKey(const YAML::Mark& mark, const std::string& key, bool quoted) {
    Frame& frame = frames_.back();
    frame.has_key = true;
    frame.key = key;
    frame.key_mark = lines_.markOf(placeOf(mark));
    count(mark, 0, key.size());
    if (key == "<<" && !quoted) stop(mark, "merge keys (\"<<\") are not accepted; write it out");
    const auto [it, first] = frame.lines_of_keys.emplace(key, frame.key_mark.line);
    frame.doubled = !first;
    if (!first) {
      issues_.push_back(
          {frame.key_mark, path(), fmt::format("stands twice, first in line {}", it->second)});
      if (++doubled_keys_ >= kDoubledKeysMax) stop(mark, "and more keys stand twice");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    if (wantsKey())
      stop(mark, "a key is a list or a map, or a bracket has no end; expected a word");
    refuseTag(mark, tag);
    if (frames_.size() >= limits_.depth_max) stopTooDeep(mark);
    Frame frame;
    frame.nodes_before = nodes_;
    frame.bytes_before = bytes_;
    frame.node = nodeAt(mark, kind);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const size_t depth = frame.depth_below + 1;
    if (!frames_.empty()) {
      frames_.back().depth_below = std::max(frames_.back().depth_below, depth);
    }
    if (frame.anchor != 0) {
      anchors_[frame.anchor] = {frame.node, nodes_ - frame.nodes_before,
                                bytes_ - frame.bytes_before, depth};
    }
    add(std::move(frame.node));
  }

  void attach(YAML::anchor_t anchor, YamlNode node) {
    if (anchor != 0) anchors_[anchor] = {node, 1, node.text.size(), 0};
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::List) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    if (!frame.doubled) {
      frame.node.entries.push_back({std::move(frame.key), frame.key_mark, std::move(node)});
    }
    frame.has_key = false;
  }

  SourceLines& lines_;
  const YamlLimits& limits_;
  std::vector<YamlIssue>& issues_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<std::string_view> quoted_lines_;  // Texts in quotes over several lines.
  YamlNode root_;
  size_t nodes_ = 0;
  size_t bytes_ = 0;
  size_t doubled_keys_ = 0;
  int documents_ = 0;
};

// The first byte that a text must not have: the parser takes some of them for the end.
size_t findControlCharacter(std::string_view text) {
  const auto it = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
  return it == text.end() ? text.npos : static_cast<size_t>(it - text.begin());
}

// JSON writes characters beyond U+FFFF as two escapes, which YAML does not know: they become the
// character itself. Only in a text that is JSON: there a backslash begins an escape for certain.
std::string joinSurrogates(std::string_view text, std::vector<size_t>& joined) {
  if (text.find("\\u") == text.npos || !Json::accept(text)) return std::string(text);
  const auto unitAt = [&](size_t at) {
    uint32_t unit = 0;
    if (text.substr(at, 2) == "\\u") {
      std::from_chars(text.data() + at + 2, text.data() + at + 6, unit, 16);
    }
    return unit;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const uint32_t high = unitAt(i);
    if (high < 0xd800 || high >= 0xdc00) {
      out += text.substr(i++, 2);
      continue;
    }
    joined.push_back(out.size());
    const uint32_t code = 0x10000 + ((high - 0xd800) << 10) + (unitAt(i + 6) - 0xdc00);
    for (const uint32_t byte : {0xf0 | code >> 18, 0x80 | (code >> 12 & 0x3f),
                                0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f)}) {
      out += static_cast<char>(byte);
    }
    i += 11;
  }
  return out;
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [&](const YamlEntry& entry) { return entry.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

std::string_view toString(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::Null:
      return "empty";
    case YamlNode::Kind::Scalar:
      return "a single value";
    case YamlNode::Kind::List:
      return "a list";
    case YamlNode::Kind::Map:
      return "a map";
  }
  return "";
}

std::optional<YamlNode> readYaml(std::string_view text, const YamlLimits& limits,
                                 std::vector<YamlIssue>& issues) {
  if (text.size() > limits.bytes_max) {
    issues.push_back({{}, "", fmt::format("is over {} bytes", limits.bytes_max)});
    return std::nullopt;
  }
  if (!isValidUtf8(text)) {
    issues.push_back({SourceLines(text).markOf(validUtf8Prefix(text)), "", "is no text in UTF-8"});
    return std::nullopt;
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const size_t at = findControlCharacter(text); at != text.npos) {
    issues.push_back({SourceLines(text).markOf(at), "",
                      fmt::format("has the control character 0x{:02x}", text[at])});
    return std::nullopt;
  }
  std::vector<size_t> joined;
  const std::string source = joinSurrogates(text, joined);
  SourceLines lines(source, std::move(joined));
  TreeBuilder builder(lines, limits, issues);
  try {
    std::istringstream stream(source);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.refuseDirectives();
    return builder.take();
  } catch (const StopReading&) {
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const bool tab = !e.mark.is_null() && lines.hasTabInFront(e.mark.line);
    issues.push_back({lines.markOf(placeOf(e.mark)), "",
                      fmt::format("is not YAML: {}{}", e.msg,
                                  tab ? " (the line begins with a tab; indent with blanks)" : "")});
    return std::nullopt;
  }
}

}  // namespace baton
