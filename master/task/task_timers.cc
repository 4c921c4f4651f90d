// The timers of tasks and the answer to "why does it wait": the parts of TaskEngine that look at
// clocks and limits.
#include <algorithm>

#include "common/base/duration_text.h"
#include "common/base/log.h"
#include "master/task/task_engine.h"

namespace baton::master {
namespace {

// The runner stops a task at its timeout and needs up to the grace to do so; only then the master
// steps in, with room for the report to arrive.
Millis masterTimeoutSlack(const TaskPolicy& policy, Millis heartbeat) {
  return policy.kill_grace + std::min<Millis>(heartbeat, Seconds(2));
}

std::string whyNoRunner(LabelMap labels) {
  std::string kind;
  std::erase_if(labels, [&](const auto& label) {
    if (!label.first.starts_with(kKindLabelPrefix)) return false;
    kind = label.first.substr(kKindLabelPrefix.size());
    return true;
  });
  const std::string others =
      labels.empty() ? std::string() : fmt::format("the labels {}", dumpJson(Json(labels)));
  if (kind.empty()) return others.empty() ? "no runner has reported" : "no runner has " + others;
  const std::string text =
      fmt::format("no runner announces the kind {}{}", kind,
                  kind == "http" ? "" : fmt::format(" (plug-in baton-task-{})", kind));
  return others.empty() ? text : fmt::format("{} and has {}", text, others);
}

}  // namespace

void TaskEngine::armTimer(LiveTask& task) {
  const TaskPolicy& policy = *task.policy;
  const BootTime now = context_.clock.bootNow();
  const WallTime wall = context_.clock.wallNow();
  BootTime due{};
  switch (task.state.status) {
    case TaskStatus::Created:
      if (task.state.hold || task.state.not_before == WallTime{}) return;
      due = now + std::max<Micros>(Micros(0), task.state.not_before - wall);
      break;
    case TaskStatus::Retrying:
      // The delay was decided by this clock or another master's: never longer than its own cap.
      due = now + std::clamp<Micros>(task.state.not_before - wall, Micros(0),
                                     std::max(policy.retry.max_delay, policy.retry.delay));
      break;
    case TaskStatus::Queued:
      if (policy.dispatch_timeout.count() == 0) return;
      due = now + std::clamp<Micros>(task.state.queued_at + policy.dispatch_timeout - wall,
                                     Micros(0), policy.dispatch_timeout);
      break;
    case TaskStatus::Dispatched:
    case TaskStatus::Running: {
      if (policy.timeout.count() == 0) return;
      if (task.attempt == nullptr) {  // Of a run, without a runner: nobody else keeps its time.
        due = now + std::clamp<Micros>(task.state.started_at + policy.timeout - wall, Micros(0),
                                       policy.timeout);
        break;
      }
      const WallTime begin = std::max(task.attempt->started_at, task.attempt->dispatched_at);
      const Micros whole = policy.timeout + masterTimeoutSlack(policy, context_.options.heartbeat);
      due = now + std::clamp<Micros>(begin + whole - wall, Micros(0), whole);
      break;
    }
    default:
      return;
  }
  const TaskId id = task.state.id;
  const uint32_t generation = task.timer_generation;
  context_.dispatcher.callAt(due, [this, id, generation] { onTimer(id, generation); });
}

void TaskEngine::onTimer(TaskId id, uint32_t generation) {
  LiveTask* task = live_.findTask(id);
  if (task == nullptr || task->timer_generation != generation) return;
  Operation operation;
  switch (task->state.status) {
    case TaskStatus::Created:
      if (task->state.not_before > context_.clock.wallNow()) {
        armTimer(*task);  // The wall clock was set back meanwhile.
        return;
      }
      makeReady(operation, *task);
      break;
    case TaskStatus::Retrying:
      task->state.queued_at = std::max(context_.clock.wallNow(), task->created_at);
      task->state.not_before = {};
      move(operation, *task, TaskEvent::Due);
      keepGate(operation, *task);
      break;
    case TaskStatus::Queued:
      task->state.reason = FailureReason::DispatchTimeout;
      task->state.reason_text = fmt::format("no runner took it within {}",
                                            formatDuration(task->policy->dispatch_timeout));
      move(operation, *task, TaskEvent::DispatchTimeOver);
      settle(operation, *task);
      break;
    case TaskStatus::Dispatched:
    case TaskStatus::Running:
      logWarn("task_over_time", field("task", id), field("attempt", task->state.attempt));
      if (task->attempt == nullptr) {
        task->state.reason = FailureReason::Timeout;
        task->state.reason_text =
            fmt::format("not done within {}", formatDuration(task->policy->timeout));
      }
      if (const Status stopped = stop(operation, *task, StopCause::Timeout); !stopped.ok()) return;
      break;
    default:
      return;
  }
  context_.writer.submit(std::move(operation));
}

void TaskEngine::onWallClockStep() {
  for (auto& [id, task] : live_.tasks) {
    if (task.state.status != TaskStatus::Created || task.state.not_before == WallTime{}) continue;
    ++task.timer_generation;
    armTimer(task);
  }
}

TaskEngine::Waiting TaskEngine::whyWaiting(const LiveTask& task) const {
  switch (task.state.status) {
    case TaskStatus::Created:
      if (task.part && task.part->gated) return runs_->whyNodeWaits(task);
      if (task.state.hold) return {WaitingCode::Hold, "held by hand"};
      return {WaitingCode::NotBefore,
              fmt::format("starts at {}", formatRfc3339(task.state.not_before))};
    case TaskStatus::Retrying:
      return {WaitingCode::RetryDelay,
              fmt::format("extra attempt {} of {} at {}", task.state.retries_used,
                          task.policy->retry.max, formatRfc3339(task.state.not_before))};
    case TaskStatus::Queued:
      break;
    case TaskStatus::Running:
      return task.part && task.part->no_runner ? runs_->whyNodeWaits(task) : Waiting{};
    default:
      return {};
  }
  const WaitingCode code = whyQueued(task.signature);
  if (code == WaitingCode::NoRunnerMatches) return {code, whyNoRunner(task.policy->labels)};
  if (code == WaitingCode::HostExcluded) return {code, withheldText(task.signature)};
  if (code == WaitingCode::ClusterLimit) {
    return {code, fmt::format("{} tasks run, limits.running_max is {}", live_.open_attempts,
                              context_.options.running_max)};
  }
  return {code, "every runner that fits is busy"};
}

WaitingCode TaskEngine::whyQueued(LabelClasses::Signature signature) const {
  bool matches = false;
  bool usable = false;
  for (LabelClasses::ClassId id = 0; id < live_.present.size() && !usable; ++id) {
    if (!live_.present[id] || !live_.classes.fits(signature, id)) continue;
    matches = true;
    usable = live_.usable[id];
  }
  if (!matches) return WaitingCode::NoRunnerMatches;
  if (!usable) return WaitingCode::HostExcluded;
  const uint64_t running_max = context_.options.running_max;
  const bool full = running_max != 0 && live_.open_attempts >= running_max;
  return full ? WaitingCode::ClusterLimit : WaitingCode::AllRunnersBusy;
}

std::string TaskEngine::withheldText(LabelClasses::Signature signature) const {
  constexpr size_t kNamedMax = 3;
  std::string text;
  size_t named = 0;
  for (const auto& [id, hosts] : live_.withheld) {
    if (!live_.classes.fits(signature, id)) continue;
    for (const std::string& host : hosts) {
      if (named++ < kNamedMax) text += (text.empty() ? "" : "; ") + host;
    }
  }
  return fmt::format("no host that fits takes tasks: {}{}", text,
                     named >= kNamedMax ? "; and maybe others" : "");
}

void TaskEngine::findStuck() {
  const BootTime now = context_.clock.bootNow();
  const Micros limit = std::max(context_.options.stuck_after, context_.options.lostAfter());
  for (auto& [id, passing] : live_.passing) {
    if (passing.stuck || now - passing.since < limit) continue;
    const LiveTask& task = *live_.findTask(id);
    // A sub-flow ends when its tasks have: they are the ones to look at.
    if (task.part && task.part->no_runner) continue;
    // A stop may take as long as the owner allowed the program.
    const bool stopping = task.state.status == TaskStatus::Terminating;
    if (stopping && now - passing.since < limit + task.policy->kill_grace) continue;
    passing.stuck = true;
    const Millis time = std::chrono::duration_cast<Millis>(now - passing.since);
    logWarn("task_stuck", field("task", id), field("status", toString(task.state.status)),
            field("attempt", task.state.attempt), field("runner", task.state.runner_id),
            field("for_ms", time.count()), field("epoch", context_.epoch()));
  }
}

bool TaskEngine::isStuck(const LiveTask& task) const {
  const auto it = live_.passing.find(task.state.id);
  return it != live_.passing.end() && it->second.stuck;
}

std::map<TaskStatus, uint64_t> TaskEngine::stuckByStatus() const {
  std::map<TaskStatus, uint64_t> counts{
      {TaskStatus::Dispatched, 0}, {TaskStatus::Terminating, 0}, {TaskStatus::Callback, 0}};
  for (const auto& [id, passing] : live_.passing) {
    if (passing.stuck) ++counts[live_.tasks.at(id).state.status];
  }
  return counts;
}

std::map<WaitingCode, uint64_t> TaskEngine::waitingByReason() const {
  const auto count = [&](TaskStatus status) {
    return live_.by_status[static_cast<size_t>(status)];
  };
  std::map<WaitingCode, uint64_t> waiting{
      {WaitingCode::Hold, live_.held},
      {WaitingCode::Dependency, live_.gated},
      {WaitingCode::NotBefore, count(TaskStatus::Created) - live_.held - live_.gated},
      {WaitingCode::RetryDelay, count(TaskStatus::Retrying)},
      {WaitingCode::NoRunnerMatches, 0},
      {WaitingCode::HostExcluded, 0},
      {WaitingCode::ClusterLimit, 0},
      {WaitingCode::AllRunnersBusy, 0}};
  for (LabelClasses::Signature i = 0; i < live_.classes.signatureLimit(); ++i) {
    if (const size_t queued = live_.ready.sizeOf(i); queued > 0) waiting[whyQueued(i)] += queued;
  }
  return waiting;
}

}  // namespace baton::master
