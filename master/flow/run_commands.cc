// What people ask of a run that has not ended, and what they are told.
#include <algorithm>

#include "common/base/log.h"
#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

// A page of runs asks for each of them, so a long queue is not counted to its end.
constexpr size_t kAheadCounted = 1'000;

std::string runsText(size_t count) {
  if (count > kAheadCounted) return fmt::format("more than {} runs", kAheadCounted);
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

// How many wait before that one.
size_t aheadOf(const std::map<WaitingRank, RunId>& waiting, const WaitingRank& rank) {
  size_t ahead = 0;
  for (auto it = waiting.begin(); it != waiting.end() && it->first < rank; ++it) {
    if (++ahead > kAheadCounted) break;
  }
  return ahead;
}

// The same in the order of a backfill.
size_t aheadOf(const LiveBackfill& backfill, RunId run) {
  size_t ahead = backfill.offered.size();
  for (const RunId other : backfill.rest) {
    if (other == run || ++ahead > kAheadCounted) break;
  }
  return ahead;
}

std::string_view placeWord(RunStatus status) {
  if (status == RunStatus::Paused) return "is PAUSED, and keeps its place until run resume";
  if (status == RunStatus::Terminating) return "is being stopped";
  return "is under way";
}

std::string_view behindText(RunClass at) {
  if (at == RunClass::Compensation) return "; what is due now goes before missed instants";
  if (at == RunClass::Backfill) return "; what is due now or was missed goes before a backfill";
  return "";
}

}  // namespace

Status RunEngine::stop(Operation& operation, LiveRun& run, RunReason why, const std::string& text) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  RunState& state = run.record.state;
  if (state.status == RunStatus::Terminating) {
    // By hand outranks what the run did by itself: it is not to count as failed then.
    if (why == RunReason::StopAsked && state.reason != RunReason::StopAsked) {
      state.reason = why;
      state.reason_text = text;
      operation.store(state, run.record.flow);
    }
    return {};
  }
  state.reason = why;
  state.reason_text = text;
  if (!run.progress) {
    finish(operation, run, RunStatus::Terminated);
    return {};
  }
  state.status = RunStatus::Terminating;
  operation.store(state, run.record.flow);
  endTasks(operation, run);
  return {};
}

Status RunEngine::pause(Operation& operation, LiveRun& run) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  RunState& state = run.record.state;
  if (state.status == RunStatus::Paused) return {};
  if (state.status != RunStatus::Running) return wrongStatus(run, "only a RUNNING one is paused");
  state.status = RunStatus::Paused;
  operation.store(state, run.record.flow);
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    if (run.progress->state(node) != NodeState::Ready) continue;
    if (LiveTask* task = taskOf(run, node)) tasks_.holdBack(operation, *task);
  }
  return {};
}

Status RunEngine::resume(Operation& operation, LiveRun& run) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  RunState& state = run.record.state;
  if (state.status == RunStatus::Running) return {};
  if (state.status != RunStatus::Paused) return wrongStatus(run, "only a PAUSED one is resumed");
  state.status = RunStatus::Running;
  operation.store(state, run.record.flow);
  letReadyGo(operation, run);
  return {};
}

Status RunEngine::skip(Operation& operation, LiveRun& run, const std::string& text) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  if (run.record.state.status != RunStatus::Waiting) {
    return wrongStatus(run, "only one that WAITS for its turn is skipped; stop it, or skip a task");
  }
  if (run.progress) {
    return wrongStatus(run, "it ran before, and waits to run again; stop it, or skip a task");
  }
  run.record.state.reason = RunReason::SkippedByHand;
  run.record.state.reason_text = text;
  finish(operation, run, RunStatus::Skipped);
  return {};
}

Status RunEngine::setPriority(Operation& operation, LiveRun& run, Priority priority) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  RunState& state = run.record.state;
  LiveFlow& flow = flowOf(run);
  const Priority before = state.priority;
  const bool waits = flow.waiting.erase(rankOf(run.record)) > 0;
  state.priority = priority;
  if (waits) enqueue(run);
  operation.store(state, run.record.flow);
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    LiveTask* task = taskOf(run, node);
    // A task with a priority of its own keeps it, and so does the run that it is.
    if (task == nullptr || run.version->spec.tasks[node].priority) continue;
    tasks_.setPriority(operation, *task, priority);
    const auto part = flows_.sub_runs.find(task->state.id);
    LiveRun* sub_run = part == flows_.sub_runs.end() ? nullptr : flows_.findRun(part->second);
    if (sub_run != nullptr && sub_run->record.state.priority == before) {
      RETURN_IF_ERROR(setPriority(operation, *sub_run, priority));
    }
  }
  return {};
}

void RunEngine::stopAll(Operation& operation, const std::string& flow_key, RunReason why) {
  const Turn turn(*this, operation);
  std::vector<RunId> ids;
  for (const auto& [id, run] : flows_.runs) {
    if (nameKey(run.record.flow) == flow_key) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  for (const RunId id : ids) {
    LiveRun* run = flows_.findRun(id);
    if (run == nullptr) continue;
    const Status stopped = stop(operation, *run, why);
    if (!stopped.ok()) logWarn("run_not_stopped", field("error", stopped.error().message()));
  }
}

std::string RunEngine::whyWaiting(const LiveRun& run) const {
  const RunRecord& record = run.record;
  if (record.state.status == RunStatus::Paused) return "paused by hand";
  if (record.state.status != RunStatus::Waiting) return {};
  const auto at = flows_.flows.find(nameKey(record.flow));
  if (at == flows_.flows.end()) return {};
  LiveFlow& flow = at->second;
  if (flow.running.contains(record.state.id) || record.parent_run != 0) {
    return "it begins as soon as what was before it has begun";
  }
  const auto backfill = flows_.backfills.find(record.backfill);
  if (backfill != flows_.backfills.end() && !backfill->second.offered.contains(record.state.id)) {
    return fmt::format("{} of backfill {} before it, {} at once",
                       runsText(aheadOf(backfill->second, record.state.id)), record.backfill,
                       backfill->second.record.parallel);
  }
  const size_t ahead = aheadOf(flow.waiting, rankOf(record));
  const std::string_view behind = behindText(classOf(record));
  if (flow.running.empty()) {
    return fmt::format("{} of its flow before it{}", runsText(ahead), behind);
  }
  const RunId first = *flow.running.begin();
  const std::string taken = fmt::format("run {} {}, {} of {} places taken", first,
                                        placeWord(flows_.runs.at(first).record.state.status),
                                        flow.running.size(), placesOf(flow));
  if (ahead == 0) return taken + ", it is the next";
  return fmt::format("{}, {} before it{}", taken, runsText(ahead), behind);
}

RunId RunEngine::subRunOf(TaskId task) const {
  const auto sub_run = flows_.sub_runs.find(task);
  return sub_run == flows_.sub_runs.end() ? 0 : sub_run->second;
}

const std::vector<std::string>& RunEngine::declaredOutputs(const LiveTask& task) const {
  const LiveRun* run = flows_.findRun(task.part->run);
  CHECK(run != nullptr);  // It outlives its tasks.
  return run->version->spec.tasks[task.part->node].outputs;
}

uint64_t RunEngine::workOf(const LiveTask& task) const {
  constexpr uint64_t kBeyondTaskIds = uint64_t{1} << 63;
  const auto at = flows_.runs.find(task.part->run);
  if (at == flows_.runs.end()) return task.state.id;
  const std::string node = fmt::format("{}/{}", nameKey(at->second.record.flow), task.part->node);
  return std::hash<std::string>{}(node) | kBeyondTaskIds;
}

std::string RunEngine::flowOf(RunId run) const {
  const auto at = flows_.runs.find(run);
  return at == flows_.runs.end() ? std::string() : at->second.record.flow;
}

RunListener::Waiting RunEngine::whyNodeWaits(const LiveTask& task) const {
  const auto at = flows_.runs.find(task.part->run);
  if (at == flows_.runs.end() || !at->second.progress) return {};
  const LiveRun& run = at->second;
  if (run.progress->state(task.part->node) == NodeState::Waiting) {
    return {WaitingCode::Dependency, openNeedsText(run, task.part->node)};
  }
  // A pause keeps nothing from ending that has begun: a wait goes on, and so does a sub-flow.
  if (task.state.status == TaskStatus::Created) {
    if (run.record.state.status == RunStatus::Paused) {
      return {WaitingCode::RunPaused, fmt::format("run {} is paused", run.record.state.id)};
    }
    const std::string why = whyWaiting(run);
    return {WaitingCode::FlowLimit,
            why.empty() ? std::string("it begins as soon as what was before it has begun")
                        : fmt::format("run {} waits: {}", run.record.state.id, why)};
  }
  if (!task.part->no_runner) return {};
  if (const RunId sub_run = subRunOf(task.state.id); sub_run != 0) {
    return {WaitingCode::Dependency, fmt::format("run {} has not ended", sub_run)};
  }
  if (run.version->spec.tasks[task.part->node].kind == "flow") return {};  // Its run is looked up.
  return {WaitingCode::Event, events_.whyWaiting(task.state.id)};
}

void RunEngine::countWaiting(std::map<WaitingCode, uint64_t>& counts) const {
  // Whatever a run holds back waits for other tasks of it, unless the whole run stands still.
  uint64_t behind_others = context_.live.gated;
  for (const auto& [id, run] : flows_.runs) {
    const RunStatus status = run.record.state.status;
    if (!run.progress || (status != RunStatus::Paused && status != RunStatus::Waiting)) continue;
    for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
      if (run.progress->state(node) != NodeState::Ready) continue;
      const LiveTask* task = taskOf(run, node);
      if (task == nullptr || task->state.status != TaskStatus::Created || !task->part->gated) {
        continue;
      }
      --behind_others;
      ++counts[status == RunStatus::Paused ? WaitingCode::RunPaused : WaitingCode::FlowLimit];
    }
  }
  const auto under_way = [&](TaskId id) {
    const LiveTask* task = context_.live.findTask(id);
    return task != nullptr && task->state.status == TaskStatus::Running ? 1U : 0U;
  };
  for (const auto& [task, run] : flows_.sub_runs) behind_others += under_way(task);
  counts[WaitingCode::Dependency] += behind_others;
  uint64_t& events = counts[WaitingCode::Event];
  events_.eachWait([&](TaskId task) { events += under_way(task); });
}

}  // namespace baton::master
