#include "common/model/task_status.h"

#include <algorithm>
#include <array>
#include <string>

namespace baton {
namespace {

constexpr std::array<std::string_view, kTaskStatusCount> kStatusNames{
    "CREATED", "QUEUED",  "DISPATCHED",  "RUNNING",    "CALLBACK", "FINISHED",
    "FAILED",  "SKIPPED", "TERMINATING", "TERMINATED", "RETRYING"};

constexpr std::array<std::string_view, kFailureReasonCount> kReasonNames{"",
                                                                         "exit_code",
                                                                         "signal",
                                                                         "timeout",
                                                                         "oom",
                                                                         "start_failed",
                                                                         "bad_spec",
                                                                         "resource_failed",
                                                                         "runner_reset",
                                                                         "runner_lost",
                                                                         "disconnected",
                                                                         "dispatch_timeout",
                                                                         "callback_failed",
                                                                         "sub_flow_failed",
                                                                         "upstream_failed",
                                                                         "upstream_skipped",
                                                                         "upstream_succeeded",
                                                                         "when_false",
                                                                         "disabled",
                                                                         "skipped_by_hand",
                                                                         "run_stopping"};

constexpr std::array<std::string_view, kPriorityCount> kPriorityNames{"low", "normal", "high",
                                                                      "critical"};

struct ForeignWord {
  std::string_view word;
  StatusWord meaning;
};
constexpr std::array kForeignWords{
    ForeignWord{"待调度", {TaskStatus::Created}},
    ForeignWord{"待分配", {TaskStatus::Queued}},
    ForeignWord{"已分配", {TaskStatus::Dispatched}},
    ForeignWord{"已领取", {TaskStatus::Dispatched}},
    ForeignWord{"参数检查错误", {TaskStatus::Failed, FailureReason::BadSpec}},
    ForeignWord{"资源准备失败", {TaskStatus::Failed, FailureReason::ResourceFailed}},
    ForeignWord{"执行中", {TaskStatus::Running}},
    ForeignWord{"杀死", {TaskStatus::Terminated}},
    ForeignWord{"执行失败", {TaskStatus::Failed}},
    ForeignWord{"失败重试", {TaskStatus::Retrying}},
    ForeignWord{"执行成功", {TaskStatus::Finished}},
    ForeignWord{"忽略失败", {TaskStatus::Failed, FailureReason::None, true}},
    ForeignWord{"PENDING", {TaskStatus::Created}},
    ForeignWord{"SUCCESS", {TaskStatus::Finished}},
    ForeignWord{"CANCELLED", {TaskStatus::Terminated}},
    ForeignWord{"TIMEOUT", {TaskStatus::Failed, FailureReason::Timeout}},
};

std::string upperAscii(std::string_view word) {
  std::string upper(word);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

}  // namespace

bool isTerminal(TaskStatus status) {
  return status == TaskStatus::Finished || status == TaskStatus::Failed ||
         status == TaskStatus::Skipped || status == TaskStatus::Terminated;
}

bool hasOpenAttempt(TaskStatus status) {
  return status == TaskStatus::Dispatched || status == TaskStatus::Running ||
         status == TaskStatus::Terminating;
}

bool isOpen(AttemptStatus status) {
  return status == AttemptStatus::Dispatched || status == AttemptStatus::Running;
}

bool isRetried(FailureReason reason) {
  return reason != FailureReason::BadSpec && reason != FailureReason::DispatchTimeout &&
         reason != FailureReason::RunnerLost && reason != FailureReason::CallbackFailed &&
         reason < FailureReason::SubFlowFailed;
}

std::string_view toString(TaskStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

std::string_view toString(AttemptStatus status) {
  switch (status) {
    case AttemptStatus::Dispatched:
      return "DISPATCHED";
    case AttemptStatus::Running:
      return "RUNNING";
    case AttemptStatus::Finished:
      return "FINISHED";
    case AttemptStatus::Failed:
      return "FAILED";
    case AttemptStatus::Terminated:
      return "TERMINATED";
    case AttemptStatus::Undelivered:
      return "UNDELIVERED";
  }
  return "";
}

std::string_view toString(FailureReason reason) {
  return kReasonNames[static_cast<size_t>(reason)];
}

std::string_view toString(StopCause cause) {
  switch (cause) {
    case StopCause::None:
      return "";
    case StopCause::Stop:
      return "stop";
    case StopCause::Run:
      return "run";
    case StopCause::Timeout:
      return "timeout";
  }
  return "";
}

std::string_view toString(Priority priority) {
  return kPriorityNames[static_cast<size_t>(priority)];
}

std::string_view toString(WaitingCode code) {
  switch (code) {
    case WaitingCode::None:
      return "";
    case WaitingCode::Dependency:
      return "dependency";
    case WaitingCode::NotBefore:
      return "not_before";
    case WaitingCode::Event:
      return "event";
    case WaitingCode::Hold:
      return "hold";
    case WaitingCode::NoRunnerMatches:
      return "no_runner_matches";
    case WaitingCode::AllRunnersBusy:
      return "all_runners_busy";
    case WaitingCode::GroupLimit:
      return "group_limit";
    case WaitingCode::FlowLimit:
      return "flow_limit";
    case WaitingCode::UserLimit:
      return "user_limit";
    case WaitingCode::HostLimit:
      return "host_limit";
    case WaitingCode::Degraded:
      return "degraded";
    case WaitingCode::ClusterLimit:
      return "cluster_limit";
    case WaitingCode::HostExcluded:
      return "host_excluded";
    case WaitingCode::Window:
      return "window";
    case WaitingCode::RetryDelay:
      return "retry_delay";
    case WaitingCode::RunPaused:
      return "run_paused";
  }
  return "";
}

std::optional<StatusWord> parseStatusWord(std::string_view word) {
  const std::string upper = upperAscii(word);
  for (size_t i = 0; i < kStatusNames.size(); ++i) {
    if (kStatusNames[i] == upper) return StatusWord{static_cast<TaskStatus>(i)};
  }
  for (const ForeignWord& foreign : kForeignWords) {
    if (foreign.word == upper) return foreign.meaning;
  }
  return std::nullopt;
}

std::optional<Priority> parsePriority(std::string_view word) {
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    if (kPriorityNames[i] == word) return static_cast<Priority>(i);
  }
  return std::nullopt;
}

std::optional<FailureReason> parseFailureReason(std::string_view word) {
  for (size_t i = 1; i < kReasonNames.size(); ++i) {
    if (kReasonNames[i] == word) return static_cast<FailureReason>(i);
  }
  return std::nullopt;
}

}  // namespace baton
