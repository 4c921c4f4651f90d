// What people and runs order tasks to do that have not ended.
#include "master/task/task_engine.h"

namespace baton::master {
namespace {

constexpr size_t kOrderTextBytesMax = 4'096;

}  // namespace

Status TaskEngine::stop(Operation& operation, LiveTask& task, StopCause cause,
                        const std::string& why) {
  const auto note = [&] {
    task.state.cause = cause;
    if (cause == StopCause::Timeout) return;  // Whoever stops it for that has said so.
    task.state.reason = FailureReason::None;  // Of an attempt before.
    task.state.reason_text = truncateUtf8(why, kOrderTextBytesMax);
  };
  switch (task.state.status) {
    case TaskStatus::Created:
    case TaskStatus::Queued:
    case TaskStatus::Retrying:
      note();
      move(operation, task, TaskEvent::Cancel);
      settle(operation, task);
      return {};
    case TaskStatus::Dispatched:
    case TaskStatus::Running:
      note();
      move(operation, task, TaskEvent::StopAsked);
      if (task.part && task.part->no_runner) {
        runs_->onNodeStopAsked(operation, task);
        return {};
      }
      if (on_stop_asked_) on_stop_asked_(operation, task);
      return {};
    case TaskStatus::Terminating:
      // A stop by hand outranks a timeout: the owner wants it to end, not to be repeated.
      if (cause != StopCause::Timeout && task.state.cause == StopCause::Timeout) {
        note();
        store(operation, task);
      }
      return {};
    case TaskStatus::Callback:
      outcomes_.onCallbackDropped(operation, task);
      move(operation, task, TaskEvent::CallbackDropped);
      settle(operation, task, false);
      return {};
    default:
      return Error::conflict("task {} is {}: nothing is left to stop", task.state.id,
                             toString(task.state.status));
  }
}

Status TaskEngine::skip(Operation& operation, LiveTask& task, const std::string& why) {
  if (task.state.status == TaskStatus::Running) RETURN_IF_ERROR(checkSkipRunning(task));
  RETURN_IF_ERROR(nextTaskStatus(task.state.status, TaskEvent::Skip).status());
  task.state.reason = task.part ? FailureReason::SkippedByHand : FailureReason::None;
  task.state.reason_text = truncateUtf8(why, kOrderTextBytesMax);
  move(operation, task, TaskEvent::Skip);
  settle(operation, task);
  return {};
}

Status TaskEngine::hold(Operation& operation, LiveTask& task) {
  if (task.state.status == TaskStatus::Created) {
    leaveStatus(task);
    task.state.hold = true;
    enterStatus(task);
    store(operation, task);
    return {};
  }
  RETURN_IF_ERROR(nextTaskStatus(task.state.status, TaskEvent::Hold).status());
  task.state.hold = true;
  move(operation, task, TaskEvent::Hold);
  return {};
}

Status TaskEngine::release(Operation& operation, LiveTask& task) {
  if (task.state.status != TaskStatus::Created || !task.state.hold) {
    return Error::conflict("task {} is {} and not held", task.state.id,
                           toString(task.state.status));
  }
  leaveStatus(task);
  task.state.hold = false;
  enterStatus(task);  // Its time may still be ahead; the hold kept no timer.
  makeReady(operation, task);
  return {};
}

}  // namespace baton::master
