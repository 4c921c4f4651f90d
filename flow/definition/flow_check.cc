#include <algorithm>
#include <unordered_map>

#include "flow/definition/reading.h"
#include "flow/definition/run_size.h"

namespace baton::flow {
namespace {

constexpr size_t kCyclesMax = 20;
constexpr size_t kNamesShown = 12;
constexpr size_t kParamStepsMax = 10'000;
constexpr size_t kUpstreamMax = 1'000'000;  // Far above what a run of the largest size has.

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Judges a definition as a whole.
class FlowChecker {
 public:
  explicit FlowChecker(Reading& reading) : reading_(reading), tasks_(reading.flow.tasks) {}

  void check() {
    for (size_t i = 0; i < tasks_.size(); ++i) by_name_.emplace(tasks_[i].name, i);
    checkNames();
    checkOwnWaits();
    checkNeeds();
    checkCycles();
    checkOutputs();
    checkPlaceholders();
    noteParamOutputs();
    checkParamCycles();
    checkScripts();
    checkSize();
    checkFires();
  }

 private:
  std::string pathOf(size_t task, std::string_view key) const {
    return fmt::format("tasks.{}.{}", truncateUtf8(tasks_[task].name, 80), key);
  }

  void checkNames() {
    std::unordered_map<std::string, size_t> seen;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const auto [it, first] = seen.emplace(lowered(tasks_[i].name), i);
      if (!first) {
        const size_t other = it->second;
        reading_.issues.error(reading_.places[i].mark, "tasks." + truncateUtf8(tasks_[i].name, 80),
                              fmt::format("differs from {} (line {}) in the case of letters alone",
                                          tasks_[other].name, reading_.places[other].mark.line));
      }
      if (tasks_[i].kind == "flow" && !tasks_[i].flow.empty() &&
          lowered(tasks_[i].flow) == lowered(reading_.flow.name)) {
        reading_.issues.error(reading_.places[i].mark, pathOf(i, "flow"),
                              "is the flow itself: it would never end");
      }
    }
  }

  // A wait for the run that it is a part of would only end with its timeout.
  void checkOwnWaits() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const EventWait& wait = tasks_[i].event;
      const bool current =
          wait.window.name.starts_with("same_") || wait.window.name.starts_with("this_");
      if (tasks_[i].kind != "event" || !wait.source.task.empty() || !current ||
          lowered(wait.source.flow) != lowered(reading_.flow.name) || wait.source.flow.empty()) {
        continue;
      }
      reading_.issues.warning(
          reading_.places[i].mark, pathOf(i, "event"),
          fmt::format("waits for the end of this flow within {}, which its own run lies in: it "
                      "waits for itself",
                      wait.window.name));
    }
  }

  // Fills needs_, by index; what names no task is told.
  void checkNeeds() {
    needs_.resize(tasks_.size());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for (const auto& [name, mark] : reading_.places[i].needs) {
        const auto it = by_name_.find(name);
        if (it != by_name_.end()) {
          needs_[i].push_back(it->second);
          continue;
        }
        if (reading_.issues.isFull()) continue;
        reading_.issues.error(mark, pathOf(i, "needs"),
                              fmt::format("\"{}\" is no task of this flow{}",
                                          truncateUtf8(name, 80), hintFor(name, names())));
      }
    }
  }

  const std::vector<std::string_view>& names() {
    if (names_.empty()) {
      for (const TaskNode& task : tasks_) names_.push_back(task.name);
    }
    return names_;
  }

  // Puts away, again and again, what needs nothing that is left: what stays is on a cycle or
  // behind one.
  void checkCycles() {
    std::vector<std::vector<size_t>> behind(tasks_.size());
    std::vector<size_t> missing(tasks_.size());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      missing[i] = needs_[i].size();
      for (const size_t need : needs_[i]) behind[need].push_back(i);
    }
    std::vector<bool> away(tasks_.size());
    const auto putAway = [&](std::vector<size_t> ready) {
      while (!ready.empty()) {
        const size_t task = ready.back();
        ready.pop_back();
        if (away[task]) continue;
        away[task] = true;
        order_.push_back(task);
        for (const size_t next : behind[task]) {
          if (--missing[next] == 0) ready.push_back(next);
        }
      }
    };
    std::vector<size_t> ready;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (missing[i] == 0) ready.push_back(i);
    }
    putAway(std::move(ready));
    has_cycle_ = order_.size() < tasks_.size();
    size_t start = 0;
    for (size_t told = 0; order_.size() < tasks_.size() && told < kCyclesMax; ++told) {
      while (away[start]) ++start;
      const std::vector<size_t> cycle = cycleFrom(start, away);
      tellCycle(cycle);
      putAway(cycle);
    }
  }

  // Walks from need to need, all of them left over, until one comes again. In the order of running.
  std::vector<size_t> cycleFrom(size_t task, const std::vector<bool>& away) const {
    std::unordered_map<size_t, size_t> place;
    std::vector<size_t> walk;
    while (place.emplace(task, walk.size()).second) {
      walk.push_back(task);
      task = *std::find_if(needs_[task].begin(), needs_[task].end(),
                           [&](size_t need) { return !away[need]; });
    }
    std::vector<size_t> cycle(walk.begin() + static_cast<ptrdiff_t>(place[task]), walk.end());
    std::reverse(cycle.begin(), cycle.end());
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    return cycle;
  }

  void tellCycle(const std::vector<size_t>& cycle) {
    std::string path;
    for (size_t i = 0; i < std::min(cycle.size(), kNamesShown); ++i) {
      path += tasks_[cycle[i]].name + " -> ";
    }
    if (cycle.size() > kNamesShown) path += fmt::format("… ({} tasks) -> ", cycle.size());
    path += tasks_[cycle.front()].name;
    reading_.issues.error(reading_.places[cycle.front()].needs_mark, pathOf(cycle.front(), "needs"),
                          fmt::format("the tasks wait for each other in a cycle: {}", path));
  }

  // Whether `other` has always ended before `task` begins. Only without cycles.
  bool isUpstream(size_t other, size_t task) {
    const std::vector<size_t>& direct = needs_[task];
    if (std::find(direct.begin(), direct.end(), other) != direct.end()) return true;
    if (ancestors_.empty()) {
      const size_t words = (tasks_.size() + 63) / 64;
      ancestors_.assign(tasks_.size(), std::vector<uint64_t>(words));
      for (const size_t at : order_) {
        for (const size_t need : needs_[at]) {
          ancestors_[at][need / 64] |= uint64_t{1} << (need % 64);
          for (size_t w = 0; w < words; ++w) ancestors_[at][w] |= ancestors_[need][w];
        }
      }
    }
    return (ancestors_[task][other / 64] >> (other % 64) & 1) != 0;
  }

  void checkPlaceholders() {
    for (const PlacedText& text : reading_.texts) {
      for (const TextPart& part : text.parts) {
        if (reading_.issues.isFull()) return;
        if (part.kind == TextPart::Kind::Name) checkName(text, part);
        if (part.kind == TextPart::Kind::Output) checkOutput(text, part);
      }
    }
  }

  void tell(const PlacedText& text, const TextPart& part, const std::string& why) {
    reading_.issues.error(text.mark, text.path,
                          fmt::format("placeholder {}: {}", truncateUtf8(part.source, 60), why));
  }

  // By the levels of parameters: the task's own, what is upstream of it, the flow's, the project's.
  void checkName(const PlacedText& text, const TextPart& part) {
    const std::string& name = part.text;
    const bool in_task = text.task != PlacedText::kFlow;
    if (name == "flow" || name == "run_id" || (name == "task" && in_task)) return;
    if (in_task && tasks_[text.task].params.count(name) > 0 &&
        text.path != pathOf(text.task, "params." + truncateUtf8(name, 80))) {
      return;
    }
    const bool output = in_task && declaredUpstream(text.task, name, text.mark, text.path);
    // Within its own value a name means the next weaker level; a circle is told as one.
    const bool own_value =
        text.path == (in_task ? pathOf(text.task, "params." + truncateUtf8(name, 80))
                              : "params." + truncateUtf8(name, 80));
    if (reading_.flow.params.count(name) > 0 && (in_task || !own_value)) return;
    if (output || projectHas(name)) {
      bool& needed = reading_.flow.project_params[name];
      needed = needed || !output;
      return;
    }
    if (own_value) return;
    std::vector<std::string_view> known{"flow", "run_id", "task", "plan_time", "prev_success_time"};
    for (const auto& [param, value] : reading_.flow.params) known.push_back(param);
    if (in_task) {
      for (const auto& [param, value] : tasks_[text.task].params) known.push_back(param);
    }
    for (const auto& [param, value] : reading_.surroundings.project_params) known.push_back(param);
    tell(text, part,
         fmt::format("no parameter has that name{}; declare it in params (null: without a value), "
                     "or set it for the project (baton param set)",
                     hintFor(name, known)));
  }

  // A stored definition was checked when it was saved.
  bool projectHas(const std::string& name) const {
    return reading_.surroundings.stored || reading_.surroundings.project_params.count(name) > 0;
  }

  // Whether an upstream task says that it writes an output of that name; which one is noted. Of
  // several the one that is behind all others counts, as the one that wrote last.
  bool declaredUpstream(size_t task, const std::string& name, YamlMark mark,
                        const std::string& path) {
    if (has_cycle_) return !writersOf(name).empty();  // Who is upstream can't be said.
    std::map<std::string, std::string>& known = reading_.flow.tasks[task].upstream;
    if (known.count(name) > 0) return true;
    std::vector<size_t> writers;
    for (const size_t other : writersOf(name)) {
      if (isUpstream(other, task)) writers.push_back(other);
    }
    if (writers.empty()) return false;
    size_t last = writers.front();
    for (const size_t other : writers) {
      if (isUpstream(last, other)) last = other;
    }
    for (const size_t other : writers) {
      if (other == last || isUpstream(other, last) || reading_.issues.isFull()) continue;
      const std::string& a = tasks_[std::min(other, last)].name;
      const std::string& b = tasks_[std::max(other, last)].name;
      reading_.issues.refuse(
          mark, path,
          fmt::format("placeholder ${{{0}}}: {1} and {2} both write it, and neither waits for the "
                      "other; write ${{{1}.{0}}} to say whose",
                      name, a, b));
      break;
    }
    known.emplace(name, tasks_[last].name);
    ++upstream_noted_;
    return true;
  }

  // A parameter of the flow that is an output as well arrives as that, whether a text names it or
  // not.
  void noteParamOutputs() {
    if (has_cycle_) return;
    for (const auto& [name, value] : reading_.flow.params) {
      if (writersOf(name).empty()) continue;
      for (size_t i = 0; i < tasks_.size() && upstream_noted_ < kUpstreamMax; ++i) {
        if (tasks_[i].kind == "noop" || tasks_[i].params.count(name) > 0) continue;
        declaredUpstream(i, name, reading_.places[i].mark, pathOf(i, "params." + name));
      }
    }
  }

  void checkSize() {
    if (reading_.surroundings.stored || reading_.issues.errors() > 0) return;
    const RunSize size = measureRun(reading_.flow, {}, reading_.surroundings.project_params);
    if (size.tooLarge()) {
      reading_.issues.error(reading_.places.front().mark, "tasks", size.text(reading_.flow));
    }
  }

  // Where the calendar is not known, days off are left aside: without them a schedule has as many
  // instants, or more.
  void checkFires() {
    const std::optional<WallTime>& now = reading_.surroundings.now;
    if (!now || !reading_.flow.schedule || reading_.issues.errors() > 0) return;
    const std::string& calendar = reading_.flow.schedule->calendar;
    std::shared_ptr<const WorkCalendar> workdays;
    if (const auto& known = reading_.surroundings.calendars; known && !calendar.empty()) {
      if (const auto at = known->find(nameKey(calendar)); at != known->end()) workdays = at->second;
    }
    // Runs on a public holiday are what a calendar is there to prevent.
    const std::string ending = workdays == nullptr ? "" : workdays->endingText(*now);
    if (!ending.empty()) {
      reading_.issues.warning(reading_.schedule_mark, "schedule.calendar",
                              fmt::format("{} {}", calendar, ending));
    }
    const auto fires = [&](auto on) { return recurrenceOf(reading_.flow, *now, on).next(*now); };
    if (fires(workdays)) return;
    const bool off = workdays != nullptr && fires(nullptr);
    reading_.issues.warning(
        reading_.schedule_mark, "schedule",
        fmt::format("never fires: it has no instant behind {}{}", formatRfc3339(*now),
                    off ? fmt::format(" on a workday of calendar {}", calendar) : ""));
  }

  const std::vector<size_t>& writersOf(const std::string& key) {
    if (!writers_ready_) {
      for (size_t i = 0; i < tasks_.size(); ++i) {
        for (const std::string& output : tasks_[i].outputs) writers_[output].push_back(i);
      }
      writers_ready_ = true;
    }
    static const std::vector<size_t> kNone;
    const auto it = writers_.find(key);
    return it == writers_.end() ? kNone : it->second;
  }

  // Why a task can have no output of that name; empty: it can.
  static std::string whyNoOutput(const TaskNode& task, const std::string& key) {
    if (task.kind == "event" && !task.event.source.flow.empty()) {
      return "the end of a flow or task has no data, as an event from outside has";
    }
    if (task.kind == "noop" || task.kind == "flow") {
      return fmt::format("a task of kind {} has no outputs", task.kind);
    }
    if (task.kind != "http" || task.http.capture == key) return {};
    if (task.http.capture.empty()) return "its request captures nothing (http.capture)";
    return fmt::format("its request captures {} alone (http.capture)", task.http.capture);
  }

  void checkOutputs() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for (const std::string& key : tasks_[i].outputs) {
        const std::string why = whyNoOutput(tasks_[i], key);
        if (why.empty() || reading_.issues.isFull()) continue;
        reading_.issues.refuse(reading_.places[i].mark, pathOf(i, "outputs"),
                               fmt::format("has {}, but {}", key, why));
      }
    }
  }

  void checkOutput(const PlacedText& text, const TextPart& part) {
    const auto it = by_name_.find(part.text);
    if (it == by_name_.end()) {
      tell(text, part,
           fmt::format("\"{}\" is no task of this flow{}", part.text, hintFor(part.text, names())));
      return;
    }
    if (text.task == PlacedText::kFlow) {
      tell(text, part, "parameters of the flow are known before any task has run");
      return;
    }
    if (!has_cycle_ && !isUpstream(it->second, text.task)) {
      tell(text, part,
           fmt::format("{} is not upstream of {}; add it to needs", part.text,
                       tasks_[text.task].name));
      return;
    }
    if (const std::string why = whyNoOutput(tasks_[it->second], part.key); !why.empty()) {
      reading_.issues.refuse(text.mark, text.path,
                             fmt::format("placeholder {}: {}", truncateUtf8(part.source, 60), why));
      return;
    }
    const std::vector<std::string>& outputs = tasks_[it->second].outputs;
    if (!outputs.empty() && std::find(outputs.begin(), outputs.end(), part.key) == outputs.end()) {
      const std::vector<std::string_view> known(outputs.begin(), outputs.end());
      tell(text, part,
           fmt::format("{} has no output {} among its outputs{}", part.text, part.key,
                       hintFor(part.key, known)));
    }
  }

  // A value on the way: its level (true: the task's) and name.
  using ParamStep = std::pair<bool, std::string>;

  // As resolving does it: the value of a name within itself is that of the next weaker level.
  bool endsWell(const TaskNode* of_task, const std::string& name, std::vector<ParamStep>& inside,
                size_t& steps) const {
    if (++steps > kParamStepsMax || inside.size() > 64) return false;
    bool inside_itself = false;
    const bool in_flow = std::any_of(inside.begin(), inside.end(),
                                     [](const ParamStep& step) { return !step.first; });
    for (const bool task_level : {true, false}) {
      if (task_level && of_task == nullptr) continue;
      // An output is never looked into. Values of the flow do not see any.
      if (!task_level && of_task != nullptr && !in_flow && of_task->upstream.count(name) > 0) {
        return true;
      }
      const ParamMap* params = task_level ? &of_task->params : &reading_.flow.params;
      const auto it = params->find(name);
      if (it == params->end()) continue;
      ParamStep step(task_level, name);
      if (std::find(inside.begin(), inside.end(), step) != inside.end()) {
        inside_itself = true;
        continue;
      }
      if (!it->second || it->second->find("${") == std::string::npos) return true;
      const auto parts = parsePlaceholders(*it->second);
      if (!parts.ok()) return true;  // Told already.
      inside.push_back(std::move(step));
      for (const TextPart& part : *parts) {
        if (part.kind == TextPart::Kind::Name && !endsWell(of_task, part.text, inside, steps)) {
          return false;
        }
      }
      inside.pop_back();
      return true;
    }
    if (!inside_itself) return true;
    return inside.back().second == name && projectHas(name);
  }

  void checkParamCycles() {
    for (const PlacedText& text : reading_.texts) {
      const size_t dot = text.path.rfind('.');
      const bool is_param = dot != text.path.npos && text.path.substr(0, dot).ends_with("params");
      const bool has_name = std::any_of(text.parts.begin(), text.parts.end(), [](const auto& part) {
        return part.kind == TextPart::Kind::Name;
      });
      if (!is_param || !has_name || reading_.issues.isFull()) continue;
      const TaskNode* of_task = text.task == PlacedText::kFlow ? nullptr : &tasks_[text.task];
      std::vector<ParamStep> inside;
      size_t steps = 0;
      if (!endsWell(of_task, text.path.substr(dot + 1), inside, steps)) {
        reading_.issues.error(text.mark, text.path,
                              steps > kParamStepsMax || inside.size() > 64
                                  ? "takes too many steps to resolve"
                                  : "refers to itself" + chainText(inside));
      }
    }
  }

  static std::string chainText(const std::vector<ParamStep>& inside) {
    if (inside.size() < 2) return {};
    std::string out = ": ";
    for (size_t i = 0; i < std::min(inside.size(), kNamesShown); ++i) {
      out += inside[i].second + " -> ";
    }
    return out + inside.front().second;
  }

  // Text that a shell reads is never touched: a placeholder in it would be the shell's.
  void checkScripts() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const std::string& script = tasks_[i].script;
      size_t at = script.find("${plan_time");
      for (const size_t need : needs_[i]) {
        at = std::min(at, script.find("${" + tasks_[need].name + "."));
      }
      if (at == script.npos || reading_.issues.isFull()) continue;
      reading_.issues.warning(
          reading_.places[i].mark, pathOf(i, "script"),
          fmt::format(
              "\"{}\" is left to the shell: scripts are not changed; give it to the task as "
              "one of its params",
              script.substr(at, std::min<size_t>(script.find('}', at) - at + 1, 60))));
    }
  }

  Reading& reading_;
  const std::vector<TaskNode>& tasks_;
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<std::string_view> names_;
  std::vector<std::vector<size_t>> needs_;
  std::vector<size_t> order_;  // Upstream first, if there is no cycle.
  bool has_cycle_ = false;
  std::vector<std::vector<uint64_t>> ancestors_;  // A bit for each task; made when first needed.
  size_t upstream_noted_ = 0;
  std::unordered_map<std::string, std::vector<size_t>> writers_;
  bool writers_ready_ = false;
};

}  // namespace

void checkFlow(Reading& reading) { FlowChecker(reading).check(); }

const TaskNode* FlowSpec::find(std::string_view task) const {
  const auto it =
      std::find_if(tasks.begin(), tasks.end(), [&](const TaskNode& t) { return t.name == task; });
  return it == tasks.end() ? nullptr : &*it;
}

}  // namespace baton::flow
