#include "flow/definition/run_size.h"

#include <algorithm>
#include <unordered_map>

#include "common/base/json.h"

namespace baton::flow {
namespace {

constexpr size_t kStepBytes = 32;
constexpr size_t kDateBytes = 32;
constexpr size_t kParamDepthMax = 64;  // As resolving has it.

// Goes the way of resolving, with sizes in place of texts.
class RunMeasure {
 public:
  RunMeasure(const FlowSpec& flow, const ParamMap& startup, const ParamMap& project)
      : flow_(flow), startup_(startup), project_(usedOf(flow, project)) {}

  RunSize measure() {
    RunSize size;
    size_t done = 0;
    for (const TaskNode& task : flow_.tasks) {
      const size_t before = total_;
      addTask(task);
      ++done;
      if (total_ - before > size.largest_bytes) {
        size.largest = task.name;
        size.largest_bytes = total_ - before;
      }
      if (isOver()) break;
    }
    size.bytes = total_;
    if (isOver() && done > 1) size.bytes = total_ / done * flow_.tasks.size();
    size.bytes = std::max(size.bytes, total_);
    return size;
  }

 private:
  bool isOver() const { return total_ > kRunBytesMax; }
  void add(size_t bytes) { total_ += bytes; }
  void addText(const std::string& text) { add(sizeOf(text)); }

  void addTask(const TaskNode& task) {
    task_ = &task;
    add(kStepBytes);
    if (!task.when.empty()) addText(task.when);
    if (task.kind == "noop") return;
    addParams(startup_, {});
    addParams(task.params, {&startup_});
    addParams(flow_.params, {&startup_, &task.params});
    addParams(project_, {&startup_, &task.params, &flow_.params});
    for (const std::string& argument : task.command) addText(argument);
    for (const std::string& argument : task.interpreter) add(argument.size());
    add(task.script.size());
    addTexts(task.env);
    addText(task.dir);
    addText(task.http.url);
    addTexts(task.http.headers);
    addText(task.http.body);
    addText(task.event.key);
    addJson(task.with);
    for (const auto& [name, value] : task.policy.labels) add(name.size() + value.size());
  }

  // Those whose names are not among the stronger ones.
  void addParams(const ParamMap& params, std::initializer_list<const ParamMap*> stronger) {
    for (const auto& [name, value] : params) {
      if (isOver()) return;
      const bool hidden = std::any_of(stronger.begin(), stronger.end(), [&](const ParamMap* map) {
        return map->find(name) != map->end();
      });
      if (!hidden) add(name.size() + sizeOfParam(name));
    }
  }

  void addTexts(const std::map<std::string, std::string>& texts) {
    for (const auto& [name, text] : texts) {
      if (isOver()) return;
      add(name.size() + kStepBytes + sizeOf(text));
    }
  }

  void addJson(const Json& json) {
    if (isOver()) return;
    if (json.is_string()) return addText(json.get_ref<const std::string&>());
    add(kStepBytes);
    if (json.is_array()) {
      for (const Json& item : json) addJson(item);
    } else if (json.is_object()) {
      for (const auto& [key, value] : json.items()) {
        add(key.size());
        addJson(value);
      }
    }
  }

  size_t sizeOf(const std::string& text) {
    if (text.find('$') == text.npos) return text.size();
    const auto parts = parsePlaceholders(text);
    return parts.ok() ? sizeOf(*parts) : text.size();  // A wrong one is told elsewhere.
  }

  size_t sizeOf(const std::vector<TextPart>& parts) {
    size_t size = 0;
    for (const TextPart& part : parts) {
      if (isOver()) break;
      if (part.kind == TextPart::Kind::Literal) size += part.text.size();
      if (part.kind == TextPart::Kind::Date) size += kDateBytes;
      if (part.kind == TextPart::Kind::Name) size += sizeOfParam(part.text);
    }
    return size;
  }

  // What is looked up on the way is copied as well, so it counts by itself.
  size_t sizeOfParam(const std::string& name) {
    add(kStepBytes);
    for (const ParamMap* level : {&startup_, &task_->params, &flow_.params, &project_}) {
      const auto it = level->find(name);
      if (it == level->end()) continue;
      if (std::find(inside_.begin(), inside_.end(), &*it) != inside_.end()) continue;
      if (!it->second) return 0;
      const std::string& value = *it->second;
      const bool plain = level == &startup_ || level == &project_;
      if (plain || value.find('$') == value.npos) return value.size();
      if (inside_.size() >= kParamDepthMax || isOver()) return 0;
      inside_.push_back(&*it);
      const size_t size = level == &flow_.params ? sizeOf(partsOf(value)) : sizeOf(value);
      inside_.pop_back();
      add(size);
      return size;
    }
    return 0;
  }

  // Of a parameter of the flow, which many tasks look at.
  const std::vector<TextPart>& partsOf(const std::string& value) {
    const auto [it, first] = parts_.try_emplace(&value);
    if (first) {
      auto parts = parsePlaceholders(value);
      if (parts.ok()) it->second = std::move(*parts);
    }
    return it->second;
  }

  const FlowSpec& flow_;
  const ParamMap& startup_;
  const ParamMap project_;
  const TaskNode* task_ = nullptr;
  size_t total_ = 0;
  std::vector<const ParamMap::value_type*> inside_;
  std::unordered_map<const std::string*, std::vector<TextPart>> parts_;
};

std::string megabytes(size_t bytes) { return fmt::format("{} MB", (bytes + 1048575) / 1048576); }

}  // namespace

std::string RunSize::text(const FlowSpec& flow) const {
  return fmt::format(
      "a run comes to about {} of specifications: {} tasks with their copies of params and env, {} "
      "alone has about {} KB; at most {} are accepted",
      megabytes(bytes), flow.tasks.size(), truncateUtf8(largest, 80), (largest_bytes + 1023) / 1024,
      megabytes(kRunBytesMax));
}

RunSize measureRun(const FlowSpec& flow, const ParamMap& startup, const ParamMap& project) {
  return RunMeasure(flow, startup, project).measure();
}

ParamMap usedOf(const FlowSpec& flow, const ParamMap& project) {
  ParamMap used;
  for (const auto& [name, needed] : flow.project_params) {
    if (const auto it = project.find(name); it != project.end()) used.insert(*it);
  }
  return used;
}

}  // namespace baton::flow
