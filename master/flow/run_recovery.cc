// What a takeover does to runs: they are read back, and what the last master left is done. And the
// clocks of runs, which every master starts anew.
#include <algorithm>

#include "common/base/duration_text.h"
#include "common/base/log.h"
#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

Result<flow::ParamMap> readParams(const std::string& text) {
  flow::ParamMap params;
  if (text.empty()) return params;
  ASSIGN_OR_RETURN(const Json json, parseJson(text));
  for (const auto& [name, value] : json.items()) {
    if (value.is_null()) {
      params[name] = std::nullopt;
    } else if (value.is_string()) {
      params[name] = value.get<std::string>();
    } else {
      return Error::make(ErrorCode::Corrupt, "the parameter {} is no text", name);
    }
  }
  return params;
}

}  // namespace

Status RunEngine::adopt(const RunRecord& record, std::shared_ptr<const FlowVersion> version) {
  LiveRun run;
  run.record = record;
  run.version = std::move(version);
  auto params = readParams(record.params);
  if (!params.ok()) {
    return Error(params.error()).withContext(fmt::format("run {}", record.state.id));
  }
  run.params = std::move(*params);
  auto project = readParams(record.project_params);
  if (!project.ok()) {
    return Error(project.error()).withContext(fmt::format("run {}", record.state.id));
  }
  run.project = std::move(*project);
  run.reached.resize(run.version->spec.tasks.size());
  flows_.runs.emplace(record.state.id, std::move(run));
  return {};
}

Status RunEngine::adoptTask(const TaskRecord& row) {
  LiveRun* run = flows_.findRun(row.run_id);
  const auto node = run == nullptr ? std::nullopt : run->version->find(row.name);
  if (!node) {
    return Error::make(ErrorCode::Corrupt, "task {}: run {} has no task {}", row.state.id,
                       row.run_id, row.name);
  }
  const flow::TaskNode& spec = run->version->spec.tasks[*node];
  if (run->tasks.empty()) run->makeNodes();
  run->tasks[*node] = row.state.id;
  if (isTerminal(row.state.status)) {
    run->reached[*node] = {nodeStateOf(row.state.status, row.state.ignored),
                           skipReasonOf(row.state.reason)};
    if (row.state.unproven) run->unproven.insert(*node);
    if (row.state.status == TaskStatus::Finished) {
      run->outputs[row.name] = readOutputs(row.outputs);
      const std::string note = outputNoteOf(row.state);
      if (!note.empty()) run->output_notes[row.name] = note;
    }
    return {};
  }
  LiveTask* task = context_.live.findTask(row.state.id);
  if (task == nullptr) {
    return Error::make(ErrorCode::Corrupt, "task {} of run {} is {} and not live", row.state.id,
                       row.run_id, toString(row.state.status));
  }
  // What it needs may run again by now, or have ended otherwise: what has begun goes on.
  if (row.state.status != TaskStatus::Created) run->reached[*node].state = NodeState::Ready;
  auto part = std::make_unique<NodePart>();
  part->run = row.run_id;
  part->node = *node;
  part->gated =
      row.state.status == TaskStatus::Created || run->record.state.status == RunStatus::Paused;
  part->no_runner = !spec.hasRunner();
  part->ignore_failure = spec.ignore_failure;
  part->outputs = readOutputs(row.outputs);
  tasks_.adoptPart(*task, std::move(part));
  return {};
}

void RunEngine::endAdoption() {
  std::vector<RunId> ids;
  for (const auto& [id, run] : flows_.runs) ids.push_back(id);
  std::sort(ids.begin(), ids.end());  // Whoever a run is a part of comes before it.
  for (const RunId id : ids) {
    LiveRun& run = *flows_.findRun(id);
    enterTree(run);
    linkToParent(run);
    run.owed.emplace();
    if (run.tasks.empty()) continue;
    run.progress.emplace(run.version->graph);
    run.owed = run.progress->restore(run.reached);
    run.reached = {};
  }
}

void RunEngine::carryOn() {
  open_ = true;
  std::vector<RunId> ids;
  for (const auto& [id, run] : flows_.runs) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  // Places first: nobody may take one that belongs to a run further on.
  for (const RunId id : ids) {
    LiveRun& run = *flows_.findRun(id);
    const RunRecord& record = run.record;
    const auto backfill = flows_.backfills.find(record.backfill);
    const bool of_backfill = record.backfill != 0 && backfill != flows_.backfills.end();
    const bool waits = record.state.status == RunStatus::Waiting;
    if (of_backfill && waits && record.state.reruns == 0) {
      backfill->second.rest.push_back(id);
      continue;
    }
    if (of_backfill) backfill->second.offered.insert(id);
    if (record.parent_run != 0) continue;
    if (waits) {
      enqueue(run);
    } else {
      flowOf(run).running.insert(id);
    }
  }
  for (auto& [id, backfill] : flows_.backfills) offer(backfill);
  for (const RunId id : ids) leaveForLater({.what = Step::What::CarryOn, .run = id});
  Operation operation;
  {
    const Turn turn(*this, operation);
    for (const auto& [key, flow] : flows_.flows) {
      if (!flow.waiting.empty()) freed_.insert(key);
    }
  }
  context_.writer.submit(std::move(operation));
}

void RunEngine::carryOn(Operation& operation, LiveRun& run) {
  if (!run.owed) return;
  const RunEffects effects = std::move(*run.owed);
  run.owed.reset();
  const RunStatus status = run.record.state.status;
  const RunId id = run.record.state.id;
  spend(run.tasks.size() / 16);
  apply(operation, run, {{}, effects.skipped});
  if (status == RunStatus::Waiting) {
    armDeadline(run);
    if (run.record.parent_run != 0) begin(operation, run);
    return;
  }
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    if (run.progress->state(node) != NodeState::Ready) continue;
    if (LiveTask* task = taskOf(run, node)) carryAgain(operation, run, *task);
  }
  if (status == RunStatus::Terminating) {
    endTasks(operation, run);
  } else if (status == RunStatus::Running) {
    letReadyGo(operation, run);
  }
  // All tasks may have ended with nobody to see what that means.
  if (run.progress->unended() == 0) ended_.push_back({.run = id});
  armTimers(run);
}

void RunEngine::carryAgain(Operation& operation, LiveRun& run, LiveTask& task) {
  const TaskStatus at = task.state.status;
  const bool carried = at == TaskStatus::Running || at == TaskStatus::Terminating;
  if (!carried || !task.part->no_runner || task.attempt) return;
  const NodeIndex node = task.part->node;
  if (!hasRoom()) {
    return leaveForLater({.what = Step::What::Carry, .run = run.record.state.id, .node = node});
  }
  spend(resolvingCost(run, node));
  carry(operation, run, task, true);
}

// ----------------------------------------------------------------------------------- time

bool RunEngine::isOfThePast(const RunRecord& record) const {
  if (const LiveRun* parent = flows_.findRun(record.parent_run)) return isOfThePast(parent->record);
  return record.trigger == RunTrigger::Manual || record.trigger == RunTrigger::Backfill ||
         (record.compensates && !record.principal.empty());
}

void RunEngine::armTimers(LiveRun& run) {
  const RunState& state = run.record.state;
  const uint32_t generation = ++run.timeout_generation;
  const Micros timeout = run.version->spec.timeout;
  if (timeout.count() > 0 && state.started_at != WallTime{}) {
    // From here on by the clock that nobody sets.
    const Micros left = std::clamp<Micros>(state.started_at + timeout - context_.clock.wallNow(),
                                           Micros(0), timeout);
    context_.dispatcher.callAt(context_.clock.bootNow() + left,
                               [this, id = state.id, generation] { onTimeout(id, generation); });
  }
  armDeadline(run);
}

void RunEngine::armDeadline(LiveRun& run) {
  const RunState& state = run.record.state;
  const uint32_t generation = ++run.deadline_generation;
  if (state.due_at == WallTime{} || state.late) return;
  const Micros left = std::max<Micros>(Micros(0), state.due_at - context_.clock.wallNow());
  context_.dispatcher.callAt(context_.clock.bootNow() + left,
                             [this, id = state.id, generation] { onDeadline(id, generation); });
}

void RunEngine::onWallClockStep() {
  for (auto& [id, run] : flows_.runs) armDeadline(run);
}

void RunEngine::onTimeout(RunId id, uint32_t generation) {
  LiveRun* run = flows_.findRun(id);
  if (run == nullptr || run->timeout_generation != generation) return;
  const RunStatus status = run->record.state.status;
  if (status != RunStatus::Running && status != RunStatus::Paused) return;
  const Micros timeout = run->version->spec.timeout;
  Operation operation;
  const Status stopped =
      stop(operation, *run, RunReason::Timeout,
           fmt::format("not done within {}",
                       formatDuration(std::chrono::duration_cast<Millis>(timeout))));
  if (!stopped.ok()) logWarn("run_not_stopped", field("error", stopped.error().message()));
  context_.writer.submit(std::move(operation));
}

void RunEngine::onDeadline(RunId id, uint32_t generation) {
  LiveRun* run = flows_.findRun(id);
  if (run == nullptr || run->deadline_generation != generation) return;
  RunState& state = run->record.state;
  // A deadline is a time of day: the clock may have been set back meanwhile.
  if (context_.clock.wallNow() < state.due_at) return armDeadline(*run);
  state.late = true;
  logWarn("run_late", field("run", id), field("flow", run->record.flow),
          field("due_at", formatRfc3339(state.due_at)));
  Operation operation;
  operation.store(state, run->record.flow);
  context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
