// A role that is given up on purpose, by one that stands for it again.
#include <gtest/gtest.h>

#include "tests/unit/ha/election_harness.h"

namespace baton::test {
namespace {

using ha::CoordCode;
using ha::FailoverState;

class ElectionHandOverTest : public testing::Test, public ElectionHarness {
 protected:
  FailoverState phase() const { return state.phase; }
};

TEST_F(ElectionHandOverTest, HandOverNeedsTheRole) {
  toStandby();
  send(ha::HandOverAsked{"not mine to give"});
  EXPECT_EQ(phase(), FailoverState::Standby);
}

// As a clean stop, but that it stands for election again; whoever takes the lock then leads.
TEST_F(ElectionHandOverTest, HandOverDrainsReleasesAndStandsAgain) {
  toActive();
  forget();
  send(ha::HandOverAsked{"sync"});
  EXPECT_EQ(phase(), FailoverState::Draining);
  EXPECT_FALSE(state.mayAct());
  send(ha::HandOverAsked{"again"});
  EXPECT_EQ(count<ha::StartDrain>(), 1U);
  send(ha::DrainReply{last<ha::StartDrain>()->id});
  EXPECT_EQ(last<ha::StartDemote>()->released_epoch, 6U);
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  EXPECT_EQ(count<ha::CloseSession>(), 0U);
  lockIsAbsent();
  viewAnswer();
  EXPECT_EQ(phase(), FailoverState::Contending);
  EXPECT_TRUE(state.alarm.empty());
}

TEST_F(ElectionHandOverTest, StopDuringAHandOverStops) {
  toActive();
  send(ha::HandOverAsked{"sync"});
  send(ha::StopRequested{});
  send(ha::DrainReply{last<ha::StartDrain>()->id});
  demoteAnswer();
  send(ha::ReleaseReply{g(), last<ha::SendRelease>()->id, CoordCode::Ok});
  EXPECT_EQ(phase(), FailoverState::Stopped);
}

}  // namespace
}  // namespace baton::test
