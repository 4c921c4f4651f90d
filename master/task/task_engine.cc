#include "master/task/task_engine.h"

#include <algorithm>

#include "common/base/duration_text.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "master/host/host_standing.h"

namespace baton::master {
namespace {

constexpr size_t kReasonTextBytesMax = 4'096;

WallTime latest(WallTime a, WallTime b) { return std::max(a, b); }

bool isGated(const LiveTask& task) {
  return task.state.status == TaskStatus::Created && task.part && task.part->gated;
}

bool isHeld(const LiveTask& task) {
  return task.state.status == TaskStatus::Created && task.state.hold && !isGated(task);
}

// Statuses that a task should soon leave again: see findStuck.
bool passesSoon(TaskStatus status) {
  return status == TaskStatus::Dispatched || status == TaskStatus::Terminating ||
         status == TaskStatus::Callback;
}

}  // namespace

TaskEngine::TaskEngine(TermContext& context, OutcomeListener& outcomes)
    : context_(context), live_(context.live), outcomes_(outcomes) {
  live_.ready.setAgeing(context.options.ageing);
}

// ----------------------------------------------------------------------------------- entry

LiveTask& TaskEngine::insertLive(LiveTask task) {
  const TaskId id = task.state.id;
  const auto [it, inserted] = live_.tasks.try_emplace(id, std::move(task));
  CHECK(inserted);
  LiveTask& live = it->second;
  live.lane = live_.ready.laneOf(*live.policy, live.state.priority);
  ++live_.by_status[static_cast<size_t>(live.state.status)];
  ++live_.by_priority[static_cast<size_t>(live.state.priority)];
  return live;
}

// A kind that workers announce is one more label: it is stored with the task, and matching it costs
// nothing more.
std::string TaskEngine::policyTextOf(const std::string& kind, const TaskPolicy& policy) {
  const std::string label = kindLabel(kind);
  if (label.empty()) return policyToText(policy);
  TaskPolicy wanted = policy;
  wanted.labels[label] = kKindAnnounced;
  return policyToText(wanted);
}

LiveTask& TaskEngine::submit(Operation& operation, const TaskSpec& spec) {
  const WallTime now = context_.clock.wallNow();
  // Most tasks come in rows of equals.
  if (last_policy_text_.empty() || spec.kind != last_kind_ || spec.policy != last_policy_) {
    last_kind_ = spec.kind;
    last_policy_ = spec.policy;
    last_policy_text_ = policyTextOf(spec.kind, spec.policy);
  }
  const std::string& policy = last_policy_text_;
  TaskRecord record;
  record.name = spec.name;
  record.kind = spec.kind;
  record.policy = policy;
  record.spec = dumpJson(runPartToJson(spec));
  record.tags = spec.tags;
  record.group = spec.policy.scope.group;
  record.created_at = now;
  record.state.id = context_.task_ids.take();
  record.state.priority = spec.priority;
  record.state.not_before = spec.not_before;
  record.state.hold = spec.hold;

  LiveTask task;
  task.state = record.state;
  task.policy = *live_.policies.intern(policy);
  task.created_at = now;
  task.spec = std::make_shared<const std::string>(record.spec);
  operation.touchTask(record.state.id);
  operation.changes.new_tasks.push_back(std::move(record));
  LiveTask& live = insertLive(std::move(task));
  enterStatus(live);
  makeReady(operation, live);
  publish(operation, StateChange::Kind::Submitted, live);
  return live;
}

void TaskEngine::publish(Operation& operation, StateChange::Kind kind, const LiveTask& task) {
  StateChange change;
  change.kind = kind;
  change.task_id = task.state.id;
  change.status = task.state.status;
  change.reason = task.state.reason;
  if (kind == StateChange::Kind::Started) change.waited = task.state.started_at - task.created_at;
  if (kind == StateChange::Kind::AttemptEnded) {
    change.attempt = task.attempt->status;
    change.reason = task.attempt->reason;
  }
  context_.publisher.publish(operation, change);
}

void TaskEngine::store(Operation& operation, const LiveTask& task) {
  operation.store(task.state);
  if (task.part) place(operation, task);
}

void TaskEngine::place(Operation& operation, const LiveTask& task) const {
  auto& places = operation.changes.places;
  if (!places.empty() && places.back().task == task.state.id) return;
  places.push_back({task.state.id, task.part->run, runs_->flowOf(task.part->run)});
}

void TaskEngine::adopt(LiveTask task) {
  LiveTask& live = insertLive(std::move(task));
  if (live.attempt) occupy(live);
  enterStatus(live);
}

// ----------------------------------------------------------------------------------- moves

void TaskEngine::move(Operation& operation, LiveTask& task, TaskEvent event) {
  const auto next = nextTaskStatus(task.state.status, event);
  // Callers ask only for moves that their own case distinction allows; a miss is a bug of ours.
  if (!next.ok()) {
    context_.metrics.illegalMove();
    logError("illegal_move", field("task", task.state.id), field("error", next.error().message()));
    CHECK(next.ok());
  }
  leaveStatus(task);
  --live_.by_status[static_cast<size_t>(task.state.status)];
  task.state.status = *next;
  ++live_.by_status[static_cast<size_t>(task.state.status)];
  enterStatus(task);
  store(operation, task);
}

void TaskEngine::leaveStatus(LiveTask& task) {
  ++task.timer_generation;
  if (passesSoon(task.state.status)) live_.passing.erase(task.state.id);
  if (isHeld(task)) --live_.held;
  if (isGated(task)) --live_.gated;
  if (task.state.status == TaskStatus::Queued) {
    live_.ready.remove(task.lane, task.place_at, task.state.id);
  }
}

void TaskEngine::enterStatus(LiveTask& task) {
  if (isHeld(task)) ++live_.held;
  if (isGated(task)) ++live_.gated;
  if (passesSoon(task.state.status)) {
    live_.passing.insert_or_assign(task.state.id, LiveState::Passing{context_.clock.bootNow()});
  }
  if (task.state.status == TaskStatus::Queued) {
    // Whoever was queued under a clock that was ahead does not wait behind everybody until then.
    task.place_at = std::min(task.state.queued_at, context_.clock.wallNow());
    live_.ready.add(task.lane, task.place_at, task.state.id);
  }
  armTimer(task);
}

void TaskEngine::settle(Operation& operation, LiveTask& task, bool notify) {
  TaskState& state = task.state;
  if (!isTerminal(state.status)) return;
  leaveStatus(task);
  if (state.finished_at == WallTime{} || state.forced) {
    state.finished_at = latest(context_.clock.wallNow(), latest(task.created_at, state.started_at));
  }
  if (state.status == TaskStatus::Failed && task.part && task.part->ignore_failure) {
    state.ignored = true;
  }
  if (notify) outcomes_.onOutcome(operation, task, state.status);
  store(operation, task);
  publish(operation, StateChange::Kind::Ended, task);
  --live_.by_status[static_cast<size_t>(state.status)];
  --live_.by_priority[static_cast<size_t>(state.priority)];
  const RecentEnd end;
  live_.recently_ended[state.id] = end;
  operation.then([end, &clock = context_.clock] { end.becameDurable(clock.bootNow()); });
  live_.ready.dropLane(task.lane);
  NodeEnd node_end;
  if (task.part) {
    node_end = {state.id,      task.part->run, task.part->node,
                state.status,  state.reason,   std::move(task.part->outputs),
                state.attempt, state.unproven};
    const bool ended_well = state.reason == FailureReason::None;
    if (ended_well || state.reason == FailureReason::SubFlowFailed) {
      node_end.text = std::move(state.reason_text);
    }
  }
  live_.tasks.erase(state.id);
  if (node_end.run != 0) runs_->onNodeEnded(operation, std::move(node_end));
}

void TaskEngine::makeReady(Operation& operation, LiveTask& task) {
  const WallTime now = context_.clock.wallNow();
  if (task.state.hold || task.state.not_before > now || (task.part && task.part->gated)) {
    store(operation, task);
    return;
  }
  if (task.part && task.part->no_runner) return runs_->onNodeFree(operation, task);
  task.state.queued_at = latest(now, task.created_at);
  move(operation, task, TaskEvent::Ready);
}

// ----------------------------------------------------------------------------------- attempts

void TaskEngine::dispatch(Operation& operation, LiveTask& task, Runner& runner,
                          const HeartbeatPair& pair) {
  CHECK(task.state.status == TaskStatus::Queued && task.spec && runner.open_task == 0);
  ++task.state.attempt;
  task.state.runner_id = runner.record.runner_id;
  task.attempt = std::make_unique<AttemptRecord>();
  AttemptRecord& attempt = *task.attempt;
  attempt.task_id = task.state.id;
  attempt.number = task.state.attempt;
  attempt.nonce = randomHex(8);
  attempt.runner_id = runner.record.runner_id;
  attempt.worker_address = runner.record.worker_address;
  attempt.incarnation = pair.incarnation;
  attempt.seq = pair.seq;
  attempt.epoch = context_.epoch();
  attempt.dispatched_at = latest(context_.clock.wallNow(), task.state.queued_at);
  move(operation, task, TaskEvent::Pick);
  occupy(task);
  operation.store(attempt);
}

void TaskEngine::occupy(const LiveTask& task) {
  ++live_.open_attempts;
  live_.ready.occupy(task.lane);
  Runner* runner = live_.findRunner(task.attempt->runner_id);
  if (runner == nullptr) return;
  runner->open_task = task.state.id;
  ++runner->worker->busy;
  ++runner->worker->use->running;
}

void TaskEngine::release(const LiveTask& task) {
  --live_.open_attempts;
  live_.ready.release(task.lane);
  Runner* runner = live_.findRunner(task.attempt->runner_id);
  if (runner == nullptr || runner->open_task != task.state.id) return;
  runner->open_task = 0;
  --runner->worker->busy;
  --runner->worker->use->running;
}

void TaskEngine::repeatOrder(Operation& operation, LiveTask& task, const HeartbeatPair& pair) {
  AttemptRecord& attempt = *task.attempt;
  attempt.incarnation = pair.incarnation;
  attempt.seq = pair.seq;
  operation.store(attempt);
}

void TaskEngine::started(Operation& operation, LiveTask& task) {
  AttemptRecord& attempt = *task.attempt;
  if (const Runner* runner = live_.findRunner(attempt.runner_id)) {
    noteStarted(operation, context_, *runner->worker);
  }
  attempt.status = AttemptStatus::Running;
  attempt.started_at = latest(context_.clock.wallNow(), attempt.dispatched_at);
  task.state.started_at = attempt.started_at;
  operation.store(attempt);
  if (task.state.status == TaskStatus::Dispatched) {
    move(operation, task, TaskEvent::Started);
    if (attempt.number == 1) publish(operation, StateChange::Kind::Started, task);
  }
  if (task.spec && task.spec->size() > kSpecResidentBytesMax) task.spec.reset();
}

WallTime TaskEngine::closeAttempt(Operation& operation, LiveTask& task, AttemptStatus status,
                                  FailureReason reason, const std::string& text,
                                  const AttemptResult* result) {
  AttemptRecord& attempt = *task.attempt;
  const WallTime now = context_.clock.wallNow();
  const bool unconfirmed = attempt.status == AttemptStatus::Dispatched;
  attempt.status = status;
  attempt.reason = reason;
  attempt.reason_text = truncateUtf8(text, kReasonTextBytesMax);
  attempt.finished_at = now;
  if (result != nullptr) {
    attempt.finished_at = now - Millis(result->ended_ms);
    // The runner's own measure is better than the moment of the RUNNING report, if it has one.
    if (result->run_ms > 0 || attempt.started_at == WallTime{}) {
      attempt.started_at = attempt.finished_at - Millis(result->run_ms);
    }
    attempt.return_code = result->return_code;
    attempt.signal = result->signal;
    attempt.stdout_bytes = result->stdout_bytes;
    attempt.stderr_bytes = result->stderr_bytes;
  }
  // What nobody saw running has no start.
  if (attempt.started_at != WallTime{}) {
    attempt.started_at = latest(attempt.started_at, attempt.dispatched_at);
  }
  attempt.finished_at =
      latest(attempt.finished_at, latest(attempt.started_at, attempt.dispatched_at));
  if (result != nullptr) task.state.started_at = attempt.started_at;
  task.state.return_code = attempt.return_code;
  task.state.signal = attempt.signal;
  operation.store(attempt);
  const Runner* runner = live_.findRunner(attempt.runner_id);
  if (runner && runner->worker && status != AttemptStatus::Undelivered) {
    api::WorkerCounts& counts = runner->worker->counts;
    ++(status == AttemptStatus::Finished ? counts.finished : counts.failed);
    const uint64_t work = task.part ? runs_->workOf(task) : task.state.id;
    noteClosed(operation, context_, *runner->worker, attempt, work, unconfirmed);
  }
  publish(operation, StateChange::Kind::AttemptEnded, task);
  release(task);
  const WallTime ended_at = attempt.finished_at;
  task.attempt.reset();
  return ended_at;
}

// The work is done, so an output that is not there fails nobody but those who need it: it is told.
std::string TaskEngine::lostOutputs(const LiveTask& task, const AttemptResult& result) const {
  std::string text = result.reason_text;
  if (!task.part) return text;
  std::string missing;
  for (const std::string& key : runs_->declaredOutputs(task)) {
    if (!result.outputs.contains(key)) missing += (missing.empty() ? "" : ", ") + key;
  }
  if (missing.empty()) return text;
  return fmt::format("{}{}not written, though the flow says so: {}", text, text.empty() ? "" : "; ",
                     missing);
}

void TaskEngine::endedWell(Operation& operation, LiveTask& task, const AttemptResult& result) {
  const bool short_task = task.attempt->status == AttemptStatus::Dispatched;
  const std::string lost = lostOutputs(task, result);
  const WallTime ended_at =
      closeAttempt(operation, task, AttemptStatus::Finished, FailureReason::None, lost, &result);
  if (short_task && task.state.attempt == 1) {
    publish(operation, StateChange::Kind::Started, task);
  }
  // What earlier attempts failed of stays on them; the task itself ended well.
  task.state.reason = FailureReason::None;
  task.state.reason_text = truncateUtf8(lost, kReasonTextBytesMax);
  task.state.cause = StopCause::None;
  if (!result.outputs.empty()) {
    operation.changes.outputs.push_back({task.state.id, dumpJson(Json(result.outputs))});
    if (task.part) task.part->outputs = result.outputs;
  }
  move(operation, task, TaskEvent::EndedWell);
  const CallbackSpec& callback = task.policy->callback;
  if (callback.wait && outcomes_.onOutcome(operation, task, TaskStatus::Callback)) return;
  move(operation, task, TaskEvent::FollowUpDone);
  task.state.finished_at = ended_at;
  settle(operation, task);
}

void TaskEngine::endedBadly(Operation& operation, LiveTask& task, FailureReason reason,
                            const std::string& text, const AttemptResult* result) {
  if (task.state.status != TaskStatus::Terminating) {
    const WallTime ended_at =
        closeAttempt(operation, task, AttemptStatus::Failed, reason, text, result);
    retryOrFail(operation, task, reason, text, ended_at);
    return;
  }
  if (task.state.cause == StopCause::Timeout) {
    const std::string over =
        fmt::format("ran longer than {}", formatDuration(task.policy->timeout));
    const WallTime ended_at =
        closeAttempt(operation, task, AttemptStatus::Failed, FailureReason::Timeout, over, result);
    task.state.cause = StopCause::None;
    retryOrFail(operation, task, FailureReason::Timeout, over, ended_at);
    return;
  }
  const WallTime ended_at =
      closeAttempt(operation, task, AttemptStatus::Terminated, FailureReason::None, text, result);
  move(operation, task, TaskEvent::StopProved);
  task.state.finished_at = ended_at;
  settle(operation, task);
}

void TaskEngine::retryOrFail(Operation& operation, LiveTask& task, FailureReason reason,
                             const std::string& text, WallTime ended_at) {
  task.state.reason = reason;
  task.state.reason_text = truncateUtf8(text, kReasonTextBytesMax);
  const RetryPolicy& retry = task.policy->retry;
  if (retry.covers(reason) && task.state.retries_used < retry.max) {
    ++task.state.retries_used;
    task.state.unproven = false;  // Its owner accepts a second copy.
    task.state.not_before = context_.clock.wallNow() + retry.delayBefore(task.state.retries_used);
    move(operation, task, TaskEvent::FailedRetry);
    return;
  }
  move(operation, task, TaskEvent::FailedFinal);
  task.state.finished_at = ended_at;
  settle(operation, task);
}

void TaskEngine::runnerLost(Operation& operation, LiveTask& task) {
  const std::string text = fmt::format("runner {} was silent for {}", task.attempt->runner_id,
                                       formatDuration(context_.options.lostAfter()));
  logWarn("runner_lost", field("task", task.state.id), field("attempt", task.attempt->number),
          field("runner", task.attempt->runner_id), field("epoch", context_.epoch()));
  const WallTime ended_at = closeAttempt(operation, task, AttemptStatus::Failed,
                                         FailureReason::RunnerLost, text, nullptr);
  task.state.unproven = true;
  const bool stopped =
      task.state.status == TaskStatus::Terminating && task.state.cause != StopCause::Timeout;
  if (stopped) {
    move(operation, task, TaskEvent::StopProved);
    settle(operation, task);
    return;
  }
  task.state.cause = StopCause::None;
  retryOrFail(operation, task, FailureReason::RunnerLost, text, ended_at);
}

void TaskEngine::undelivered(Operation& operation, LiveTask& task) {
  closeAttempt(operation, task, AttemptStatus::Undelivered, FailureReason::None,
               "the order never arrived and the runner no longer fits", nullptr);
  task.state.started_at = {};
  task.state.runner_id.clear();
  move(operation, task, TaskEvent::Undelivered);
  keepGate(operation, task);
}

AttemptKey TaskEngine::openKey(const LiveTask& task) const {
  return {task.attempt->task_id, task.attempt->number, task.attempt->nonce};
}

// ----------------------------------------------------------------------------------- follow-up

void TaskEngine::callbackDone(Operation& operation, LiveTask& task, bool delivered) {
  if (task.state.status != TaskStatus::Callback) return;
  const bool fail = !delivered && task.policy->callback.on_failure == CallbackSpec::OnFailure::Fail;
  if (fail) {
    task.state.reason = FailureReason::CallbackFailed;
    task.state.reason_text = "the awaited callback was not delivered";
  }
  move(operation, task, fail ? TaskEvent::CallbackGivenUp : TaskEvent::FollowUpDone);
  settle(operation, task, fail);
}

}  // namespace baton::master
