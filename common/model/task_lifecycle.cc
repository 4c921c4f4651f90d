#include "common/model/task_lifecycle.h"

namespace baton {

std::string_view toString(TaskEvent event) {
  constexpr std::array<std::string_view, kTaskEventCount> kNames{"ready",
                                                                 "hold",
                                                                 "cancel",
                                                                 "skip",
                                                                 "pick",
                                                                 "started",
                                                                 "undelivered",
                                                                 "ended_well",
                                                                 "follow_up_done",
                                                                 "failed_retry",
                                                                 "failed_final",
                                                                 "stop_asked",
                                                                 "stop_proved",
                                                                 "bad_spec",
                                                                 "dispatch_time_over",
                                                                 "wait_time_over",
                                                                 "done_well",
                                                                 "done_failed",
                                                                 "callback_given_up",
                                                                 "callback_dropped",
                                                                 "due",
                                                                 "rerun",
                                                                 "force_success",
                                                                 "begin"};
  return kNames[static_cast<size_t>(event)];
}

Result<TaskStatus> nextTaskStatus(TaskStatus from, TaskEvent on) {
  const auto next = nextState(lifecycle::kTaskMoves, from, on);
  if (!next) {
    return Error::conflict("a task that is {} can't take the order {}", toString(from),
                           toString(on));
  }
  return *next;
}

}  // namespace baton
