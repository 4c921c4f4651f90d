#pragma once

#include <array>
#include <string_view>

#include "common/base/status.h"
#include "common/fsm/transition_table.h"
#include "common/model/task_status.h"

namespace baton {

// What can happen to a task. Where one fact may lead to several statuses, the decision (retries
// left, follow-up awaited) is part of the event, so that the table stays a function.
enum class TaskEvent : uint8_t {
  Ready,             // Nothing is waited for any more.
  Hold,              // Held by hand.
  Cancel,            // Stop asked for and nothing runs.
  Skip,              // Skipped by hand.
  Pick,              // Given to a runner.
  Started,           // The runner reports that the process runs.
  Undelivered,       // The order provably never arrived and the runner is no longer fit for it.
  EndedWell,         // Exit code 0.
  FollowUpDone,      // Nothing is awaited (any more).
  FailedRetry,       // The attempt failed; another one is due later.
  FailedFinal,       // The attempt failed; none is left.
  StopAsked,         // Stop asked for while an attempt is open (by hand, by its run, by timeout).
  StopProved,        // The stopped attempt's process is provably gone, or its runner is lost.
  BadSpec,           // The specification does not resolve.
  DispatchTimeOver,  // No runner took it within dispatch_timeout.
  WaitTimeOver,      // An event wait timed out.
  DoneWell,          // Ended without a runner.
  DoneFailed,        // Failed without a runner.
  CallbackGivenUp,   // The awaited callback failed for good and the task wants to fail then.
  CallbackDropped,   // Stop asked for while the callback was awaited.
  Due,               // The retry delay is over.
  Rerun,             // A new run of an ended task.
  ForceSuccess,      // Declared successful by hand.
  Begin,             // An event wait or a sub-flow begins; no runner is needed.
};
inline constexpr size_t kTaskEventCount = 24;
std::string_view toString(TaskEvent event);

namespace lifecycle {
using S = TaskStatus;
using E = TaskEvent;
using TaskMove = Move<TaskStatus, TaskEvent>;

// Every legal task move, and nothing else.
inline constexpr std::array kTaskMoves{
    TaskMove{S::Created, E::Ready, S::Queued},
    TaskMove{S::Created, E::Cancel, S::Terminated},
    TaskMove{S::Created, E::Skip, S::Skipped},
    TaskMove{S::Created, E::WaitTimeOver, S::Failed},
    TaskMove{S::Created, E::DoneWell, S::Finished},
    TaskMove{S::Created, E::DoneFailed, S::Failed},
    TaskMove{S::Created, E::BadSpec, S::Failed},
    TaskMove{S::Created, E::Begin, S::Running},
    // Only a wait for an event; what a runner runs, and a sub-flow, is stopped instead.
    TaskMove{S::Running, E::Skip, S::Skipped},
    TaskMove{S::Running, E::WaitTimeOver, S::Failed},
    TaskMove{S::Running, E::DoneWell, S::Finished},
    TaskMove{S::Running, E::DoneFailed, S::Failed},
    // The sub-flow ended by itself before it was stopped.
    TaskMove{S::Terminating, E::DoneWell, S::Finished},
    TaskMove{S::Terminating, E::DoneFailed, S::Failed},
    TaskMove{S::Queued, E::Cancel, S::Terminated},
    TaskMove{S::Queued, E::Skip, S::Skipped},
    TaskMove{S::Queued, E::Hold, S::Created},
    TaskMove{S::Queued, E::Pick, S::Dispatched},
    TaskMove{S::Queued, E::BadSpec, S::Failed},
    TaskMove{S::Queued, E::DispatchTimeOver, S::Failed},
    TaskMove{S::Retrying, E::Cancel, S::Terminated},
    TaskMove{S::Retrying, E::Skip, S::Skipped},
    TaskMove{S::Retrying, E::Due, S::Queued},
    TaskMove{S::Dispatched, E::Started, S::Running},
    TaskMove{S::Dispatched, E::Undelivered, S::Queued},
    TaskMove{S::Dispatched, E::EndedWell, S::Callback},
    TaskMove{S::Dispatched, E::FailedRetry, S::Retrying},
    TaskMove{S::Dispatched, E::FailedFinal, S::Failed},
    TaskMove{S::Dispatched, E::StopAsked, S::Terminating},
    TaskMove{S::Running, E::EndedWell, S::Callback},
    TaskMove{S::Running, E::FailedRetry, S::Retrying},
    TaskMove{S::Running, E::FailedFinal, S::Failed},
    TaskMove{S::Running, E::StopAsked, S::Terminating},
    TaskMove{S::Terminating, E::StopProved, S::Terminated},
    // It ended before the runner accepted the RESET: it won the race.
    TaskMove{S::Terminating, E::EndedWell, S::Callback},
    // Only with cause timeout: the end counts as a failed attempt.
    TaskMove{S::Terminating, E::FailedRetry, S::Retrying},
    TaskMove{S::Terminating, E::FailedFinal, S::Failed},
    TaskMove{S::Callback, E::FollowUpDone, S::Finished},
    TaskMove{S::Callback, E::CallbackGivenUp, S::Failed},
    TaskMove{S::Callback, E::CallbackDropped, S::Finished},
    TaskMove{S::Finished, E::Rerun, S::Created},
    TaskMove{S::Failed, E::Rerun, S::Created},
    TaskMove{S::Skipped, E::Rerun, S::Created},
    TaskMove{S::Terminated, E::Rerun, S::Created},
    TaskMove{S::Failed, E::ForceSuccess, S::Finished},
};
static_assert(isDeterministic(kTaskMoves));
}  // namespace lifecycle

// The status after the event. Errors: Conflict (the move is not in the table).
Result<TaskStatus> nextTaskStatus(TaskStatus from, TaskEvent on);

}  // namespace baton
