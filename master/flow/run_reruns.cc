// Runs that go on behind an end: what is run again of them, and what is declared a success.
#include <algorithm>

#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {

Status RunEngine::rerun(Operation& operation, LiveRun& run, const std::vector<bool>& again,
                        const std::map<NodeIndex, TaskRecord>& ended, bool force, BootTime read_at,
                        bool go_on) {
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
  runAgain(operation, run, again, ended, force, read_at, go_on ? Again::Failed : Again::NewPass);
  return {};
}

std::vector<bool> RunEngine::unwellOf(const LiveRun& run) {
  const size_t count = run.version->spec.tasks.size();
  if (!run.progress) return std::vector<bool>(count, true);
  std::vector<NodeIndex> from;
  // Skipped by choice is no failure; what hangs on a failed one is behind it, but for what a rerun
  // of that one alone has left.
  for (NodeIndex i = 0; i < count; ++i) {
    if (run.progress->isUnwell(i)) from.push_back(i);
  }
  return run.version->graph->withDescendants(from);
}

bool RunEngine::beginsPartAnew(const LiveRun& run, NodeIndex node, const std::vector<bool>& again,
                               Again how) {
  const flow::TaskNode& spec = run.version->spec.tasks[node];
  const NodeState at = run.progress->state(node);
  if (spec.kind != "flow") return false;
  if (how != Again::Failed || (at != NodeState::Failed && at != NodeState::Terminated)) return true;
  // Behind what runs again it may be given other parameters.
  const std::vector<Need>& needs = run.version->graph->node(node).needs;
  return std::any_of(needs.begin(), needs.end(),
                     [&](const Need& need) { return again[need.upstream]; });
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
    TaskRecord record = row->second;
    if (beginsPartAnew(run, node, again, how)) ++record.state.attempt;
    const auto live = tasks_.rerun(operation, record, force, read_at, std::move(part),
                                   how != Again::GoOn && spec.hold);
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

Status RunEngine::checkEnded(const RunRows& rows) const {
  const RunState& state = rows.run.state;
  const auto& ends = context_.live.recently_ended_runs;
  const auto end = ends.find(state.id);
  const bool stale = end != ends.end() && end->second.mayBeMissingIn(rows.read_at);
  if (!stale && isTerminal(state.status) && !flows_.runs.contains(state.id)) return {};
  return Error::make(ErrorCode::Busy, "run {} changed while it was read", state.id);
}

Result<LiveRun*> RunEngine::revive(const RunRecord& record,
                                   std::shared_ptr<const FlowVersion> version,
                                   const std::vector<TaskRecord>& tasks) {
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

}  // namespace baton::master
