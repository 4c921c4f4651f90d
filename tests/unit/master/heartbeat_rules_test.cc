#include "master/host/heartbeat_rules.h"

#include <gtest/gtest.h>

namespace baton::master {
namespace {

using Step = HeartbeatStep;
using R = RunnerStatus;

const AttemptKey kOpen{7, 2, "nonce"};
const AttemptKey kOlder{7, 1, "older"};
const AttemptKey kNone{};
constexpr HeartbeatPair kOrdered{3, 10};

Step judge(HeartbeatPair pair, R status, const AttemptKey& current, const AttemptKey& last,
           bool confirmed = false, bool terminating = false) {
  const OpenAttempt open{kOpen, kOrdered, confirmed, terminating};
  return judgeHeartbeat(pair, status, current, last, &open);
}

TEST(HeartbeatRulesTest, ALowerPairProvesNothingWhateverItSays) {
  // Aim: a late heartbeat can neither end an attempt nor start one.
  for (const HeartbeatPair pair : {HeartbeatPair{3, 9}, HeartbeatPair{2, 99}}) {
    for (const R status : {R::Idle, R::Running, R::Finished, R::Failed}) {
      for (const AttemptKey& last : {kNone, kOlder, kOpen}) {
        for (const bool terminating : {false, true}) {
          EXPECT_EQ(judge(pair, status, kOpen, last, false, terminating), Step::NoEffect);
        }
      }
    }
  }
}

TEST(HeartbeatRulesTest, TheSamePairGetsTheSameOrderAgain) {
  // Aim: a doubled request or a lost reply makes no second effect.
  for (const R status : {R::Idle, R::Running, R::Finished, R::Failed}) {
    EXPECT_EQ(judge(kOrdered, status, kOlder, kOlder), Step::RepeatOrder);
    EXPECT_EQ(judge(kOrdered, status, kOlder, kOlder, false, true), Step::Reset);
  }
}

TEST(HeartbeatRulesTest, AHigherPairWithAnotherLastOrderProvesTheOrderLost) {
  // Aim: the runner listens only for its newest request, so the order can never arrive.
  for (const AttemptKey& last : {kNone, kOlder, AttemptKey{7, 2, "other"}}) {
    EXPECT_EQ(judge({3, 11}, R::Idle, kNone, last), Step::OrderLost);
    EXPECT_EQ(judge({4, 1}, R::Idle, kNone, last), Step::OrderLost);
    EXPECT_EQ(judge({3, 11}, R::Idle, kNone, last, false, true), Step::StopProved);
  }
}

TEST(HeartbeatRulesTest, AHigherPairWithThatLastOrderIsJudgedByWhatItSays) {
  // Aim: every row of the table of lifecycle.md with the order accepted.
  struct Row {
    R says;
    bool names_open;
    bool confirmed;
    bool terminating;
    Step step;
  };
  const std::vector<Row> kRows{
      {R::Idle, false, false, false, Step::StartFailed},
      {R::Idle, false, true, false, Step::RunnerReset},
      {R::Idle, false, false, true, Step::StopProved},
      {R::Idle, false, true, true, Step::StopProved},
      {R::Idle, true, true, true, Step::StopProved},  // The closing IDLE.
      {R::Running, true, false, false, Step::Started},
      {R::Running, true, true, false, Step::KeepRunning},
      {R::Running, true, false, true, Step::Reset},
      {R::Running, true, true, true, Step::Reset},
      {R::Running, false, false, false, Step::Reset},
      {R::Running, false, true, false, Step::Reset},
      {R::Finished, true, false, false, Step::EndedWell},
      {R::Finished, true, true, false, Step::EndedWell},
      {R::Finished, true, true, true, Step::EndedWell},
      {R::Failed, true, false, false, Step::EndedBadly},
      {R::Failed, true, true, false, Step::EndedBadly},
      {R::Failed, true, true, true, Step::EndedBadly},
      {R::Finished, false, true, false, Step::Reset},
      {R::Failed, false, true, false, Step::Reset},
  };
  for (const Row& row : kRows) {
    const Step step = judge({3, 11}, row.says, row.names_open ? kOpen : kOlder, kOpen,
                            row.confirmed, row.terminating);
    EXPECT_EQ(step, row.step) << toString(row.says) << row.names_open << row.confirmed
                              << row.terminating;
  }
}

TEST(HeartbeatRulesTest, WithoutAnOpenAttemptAnIdleRunnerMayWorkAndAnythingElseIsReset) {
  // Aim: the last row of the table: unknown tasks and older attempts.
  const auto none = [](R status) {
    return judgeHeartbeat({1, 1}, status, kOlder, kOlder, nullptr);
  };
  EXPECT_EQ(none(R::Idle), Step::Idle);
  EXPECT_EQ(none(R::Running), Step::Reset);
  EXPECT_EQ(none(R::Finished), Step::Acknowledge);
  EXPECT_EQ(none(R::Failed), Step::Acknowledge);
}

TEST(HeartbeatRulesTest, AnAbsentNonceMatchesAndAnotherDoesNot) {
  // Aim: plain clients name task and attempt alone; two orders of one number are told apart.
  EXPECT_TRUE(sameAttempt({7, 2, ""}, kOpen));
  EXPECT_TRUE(sameAttempt(kOpen, {7, 2, ""}));
  EXPECT_FALSE(sameAttempt({7, 2, "other"}, kOpen));
  EXPECT_FALSE(sameAttempt({7, 1, ""}, kOpen));
  EXPECT_FALSE(sameAttempt({8, 2, ""}, kOpen));
}

TEST(HeartbeatRulesTest, PairsAreOrderedByIncarnationFirst) {
  // Aim: a restarted daemon is above everything the old one sent.
  EXPECT_LT((HeartbeatPair{1, 99}), (HeartbeatPair{2, 1}));
  EXPECT_LT((HeartbeatPair{2, 1}), (HeartbeatPair{2, 2}));
}

}  // namespace
}  // namespace baton::master
