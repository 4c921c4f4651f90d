#include "master/flow/run_engine.h"

#include <algorithm>

#include "common/base/log.h"
#include "flow/definition/resolve_task.h"
#include "flow/definition/run_size.h"
#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

constexpr size_t kRunTextBytesMax = 4'096;

// How a run ends whose end was asked for, if not all of its tasks had ended well by then.
RunStatus statusOf(RunReason asked) {
  return asked == RunReason::TaskFailed || asked == RunReason::Timeout ? RunStatus::Failed
                                                                       : RunStatus::Terminated;
}

std::string paramsText(const flow::ParamMap& params) {
  if (params.empty()) return {};
  Json json = Json::object();
  for (const auto& [name, value] : params) {
    json[name] = value ? Json(*value) : Json(nullptr);
  }
  return dumpJson(json);
}

// The task's policy with what it counts against. Equal for all runs of a flow, so that they share
// one text, and what one of them runs counts for the others.
TaskPolicy policyOf(const LiveRun& run, const flow::TaskNode& node) {
  TaskPolicy policy = node.policy;
  if (!node.hasRunner()) return policy;
  const flow::FlowSpec& spec = run.version->spec;
  TaskLimitsScope& scope = policy.scope;
  scope.group = node.group;
  if (!node.group.empty()) scope.weight = node.weight;
  scope.flow = run.record.flow;
  scope.user = !spec.owner.empty() ? spec.owner : run.record.principal;
  if (node.window) scope.window = flow::formatDayWindow(*node.window);
  if (spec.window) scope.flow_window = flow::formatDayWindow(*spec.window);
  if (node.window || spec.window) scope.time_zone = spec.timezone;
  return policy;
}

}  // namespace

RunEngine::RunEngine(TermContext& context, FlowState& flows, TaskEngine& tasks, EventDesk& events,
                     ReadWorker& reads, IdAllocator& run_ids, RunWatcher& watcher)
    : context_(context),
      flows_(flows),
      tasks_(tasks),
      events_(events),
      reads_(reads),
      run_ids_(run_ids),
      watcher_(watcher) {}

LiveTask* RunEngine::taskOf(const LiveRun& run, NodeIndex node) const {
  const TaskId id = run.tasks.empty() ? 0 : run.tasks[node];
  return id == 0 ? nullptr : context_.live.findTask(id);
}

LiveFlow& RunEngine::flowOf(const LiveRun& run) {
  LiveFlow* flow = flows_.findFlow(nameKey(run.record.flow));
  CHECK(flow != nullptr);  // Deleted flows are kept.
  return *flow;
}

flow::PlaceholderContext RunEngine::contextOf(const LiveRun& run, const flow::TaskNode& node,
                                              flow::ParamMap& upstream) const {
  for (const auto& [name, task] : node.upstream) {
    const auto outputs = run.outputs.find(task);
    if (outputs == run.outputs.end()) continue;
    const auto value = outputs->second.find(name);
    if (value != outputs->second.end()) upstream[name] = value->second;
  }
  flow::PlaceholderContext context;
  context.task = node.name;
  context.at(flow::ParamLevel::Task) = &node.params;
  context.at(flow::ParamLevel::Upstream) = &upstream;
  context.plan_time = run.record.plan_time;
  context.zone = run.version->zone;
  const WallTime previous = run.record.state.prev_success;
  if (previous != WallTime{}) context.prev_success_time = previous;
  context.flow = run.record.flow;
  context.run_id = std::to_string(run.record.state.id);
  context.at(flow::ParamLevel::Startup) = &run.params;
  context.at(flow::ParamLevel::Flow) = &run.version->spec.params;
  context.at(flow::ParamLevel::Project) = &run.project;
  context.outputs = &run.outputs;
  context.output_notes = &run.output_notes;
  return context;
}

// ----------------------------------------------------------------------------------- entry

RunRecord RunEngine::start(Operation& operation, const RunStart& what) {
  RunRecord row;
  {
    const Turn turn(*this, operation);
    row = add(operation, what);
  }
  // It may be over already.
  for (const RunState& state : operation.changes.run_states) {
    if (state.id == row.state.id) row.state = state;
  }
  return row;
}

RunRecord RunEngine::add(Operation& operation, const RunStart& what) {
  LiveFlow* flow = flows_.findFlow(what.flow);
  CHECK(flow != nullptr && flows_.newestOf(*flow) != nullptr);
  LiveRun run;
  run.version = flow->newest;
  run.params = what.params;
  if (!run.version->spec.project_params.empty()) {
    run.project = flow::usedOf(run.version->spec, *flows_.params.values());
  }
  RunRecord& record = run.record;
  const RunId id = record.state.id = run_ids_.take(operation);
  record.flow = flow->record.name;
  record.version = flow->newest->number;
  record.trigger = what.trigger;
  record.trigger_key = what.trigger_key.empty() ? std::to_string(id) : what.trigger_key;
  record.plan_time = what.plan_time;
  record.params = paramsText(what.params);
  record.project_params = paramsText(run.project);
  record.parent_run = what.parent_run;
  record.parent_task = what.parent_task;
  record.backfill = what.backfill;
  record.compensates = what.compensates;
  record.principal = what.principal;
  record.created_at = context_.clock.wallNow();
  record.state.priority = what.priority.value_or(flow->newest->spec.priority);
  const WallTime due = dueAtOf(*run.version, record.plan_time);
  if (due > record.created_at || !isOfThePast(record)) record.state.due_at = due;
  enterTree(run);
  RunRecord row = record;
  operation.touchRun(id);
  operation.changes.new_runs.push_back(record);
  events_.onRunMoved(operation, record);
  refill(run_ids_);
  LiveRun& live = flows_.runs.emplace(id, std::move(run)).first->second;
  armDeadline(live);  // Also while it waits.
  admit(operation, live);
  return row;
}

void RunEngine::refill(IdAllocator& ids) {
  const auto post = [this](std::function<void()> event) {
    context_.dispatcher.post(std::move(event));
  };
  if (auto refilled = ids.refill(post)) context_.writer.submit(std::move(*refilled));
}

std::vector<RunRecord> RunEngine::startAll(Operation& operation, const std::vector<RunStart>& all) {
  const Turn turn(*this, operation);
  std::vector<RunRecord> rows;
  rows.reserve(all.size());
  for (const RunStart& what : all) rows.push_back(add(operation, what));
  return rows;
}

// ----------------------------------------------------------------------------------- progress

bool RunEngine::canBegin(const LiveRun& run) const {
  return run.progress || context_.task_ids.available() >= run.version->spec.tasks.size();
}

void RunEngine::begin(Operation& operation, LiveRun& run) {
  RunState& state = run.record.state;
  if (!canBegin(run)) {
    unbegun_.push_back(state.id);
    return retryLater();
  }
  if (!hasRoom()) return leaveForLater({.what = Step::What::Begin, .run = state.id});
  if (!run.progress && !looksBack(operation, run)) return;
  spend(run.version->spec.tasks.size());
  state.status = RunStatus::Running;
  if (state.started_at == WallTime{}) {
    state.started_at = std::max(context_.clock.wallNow(), run.record.created_at);
  }
  operation.store(state, run.record.flow);
  events_.onRunMoved(operation, run.record);
  armTimers(run);
  logInfo("run_begun", field("run", state.id), field("flow", run.record.flow),
          field("tasks", run.version->spec.tasks.size()), field("epoch", context_.epoch()));
  if (run.progress) return letReadyGo(operation, run);  // Tasks of it run again.
  run.progress.emplace(run.version->graph);
  const flow::FlowSpec& spec = run.version->spec;
  run.makeNodes();
  for (NodeIndex i = 0; i < spec.tasks.size(); ++i) {
    const flow::TaskNode& node = spec.tasks[i];
    const LiveTask& task =
        tasks_.addNode(operation, {.run = state.id,
                                   .flow = run.record.flow,
                                   .node = i,
                                   .name = node.name,
                                   .kind = node.kind,
                                   .policy = policyOf(run, node),
                                   .priority = node.priority.value_or(state.priority),
                                   .tags = node.tags,
                                   .hold = node.hold,
                                   .no_runner = !node.hasRunner(),
                                   .ignore_failure = node.ignore_failure});
    run.tasks[i] = task.state.id;
  }
  apply(operation, run, run.progress->start());
}

void RunEngine::apply(Operation& operation, LiveRun& run, const RunEffects& effects) {
  spend(effects.skipped.size());
  for (const NodeIndex node : effects.skipped) {
    LiveTask* task = taskOf(run, node);
    if (task == nullptr) continue;
    const SkipReason why = run.progress->skippedFor(node);
    tasks_.skipNode(operation, *task, failureReasonOf(why),
                    skipText(*run.version, *run.progress, node));
  }
  for (const NodeIndex node : effects.ready) letGo(operation, run, node);
}

void RunEngine::letReadyGo(Operation& operation, LiveRun& run) {
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    if (run.progress->state(node) == NodeState::Ready) letGo(operation, run, node);
  }
}

void RunEngine::letGo(Operation& operation, LiveRun& run, NodeIndex node) {
  LiveTask* task = taskOf(run, node);
  if (task == nullptr || !task->part->gated || run.record.state.status != RunStatus::Running) {
    return;
  }
  if (task->state.status != TaskStatus::Created) return TaskEngine::releaseGate(*task);
  if (!hasRoom()) {
    return leaveForLater({.what = Step::What::LetGo, .run = run.record.state.id, .node = node});
  }
  spend(resolvingCost(run, node));
  const flow::TaskNode& spec = run.version->spec.tasks[node];
  flow::ParamMap upstream;
  const flow::PlaceholderContext context = contextOf(run, spec, upstream);
  if (const auto& when = run.version->when[node]) {
    const Result<bool> holds = when->evaluate(context);
    if (!holds.ok()) {
      return tasks_.failSpec(operation, *task, fmt::format("when: {}", holds.error().message()));
    }
    if (!*holds) {
      return tasks_.skipNode(operation, *task, FailureReason::WhenFalse,
                             fmt::format("its condition does not hold: {}", spec.when));
    }
  }
  if (task->part->no_runner) return tasks_.letGo(operation, *task, {});
  // Not even resolved: all tasks of the run may stand here in one turn.
  if (const Status room = roomOf(run); !room.ok()) {
    return tasks_.failSpec(operation, *task, room.error().message());
  }
  const auto resolved = flow::resolveTask(spec, context);
  const auto submission =
      resolved.ok() ? flow::taskSpecOf(*resolved, context) : Result<TaskSpec>(resolved.error());
  if (!submission.ok()) {
    return tasks_.failSpec(operation, *task, submission.error().told());
  }
  const std::string text = dumpJson(runPartToJson(*submission));
  if (const Status room = takeRoom(run, node, text); !room.ok()) {
    return tasks_.failSpec(operation, *task, room.error().message());
  }
  spend(text.size() / kBytesPerUnit);
  tasks_.letGo(operation, *task, text);
}

Status RunEngine::takeRoom(LiveRun& run, NodeIndex node, const std::string& text) const {
  RETURN_IF_ERROR(dao::checkSpecFits(text, context_.writer.rowBytesMax()));
  // Behind a pause, or when it runs again, its text takes the place of the one before.
  run.spec_bytes_all -= run.spec_bytes[node];
  run.spec_bytes[node] = static_cast<uint32_t>(text.size());
  run.spec_bytes_all += text.size();
  return roomOf(run);
}

Status RunEngine::roomOf(const LiveRun& run) {
  if (run.spec_bytes_all <= flow::kRunBytesMax) return {};
  return Error::make(ErrorCode::TooLarge,
                     "the specifications of the tasks of this run come to over {} MB",
                     flow::kRunBytesMax / 1'048'576);
}

void RunEngine::onNodeFree(Operation& operation, LiveTask& task) {
  const Turn turn(*this, operation);
  LiveRun* run = flows_.findRun(task.part->run);
  CHECK(run != nullptr);
  carry(operation, *run, task, false);
}

void RunEngine::carry(Operation& operation, LiveRun& run, LiveTask& task, bool again) {
  const flow::TaskNode& spec = run.version->spec.tasks[task.part->node];
  if (spec.kind == "noop") return tasks_.done(operation, task, FailureReason::None, {});
  const bool part = spec.kind == "flow";
  if (part && again) {
    if (flows_.sub_runs.contains(task.state.id)) return;
    // Its end and that of its run are one: the run that it had before was still looked for.
    if (task.state.status == TaskStatus::Terminating) return tasks_.stopped(operation, task);
    return lookUpPart(operation, run, task);
  }
  flow::ParamMap upstream;
  const auto resolved = flow::resolveTask(spec, contextOf(run, spec, upstream));
  if (!resolved.ok() && !again) {
    return tasks_.failSpec(operation, task, resolved.error().told());
  }
  if (!resolved.ok()) {
    return tasks_.done(operation, task, FailureReason::BadSpec, resolved.error().told());
  }
  if (part) {
    const std::string params = paramsText(resolved->params);
    if (const Status room = takeRoom(run, task.part->node, params); !room.ok()) {
      return tasks_.failSpec(operation, task, "params: " + room.error().message());
    }
  }
  if (again && task.state.status == TaskStatus::Terminating) return tasks_.stopped(operation, task);
  const bool first = task.state.attempt == 0;
  // The passes of a sub-flow are counted by whoever orders them.
  if (!again) tasks_.begin(operation, task, !part || first);
  if (spec.kind == "event") {
    if (run.version->self_waits.contains(task.part->node)) freed_.insert(nameKey(run.record.flow));
    return events_.wait(operation, task, resolved->event, run.record.plan_time, run.version->zone);
  }
  if (!first) return lookUpPart(operation, run, task);
  startSubFlow(operation, run, task, *resolved);
}

void RunEngine::onNodeEnded(Operation& operation, NodeEnd end) {
  ended_.push_back(std::move(end));
  const Turn turn(*this, operation);
}

void RunEngine::finishTurn(Operation& operation) {
  while (true) {
    if (!ended_.empty()) {
      std::vector<NodeEnd> ended;
      std::swap(ended, ended_);
      for (NodeEnd& end : ended) take(operation, end);
    } else if (!freed_.empty()) {
      const std::string key = std::move(freed_.extract(freed_.begin()).value());
      fillPlaces(operation, key);
    } else {
      return;
    }
  }
}

void RunEngine::take(Operation& operation, NodeEnd& end) {
  LiveRun* run = flows_.findRun(end.run);
  if (run == nullptr || !run->progress) return;
  carryOn(operation, *run);
  if (end.task != 0) {
    events_.forget(end.task);
    const flow::TaskNode& spec = run->version->spec.tasks[end.node];
    if (end.status == TaskStatus::Finished) {
      run->outputs[spec.name] = std::move(end.outputs);
      if (!end.text.empty()) run->output_notes[spec.name] = std::move(end.text);
    }
    if (end.unproven) run->unproven.insert(end.node);
    const NodeState state = nodeStateOf(end.status, spec.ignore_failure);
    const RunEffects effects =
        run->progress->state(end.node) == NodeState::Waiting
            ? run->progress->endEarly(end.node, state)
            : run->progress->onEnded(end.node, state, skipReasonOf(end.reason));
    events_.onNodeEnded(operation, *run, end);
    RunState& at = run->record.state;
    if (state == NodeState::Failed && at.reason == RunReason::None) {
      at.reason_text =
          truncateUtf8(fmt::format("task {} (id {}) failed: {}{}{}", spec.name, end.task,
                                   toString(end.reason), end.text.empty() ? "" : ": ", end.text),
                       kRunTextBytesMax);
    }
    const bool stop_rest = state == NodeState::Failed && run->version->spec.stop_on_failure &&
                           (at.status == RunStatus::Running || at.status == RunStatus::Paused);
    if (stop_rest) {
      at.status = RunStatus::Terminating;
      at.reason = RunReason::TaskFailed;
      operation.store(at, run->record.flow);
      // What this end would have let go begins no more than what waits.
      apply(operation, *run, run->progress->leaveOut(effects.ready));
      endTasks(operation, *run);
    }
    apply(operation, *run, effects);
  }
  // It may do nothing now but wait for a run of its own flow.
  if (!run->version->self_waits.empty()) freed_.insert(nameKey(run->record.flow));
  if (run->progress->unended() == 0) settle(operation, *run);
}

void RunEngine::endTasks(Operation& operation, LiveRun& run) {
  if (!hasRoom()) {
    return leaveForLater({.what = Step::What::EndTasks, .run = run.record.state.id});
  }
  spend(run.tasks.size());
  apply(operation, run, {{}, run.progress->stopRest().skipped});
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    LiveTask* task = taskOf(run, node);
    if (task == nullptr || run.progress->state(node) != NodeState::Ready) continue;
    const Status stopped = tasks_.stop(operation, *task, StopCause::Run,
                                       std::string(stopText(run.record.state.reason)));
    if (!stopped.ok()) logWarn("task_not_stopped", field("error", stopped.error().message()));
  }
  ended_.push_back({.run = run.record.state.id});  // All of it may have waited.
}

void RunEngine::settle(Operation& operation, LiveRun& run) {
  RunState& state = run.record.state;
  const RunEnd end = run.progress->end();
  if (end == RunEnd::Finished) {
    state.reason = RunReason::None;
    state.reason_text.clear();
    return finish(operation, run, RunStatus::Finished);
  }
  if (state.status == RunStatus::Terminating) return finish(operation, run, statusOf(state.reason));
  if (end == RunEnd::Failed) state.reason = RunReason::TaskFailed;
  if (state.reason_text.empty()) state.reason_text = whyNotFinished(run);
  finish(operation, run, end == RunEnd::Failed ? RunStatus::Failed : RunStatus::Terminated);
}

void RunEngine::finish(Operation& operation, LiveRun& run, RunStatus status) {
  RunState& state = run.record.state;
  state.status = status;
  state.finished_at = std::max({context_.clock.wallNow(), run.record.created_at, state.started_at});
  // A rerun may end with nothing to run, before its turn.
  if (run.progress && state.started_at == WallTime{}) state.started_at = state.finished_at;
  operation.store(state, run.record.flow);
  logInfo("run_ended", field("run", state.id), field("flow", run.record.flow),
          field("status", toString(status)), field("reason", toString(state.reason)),
          field("epoch", context_.epoch()));
  if (LiveFlow& flow = flowOf(run);
      status == RunStatus::Finished && run.record.plan_time > flow.record.last_success) {
    flow.record.last_success = run.record.plan_time;
    operation.store(flow.record);
  }
  operation.then([&metrics = context_.metrics, status] { metrics.runEnded(status); });
  noteEnd(operation, state.id);
  leavePlace(run);
  watcher_.onRunEnded(operation, run);
  events_.onRunEnded(operation, run);
  leaveBackfill(operation, run, status);
  leaveTree(run);
  const RunRecord record = std::move(run.record);
  const bool unproven = !run.unproven.empty();
  flows_.runs.erase(record.state.id);
  tellParent(operation, record, unproven);
}

}  // namespace baton::master
