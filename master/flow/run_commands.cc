// What people ask of a run, and what they are told.
#include <algorithm>

#include "common/base/log.h"
#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

Error wrongStatus(const LiveRun& run, std::string_view wanted) {
  return Error::conflict("run {} of {} is {}: {}", run.record.state.id, run.record.flow,
                         toString(run.record.state.status), wanted);
}

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

Status RunEngine::rerun(Operation& operation, LiveRun& run, const std::vector<bool>& again,
                        const std::map<NodeIndex, TaskRecord>& ended, bool force,
                        BootTime read_at) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  RunState& state = run.record.state;
  if (state.status == RunStatus::Terminating) {
    return wrongStatus(run, "wait until its tasks have ended");
  }
  if (!run.progress) {
    if (!isTerminal(state.status)) return wrongStatus(run, "it has its first turn before it");
    if (std::find(again.begin(), again.end(), false) != again.end()) {
      return wrongStatus(run, "none of its tasks has run yet; rerun all of them");
    }
    ++state.reruns;
    state.reason = RunReason::None;
    state.reason_text.clear();
    waitAgain(operation, run);
    return {};
  }
  RunProgress after(*run.progress);
  (void)after.rerun(withUnbegun(run, again));
  const flow::FlowSpec& spec = run.version->spec;
  std::optional<NodeIndex> idle;  // One that would be skipped as before.
  bool any = false;
  for (NodeIndex node = 0; node < again.size(); ++node) {
    // What waits anyway will run.
    if (!again[node] || run.progress->state(node) == NodeState::Waiting) continue;
    const auto row = ended.find(node);
    if (row == ended.end() || !hasEnded(run.progress->state(node))) {
      return Error::conflict("task {} of run {} has not ended", spec.tasks[node].name, state.id);
    }
    RETURN_IF_ERROR(tasks_.checkRerun(row->second, force, read_at));
    // What ended badly, and has nothing to run for by now, is well once it is skipped.
    const bool runs = !hasEnded(after.state(node));
    const bool mends = run.progress->isUnwell(node) && !after.isUnwell(node);
    if (!runs && !mends && !idle) idle = node;
    any = any || runs || mends;
  }
  if (!any && idle) {
    return Error::conflict("task {} of run {} would be skipped again: {}", spec.tasks[*idle].name,
                           state.id, skipText(*run.version, after, *idle));
  }
  if (!any) return Error::conflict("run {} has no ended task that this would run again", state.id);
  runAgain(operation, run, again, ended, force, read_at, Again::NewPass);
  return {};
}

void RunEngine::runAgain(Operation& operation, LiveRun& run, const std::vector<bool>& again,
                         const std::map<NodeIndex, TaskRecord>& ended, bool force, BootTime read_at,
                         Again how) {
  RunState& state = run.record.state;
  for (NodeIndex node = 0; node < again.size(); ++node) {
    const auto row = ended.find(node);
    if (!again[node] || row == ended.end() || !hasEnded(run.progress->state(node))) continue;
    const flow::TaskNode& spec = run.version->spec.tasks[node];
    auto part = std::make_unique<NodePart>();
    part->run = state.id;
    part->node = node;
    part->no_runner = !spec.hasRunner();
    part->ignore_failure = spec.ignore_failure;
    run.outputs.erase(spec.name);
    run.unproven.erase(node);
    run.output_notes.erase(spec.name);
    const auto live = tasks_.rerun(operation, row->second, force, read_at, std::move(part),
                                   how == Again::NewPass && spec.hold);
    CHECK(live.ok());
    // The run may have got another one since.
    tasks_.setPriority(operation, **live, spec.priority.value_or(state.priority));
  }
  const RunEffects effects = recount(operation, run, again);
  ++state.reruns;
  state.reason = RunReason::None;
  state.reason_text.clear();
  if (!isTerminal(state.status)) {
    operation.store(state, run.record.flow);
    return apply(operation, run, effects);
  }
  apply(operation, run, {{}, effects.skipped});
  waitAgain(operation, run);
}

Status RunEngine::forceSuccess(Operation& operation, LiveRun& run, NodeIndex node,
                               const std::map<NodeIndex, TaskRecord>& ended, BootTime read_at) {
  const Turn turn(*this, operation);
  carryOn(operation, run);
  if (!run.progress || run.record.state.status == RunStatus::Terminating) {
    return wrongStatus(run, "there is no failed task to declare a success");
  }
  const auto row = ended.find(node);
  const NodeState at = run.progress->state(node);
  if (row == ended.end() || (at != NodeState::Failed && at != NodeState::FailedIgnored)) {
    return Error::conflict("task {} of run {} has not failed", run.version->spec.tasks[node].name,
                           run.record.state.id);
  }
  // What was skipped because of the failure, and only that, has its turn after all. (What another
  // failure keeps from it stays as it is.)
  const NodeIndex from[] = {node};
  std::vector<bool> again = run.version->graph->withDescendants(from);
  again[node] = false;
  for (NodeIndex i = 0; i < again.size(); ++i) {
    const SkipReason why = run.progress->skipReason(i);
    again[i] =
        again[i] && (why == SkipReason::UpstreamFailed || why == SkipReason::UpstreamSkipped ||
                     why == SkipReason::UpstreamSucceeded);
  }
  RunProgress after(*run.progress);
  after.amend(node, NodeState::Succeeded);
  (void)after.rerun(withUnbegun(run, again));
  bool any = false;
  for (NodeIndex i = 0; i < again.size(); ++i) {
    again[i] = again[i] && !hasEnded(after.state(i));
    if (!again[i]) continue;
    any = true;
    const auto skipped = ended.find(i);
    if (skipped == ended.end()) {
      return Error::make(ErrorCode::Busy, "run {} changed while it was read", run.record.state.id);
    }
    RETURN_IF_ERROR(tasks_.checkRerun(skipped->second, false, read_at));
  }
  RETURN_IF_ERROR(tasks_.forceSuccess(operation, row->second, read_at));
  operation.changes.places.push_back({row->second.state.id, run.record.state.id, run.record.flow});
  events_.onNodeEnded(operation, run,
                      {.task = row->second.state.id,
                       .run = run.record.state.id,
                       .node = node,
                       .attempt = row->second.state.attempt});
  const std::string& name = run.version->spec.tasks[node].name;
  run.outputs[name] = readOutputs(row->second.outputs);
  TaskState forced = row->second.state;
  forced.forced = true;
  run.output_notes[name] = outputNoteOf(forced);
  run.progress->amend(node, NodeState::Succeeded);
  if (any) {
    runAgain(operation, run, again, ended, false, read_at, Again::GoOn);
    return {};
  }
  const RunEffects effects = recount(operation, run, again);  // Counts the failure no more.
  RunState& state = run.record.state;
  if (!isTerminal(state.status)) {
    // Another task may have failed; its words come with the end.
    state.reason_text.clear();
    operation.store(state, run.record.flow);
    apply(operation, run, effects);
    return {};
  }
  amendEnd(operation, run);
  return {};
}

void RunEngine::amendEnd(Operation& operation, LiveRun& run) {
  RunState& state = run.record.state;
  const RunEnd end = run.progress->end();
  // What was asked of it, by hand or by its time limit, stays the reason unless all is well now.
  const bool asked = state.reason != RunReason::None && state.reason != RunReason::TaskFailed;
  const RunStatus as = end == RunEnd::Finished ? RunStatus::Finished
                       : asked                 ? state.status
                       : end == RunEnd::Failed ? RunStatus::Failed
                                               : RunStatus::Terminated;
  if (as == state.status) {
    // It ended so before: nobody is told of it once more, and nothing begins because of it.
    if (!asked) state.reason_text = end == RunEnd::Finished ? "" : whyNotFinished(run);
    return operation.store(state, run.record.flow);
  }
  state.reason = RunReason::None;
  state.reason_text.clear();
  ++state.reruns;  // It ends anew: what is told of it is another end, and may begin another run.
  ended_.push_back({.run = state.id});
}

std::vector<bool> RunEngine::withUnbegun(const LiveRun& run, std::vector<bool> again) const {
  for (NodeIndex node = 0; node < again.size(); ++node) {
    if (run.progress->state(node) != NodeState::Ready) continue;
    const LiveTask* task = taskOf(run, node);
    if (task != nullptr && task->state.status == TaskStatus::Created) again[node] = true;
  }
  return again;
}

RunEffects RunEngine::recount(Operation& operation, LiveRun& run, const std::vector<bool>& again) {
  const std::vector<bool> all = withUnbegun(run, again);
  for (NodeIndex node = 0; node < all.size(); ++node) {
    LiveTask* task = all[node] && !again[node] ? taskOf(run, node) : nullptr;
    if (task != nullptr) tasks_.holdBack(operation, *task);
  }
  return run.progress->rerun(all);
}

Result<LiveRun*> RunEngine::revive(const RunRecord& record,
                                   std::shared_ptr<const FlowVersion> version,
                                   const std::vector<TaskRecord>& tasks) {
  if (flows_.findRun(record.state.id) != nullptr) {
    return Error::make(ErrorCode::Busy, "run {} changed while it was read", record.state.id);
  }
  // Its parent heard of its end, and hears no more of it.
  RETURN_IF_ERROR(adopt(record, std::move(version)));
  LiveRun& run = *flows_.findRun(record.state.id);
  for (const TaskRecord& task : tasks) {
    const Status adopted = adoptTask(task);
    if (adopted.ok()) continue;
    drop(record.state.id);
    return adopted.error();
  }
  if (!run.tasks.empty()) {
    run.progress.emplace(run.version->graph);
    (void)run.progress->restore(run.reached);
    run.reached = {};
  }
  return &run;
}

void RunEngine::drop(RunId id) { flows_.runs.erase(id); }

void RunEngine::noteEnd(Operation& operation, RunId id) {
  const RecentEnd end;
  context_.live.recently_ended_runs[id] = end;
  operation.then([end, &clock = context_.clock] { end.becameDurable(clock.bootNow()); });
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
