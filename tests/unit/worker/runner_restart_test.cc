#include "tests/unit/worker/runner_fixture.h"

namespace baton::worker {
namespace {

class RunnerRestartTest : public RunnerTest {};

RestoredSlot restoredSlot(RestoredSlot::Phase phase) {
  RestoredSlot restored;
  restored.cluster_guid = "guid";
  restored.epoch = 4;
  restored.has_last_order = true;
  restored.order = {.key = {.task_id = 1, .attempt = 1, .nonce = "n"},
                    .run_part = "{}",
                    .timeout = Millis(300),
                    .kill_grace = Millis(700)};
  restored.last_order = restored.order.key;
  restored.phase = phase;
  restored.order_epoch = 3;
  return restored;
}

// After a restart: what was proved to have never run is started, once.
TEST_F(RunnerRestartTest, StartsWhatWasAcceptedAndNeverStarted) {
  runner_.emplace(options(), restoredSlot(RestoredSlot::Phase::Accepted));
  take(runner_->start(now_));
  ASSERT_EQ(all<StartAttempt>().size(), 1U);
  EXPECT_EQ(all<StartAttempt>()[0].epoch, 3U);
  take(runner_->onMaster(now_, true));
  EXPECT_TRUE(all<StartAttempt>().empty());
}

// After a restart: what runs goes on, with the time that it has left.
TEST_F(RunnerRestartTest, GoesOnWithWhatRuns) {
  RestoredSlot restored = restoredSlot(RestoredSlot::Phase::Running);
  restored.started = now_ - Millis(200);
  make(restored);
  EXPECT_EQ(sent().status, RunnerStatus::Running);
  EXPECT_EQ(sent().epoch, 4U);
  EXPECT_EQ(*runner_->nextDue(), now_ + Millis(100));
  runToDue();
  EXPECT_EQ(all<StopAttempt>().size(), 1U);
}

// After a restart: an attempt whose stop was under way stays stopped.
TEST_F(RunnerRestartTest, GoesOnStopping) {
  RestoredSlot restored = restoredSlot(RestoredSlot::Phase::Running);
  restored.started = now_;
  restored.why = StopReason::Reset;
  make(restored);
  EXPECT_EQ(runner_->phase(), Runner::Phase::Stopping);
  EXPECT_EQ(sent().status, RunnerStatus::Running);
  EXPECT_EQ(sent().wait_ms, 0);
  ended(1, 0, StopReason::Reset);
  EXPECT_EQ(sent().status, RunnerStatus::Idle);
}

// After a restart: a result that nobody took is told; a stopped one's as a closing IDLE.
TEST_F(RunnerRestartTest, TellsAKeptResult) {
  RestoredSlot restored = restoredSlot(RestoredSlot::Phase::Ended);
  restored.result.return_code = 0;
  restored.ended = now_ - Seconds(5);
  make(restored);
  EXPECT_EQ(sent().status, RunnerStatus::Finished);
  EXPECT_EQ(sent().result.ended_ms, 5'000);
  restored.why = StopReason::Reset;
  make(restored);
  EXPECT_EQ(sent().status, RunnerStatus::Idle);
  EXPECT_EQ(sent().current, restored.order.key);
  answer(reply(Command::GoOn, 4));
  EXPECT_EQ(all<Settle>().size(), 1U);
}

// The lowest epoch that counts is the one on disk.
TEST_F(RunnerRestartTest, RemembersItsEpochOverARestart) {
  RestoredSlot restored = restoredSlot(RestoredSlot::Phase::Idle);
  make(restored);
  EXPECT_EQ(sent().epoch, 4U);
  answer(runNew(2, 3));
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Idle);
}

}  // namespace
}  // namespace baton::worker
