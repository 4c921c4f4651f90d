// The timers of tasks, and what silence ends: the parts of TaskEngine that look at clocks.
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
  const WallTime now = context_.clock.wallNow();
  for (auto& [id, task] : live_.tasks) {
    if (task.state.status == TaskStatus::Queued && task.place_at > now) {
      live_.ready.remove(task.lane, task.place_at, id);
      task.place_at = now;
      live_.ready.add(task.lane, task.place_at, id);
    }
    if (task.state.status != TaskStatus::Created || task.state.not_before == WallTime{}) continue;
    ++task.timer_generation;
    armTimer(task);
  }
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

}  // namespace baton::master
