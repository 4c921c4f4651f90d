#include "common/model/run_status.h"

#include <algorithm>
#include <array>

namespace baton {
namespace {

constexpr std::array<std::string_view, kRunStatusCount> kRunStatusNames{
    "WAITING", "RUNNING", "PAUSED", "TERMINATING", "FINISHED", "FAILED", "TERMINATED", "SKIPPED"};
constexpr std::array<std::string_view, kRunTriggerCount> kRunTriggerNames{
    "schedule", "manual", "backfill", "event", "sub_flow"};
constexpr std::array<std::string_view, kRunReasonCount> kRunReasonNames{"",
                                                                        "task_failed",
                                                                        "timeout",
                                                                        "stop_asked",
                                                                        "overlap_skip",
                                                                        "queue_full",
                                                                        "overlap_cancel",
                                                                        "bad_spec",
                                                                        "flow_deleted",
                                                                        "backfill_stopped",
                                                                        "skipped_by_hand"};

char lowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The enumerator whose name the word is, in any case.
template <typename E, size_t N>
std::optional<E> findName(const std::array<std::string_view, N>& names, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    const bool equal = std::equal(names[i].begin(), names[i].end(), word.begin(), word.end(),
                                  [](char a, char b) { return lowerAscii(a) == lowerAscii(b); });
    if (equal) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

bool isTerminal(RunStatus status) { return status >= RunStatus::Finished; }

std::string_view toString(RunStatus status) { return kRunStatusNames[static_cast<size_t>(status)]; }
std::string_view toString(RunTrigger trigger) {
  return kRunTriggerNames[static_cast<size_t>(trigger)];
}
std::string_view toString(RunReason reason) { return kRunReasonNames[static_cast<size_t>(reason)]; }

std::optional<RunStatus> parseRunStatus(std::string_view word) {
  return findName<RunStatus>(kRunStatusNames, word);
}
std::optional<RunTrigger> parseRunTrigger(std::string_view word) {
  return findName<RunTrigger>(kRunTriggerNames, word);
}
std::optional<RunReason> parseRunReason(std::string_view word) {
  return word.empty() ? std::nullopt : findName<RunReason>(kRunReasonNames, word);
}

}  // namespace baton
