#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace baton {

// Where an enumeration here has integers they are a storage format: never renumbered, new ones only
// at the end. Names and meanings: docs/glossary.md.
enum class RunStatus : uint8_t {
  Waiting = 0,      // For a free place beside other runs of its flow.
  Running = 1,      // Its tasks are under way.
  Paused = 2,       // Nothing new starts; what runs goes on.
  Terminating = 3,  // Its end was asked for; some of its tasks have not ended yet.
  Finished = 4,     // Terminal: all is well, or what failed is ignored.
  Failed = 5,       // Terminal: a task failed that matters, or the run could not begin.
  Terminated = 6,   // Terminal: stopped.
  Skipped = 7,      // Terminal: never began.
};
inline constexpr size_t kRunStatusCount = 8;

// What began a run. With the flow and the trigger's key it is unique.
enum class RunTrigger : uint8_t {
  Schedule = 0,  // Key: the plan time; missed instants that run later included.
  Manual = 1,    // Key: the run's id (repeats are found by their Idempotency-Key).
  Backfill = 2,  // Key: the backfill's id and the plan time.
  Event = 3,     // Key: the event's id, or the run or task whose end it was.
  SubFlow = 4,   // Key: the task's id and how often it ran.
};
inline constexpr size_t kRunTriggerCount = 5;

// Why a run ended otherwise than well, or did not begin.
enum class RunReason : uint8_t {
  None = 0,
  TaskFailed = 1,
  Timeout = 2,          // Of the run.
  StopAsked = 3,        // By hand, or by the run that it is a part of.
  OverlapSkip = 4,      // Another run was under way (overlap: skip).
  QueueFull = 5,        // overlap.max_queued others waited.
  OverlapCancel = 6,    // A newer run took its place (overlap: cancel_running).
  BadSpec = 7,          // The parameters of the run do not resolve.
  FlowDeleted = 8,      // Its flow was deleted while it waited or ran.
  BackfillStopped = 9,  // An earlier run of the backfill failed, and it is to stop then.
  SkippedByHand = 10,   // Somebody let it not run.
};
inline constexpr size_t kRunReasonCount = 11;

bool isTerminal(RunStatus status);
std::string_view toString(RunStatus status);    // "RUNNING"
std::string_view toString(RunTrigger trigger);  // "schedule"
std::string_view toString(RunReason reason);    // "task_failed"; empty for None
// The name in any case.
std::optional<RunStatus> parseRunStatus(std::string_view word);
std::optional<RunTrigger> parseRunTrigger(std::string_view word);
std::optional<RunReason> parseRunReason(std::string_view word);  // None has no word.

}  // namespace baton
