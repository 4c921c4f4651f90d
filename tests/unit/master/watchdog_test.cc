#include "master/host/watchdog.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;

class WatchdogTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
  // Time passes without the master noticing, as when it was stopped.
  void stall(Micros time) {
    clock_.advance(time);
    settle();
  }
};

TEST_F(WatchdogTest, ARunnerIsLostAfterThreeSilentIntervalsAndNotBefore) {
  // Aim: 3 H from its last heartbeat, on the boot clock; others are not touched.
  const TaskId silent = run();
  const TaskId alive = run(spec(), "v:0");
  pass(Millis(1'500));
  say(R::Running, "v:0");
  pass(Millis(1'400));
  EXPECT_EQ(status(silent), S::Running);
  clock_.stepWall(Seconds(3'600));
  pass(Millis(50));
  EXPECT_EQ(status(silent), S::Running);
  pass(Millis(300));
  EXPECT_EQ(status(silent), S::Failed);
  EXPECT_EQ(state(silent).reason, FailureReason::RunnerLost);
  EXPECT_EQ(status(alive), S::Running);
}

TEST_F(WatchdogTest, AfterATakeoverNobodyIsLostForThreeIntervalsButWhoReportedIsJudgedBySilence) {
  // Aim: a healthy runner that has not found the new master yet is not declared lost.
  const TaskId unheard = run();
  const TaskId heard = run(spec(), "v:0");
  pass(Millis(2'500));
  begin();
  say(R::Running, "v:0");
  pass(Millis(2'800));
  EXPECT_EQ(status(unheard), S::Running);
  EXPECT_EQ(status(heard), S::Running);
  pass(Millis(500));
  EXPECT_EQ(status(unheard), S::Failed);
  EXPECT_EQ(status(heard), S::Failed);
}

TEST_F(WatchdogTest, WhoReportsAgainBehindAGapIsJudgedFromItsOwnReport) {
  // Aim: the time that all are given ends for each with its first report.
  const TaskId heard = run();
  const TaskId unheard = run(spec(), "v:0");
  begin();
  say(R::Running);
  pass(Millis(2'000));
  stall(Seconds(5));
  pass(Millis(1'000));
  say(R::Running);
  pass(Millis(2'300));
  EXPECT_EQ(status(unheard), S::Failed);
  pass(Millis(500));
  EXPECT_EQ(status(heard), S::Running);
  pass(Millis(500));
  EXPECT_EQ(status(heard), S::Failed);
}

TEST_F(WatchdogTest, AMasterThatCouldNotHearForgivesTheGap) {
  // Aim: a stopped or frozen master does not kill the fleet when it comes back.
  const TaskId id = run();
  pass(Millis(2'000));
  stall(Seconds(60));
  pass(Millis(500));
  EXPECT_EQ(status(id), S::Running);
  pass(Millis(3'500));
  EXPECT_EQ(status(id), S::Failed);
}

TEST_F(WatchdogTest, AGapAboveAnIntervalRestartsTheSuppression) {
  // Aim: whoever has not reported in this term gets three whole intervals again.
  const TaskId id = run();
  begin();
  pass(Millis(2'900));
  stall(Seconds(5));
  pass(Millis(2'500));
  EXPECT_EQ(status(id), S::Running);
  pass(Millis(1'000));
  EXPECT_EQ(status(id), S::Failed);
}

TEST_F(WatchdogTest, AGapAboveAnIntervalGivesThreeWholeIntervalsAlsoToWhoWasSilentBefore) {
  // Aim: what kept a runner from us before the gap may have ended in it; it has to find us again.
  const TaskId id = run();
  pass(Millis(2'500));
  stall(Millis(2'200));
  pass(Millis(2'800));
  EXPECT_EQ(status(id), S::Running);
  pass(Millis(500));
  EXPECT_EQ(status(id), S::Failed);
}

TEST_F(WatchdogTest, ARunnerThatSaidItIsLeavingIsNotLostMeanwhile) {
  // Aim: an upgrade of the daemon costs no task, and does not hide a host that never returns.
  const TaskId id = run();
  HeartbeatRequest leaving = beat(R::Running);
  leaving.leaving_ms = 10'000;
  exchange(leaving);
  pass(Millis(9'900));
  EXPECT_EQ(status(id), S::Running);
  pass(Millis(3'300));
  EXPECT_EQ(status(id), S::Failed);
}

TEST_F(WatchdogTest, ALeavingRunnerGetsNoWork) {
  // Aim: no order is sent to a daemon that is about to go.
  HeartbeatRequest leaving = beat(R::Idle);
  leaving.leaving_ms = 5'000;
  leaving.wait_ms = 300;
  const ReplyRef held = send(leaving);
  const TaskId id = submit();
  EXPECT_FALSE(held->has_value());
  EXPECT_EQ(status(id), S::Queued);
}

TEST_F(WatchdogTest, HeartbeatsThatWaitInTheQueueAreHandledBeforeAnybodyIsJudged) {
  // Aim: a master that was busy does not overlook what had already arrived.
  const TaskId id = run();
  pass(Millis(2'900));
  const HeartbeatRequest running = beat(R::Running);
  rig_->dispatcher.post([&] { rig_->heartbeats.handle(running, [](const auto&) {}); });
  clock_.advance(Millis(900));
  settle();
  EXPECT_EQ(status(id), S::Running);
}

}  // namespace
}  // namespace baton::test
