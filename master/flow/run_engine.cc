#include "master/flow/run_engine.h"

#include <algorithm>

#include "common/base/log.h"
#include "flow/definition/resolve_task.h"
#include "master/flow/node_words.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

constexpr size_t kRunTextBytesMax = 4'096;
constexpr int kSubFlowDepthMax = 10;

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

std::map<std::string, std::string> readOutputs(const std::string& text) {
  std::map<std::string, std::string> outputs;
  const auto json = text.empty() ? Result<Json>(Json::object()) : parseJson(text);
  if (!json.ok()) return outputs;
  for (const auto& [key, value] : json->items()) {
    if (value.is_string()) outputs[key] = value.get<std::string>();
  }
  return outputs;
}

}  // namespace

RunEngine::RunEngine(TermContext& context, FlowState& flows, TaskEngine& tasks, EventDesk& events,
                     IdAllocator& run_ids, RunWatcher& watcher)
    : context_(context),
      flows_(flows),
      tasks_(tasks),
      events_(events),
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

flow::PlaceholderContext RunEngine::contextOf(const LiveRun& run) const {
  flow::PlaceholderContext context;
  context.plan_time = run.record.plan_time;
  context.zone = run.version->zone;
  if (run.record.prev_success != WallTime{}) context.prev_success_time = run.record.prev_success;
  context.flow = run.record.flow;
  context.run_id = std::to_string(run.record.state.id);
  context.at(flow::ParamLevel::Startup) = &run.params;
  context.at(flow::ParamLevel::Flow) = &run.version->spec.params;
  context.outputs = &run.outputs;
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
  RunRecord& record = run.record;
  const RunId id = record.state.id = run_ids_.take();
  record.flow = flow->record.name;
  record.version = flow->newest->number;
  record.trigger = what.trigger;
  record.trigger_key = what.trigger_key.empty() ? std::to_string(id) : what.trigger_key;
  record.plan_time = what.plan_time;
  record.prev_success = flow->record.last_success;
  record.params = paramsText(what.params);
  record.parent_run = what.parent_run;
  record.parent_task = what.parent_task;
  record.backfill = what.backfill;
  record.compensates = what.compensates;
  record.principal = what.principal;
  record.created_at = context_.clock.wallNow();
  record.state.priority = what.priority.value_or(flow->newest->spec.priority);
  RunRecord row = record;
  operation.touchRun(id);
  operation.changes.new_runs.push_back(record);
  admit(operation, flows_.runs.emplace(id, std::move(run)).first->second);
  return row;
}

Status RunEngine::adopt(const RunRecord& record, std::shared_ptr<const FlowVersion> version) {
  LiveRun run;
  run.record = record;
  run.version = std::move(version);
  auto params = readParams(record.params);
  if (!params.ok()) {
    return Error(params.error()).withContext(fmt::format("run {}", record.state.id));
  }
  run.params = std::move(*params);
  run.reached.resize(run.version->spec.tasks.size());
  if (record.parent_task != 0) flows_.sub_runs[record.parent_task] = record.state.id;
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
  if (run->tasks.empty()) run->tasks.resize(run->reached.size());
  run->tasks[*node] = row.state.id;
  if (isTerminal(row.state.status)) {
    run->reached[*node] = {nodeStateOf(row.state.status, row.state.ignored),
                           skipReasonOf(row.state.reason)};
    if (row.state.status == TaskStatus::Finished) {
      run->outputs[row.name] = readOutputs(row.outputs);
    }
    return {};
  }
  LiveTask* task = context_.live.findTask(row.state.id);
  if (task == nullptr) {
    return Error::make(ErrorCode::Corrupt, "task {} of run {} is {} and not live", row.state.id,
                       row.run_id, toString(row.state.status));
  }
  auto part = std::make_unique<NodePart>();
  part->run = row.run_id;
  part->node = *node;
  part->gated = row.state.status == TaskStatus::Created ||
                run->record.state.status == RunStatus::Paused;
  part->no_runner = !spec.hasRunner();
  part->ignore_failure = spec.ignore_failure;
  part->outputs = readOutputs(row.outputs);
  tasks_.adoptPart(*task, std::move(part));
  return {};
}

void RunEngine::carryOn() {
  std::vector<RunId> ids;
  for (const auto& [id, run] : flows_.runs) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  // Places first: nobody may take one that belongs to a run further on.
  for (const RunId id : ids) {
    LiveRun& run = *flows_.findRun(id);
    const RunRecord& record = run.record;
    const auto backfill = flows_.backfills.find(record.backfill);
    const bool of_backfill = record.backfill != 0 && backfill != flows_.backfills.end();
    if (record.state.status != RunStatus::Waiting) {
      if (record.parent_run == 0) flowOf(run).running.insert(id);
      if (of_backfill) backfill->second.offered.insert(id);
    } else if (of_backfill && record.state.reruns == 0) {
      backfill->second.rest.push_back(id);
    } else if (record.parent_run == 0) {
      enqueue(run);
    }
  }
  for (auto& [id, backfill] : flows_.backfills) offer(backfill);
  for (const RunId id : ids) {
    LiveRun* run = flows_.findRun(id);
    if (run == nullptr) continue;
    Operation operation;
    {
      const Turn turn(*this, operation);
      carryOn(operation, *run);
    }
    context_.writer.submit(std::move(operation));
  }
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
  const RunStatus status = run.record.state.status;
  const RunId id = run.record.state.id;
  RunEffects effects;
  if (!run.tasks.empty()) {
    run.progress.emplace(run.version->graph);
    effects = run.progress->restore(run.reached);
    run.reached = {};
    apply(operation, run, {{}, effects.skipped});
  }
  if (status == RunStatus::Waiting) {
    if (run.record.parent_run != 0) begin(operation, run);
    return;
  }
  for (const NodeIndex node : effects.ready) {
    LiveTask* task = taskOf(run, node);
    if (task == nullptr || !task->part->no_runner || task->attempt) continue;
    const TaskStatus at = task->state.status;
    if (at == TaskStatus::Running || at == TaskStatus::Terminating) {
      carry(operation, run, *task, true);
    }
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

// ----------------------------------------------------------------------------------- progress

bool RunEngine::canBegin(const LiveRun& run) const {
  return run.progress || context_.task_ids.available() >= run.version->spec.tasks.size();
}

void RunEngine::begin(Operation& operation, LiveRun& run) {
  if (!canBegin(run)) {
    unbegun_.push_back(run.record.state.id);
    return retryLater();
  }
  RunState& state = run.record.state;
  state.status = RunStatus::Running;
  if (state.started_at == WallTime{}) {
    state.started_at = std::max(context_.clock.wallNow(), run.record.created_at);
  }
  state.due_at = dueAtOf(*run.version, run.record.plan_time);
  operation.store(state);
  armTimers(run);
  logInfo("run_begun", field("run", state.id), field("flow", run.record.flow),
          field("tasks", run.version->spec.tasks.size()), field("epoch", context_.epoch()));
  if (run.progress) return letReadyGo(operation, run);  // Tasks of it run again.
  run.progress.emplace(run.version->graph);
  const flow::FlowSpec& spec = run.version->spec;
  run.tasks.resize(spec.tasks.size());
  for (NodeIndex i = 0; i < spec.tasks.size(); ++i) {
    const flow::TaskNode& node = spec.tasks[i];
    const LiveTask& task = tasks_.addNode(
        operation,
        {.run = state.id,
         .node = i,
         .name = node.name,
         .kind = node.kind,
         .policy = node.policy,
         .priority = node.priority == Priority::Normal ? state.priority : node.priority,
         .tags = node.tags,
         .hold = node.hold,
         .no_runner = !node.hasRunner(),
         .ignore_failure = node.ignore_failure});
    run.tasks[i] = task.state.id;
  }
  apply(operation, run, run.progress->start());
}

void RunEngine::apply(Operation& operation, LiveRun& run, const RunEffects& effects) {
  for (const NodeIndex node : effects.skipped) {
    LiveTask* task = taskOf(run, node);
    if (task == nullptr) continue;
    const SkipReason why = run.progress->skipReason(node);
    tasks_.skipNode(operation, *task, failureReasonOf(why), skipText(run, node));
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
  const flow::TaskNode& spec = run.version->spec.tasks[node];
  flow::PlaceholderContext context = contextOf(run);
  context.task = spec.name;
  context.at(flow::ParamLevel::Task) = &spec.params;
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
  const auto resolved = flow::resolveTask(spec, context);
  const auto submission = resolved.ok() ? flow::taskSpecOf(*resolved, context)
                                        : Result<TaskSpec>(resolved.error());
  if (!submission.ok()) {
    const Error& error = submission.error();
    return tasks_.failSpec(operation, *task,
                           error.field().empty()
                               ? error.message()
                               : fmt::format("{}: {}", error.field(), error.message()));
  }
  tasks_.letGo(operation, *task, dumpJson(runPartToJson(*submission)));
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
  if (spec.kind == "flow" && again) {
    // Its run and it were changed together: a run that is gone never was.
    const auto sub_run = flows_.sub_runs.find(task.state.id);
    if (sub_run != flows_.sub_runs.end()) return;
    return tasks_.done(operation, task, FailureReason::SubFlowFailed, "its run is gone");
  }
  if (spec.kind == "flow" && run_ids_.available() == 0) {
    unstarted_.push_back(task.state.id);
    return retryLater();
  }
  const auto resolved = flow::resolveTask(spec, contextOf(run));
  if (!resolved.ok() && !again) {
    return tasks_.failSpec(
        operation, task,
        fmt::format("{}: {}", resolved.error().field(), resolved.error().message()));
  }
  if (!resolved.ok()) {
    return tasks_.done(operation, task, FailureReason::BadSpec, resolved.error().message());
  }
  if (again && task.state.status == TaskStatus::Terminating) return tasks_.stopped(operation, task);
  if (!again) tasks_.begin(operation, task);
  if (spec.kind == "event") {
    return events_.wait(operation, task, resolved->event, run.record.plan_time, run.version->zone);
  }
  startSubFlow(operation, run, task, *resolved);
}

void RunEngine::startSubFlow(Operation& operation, LiveRun& run, LiveTask& task,
                             const flow::TaskNode& resolved) {
  const std::string key = nameKey(resolved.flow);
  LiveFlow* flow = flows_.findFlow(key);
  if (flow == nullptr || flows_.newestOf(*flow) == nullptr) {
    return tasks_.done(operation, task, FailureReason::SubFlowFailed,
                       fmt::format("there is no flow {}", resolved.flow));
  }
  int depth = 1;
  for (const LiveRun* above = &run; above != nullptr && depth <= kSubFlowDepthMax;
       above = flows_.findRun(above->record.parent_run)) {
    ++depth;
  }
  if (depth > kSubFlowDepthMax) {
    return tasks_.done(operation, task, FailureReason::SubFlowFailed,
                       fmt::format("flows lie within each other more than {} deep",
                                   kSubFlowDepthMax));
  }
  const TaskId id = task.state.id;
  start(operation, {.flow = key,
                    .trigger = RunTrigger::SubFlow,
                    .trigger_key = fmt::format("{}/{}", id, task.state.attempt),
                    .plan_time = run.record.plan_time,
                    .params = resolved.params,
                    .priority = run.record.state.priority,
                    .parent_run = run.record.state.id,
                    .parent_task = id,
                    .principal = run.record.principal});
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
  if (end.task != 0) {
    events_.forget(end.task);
    const flow::TaskNode& spec = run->version->spec.tasks[end.node];
    if (end.status == TaskStatus::Finished) run->outputs[spec.name] = std::move(end.outputs);
    const NodeState state = nodeStateOf(end.status, spec.ignore_failure);
    const RunEffects effects =
        run->progress->state(end.node) == NodeState::Waiting
            ? run->progress->endEarly(end.node, state)
            : run->progress->onEnded(end.node, state, skipReasonOf(end.reason));
    events_.onNodeEnded(operation, *run, end);
    RunState& at = run->record.state;
    if (state == NodeState::Failed && at.reason == RunReason::None) {
      at.reason_text = truncateUtf8(
          fmt::format("task {} (id {}) failed: {}", spec.name, end.task, toString(end.reason)),
          kRunTextBytesMax);
    }
    const bool stop_rest = state == NodeState::Failed && run->version->spec.stop_on_failure &&
                           (at.status == RunStatus::Running || at.status == RunStatus::Paused);
    if (stop_rest) {
      at.status = RunStatus::Terminating;
      at.reason = RunReason::TaskFailed;
      operation.store(at);
      endTasks(operation, *run);
    }
    apply(operation, *run, effects);
  }
  if (run->progress->unended() == 0) settle(operation, *run);
}

void RunEngine::endTasks(Operation& operation, LiveRun& run) {
  apply(operation, run, {{}, run.progress->stopRest().skipped});
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    LiveTask* task = taskOf(run, node);
    if (task == nullptr || run.progress->state(node) != NodeState::Ready) continue;
    const Status stopped = tasks_.stop(operation, *task, StopCause::Run);
    if (!stopped.ok()) logWarn("task_not_stopped", field("error", stopped.error().message()));
  }
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
  finish(operation, run, end == RunEnd::Failed ? RunStatus::Failed : RunStatus::Terminated);
}

void RunEngine::finish(Operation& operation, LiveRun& run, RunStatus status) {
  RunState& state = run.record.state;
  state.status = status;
  state.finished_at = std::max({context_.clock.wallNow(), run.record.created_at, state.started_at});
  operation.store(state);
  logInfo("run_ended", field("run", state.id), field("flow", run.record.flow),
          field("status", toString(status)), field("reason", toString(state.reason)),
          field("epoch", context_.epoch()));
  if (LiveFlow& flow = flowOf(run);
      status == RunStatus::Finished && run.record.plan_time > flow.record.last_success) {
    flow.record.last_success = run.record.plan_time;
    operation.store(flow.record);
  }
  leavePlace(run);
  watcher_.onRunEnded(operation, run);
  events_.onRunEnded(operation, run);
  leaveBackfill(operation, run, status);
  const RunRecord record = std::move(run.record);
  flows_.runs.erase(record.state.id);
  tellParent(operation, record);
}

void RunEngine::tellParent(Operation& operation, const RunRecord& record) {
  if (record.parent_task == 0) return;
  const auto link = flows_.sub_runs.find(record.parent_task);
  if (link == flows_.sub_runs.end() || link->second != record.state.id) return;  // It ran again.
  flows_.sub_runs.erase(link);
  LiveTask* task = context_.live.findTask(record.parent_task);
  if (task == nullptr || task->attempt) return;
  if (record.state.status == RunStatus::Finished) {
    return tasks_.done(operation, *task, FailureReason::None, {});
  }
  if (task->state.status == TaskStatus::Terminating) return tasks_.stopped(operation, *task);
  tasks_.done(operation, *task, FailureReason::SubFlowFailed,
              fmt::format("run {} of {} ended {}{}{}", record.state.id, record.flow,
                          toString(record.state.status),
                          record.state.reason_text.empty() ? "" : ": ", record.state.reason_text));
}

void RunEngine::onNodeStopAsked(Operation& operation, LiveTask& task) {
  const Turn turn(*this, operation);
  const auto link = flows_.sub_runs.find(task.state.id);
  LiveRun* sub_run = link == flows_.sub_runs.end() ? nullptr : flows_.findRun(link->second);
  if (sub_run == nullptr) return tasks_.stopped(operation, task);
  const Status asked = stop(operation, *sub_run, RunReason::StopAsked);
  if (!asked.ok()) logWarn("run_not_stopped", field("error", asked.error().message()));
}

// ----------------------------------------------------------------------------------- time

void RunEngine::armTimers(LiveRun& run) {
  ++run.timer_generation;
  const RunState& state = run.record.state;
  const WallTime wall = context_.clock.wallNow();
  const BootTime now = context_.clock.bootNow();
  const auto call = [&, id = state.id, generation = run.timer_generation](Micros wait) {
    context_.dispatcher.callAt(now + wait, [this, id, generation] { onTimer(id, generation); });
  };
  const Micros timeout = run.version->spec.timeout;
  if (timeout.count() > 0 && state.started_at != WallTime{}) {
    call(std::clamp<Micros>(state.started_at + timeout - wall, Micros(0), timeout));
  }
  if (state.due_at != WallTime{} && !state.late) {
    call(std::max<Micros>(Micros(0), state.due_at - wall));
  }
}

void RunEngine::onTimer(RunId id, uint32_t generation) {
  LiveRun* run = flows_.findRun(id);
  if (run == nullptr || run->timer_generation != generation) return;
  RunState& state = run->record.state;
  const WallTime now = context_.clock.wallNow();
  const Micros timeout = run->version->spec.timeout;
  Operation operation;
  if (state.due_at != WallTime{} && !state.late && now >= state.due_at) {
    state.late = true;
    operation.store(state);
    logWarn("run_late", field("run", id), field("flow", run->record.flow),
            field("due_at", formatRfc3339(state.due_at)));
  }
  const bool over = timeout.count() > 0 && state.started_at != WallTime{} &&
                    now - state.started_at >= timeout;
  if (over && (state.status == RunStatus::Running || state.status == RunStatus::Paused)) {
    const Status stopped = stop(operation, *run, RunReason::Timeout);
    if (!stopped.ok()) logWarn("run_not_stopped", field("error", stopped.error().message()));
  }
  if (operation.writes()) context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
