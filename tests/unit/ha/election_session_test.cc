#include <gtest/gtest.h>

#include "ha/election_step.h"
#include "tests/unit/ha/election_harness.h"

namespace baton::test {
namespace {

using ha::CoordCode;
using ha::FailoverState;

class ElectionSessionTest : public testing::Test, public ElectionHarness {
 protected:
  FailoverState phase() const { return state.phase; }
};

// Row 27: what only a person can mend is tried again every 30 s.
TEST_F(ElectionSessionTest, RefusedCredentialsAreFatalWithASlowRetry) {
  toJoining();
  joinAnswer(CoordCode::Refused);
  EXPECT_EQ(phase(), FailoverState::FatalConfig);
  EXPECT_NE(state.alarm, "");
  EXPECT_EQ(count<ha::CloseSession>(), 1U);
  advance(Millis(29'999));
  EXPECT_EQ(count<ha::OpenSession>(), 1U);
  advance(Millis(1));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
  EXPECT_EQ(phase(), FailoverState::Connecting);
}

// What is shown while ZooKeeper is away is old, and who reads it must learn that.
TEST_F(ElectionSessionTest, SilenceOfZookeeperIsTold) {
  addMember("m1", 100, 1);
  addMember("m2", 100, 2);
  toIsolated();
  EXPECT_FALSE(state.unheard(now)) << "another server may answer in a moment";
  EXPECT_EQ(state.alarmAt(now), state.alarm);
  advance(Millis(500));
  EXPECT_TRUE(state.unheard(now));
  EXPECT_EQ(state.alarmAt(now),
            "ZooKeeper has not answered for 2 s; masters are shown as it last knew them; "
            "the lease in ZooKeeper ended: the role is held by the epoch row alone");
  send(ha::SessionUp{g(), kSessionId, kSessionMs});
  EXPECT_FALSE(state.unheard(now));
  EXPECT_EQ(state.alarmAt(now), state.alarm);
}

// Whose settings are wrong stays away by itself: ZooKeeper is not to blame.
TEST_F(ElectionSessionTest, SilenceIsToldUnlessItIsOurOwn) {
  toConnecting();
  advance(Millis(3000));
  EXPECT_EQ(state.alarmAt(now), "ZooKeeper has not answered for 3 s");
  send(ha::SessionUp{g(), kSessionId, kSessionMs});
  EXPECT_EQ(state.alarmAt(now), "");
  joinAnswer(CoordCode::Refused);
  ASSERT_EQ(phase(), FailoverState::FatalConfig);
  advance(Millis(5000));
  EXPECT_TRUE(state.unheard(now));
  EXPECT_EQ(state.alarmAt(now), state.alarm);
}

TEST_F(ElectionSessionTest, ForeignGuidIsFatal) {
  toJoining();
  probeAnswer();
  joinAnswer(CoordCode::Mismatch, "other");
  EXPECT_EQ(phase(), FailoverState::FatalConfig);
  EXPECT_NE(state.alarm.find("other"), std::string::npos);
}

TEST_F(ElectionSessionTest, ForeignGuidOfTheDatabaseIsFatalWheneverItShows) {
  // The database was out of reach at the join.
  toJoining();
  probeFails();
  lockIsOthers();
  joinAnswer();
  viewAnswer();
  ASSERT_EQ(phase(), FailoverState::Standby);
  advance(Millis(2001));
  row.cluster_guid = "other";
  probeAnswer();
  EXPECT_EQ(phase(), FailoverState::FatalConfig);
}

TEST_F(ElectionSessionTest, FatalFaultOfTheActiveEndsTheRoleFirst) {
  toActive();
  advance(Millis(1));
  renewAnswer(CoordCode::Refused);
  EXPECT_EQ(phase(), FailoverState::Demoting);
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Refused});
  EXPECT_EQ(phase(), FailoverState::FatalConfig);
}

// 1.1: only a database without any epoch gives its guid to an empty ensemble by itself.
TEST_F(ElectionSessionTest, EmptyEnsembleIsFilledFromAFreshDatabase) {
  toJoining();
  probeAnswer();
  joinAnswer(CoordCode::Absent, "");
  EXPECT_EQ(last<ha::SendJoin>()->request.create_guid, "guid");
}

TEST_F(ElectionSessionTest, EmptyEnsembleIsRefusedForAUsedDatabase) {
  row.epoch = 12;
  toJoining();
  probeAnswer();
  joinAnswer(CoordCode::Absent, "");
  EXPECT_EQ(phase(), FailoverState::FatalConfig);
  EXPECT_NE(state.alarm.find("--adopt"), std::string::npos);
}

// 1.4: the member node of an earlier process is waited for; if it stays, somebody is told.
TEST_F(ElectionSessionTest, ForeignMemberNodeIsWaitedFor) {
  toJoining();
  probeAnswer();
  for (int i = 0; i < 5; ++i) {
    joinAnswer(CoordCode::Exists);
    EXPECT_EQ(phase(), FailoverState::Joining);
    advance(Millis(300));
  }
  EXPECT_EQ(state.alarm, "");
  for (int i = 0; i < 20; ++i) {
    joinAnswer(CoordCode::Exists);
    advance(Millis(300));
  }
  EXPECT_NE(state.alarm.find("m1"), std::string::npos);
}

TEST_F(ElectionSessionTest, LostMemberNodeIsCreatedAgainWithoutLosingTheRole) {
  toActive();
  advance(Millis(1));
  forget();
  send(ha::RenewReply{g(), state.pending[3].id, CoordCode::Absent});
  EXPECT_TRUE(last<ha::SendJoin>());
  EXPECT_EQ(phase(), FailoverState::Active);
}

TEST_F(ElectionSessionTest, ForeignLockDataIsLeftAlone) {
  toStandby();
  view.lock->parsed = false;
  send(ha::ViewChanged{g()});
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Standby);
  EXPECT_NE(state.alarm, "");
  EXPECT_EQ(count<ha::SendRelease>(), 0U);
}

// Row 28: an expired standby comes back under a new handle, at growing distances.
TEST_F(ElectionSessionTest, ExpiredStandbyReconnects) {
  toStandby();
  send(ha::SessionExpired{g()});
  EXPECT_EQ(phase(), FailoverState::Connecting);
  advance(Millis(199));
  EXPECT_EQ(count<ha::OpenSession>(), 1U);
  advance(Millis(1));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
  send(ha::SessionFailed{g(), "no memory"});
  advance(Millis(399));
  EXPECT_EQ(count<ha::OpenSession>(), 2U);
  advance(Millis(1));
  EXPECT_EQ(count<ha::OpenSession>(), 3U);
}

TEST_F(ElectionSessionTest, EventsOfAnOldHandleAreIgnored) {
  toStandby();
  const uint64_t old = g();
  send(ha::SessionExpired{old});
  advance(Millis(200));
  send(ha::SessionUp{g(), kSessionId + 1, kSessionMs});
  send(ha::SessionExpired{old});
  send(ha::ViewChanged{old});
  EXPECT_EQ(phase(), FailoverState::Joining);
  EXPECT_TRUE(state.connected);
}

TEST_F(ElectionSessionTest, StandbyIgnoresAConnectionLoss) {
  // And reads the lock anew when the connection is back.
  toStandby();
  send(ha::SessionDown{g()});
  EXPECT_EQ(phase(), FailoverState::Standby);
  forget();
  send(ha::SessionUp{g(), kSessionId, kSessionMs});
  EXPECT_TRUE(last<ha::SendView>());
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);
}

}  // namespace
}  // namespace baton::test
