#include <gtest/gtest.h>

#include "ha/election_step.h"
#include "tests/unit/ha/election_harness.h"

namespace baton::test {
namespace {

using ha::CoordCode;
using ha::FailoverState;

class ElectionRoleTest : public testing::Test, public ElectionHarness {
 protected:
  FailoverState phase() const { return state.phase; }
  // Lets time pass while every renewal succeeds.
  void advanceRenewing(Millis time) {
    for (Millis passed{0}; passed < time; passed += Millis(100)) {
      advance(Millis(100));
      if (state.pending[static_cast<size_t>(ha::RequestKind::Renew)].id != 0) renewAnswer();
    }
  }
};

// 1.8: renewals every T/8 keep the lease, however long.
TEST_F(ElectionRoleTest, RenewalsKeepTheLease) {
  toActive();
  advanceRenewing(Seconds(60));
  EXPECT_EQ(phase(), FailoverState::Active);
  EXPECT_EQ(ha::renewPeriod(3000), Millis(375));
  EXPECT_EQ(ha::renewPeriod(1000), Millis(200));
  EXPECT_EQ(ha::renewPeriod(60'000), Millis(1000));
}

// 1.8: the lease counts from the sending of the renewal, not from its answer.
TEST_F(ElectionRoleTest, LeaseCountsFromTheSendOfTheRenewal) {
  toActive();
  advance(Millis(1));
  renewAnswer();
  advance(Millis(400));
  const ha::PendingRequest renewal = state.pending[static_cast<size_t>(ha::RequestKind::Renew)];
  ASSERT_NE(renewal.id, 0U);
  now += Millis(900);
  renewAnswer();
  EXPECT_EQ(state.lease_until, renewal.sent + Millis(1800));
}

// 1.8: a renewal proves nothing about a lock that was announced as changed and not read since.
TEST_F(ElectionRoleTest, RenewalAfterAChangeDoesNotExtendTheLease) {
  toActive();
  advance(Millis(1));
  const BootTime lease = state.lease_until;
  send(ha::ViewChanged{g()});
  advance(Millis(400));
  renewAnswer();
  EXPECT_EQ(state.lease_until, lease);
  viewAnswer();  // Still ours.
  advance(Millis(400));
  renewAnswer();
  EXPECT_GT(state.lease_until, lease);
}

// Row 17: at the end of the lease the row alone decides, and the master goes on.
TEST_F(ElectionRoleTest, LeaseEndIsolatesButGoesOn) {
  toIsolated();
  EXPECT_TRUE(state.mayAct());
  EXPECT_NE(state.alarm, "");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(last<ha::SendProbe>());
    probeAnswer();
    advance(Millis(250));
  }
  EXPECT_EQ(phase(), FailoverState::ActiveIsolated);
  EXPECT_GE(count<ha::SendProbe>(), 100U);
}

// Row 18: the session resumes and the lock is ours.
TEST_F(ElectionRoleTest, IsolatedMasterComesBackWithItsLock) {
  toIsolated();
  send(ha::SessionUp{g(), kSessionId, kSessionMs});
  viewAnswer();
  advance(Millis(1));
  renewAnswer();
  EXPECT_EQ(phase(), FailoverState::Active);
  EXPECT_EQ(state.alarm, "");
  EXPECT_EQ(state.leadership.epoch, 6U);
}

TEST_F(ElectionRoleTest, IsolatedMasterStopsWhenTheRowMoves) {
  // Within one poll.
  toIsolated();
  row.epoch = 7;
  row.node_id = "m2";
  row.incarnation = "inc-2";
  probeAnswer();
  EXPECT_FALSE(state.mayAct());
  EXPECT_EQ(phase(), FailoverState::Demoting);
  EXPECT_EQ(count<ha::FreezeService>(), 1U);
}

TEST_F(ElectionRoleTest, IsolatedMasterGoesOnWhileTheDatabaseIsSilent) {
  // What can't be read can't be written either.
  toIsolated();
  for (int i = 0; i < 40; ++i) {
    probeFails();
    advance(Millis(250));
  }
  EXPECT_EQ(phase(), FailoverState::ActiveIsolated);
}

// Row 19 and 21: an expired session ends the role in this form; the memory is dropped and the
// master contends like everybody.
TEST_F(ElectionRoleTest, ExpiredSessionFreezesAndDemotes) {
  toActive();
  send(ha::SessionExpired{g()});
  EXPECT_FALSE(state.mayAct());
  EXPECT_EQ(count<ha::FreezeService>(), 1U);
  EXPECT_EQ(phase(), FailoverState::Demoting);
  advance(Millis(200));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
  send(ha::SessionUp{g(), kSessionId + 1, kSessionMs});
  EXPECT_EQ(phase(), FailoverState::Demoting);  // The role ends first.
  demoteAnswer();
  EXPECT_EQ(phase(), FailoverState::Joining);
  EXPECT_EQ(count<ha::SendRelease>(), 0U);
}

TEST_F(ElectionRoleTest, DeletedLockDemotes) {
  toActive();
  lockIsAbsent();
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);  // Nobody else is there.
}

TEST_F(ElectionRoleTest, DeletedLockLeavesTheOthersASecond) {
  addMember("m2", 100, 1);
  addMember("m1", 100, 2);
  toActive();
  lockIsAbsent();
  send(ha::ViewChanged{g()});
  viewAnswer();
  demoteAnswer();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(999));
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(1));
  EXPECT_EQ(phase(), FailoverState::Contending);
}

TEST_F(ElectionRoleTest, OtherOwnerDemotesAtOnce) {
  toActive();
  lockIsOthers(7);
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Demoting);
  EXPECT_FALSE(state.lock_owned);
}

// Row 19 and 20: after a time jump nothing acts until one read of the row that began afterwards.
TEST_F(ElectionRoleTest, TimeJumpFreezesUntilVerified) {
  toActive();
  advance(Millis(1));
  const uint64_t old_probe = last<ha::SendProbe>()->id;
  send(ha::TimeJumped{700});
  EXPECT_EQ(phase(), FailoverState::Frozen);
  EXPECT_FALSE(state.mayAct());
  ha::ProbeReply early;
  early.id = old_probe;
  early.row = row;
  early.cluster_guid = row.cluster_guid;
  send(early);
  EXPECT_EQ(phase(), FailoverState::Frozen);  // Began before the jump.
  advance(Millis(1));
  ASSERT_NE(last<ha::SendProbe>()->id, old_probe);
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Active);
  EXPECT_EQ(count<ha::ResumeService>(), 1U);
}

// Whatever casts doubt on the role before it is held is verified before anything acts: whoever
// doubted may have frozen the service, and it must be resumed.
TEST_F(ElectionRoleTest, DoubtDuringThePromotionIsVerifiedBehindIt) {
  const std::vector<ha::Event> doubts{ha::TimeJumped{700}, ha::EpochDoubted{9, "test"}};
  for (const ha::Event& doubt : doubts) {
    *static_cast<ElectionHarness*>(this) = {};
    toPromoting();
    bumpAnswer();
    send(doubt);
    EXPECT_EQ(phase(), FailoverState::Promoting);
    promoteAnswer();
    EXPECT_EQ(phase(), FailoverState::Frozen);
    EXPECT_EQ(count<ha::FreezeService>(), 1U);
    EXPECT_EQ(count<ha::ResumeService>(), 0U);
    probeAnswer();
    if (phase() == FailoverState::Frozen) {
      advance(Millis(1));
      probeAnswer();  // The first one began before the freeze.
    }
    EXPECT_EQ(phase(), FailoverState::Active);
    EXPECT_EQ(count<ha::ResumeService>(), 1U);
  }
}

// The doubt of an earlier promotion says nothing about this one.
TEST_F(ElectionRoleTest, DoubtEndsWithItsPromotion) {
  toPromoting();
  bumpAnswer();
  send(ha::TimeJumped{700});
  promoteAnswer(ErrorCode::Unavailable);
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  lockIsAbsent();
  viewAnswer();
  advance(Millis(2000));
  ASSERT_EQ(phase(), FailoverState::Contending);
  while (phase() == FailoverState::Contending) probeAnswer();
  acquireAnswer(CoordCode::Ok);
  viewAnswer();
  bumpAnswer();
  promoteAnswer();
  EXPECT_EQ(phase(), FailoverState::Active);
}

TEST_F(ElectionRoleTest, ServiceFailureEndsThePromotion) {
  toPromoting();
  bumpAnswer();
  send(ha::ServiceFailed{"a row was refused", false});
  EXPECT_EQ(phase(), FailoverState::Demoting);
  EXPECT_EQ(state.alarm, "a row was refused");
  promoteAnswer();  // Too late.
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  EXPECT_EQ(count<ha::SendRelease>(), 1U);
}

// 3.6: the active alone misses the database; somebody who has it shall lead.
TEST_F(ElectionRoleTest, ActiveWithoutADatabaseGivesWayToOneThatHasIt) {
  for (const bool hangs : {false, true}) {
    *static_cast<ElectionHarness*>(this) = {};
    addMember("m2", 100, 9);
    addMember("m1", 100, 2);
    toActive();
    for (int i = 0; i < 29; ++i) {
      if (!hangs) probeFails();
      advanceRenewing(Millis(100));
    }
    EXPECT_EQ(phase(), FailoverState::Active);
    forget();
    advanceRenewing(Millis(200));
    membersAnswer();
    EXPECT_EQ(phase(), FailoverState::Demoting);
    EXPECT_EQ(count<ha::FreezeService>(), 1U);
    demoteAnswer();
    EXPECT_EQ(count<ha::SendRelease>(), 1U);
    send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
    lockIsAbsent();
    viewAnswer();
    EXPECT_EQ(phase(), FailoverState::Standby);  // Leaves the others time to come first.
  }
}

TEST_F(ElectionRoleTest, DatabaseThatIsAwayForAllChangesNoRole) {
  addMember("m1", 100, 2);
  addMember("m2", 100, 9);
  members.back().database_ok = false;
  toActive();
  for (int i = 0; i < 200; ++i) {
    probeFails();
    advanceRenewing(Millis(100));
    if (state.pending[static_cast<size_t>(ha::RequestKind::Members)].id != 0) membersAnswer();
  }
  EXPECT_EQ(phase(), FailoverState::Active);
  probeAnswer();
  advanceRenewing(Millis(100));
  members.back().database_ok = true;  // Both have it again.
  for (int i = 0; i < 100; ++i) {
    if (state.pending[static_cast<size_t>(ha::RequestKind::Probe)].id != 0) probeAnswer();
    advanceRenewing(Millis(100));
    if (state.pending[static_cast<size_t>(ha::RequestKind::Members)].id != 0) membersAnswer();
  }
  EXPECT_EQ(phase(), FailoverState::Active);
}

// What a member says about its database is at most a second old, and a read that hangs counts.
TEST_F(ElectionRoleTest, MemberWhoseReadHangsSaysThatItHasNoDatabase) {
  toStandby();
  advance(Millis(1000));
  probeAnswer();
  advance(Millis(1000));
  renewAnswer();
  EXPECT_TRUE(last<ha::SendRenew>()->self.database_ok);
  advance(Millis(1000));  // The read of the last second is still not answered.
  EXPECT_FALSE(last<ha::SendRenew>()->self.database_ok);
}

// BUG-089: where every answer is late for all, no member calls the role to it.
TEST_F(ElectionRoleTest, MemberWhoseReadsAreLateSaysThatItHasNoDatabase) {
  toStandby();
  advance(Millis(1000));
  probeAnswer();
  advance(Millis(700));
  renewAnswer();
  advance(Millis(300));
  EXPECT_TRUE(last<ha::SendRenew>()->self.database_ok);
  advance(Millis(700));  // The answer to the read of the last second comes now.
  probeAnswer();
  renewAnswer();
  advance(Millis(300));
  EXPECT_FALSE(last<ha::SendRenew>()->self.database_ok);
  probeAnswer();
  renewAnswer();
  advance(Millis(1000));
  EXPECT_TRUE(last<ha::SendRenew>()->self.database_ok);
}

TEST_F(ElectionRoleTest, TimeJumpBeyondTheLeaseResumesIsolated) {
  // The row is still ours, the lock is not proven.
  toActive();
  now += Seconds(5);
  send(ha::TimeJumped{5000});
  probeAnswer();
  advance(Millis(1));
  if (phase() == FailoverState::Frozen) probeAnswer();
  EXPECT_EQ(phase(), FailoverState::ActiveIsolated);
}

// Row 22: the row says somebody else.
TEST_F(ElectionRoleTest, FrozenMasterDemotesWhenTheRowMoved) {
  toActive();
  send(ha::EpochDoubted{9, "test"});
  EXPECT_EQ(phase(), FailoverState::Frozen);
  row.epoch = 9;
  row.incarnation = "inc-2";
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Demoting);
}

TEST_F(ElectionRoleTest, FrozenMasterAsksAgainWhenTheDatabaseFails) {
  toActive();
  advance(Millis(1));
  probeAnswer();
  send(ha::EpochDoubted{9, "test"});
  for (int i = 0; i < 5; ++i) {
    probeFails();
    EXPECT_EQ(phase(), FailoverState::Frozen);
    advance(Millis(250));
  }
  probeAnswer();
  EXPECT_TRUE(state.mayAct());
}

// The service can't go on: reload; with give_up_lock another master goes first.
TEST_F(ElectionRoleTest, ServiceFailureReleasesTheLock) {
  toActive();
  send(ha::ServiceFailed{"twice in a minute", true});
  EXPECT_EQ(phase(), FailoverState::Demoting);
  EXPECT_FALSE(state.mayAct());
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  advance(Millis(2000));
  EXPECT_EQ(phase(), FailoverState::Contending);
}

// Rows 23 to 26 as a clean stop takes them: drain, demote, delete the lock, close.
TEST_F(ElectionRoleTest, StopDrainsDemotesReleasesAndCloses) {
  toActive();
  forget();
  send(ha::StopRequested{});
  EXPECT_EQ(phase(), FailoverState::Draining);
  EXPECT_FALSE(state.mayAct());
  EXPECT_EQ(count<ha::StartDemote>(), 0U);
  send(ha::DrainReply{last<ha::StartDrain>()->id});
  EXPECT_EQ(last<ha::StartDemote>()->released_epoch, 6U);
  EXPECT_EQ(count<ha::SendRelease>(), 0U);
  demoteAnswer();
  EXPECT_EQ(count<ha::CloseSession>(), 0U);
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  EXPECT_EQ(count<ha::CloseSession>(), 1U);
  EXPECT_EQ(phase(), FailoverState::Stopped);
  EXPECT_EQ(state.nextTimer(), ha::kNever);
}

TEST_F(ElectionRoleTest, StopWithoutTheRoleOnlyCloses) {
  toStandby();
  send(ha::StopRequested{});
  EXPECT_EQ(phase(), FailoverState::Stopped);
  EXPECT_EQ(count<ha::StartDemote>(), 0U);
  EXPECT_EQ(count<ha::CloseSession>(), 1U);
}

TEST_F(ElectionRoleTest, UnansweredReleaseGivesTheLockBackWithTheSession) {
  toActive();
  send(ha::ServiceFailed{"test", true});
  demoteAnswer();
  advance(Millis(kSessionMs / 3 + 1));
  EXPECT_GE(count<ha::CloseSession>(), 1U);
  advance(Millis(10));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
  EXPECT_EQ(phase(), FailoverState::Connecting);
}

// Flap guard: each involuntary loss adds two seconds while somebody else could lead.
TEST_F(ElectionRoleTest, LossesDelayContending) {
  addMember("m2", 100, 9);
  addMember("m1", 100, 2);
  toActive();
  lockIsOthers(7);
  send(ha::ViewChanged{g()});
  viewAnswer();
  demoteAnswer();
  viewAnswer();
  ASSERT_EQ(phase(), FailoverState::Standby);
  lockIsAbsent();
  send(ha::ViewChanged{g()});
  viewAnswer();
  ASSERT_EQ(phase(), FailoverState::Contending);
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);
  EXPECT_EQ(state.timers[static_cast<size_t>(ha::TimerKind::Contend)], now + Millis(2000));
}

// The dead leader's node is seen to go a moment after its lock: nobody is left to wait for.
TEST_F(ElectionRoleTest, LossesDelayNobodyWhoIsTheLastCandidate) {
  addMember("m2", 100, 9);
  addMember("m1", 100, 2);
  toActive();
  lockIsOthers(7);
  send(ha::ViewChanged{g()});
  viewAnswer();
  demoteAnswer();
  viewAnswer();
  lockIsAbsent();
  send(ha::ViewChanged{g()});
  viewAnswer();
  probeAnswer();  // Of the one that was under way,
  probeAnswer();  // and of the one that counts.
  ASSERT_EQ(phase(), FailoverState::Contending);
  std::erase_if(members, [&](const ha::MemberRecord& m) { return m.who.node_id == "m2"; });
  send(ha::MembersChanged{g()});
  membersAnswer();
  advance(Millis(1));
  EXPECT_EQ(phase(), FailoverState::Acquiring);
}

}  // namespace
}  // namespace baton::test
