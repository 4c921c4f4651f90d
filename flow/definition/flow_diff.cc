#include "flow/definition/flow_diff.h"

#include <algorithm>

namespace baton::flow {
namespace {

// A value in a line of words.
std::string shownValue(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines > 1) return fmt::format("{} lines", lines);
    const bool plain =
        !text.empty() && text != "null" && text.find_first_of(" \t\n\"'") == text.npos;
    return plain ? truncateUtf8(text, 80) : truncateUtf8(dumpJson(value), 80);
  }
  return truncateUtf8(dumpJson(value), 80);
}

// Collects the differences of two objects, key by key.
class DiffWriter {
 public:
  DiffWriter(std::string prefix, std::vector<std::string>& lines)
      : prefix_(std::move(prefix)), lines_(lines) {}

  void compareObjects(const Json& before, const Json& after, const std::string& path) {
    for (const auto& [key, value] : before.items()) {
      const auto other = after.find(key);
      if (other == after.end()) {
        addOrRemove(pathOf(path, key), value, false);
      } else if (value != *other) {
        compareValues(pathOf(path, key), value, *other);
      }
    }
    for (const auto& [key, value] : after.items()) {
      if (!before.contains(key)) addOrRemove(pathOf(path, key), value, true);
    }
  }

 private:
  static std::string pathOf(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  void say(const std::string& line) { lines_.push_back(prefix_ + line); }

  static bool isSet(const std::string& path) { return path == "needs" || path == "tags"; }

  void addOrRemove(const std::string& path, const Json& value, bool added) {
    if (isSet(path)) {
      compareSets(path, added ? Json::array() : value, added ? value : Json::array());
    } else if (value.is_object() && !value.empty() && path != "with") {
      const Json nothing = Json::object();
      compareObjects(added ? nothing : value, added ? value : nothing, path);
    } else {
      say(fmt::format("{} {} {}", path, shownValue(value), added ? "added" : "removed"));
    }
  }

  void compareValues(const std::string& path, const Json& before, const Json& after) {
    if (isSet(path)) {
      compareSets(path, before, after);
    } else if (before.is_object() && after.is_object()) {
      compareObjects(before, after, path);
    } else if (shownValue(before) == shownValue(after)) {
      say(fmt::format("{} changed ({})", path, shownValue(after)));
    } else {
      say(fmt::format("{} {} -> {}", path, shownValue(before), shownValue(after)));
    }
  }

  // Lists whose order means nothing: "needs +a -b"; needs may be maps to how they have to end.
  void compareSets(const std::string& path, const Json& before, const Json& after) {
    const auto members = [](const Json& set) {
      std::map<std::string, std::string> out;
      for (const auto& [key, value] : set.items()) {
        if (set.is_array()) {
          out.emplace(value.get<std::string>(), "success");
        } else {
          out.emplace(key, value.get<std::string>());
        }
      }
      return out;
    };
    const auto old_ones = members(before);
    const auto new_ones = members(after);
    std::string words;
    const auto named = [](const std::string& name, const std::string& how) {
      return how == "success" ? name : fmt::format("{} ({})", name, how);
    };
    for (const auto& [name, how] : new_ones) {
      const auto old = old_ones.find(name);
      if (old == old_ones.end()) {
        words += " +" + named(name, how);
      } else if (old->second != how) {
        words += fmt::format(" {} {} -> {}", name, old->second, how);
      }
    }
    for (const auto& [name, how] : old_ones) {
      if (new_ones.find(name) == new_ones.end()) words += " -" + named(name, how);
    }
    say(path + words);
  }

  const std::string prefix_;
  std::vector<std::string>& lines_;
};

}  // namespace

std::vector<std::string> diffFlows(const FlowSpec& before, const FlowSpec& after) {
  std::vector<std::string> lines;
  Json old_flow = canonicalJson(before);
  Json new_flow = canonicalJson(after);
  const Json old_tasks = std::move(old_flow["tasks"]);
  const Json new_tasks = std::move(new_flow["tasks"]);
  old_flow.erase("tasks");
  new_flow.erase("tasks");
  DiffWriter("", lines).compareObjects(old_flow, new_flow, "");
  for (const auto& [name, task] : old_tasks.items()) {
    const auto other = new_tasks.find(name);
    if (other == new_tasks.end()) {
      lines.push_back(fmt::format("task {} removed", name));
    } else {
      DiffWriter(fmt::format("task {}: ", name), lines).compareObjects(task, *other, "");
    }
  }
  for (const auto& [name, task] : new_tasks.items()) {
    if (!old_tasks.contains(name)) lines.push_back(fmt::format("task {} added", name));
  }
  return lines;
}

}  // namespace baton::flow
