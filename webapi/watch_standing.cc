#include "webapi/watch_standing.h"

#include <algorithm>

#include "webapi/watch_json.h"

namespace baton::webapi {
namespace {

using master::api::WatchedRun;
using master::api::WatchedTask;
using master::api::WatchEvent;
using master::api::WatchFilter;

// Tasks of a run that are told at once: the text waits in memory for as long as the watcher takes
// to read it.
constexpr size_t kStandingTasksMax = 2'000;

class Standing {
 public:
  explicit Standing(const WatchFilter& filter) : filter_(filter) {}

  void put(const TaskRecord& task) {
    if (!wantsKind(WatchEvent::Kind::Task) || !wantsFlow(task.flow)) return;
    if (filter_.run != 0 && task.run_id != filter_.run) return;
    if (filter_.task != 0 && task.state.id != filter_.task) return;
    append({{}, task.run_id, task.flow, WatchedTask{task.state, task.name}});
  }
  void put(const RunRecord& run) {
    // A filter of a task means that task alone.
    if (filter_.task != 0 || !wantsKind(WatchEvent::Kind::Run) || !wantsFlow(run.flow)) return;
    append({{}, run.state.id, run.flow, WatchedRun{run.state, true, run.trigger, run.plan_time}});
  }
  std::string take() { return std::move(text_); }

 private:
  bool wantsKind(WatchEvent::Kind kind) const {
    return filter_.kinds.empty() ||
           std::find(filter_.kinds.begin(), filter_.kinds.end(), kind) != filter_.kinds.end();
  }
  bool wantsFlow(const std::string& flow) const {
    return filter_.flow.empty() || nameKey(flow) == filter_.flow;
  }
  void append(const WatchEvent& event) { text_ += unplacedText(event); }

  const WatchFilter& filter_;
  std::string text_;
};

}  // namespace

std::optional<std::string> standingText(const WatchFilter& filter, master::api::TaskPort& tasks,
                                        master::api::RunPort& runs) {
  Standing standing(filter);
  if (filter.task != 0) {
    const auto task = tasks.task(filter.task);
    if (!task.ok()) return std::nullopt;
    standing.put(task->record);
    return standing.take();
  }
  if (filter.run == 0) return std::nullopt;
  const auto run = runs.run(filter.run);
  if (!run.ok()) return std::nullopt;
  const auto nodes = runs.nodes(filter.run);
  if (!nodes.ok() || nodes->size() > kStandingTasksMax) return std::nullopt;
  // Its tasks first: who sees the end of a run has seen theirs.
  for (const auto& node : *nodes) standing.put(node.task.record);
  standing.put(run->record);
  return standing.take();
}

}  // namespace baton::webapi
