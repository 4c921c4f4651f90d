#include "common/model/task_status.h"

#include <gtest/gtest.h>

#include "common/model/ids.h"
#include "common/model/task_lifecycle.h"

namespace baton {
namespace {

using S = TaskStatus;
using E = TaskEvent;

TEST(TaskStatusTest, IntegersAreAStorageFormat) {
  // Aim: a renumbering would turn every stored row into another one.
  const std::vector<std::pair<std::string_view, int>> kStored{
      {"CREATED", 0},     {"QUEUED", 1},     {"DISPATCHED", 2}, {"RUNNING", 3},
      {"CALLBACK", 4},    {"FINISHED", 5},   {"FAILED", 6},     {"SKIPPED", 7},
      {"TERMINATING", 8}, {"TERMINATED", 9}, {"RETRYING", 10}};
  EXPECT_EQ(kStored.size(), kTaskStatusCount);
  for (const auto& [name, number] : kStored) {
    EXPECT_EQ(toString(static_cast<S>(number)), name);
  }
  const std::vector<std::string_view> kAttempts{"DISPATCHED", "RUNNING",    "FINISHED",
                                                "FAILED",     "TERMINATED", "UNDELIVERED"};
  for (size_t i = 0; i < kAttempts.size(); ++i) {
    EXPECT_EQ(toString(static_cast<AttemptStatus>(i)), kAttempts[i]);
  }
  const std::vector<std::string_view> kReasons{"",
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
  EXPECT_EQ(kReasons.size(), kFailureReasonCount);
  for (size_t i = 0; i < kReasons.size(); ++i) {
    EXPECT_EQ(toString(static_cast<FailureReason>(i)), kReasons[i]);
    if (i > 0) {
      EXPECT_EQ(parseFailureReason(kReasons[i]), static_cast<FailureReason>(i));
    }
  }
  EXPECT_FALSE(parseFailureReason("").has_value());
}

TEST(TaskStatusTest, WordsOfOtherSchedulersMeanTheSame) {
  // Aim: filters accept them in any case, and an unknown word is no status.
  const auto one = [](std::string_view word, S status, FailureReason reason = FailureReason::None) {
    const auto parsed = parseStatusWord(word);
    ASSERT_TRUE(parsed.has_value()) << word;
    EXPECT_EQ(parsed->status, status) << word;
    EXPECT_EQ(parsed->reason, reason) << word;
  };
  one("running", S::Running);
  one("RUNNING", S::Running);
  one("待调度", S::Created);
  one("待分配", S::Queued);
  one("已分配", S::Dispatched);
  one("已领取", S::Dispatched);
  one("参数检查错误", S::Failed, FailureReason::BadSpec);
  one("资源准备失败", S::Failed, FailureReason::ResourceFailed);
  one("执行中", S::Running);
  one("杀死", S::Terminated);
  one("执行失败", S::Failed);
  one("失败重试", S::Retrying);
  one("执行成功", S::Finished);
  one("忽略失败", S::Failed);
  EXPECT_TRUE(parseStatusWord("忽略失败")->ignored);
  EXPECT_FALSE(parseStatusWord("执行失败")->ignored);
  one("pending", S::Created);
  one("Success", S::Finished);
  one("cancelled", S::Terminated);
  one("timeout", S::Failed, FailureReason::Timeout);
  EXPECT_FALSE(parseStatusWord("runing").has_value());
  EXPECT_FALSE(parseStatusWord("").has_value());
}

TEST(TaskStatusTest, OnlyReasonsThatAnotherAttemptMayMendAreRetried) {
  // Aim: a lost runner's task is never started again by itself.
  for (size_t i = 1; i < kFailureReasonCount; ++i) {
    const auto reason = static_cast<FailureReason>(i);
    const bool never = reason == FailureReason::BadSpec || reason == FailureReason::RunnerLost ||
                       reason == FailureReason::DispatchTimeout ||
                       reason == FailureReason::CallbackFailed ||
                       reason >= FailureReason::SubFlowFailed;  // Of runs: nobody tried anything.
    EXPECT_EQ(isRetried(reason), !never) << toString(reason);
  }
}

// The moves as the design page has them, written down a second time on purpose.
const std::vector<std::tuple<S, E, S>> kLegal{
    {S::Created, E::Ready, S::Queued},
    {S::Created, E::Cancel, S::Terminated},
    {S::Created, E::Skip, S::Skipped},
    {S::Created, E::WaitTimeOver, S::Failed},
    {S::Created, E::DoneWell, S::Finished},
    {S::Created, E::DoneFailed, S::Failed},
    {S::Created, E::BadSpec, S::Failed},
    {S::Created, E::Begin, S::Running},
    {S::Running, E::Skip, S::Skipped},
    {S::Running, E::WaitTimeOver, S::Failed},
    {S::Running, E::DoneWell, S::Finished},
    {S::Running, E::DoneFailed, S::Failed},
    {S::Terminating, E::DoneWell, S::Finished},
    {S::Terminating, E::DoneFailed, S::Failed},
    {S::Queued, E::Cancel, S::Terminated},
    {S::Queued, E::Skip, S::Skipped},
    {S::Queued, E::Hold, S::Created},
    {S::Queued, E::Pick, S::Dispatched},
    {S::Queued, E::BadSpec, S::Failed},
    {S::Queued, E::DispatchTimeOver, S::Failed},
    {S::Retrying, E::Cancel, S::Terminated},
    {S::Retrying, E::Skip, S::Skipped},
    {S::Retrying, E::Due, S::Queued},
    {S::Dispatched, E::Started, S::Running},
    {S::Dispatched, E::Undelivered, S::Queued},
    {S::Dispatched, E::EndedWell, S::Callback},
    {S::Dispatched, E::FailedRetry, S::Retrying},
    {S::Dispatched, E::FailedFinal, S::Failed},
    {S::Dispatched, E::StopAsked, S::Terminating},
    {S::Running, E::EndedWell, S::Callback},
    {S::Running, E::FailedRetry, S::Retrying},
    {S::Running, E::FailedFinal, S::Failed},
    {S::Running, E::StopAsked, S::Terminating},
    {S::Terminating, E::StopProved, S::Terminated},
    {S::Terminating, E::EndedWell, S::Callback},
    {S::Terminating, E::FailedRetry, S::Retrying},
    {S::Terminating, E::FailedFinal, S::Failed},
    {S::Callback, E::FollowUpDone, S::Finished},
    {S::Callback, E::CallbackGivenUp, S::Failed},
    {S::Callback, E::CallbackDropped, S::Finished},
    {S::Finished, E::Rerun, S::Created},
    {S::Failed, E::Rerun, S::Created},
    {S::Skipped, E::Rerun, S::Created},
    {S::Terminated, E::Rerun, S::Created},
    {S::Failed, E::ForceSuccess, S::Finished},
};

TEST(TaskLifecycleTest, EveryLegalMoveIsMadeAndEveryOtherPairIsRefused) {
  // Aim: all 11 x 24 pairs, so that neither a missing nor an extra row goes unseen.
  for (size_t status = 0; status < kTaskStatusCount; ++status) {
    for (size_t event = 0; event < kTaskEventCount; ++event) {
      const auto from = static_cast<S>(status);
      const auto on = static_cast<E>(event);
      const auto row = std::find_if(kLegal.begin(), kLegal.end(), [&](const auto& move) {
        return std::get<0>(move) == from && std::get<1>(move) == on;
      });
      const auto next = nextTaskStatus(from, on);
      if (row == kLegal.end()) {
        ASSERT_FALSE(next.ok()) << toString(from) << " takes " << toString(on);
        EXPECT_EQ(next.error().code(), ErrorCode::Conflict);
        EXPECT_NE(next.error().message().find(toString(from)), std::string::npos);
      } else {
        ASSERT_TRUE(next.ok()) << toString(from) << " refuses " << toString(on);
        EXPECT_EQ(*next, std::get<2>(*row));
      }
    }
  }
}

TEST(TaskLifecycleTest, ATerminalStatusChangesOnlyWhenAPersonWantsIt) {
  // Aim: no report, timer or callback ever moves what has ended.
  for (const S status : {S::Finished, S::Failed, S::Skipped, S::Terminated}) {
    EXPECT_TRUE(isTerminal(status));
    for (size_t event = 0; event < kTaskEventCount; ++event) {
      const auto on = static_cast<E>(event);
      if (on == E::Rerun || (on == E::ForceSuccess && status == S::Failed)) continue;
      EXPECT_FALSE(nextTaskStatus(status, on).ok()) << toString(status) << " " << toString(on);
    }
  }
}

TEST(IdsTest, OnlyPlainDecimalTaskIdsAreRead) {
  // Aim: one id has one text.
  EXPECT_EQ(parseTaskId("1"), TaskId{1});
  EXPECT_EQ(parseTaskId("9223372036854775807"), TaskId{INT64_MAX});
  for (const char* text : {"", "0", "01", "+1", "-1", " 1", "1 ", "1a", "9223372036854775808",
                           "99999999999999999999"}) {
    EXPECT_FALSE(parseTaskId(text).has_value()) << text;
  }
}

TEST(IdsTest, NamesKeepToTheirCharacters) {
  // Aim: a name is safe in paths, headers and SQL whatever it is.
  EXPECT_TRUE(isValidName("host-a_1.b"));
  EXPECT_TRUE(isValidName("w:0", true));
  EXPECT_FALSE(isValidName("w:0"));
  EXPECT_TRUE(isValidName(".a"));
  EXPECT_TRUE(isValidName("..."));
  for (const std::string& text :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("."), std::string(".."),
        std::string("ä"), std::string("a\n"), std::string(65, 'a')}) {
    EXPECT_FALSE(isValidName(text, true)) << text;
  }
}

}  // namespace
}  // namespace baton
