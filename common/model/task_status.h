#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace baton {

// Where an enumeration here has integers they are a storage format: never renumbered, new ones only
// at the end. Names and meanings: docs/glossary.md.
enum class TaskStatus : uint8_t {
  Created = 0,      // Accepted; waits for time, dependencies, an event or a hold to end.
  Queued = 1,       // May run now; waits for the picker.
  Dispatched = 2,   // Attempt written and given to a runner; not yet confirmed as started.
  Running = 3,      // The runner confirmed that the process runs.
  Callback = 4,     // Ended well on the runner; follow-up not yet done.
  Finished = 5,     // Terminal: ended well and every follow-up is done.
  Failed = 6,       // Terminal: no attempt is left; has a failure reason.
  Skipped = 7,      // Terminal: will not run.
  Terminating = 8,  // A stop was asked for; not yet proved that the process is gone.
  Terminated = 9,   // Terminal: stopped or cancelled.
  Retrying = 10,    // An attempt failed; the next is due at not_before.
};
inline constexpr size_t kTaskStatusCount = 11;

enum class AttemptStatus : uint8_t {
  Dispatched = 0,
  Running = 1,
  Finished = 2,
  Failed = 3,
  Terminated = 4,
  Undelivered = 5,
};

enum class FailureReason : uint8_t {
  None = 0,
  ExitCode = 1,
  Signal = 2,
  Timeout = 3,
  Oom = 4,
  StartFailed = 5,
  BadSpec = 6,
  ResourceFailed = 7,
  RunnerReset = 8,
  RunnerLost = 9,
  Disconnected = 10,
  DispatchTimeout = 11,
  CallbackFailed = 12,
  SubFlowFailed = 13,  // The run of a sub-flow ended otherwise than well.
  // Why a task of a run is SKIPPED.
  UpstreamFailed = 14,
  UpstreamSkipped = 15,
  UpstreamSucceeded = 16,  // It waited for a failure that did not come.
  WhenFalse = 17,
  Disabled = 18,
  SkippedByHand = 19,
  RunStopping = 20,
};
inline constexpr size_t kFailureReasonCount = 21;

// Why a task is TERMINATING.
enum class StopCause : uint8_t { None = 0, Stop = 1, Run = 2, Timeout = 3 };

enum class Priority : uint8_t { Low = 0, Normal = 1, High = 2, Critical = 3 };
inline constexpr size_t kPriorityCount = 4;

// Why a task is not running yet.
enum class WaitingCode : uint8_t {
  None,
  NotBefore,
  Hold,
  NoRunnerMatches,
  AllRunnersBusy,
  ClusterLimit,
  RetryDelay,
  Dependency,
  Event,
  GroupLimit,
  FlowLimit,
  UserLimit,
  HostLimit,
  HostExcluded,  // Every host that fits is drained, excluded, quarantined or the like.
  Window,
  RunPaused,
  Degraded,
};

bool isTerminal(TaskStatus status);
// True while an attempt is or may be on a runner.
bool hasOpenAttempt(TaskStatus status);
bool isOpen(AttemptStatus status);
// False for the reasons after which another attempt can't help, may overlap, or would do again what
// was done well (callback_failed).
bool isRetried(FailureReason reason);

std::string_view toString(TaskStatus status);     // "RUNNING"
std::string_view toString(AttemptStatus status);  // "RUNNING"
std::string_view toString(FailureReason reason);  // "exit_code"; empty for None
std::string_view toString(StopCause cause);       // "stop"; empty for None
std::string_view toString(Priority priority);     // "normal"
std::string_view toString(WaitingCode code);      // "all_runners_busy"; empty for None

// What a word for a status means.
struct StatusWord {
  TaskStatus status = TaskStatus::Created;
  FailureReason reason = FailureReason::None;  // Set where the word names a reason too.
  bool ignored = false;  // It means failures that their flow ignores, and no others.
};
// Accepts the name in any case, and other schedulers' words ("pending", "执行中", …). Nothing if
// the word is unknown.
std::optional<StatusWord> parseStatusWord(std::string_view word);
std::optional<Priority> parsePriority(std::string_view word);
std::optional<FailureReason> parseFailureReason(std::string_view word);

}  // namespace baton
