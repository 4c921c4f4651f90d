#include "ha/election_step.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/ha/election_harness.h"

namespace baton::test {
namespace {

using ha::CoordCode;
using ha::FailoverState;

class ElectionStepTest : public testing::Test, public ElectionHarness {
 protected:
  FailoverState phase() const { return state.phase; }
};

// Row 1: starting opens a handle and waits for it, for as long as it takes.
TEST_F(ElectionStepTest, StartConnects) {
  toConnecting();
  EXPECT_EQ(phase(), FailoverState::Connecting);
  EXPECT_EQ(count<ha::OpenSession>(), 1U);
  advance(Seconds(3600));
  EXPECT_EQ(phase(), FailoverState::Connecting);
  EXPECT_EQ(count<ha::OpenSession>(), 1U);
}

// Row 2: connected, the nodes are created with what the database says.
TEST_F(ElectionStepTest, ConnectedMasterJoins) {
  toJoining();
  EXPECT_EQ(phase(), FailoverState::Joining);
  ASSERT_TRUE(last<ha::SendJoin>());
  EXPECT_EQ(last<ha::SendJoin>()->request.self->who.node_id, "m1");
  EXPECT_TRUE(last<ha::SendProbe>());
}

// Row 3: a held lock means standing by, for observers too.
TEST_F(ElectionStepTest, HeldLockMakesAStandby) {
  toStandby();
  EXPECT_EQ(count<ha::SendAcquire>(), 0U);
}

TEST_F(ElectionStepTest, ObserverNeverContends) {
  // Neither priority 0 nor an absent lock makes it a candidate.
  config.priority = 0;
  toJoining();
  probeAnswer();
  joinAnswer();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Observer);
  advance(Seconds(60));
  EXPECT_EQ(count<ha::SendAcquire>(), 0U);
}

// Row 4: an absent lock starts the rank delay, and the multi waits for a fresh database answer.
TEST_F(ElectionStepTest, AbsentLockIsContendedAfterTheDatabaseAnswered) {
  toContending();
  EXPECT_EQ(count<ha::SendAcquire>(), 0U);
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Acquiring);
  EXPECT_EQ(last<ha::SendAcquire>()->request.epoch_version, 3);
  EXPECT_EQ(last<ha::SendAcquire>()->request.lock.epoch, 6U);
}

TEST_F(ElectionStepTest, PausedClusterIsNotContended) {
  // The operator's node beats the absent lock; removing it is noticed.
  toStandby();
  lockIsAbsent();
  view.paused = true;
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  view.paused = false;
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);
}

// The new epoch is above both what ZooKeeper and what the database have seen.
TEST_F(ElectionStepTest, NewEpochIsAboveBothSources) {
  row.epoch = 40;
  toContending();
  probeAnswer();
  EXPECT_EQ(last<ha::SendAcquire>()->request.lock.epoch, 41U);
  EXPECT_EQ(last<ha::SendAcquire>()->request.lock.prev_epoch, 40U);
}

// 1.5: who stands behind others in rank waits 150 ms for each of them.
TEST_F(ElectionStepTest, RankDelaysContending) {
  addMember("m3", 200, 9);  // Higher priority.
  addMember("m4", 100, 1);  // Joined earlier.
  addMember("m1", 100, 2);
  addMember("m2", 300, 0);  // The dead leader does not count.
  toContending();
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);
  advance(Millis(299));
  EXPECT_EQ(phase(), FailoverState::Contending);
  advance(Millis(1));
  EXPECT_EQ(phase(), FailoverState::Acquiring);
}

// Row 9: somebody else was quicker.
TEST_F(ElectionStepTest, LockTakenDuringTheRankDelayEndsContending) {
  addMember("m3", 200, 9);
  addMember("m1", 100, 2);
  toContending();
  probeAnswer();
  lockIsOthers(6);
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Seconds(10));
  EXPECT_EQ(count<ha::SendAcquire>(), 0U);
}

// A master without its database does not take the lock, and tries again within a second or two.
TEST_F(ElectionStepTest, UnreadableDatabaseKeepsFromContending) {
  toContending();
  probeFails();
  EXPECT_EQ(phase(), FailoverState::Standby);
  EXPECT_NE(state.alarm, "");
  advance(Millis(1001));
  EXPECT_EQ(phase(), FailoverState::Contending);
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Acquiring);
}

// Row 10: the lock is confirmed by a read that arms the watch, then the row is moved.
TEST_F(ElectionStepTest, WonLockIsConfirmedBeforeTheBump) {
  toAcquiring();
  acquireAnswer(CoordCode::Ok);
  EXPECT_EQ(phase(), FailoverState::Promoting);
  EXPECT_EQ(count<ha::StartBump>(), 0U);
  viewAnswer();
  ASSERT_TRUE(last<ha::StartBump>());
  EXPECT_EQ(last<ha::StartBump>()->claim.epoch, 6U);
  EXPECT_EQ(last<ha::StartBump>()->claim.lock_czxid, 5);
}

// Row 11 and 12: no answer is no answer; read back with sync, never a blind retry.
TEST_F(ElectionStepTest, AmbiguousAcquireIsReadBack) {
  toAcquiring();
  acquireAnswer(CoordCode::Ambiguous);
  EXPECT_EQ(phase(), FailoverState::Verifying);
  EXPECT_TRUE(last<ha::SendView>()->sync);
  lockIsMine();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Promoting);
  EXPECT_EQ(state.leadership.epoch, 6U);
  EXPECT_EQ(count<ha::SendAcquire>(), 1U);
}

TEST_F(ElectionStepTest, AmbiguousAcquireByOwnDeadlineWaitsForTheConnection) {
  // A third of the session without an answer; the read back comes after the reconnect.
  toAcquiring();
  send(ha::SessionDown{g()});
  advance(Millis(kSessionMs / 3 + 1));
  EXPECT_EQ(phase(), FailoverState::Verifying);
  forget();
  send(ha::SessionUp{g(), kSessionId, kSessionMs});
  ASSERT_TRUE(last<ha::SendView>());
  EXPECT_TRUE(last<ha::SendView>()->sync);
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);  // It did not happen: once more from A1.
}

TEST_F(ElectionStepTest, AmbiguousAcquireThatAnotherWonMakesAStandby) {
  toAcquiring();
  acquireAnswer(CoordCode::Ambiguous);
  lockIsOthers(6);
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
}

TEST_F(ElectionStepTest, ReadBackThatFailsIsRepeated) {
  // Without an answer to the question nothing is decided.
  toAcquiring();
  acquireAnswer(CoordCode::Ambiguous);
  viewAnswer(CoordCode::Ambiguous);
  EXPECT_EQ(phase(), FailoverState::Verifying);
  forget();
  advance(Millis(200));
  ASSERT_TRUE(last<ha::SendView>());
  EXPECT_TRUE(last<ha::SendView>()->sync);
}

TEST_F(ElectionStepTest, LockOfAnOwnOlderSessionIsNotClaimed) {
  // A follower may still show what an expired session of ours created.
  toAcquiring();
  acquireAnswer(CoordCode::Ambiguous);
  lockIsMine();
  view.lock->owner_session = kSessionId - 1;
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
}

// A5: the other answers to the multi.
TEST_F(ElectionStepTest, StaleTokenIsReadAgain) {
  toAcquiring();
  forget();
  send(ha::AcquireReply{g(), state.pending[2].id, CoordCode::BadVersion});
  EXPECT_EQ(phase(), FailoverState::Standby);
  EXPECT_TRUE(last<ha::SendView>());
}

TEST_F(ElectionStepTest, ExistingLockMakesAStandby) {
  toAcquiring();
  acquireAnswer(CoordCode::Exists);
  lockIsOthers(6);
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
}

TEST_F(ElectionStepTest, MissingParentsAreCreatedAgain) {
  toAcquiring();
  forget();
  send(ha::AcquireReply{g(), state.pending[2].id, CoordCode::Absent});
  EXPECT_EQ(phase(), FailoverState::Joining);
  EXPECT_TRUE(last<ha::SendJoin>());
}

TEST_F(ElectionStepTest, OtherFailureBacksOff) {
  // Never a hot loop.
  toAcquiring();
  acquireAnswer(CoordCode::Failed);
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(199));
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(2000));
  EXPECT_EQ(phase(), FailoverState::Contending);
}

TEST_F(ElectionStepTest, DeadHandleIsReplaced) {
  toAcquiring();
  acquireAnswer(CoordCode::SessionDead);
  EXPECT_EQ(phase(), FailoverState::Connecting);
  EXPECT_EQ(count<ha::CloseSession>(), 1U);
  advance(Seconds(1));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
}

// Row 13: bump, promote, then act.
TEST_F(ElectionStepTest, PromotedMasterActs) {
  toPromoting();
  EXPECT_FALSE(state.mayAct());
  bumpAnswer();
  EXPECT_FALSE(state.mayAct());
  EXPECT_EQ(last<ha::StartPromote>()->leadership.epoch, 6U);
  EXPECT_EQ(last<ha::StartPromote>()->leadership.bumped_at, now);
  promoteAnswer();
  EXPECT_EQ(phase(), FailoverState::Active);
  EXPECT_TRUE(state.mayAct());
}

// Row 14: somebody is further; the lock is given back.
TEST_F(ElectionStepTest, RefusedBumpGivesTheLockBack) {
  toPromoting();
  bumpAnswer(ErrorCode::Fenced);
  row.epoch = 9;
  row.node_id = "m2";
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  ASSERT_TRUE(last<ha::SendRelease>());
  EXPECT_EQ(last<ha::SendRelease>()->epoch_version, 4);
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);  // Holds off.
}

TEST_F(ElectionStepTest, BumpWhoseAnswerWasLostCounts) {
  // The second try is refused by our own first one.
  toPromoting();
  bumpAnswer(ErrorCode::Unavailable);
  EXPECT_EQ(phase(), FailoverState::Promoting);
  advance(Millis(250));
  bumpAnswer(ErrorCode::Fenced);
  rowIsMine(6);
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Promoting);
  EXPECT_TRUE(last<ha::StartPromote>());
}

// Row 15 and BUG-074: three seconds without the database, then the lock is given up; the master
// stays a candidate, with longer pauses each time.
TEST_F(ElectionStepTest, UnreachableDatabaseGivesTheLockUpButStaysACandidate) {
  toPromoting();
  for (int i = 0; i < 20 && phase() == FailoverState::Promoting; ++i) {
    bumpAnswer(ErrorCode::Unavailable);
    advance(Millis(250));
  }
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(2001));
  EXPECT_EQ(phase(), FailoverState::Contending);
}

TEST_F(ElectionStepTest, FailedPromotionsHoldOffLongerEachTime) {
  toPromoting();
  const std::array expected{Millis(2000), Millis(5000), Millis(10'000), Millis(10'000)};
  for (const Millis pause : expected) {
    bumpAnswer();
    promoteAnswer(ErrorCode::Unavailable);
    ASSERT_EQ(phase(), FailoverState::Demoting);
    const BootTime failed_at = now;
    demoteAnswer();
    send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
    lockIsAbsent();
    viewAnswer();
    ASSERT_EQ(state.timers[static_cast<size_t>(ha::TimerKind::HoldOff)], failed_at + pause);
    now = failed_at + pause;
    send(ha::Tick{});
    ASSERT_EQ(phase(), FailoverState::Contending);
    probeAnswer();
    acquireAnswer(CoordCode::Ok);
    viewAnswer();
  }
}

TEST_F(ElectionStepTest, PromotionIsLimitedTo60Seconds) {
  toPromoting();
  bumpAnswer();
  for (int i = 0; i < 600; ++i) {
    advance(Millis(100));
    if (state.pending[3].id != 0) renewAnswer();
  }
  EXPECT_EQ(phase(), FailoverState::Demoting);
}

// Row 16: losing the lock cancels the promotion.
TEST_F(ElectionStepTest, LockLostDuringPromotionCancelsIt) {
  toPromoting();
  bumpAnswer();
  const uint64_t promote = last<ha::StartPromote>()->id;
  lockIsOthers(7);
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Demoting);
  send(ha::PromoteReply{promote, std::nullopt, {}});  // Came too late.
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  EXPECT_EQ(count<ha::SendRelease>(), 0U);
}

TEST_F(ElectionStepTest, SessionLostDuringPromotionCancelsIt) {
  toPromoting();
  send(ha::SessionExpired{g()});
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  EXPECT_EQ(phase(), FailoverState::Connecting);
}

}  // namespace
}  // namespace baton::test
