#include "tests/unit/worker/runner_fixture.h"

namespace baton::worker {
namespace {

// Nothing is sent while nobody leads, and the state is told at once when somebody does.
TEST_F(RunnerTest, BeatsWhenAMasterIsKnown) {
  runner_.emplace(options(), RestoredSlot{});
  take(runner_->start(now_));
  EXPECT_TRUE(actions_.empty());
  EXPECT_FALSE(runner_->nextDue().has_value());
  take(runner_->onMaster(now_, true));
  const HeartbeatRequest beat = sent();
  EXPECT_EQ(beat.status, RunnerStatus::Idle);
  EXPECT_EQ(beat.incarnation, 5U);
  EXPECT_EQ(beat.seq, 1U);
  EXPECT_FALSE(beat.has_last_order);
  EXPECT_EQ(beat.wait_ms, 500);  // H/2: it may be held.
}

// The default wait is 10 s at most, whatever H is.
TEST_F(RunnerTest, WaitsTenSecondsAtMost) {
  make();
  HeartbeatReply slow = reply(Command::GoOn);
  slow.interval_ms = 30'000;
  answer(slow);
  runToDue();
  EXPECT_EQ(sent().wait_ms, 10'000);
}

// The next beat comes after the reply's interval, and each has a higher seq.
TEST_F(RunnerTest, BeatsEveryInterval) {
  make();
  goOn();
  EXPECT_EQ(runner_->nextDue(), now_ + kH);
  runToDue();
  EXPECT_EQ(sent().seq, 2U);
  HeartbeatReply held = reply(Command::GoOn);
  held.interval_ms = 0;  // It was held: at once again.
  answer(held);
  EXPECT_LE(*runner_->nextDue(), now_ + Millis(5));
}

// A runner whose every reply was held knows H all the same: it gives up on one in time.
TEST_F(RunnerTest, LearnsTheHeartbeatFromAHeldReply) {
  make();
  HeartbeatReply held = reply(Command::GoOn);
  held.interval_ms = 0;
  held.heartbeat_ms = 400;
  answer(held);
  EXPECT_EQ(runner_->heartbeat(), Millis(400));
  runToDue();
  EXPECT_EQ(sent().wait_ms, 200);
}

// A reply that is late, doubled, or from before a restart has no effect at all.
TEST_F(RunnerTest, ActsOnlyOnTheReplyToItsNewestRequest) {
  make();
  HeartbeatReply older = runNew(1);
  goOn();
  runToDue();
  answer(older);  // Seq 1, while 2 is on its way.
  EXPECT_TRUE(actions_.empty());
  HeartbeatReply other_life = runNew(1);
  other_life.incarnation = 4;
  answer(other_life);
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Idle);
  const HeartbeatReply good = runNew(1);
  answer(good);
  EXPECT_EQ(runner_->phase(), Runner::Phase::Starting);
  answer(good);  // Doubled.
  EXPECT_TRUE(actions_.empty());
}

// An accepted order is on disk before the start, and epochs before anything.
TEST_F(RunnerTest, PersistsBeforeItActs) {
  make();
  answer(runNew(1, 7));
  ASSERT_EQ(all<PersistAccept>().size(), 1U);
  ASSERT_EQ(all<StartAttempt>().size(), 1U);
  ASSERT_EQ(all<PersistEpoch>().size(), 1U);
  EXPECT_EQ(all<PersistEpoch>()[0].epoch, 7U);
  EXPECT_EQ(all<PersistEpoch>()[0].cluster_guid, "guid");
  EXPECT_EQ(all<StartAttempt>()[0].epoch, 7U);
  EXPECT_TRUE((comesBefore<PersistEpoch, PersistAccept>()));
  EXPECT_TRUE((comesBefore<PersistAccept, StartAttempt>()));
}

// A deposed master's order is dropped, and the runner beats again.
TEST_F(RunnerTest, RefusesAnOlderEpoch) {
  make();
  answer(reply(Command::GoOn, 7));
  runToDue();
  EXPECT_EQ(sent().epoch, 7U);
  answer(runNew(1, 6));
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Idle);
  EXPECT_LE(*runner_->nextDue(), now_ + Millis(500));
  EXPECT_GE(*runner_->nextDue(), now_ + Millis(100));
}

// So is a RESET: a deposed master stops nothing.
TEST_F(RunnerTest, IsNotStoppedByAnOlderEpoch) {
  makeRunning(1);
  answer(reply(Command::GoOn, 7));
  runToDue();
  answer(reply(Command::Reset, 6));
  EXPECT_TRUE(all<StopAttempt>().empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Running);
}

// A master of another cluster is not obeyed, and somebody is told.
TEST_F(RunnerTest, RefusesAnotherCluster) {
  make();
  goOn();
  runToDue();
  HeartbeatReply foreign = runNew(1, 9);
  foreign.cluster_guid = "other";
  answer(foreign);
  EXPECT_EQ(all<Alarm>().size(), 1U);
  EXPECT_EQ(actions_.size(), 1U);
  EXPECT_EQ(runner_->epoch(), 1U);
}

// An order that took H or longer may have been given up by its master: it is not started.
TEST_F(RunnerTest, StartsNothingFromAReplyThatTookTooLong) {
  make();
  now_ += kH;
  answer(runNew(1));
  EXPECT_TRUE(all<StartAttempt>().empty());
  EXPECT_FALSE(sent().has_last_order);  // Beats again at once, without it.
}

// Never twice: not even if the master says so.
TEST_F(RunnerTest, StartsNoAttemptTwice) {
  make();
  answer(runNew(1));
  started(1);
  ended(1, 0);
  answer(reply(Command::Reset));
  ASSERT_EQ(sent().status, RunnerStatus::Idle);
  answer(runNew(1));
  EXPECT_TRUE(all<StartAttempt>().empty());
  EXPECT_EQ(all<Alarm>().size(), 1U);
}

// A short task is reported by its end alone; a longer one says RUNNING first.
TEST_F(RunnerTest, LeavesOutRunningForShortTasks) {
  make();
  answer(runNew(1));
  EXPECT_TRUE(all<SendHeartbeat>().empty());
  started(1);
  EXPECT_TRUE(actions_.empty());
  now_ += Millis(10);
  ended(1, 0);
  EXPECT_EQ(sent().status, RunnerStatus::Finished);
  EXPECT_EQ(sent().last_order, order(1).key);
}

TEST_F(RunnerTest, SaysRunningAfterTwentyMilliseconds) {
  make();
  answer(runNew(1));
  started(1);
  EXPECT_EQ(*runner_->nextDue(), now_ + Millis(20));
  runToDue();
  EXPECT_EQ(sent().status, RunnerStatus::Running);
  EXPECT_EQ(sent().current, order(1).key);
  EXPECT_GT(sent().wait_ms, 0);
}

// A start that takes long must not look like a runner that lost its attempt.
TEST_F(RunnerTest, SaysRunningWhileAStartIsUnderWay) {
  make();
  answer(runNew(1));
  EXPECT_EQ(*runner_->nextDue(), now_ + kH);
  runToDue();
  EXPECT_EQ(sent().status, RunnerStatus::Running);
  EXPECT_EQ(sent().wait_ms, 0);
}

// The end supersedes a held report at once, and is on disk first.
TEST_F(RunnerTest, ReportsTheEndAtOnce) {
  makeRunning(1);
  const uint64_t held = runner_->seq();
  now_ += Millis(100);
  ended(1, 3);
  EXPECT_TRUE((comesBefore<PersistResult, SendHeartbeat>()));
  const HeartbeatRequest beat = sent();
  EXPECT_EQ(beat.seq, held + 1);
  EXPECT_EQ(beat.status, RunnerStatus::Failed);
  EXPECT_EQ(beat.result.return_code, 3);
  EXPECT_EQ(beat.wait_ms, 0);
  // The held one is answered now: too late to mean anything.
  HeartbeatReply reset = reply(Command::Reset);
  reset.seq = held;
  answer(reset);
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Ended);
}

// GO_ON acknowledges no result, nor does silence; RESET to the very report does.
TEST_F(RunnerTest, KeepsAResultUntilTheReplyToItsReport) {
  makeRunning(1);
  ended(1, 3);
  goOn();
  EXPECT_TRUE(all<Settle>().empty());
  now_ += Millis(1'500);
  runToDue();
  EXPECT_EQ(sent().status, RunnerStatus::Failed);
  EXPECT_GE(sent().result.ended_ms, 1'500);
  take(runner_->onNoReply(now_, runner_->seq()));
  runToDue();
  EXPECT_EQ(sent().status, RunnerStatus::Failed);
  answer(reply(Command::Reset));
  EXPECT_EQ(all<Settle>().size(), 1U);
  EXPECT_EQ(sent().status, RunnerStatus::Idle);
  EXPECT_EQ(sent().current.task_id, 0U);
}

// One round trip per short task: the report's answer is the next order.
TEST_F(RunnerTest, TakesTheNextOrderInTheAnswerToAResult) {
  makeRunning(1);
  ended(1, 0);
  answer(runNew(2));
  EXPECT_TRUE((comesBefore<Settle, PersistAccept>()));
  EXPECT_EQ(all<StartAttempt>().size(), 1U);
  EXPECT_EQ(runner_->openOrder()->key, order(2).key);
}

// RESET: stop with the task's grace, RUNNING every H without holding, then a closing IDLE.
TEST_F(RunnerTest, StopsOnReset) {
  makeRunning(1);
  answer(reply(Command::Reset));
  ASSERT_EQ(all<StopAttempt>().size(), 1U);
  EXPECT_EQ(all<StopAttempt>()[0].grace, Millis(700));
  EXPECT_EQ(all<StopAttempt>()[0].why, StopReason::Reset);
  EXPECT_EQ(*runner_->nextDue(), now_ + kH);
  runToDue();
  EXPECT_EQ(sent().status, RunnerStatus::Running);
  EXPECT_EQ(sent().wait_ms, 0);
  answer(reply(Command::Reset));  // Again: no second stop.
  EXPECT_TRUE(actions_.empty());
  ended(1, 0, StopReason::Reset);  // BUG-131: a zero changes nothing.
  EXPECT_EQ(all<PersistResult>()[0].why, StopReason::Reset);
  HeartbeatRequest beat = sent();
  EXPECT_EQ(beat.status, RunnerStatus::Idle);
  EXPECT_EQ(beat.current, order(1).key);
  EXPECT_EQ(beat.result.return_code, 0);
  take(runner_->onNoReply(now_, runner_->seq()));  // Lost: said again.
  runToDue();
  EXPECT_EQ(sent().current, order(1).key);
  goOn();
  EXPECT_EQ(all<Settle>().size(), 1U);
  runToDue();
  EXPECT_EQ(sent().current.task_id, 0U);
}

// The exit that was noticed before the RESET came counts.
TEST_F(RunnerTest, AnEndBeforeTheResetCounts) {
  makeRunning(1);
  const HeartbeatReply reset = reply(Command::Reset);
  ended(1, 0);
  answer(reset);
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(runner_->phase(), Runner::Phase::Ended);
}

// The exit after it does not, even if the stop had not reached the process yet.
TEST_F(RunnerTest, AnEndAfterTheResetDoesNotCount) {
  makeRunning(1);
  answer(reply(Command::Reset));
  ended(1, 0, StopReason::None);
  EXPECT_EQ(sent().status, RunnerStatus::Idle);
  EXPECT_EQ(sent().current, order(1).key);
}

// A new order for a busy slot: the old attempt is stopped first and the order has to come again.
TEST_F(RunnerTest, ANewOrderResetsWhatRuns) {
  makeRunning(1);
  answer(runNew(2));
  EXPECT_EQ(all<StopAttempt>().size(), 1U);
  EXPECT_TRUE(all<StartAttempt>().empty());
  ended(1, 0, StopReason::Reset);
  EXPECT_EQ(sent().last_order, order(1).key);
  answer(runNew(2));
  EXPECT_EQ(all<StartAttempt>().size(), 1U);
}

// The runner ends a task whose time is over, by itself and once.
TEST_F(RunnerTest, EnforcesTheTimeout) {
  makeRunning(1, Millis(300));
  const BootTime begin = now_ - Millis(20);
  while (all<StopAttempt>().empty() && now_ < begin + Seconds(5)) runToDue();
  ASSERT_EQ(all<StopAttempt>().size(), 1U);
  EXPECT_EQ(now_, begin + Millis(300));
  EXPECT_EQ(all<StopAttempt>()[0].why, StopReason::Timeout);
  EXPECT_EQ(all<StopAttempt>()[0].grace, Millis(700));
  now_ += Millis(50);
  take(runner_->onTime(now_));
  EXPECT_TRUE(all<StopAttempt>().empty());
  ended(1, 0, StopReason::Timeout);
  EXPECT_EQ(sent().status, RunnerStatus::Failed);
  EXPECT_EQ(sent().result.reason, FailureReason::Timeout);
}

// A task that ended by itself just before the stop reached it did not time out.
TEST_F(RunnerTest, AnEndJustBeforeTheTimeoutsStopCounts) {
  makeRunning(1, Millis(300));
  while (all<StopAttempt>().empty()) runToDue();
  ended(1, 0, StopReason::None);
  EXPECT_EQ(sent().status, RunnerStatus::Finished);
}

// No answer: given up after wait + min(2 s, H), tried again with a jittered pause, and the task
// goes on.
TEST_F(RunnerTest, GivesARequestUpInTime) {
  makeRunning(1);
  const uint64_t seq = runner_->seq();
  EXPECT_EQ(*runner_->nextDue(), now_ + Millis(500) + kH);
  runToDue();
  ASSERT_EQ(all<AbandonHeartbeat>().size(), 1U);
  EXPECT_EQ(all<AbandonHeartbeat>()[0].seq, seq);
  EXPECT_TRUE(all<StopAttempt>().empty());
  for (int i = 0; i < 20; ++i) {
    const auto pause = *runner_->nextDue() - now_;
    EXPECT_GE(pause, Millis(100));
    EXPECT_LE(pause, Millis(500));
    runToDue();
    EXPECT_EQ(sent().status, RunnerStatus::Running);
    take(runner_->onNoReply(now_, runner_->seq()));
  }
  EXPECT_EQ(runner_->phase(), Runner::Phase::Running);
}

// A takeover ends the held request and the state is told to the new one at once.
TEST_F(RunnerTest, TurnsToANewMasterAtOnce) {
  makeRunning(1);
  const uint64_t held = runner_->seq();
  take(runner_->onMaster(now_, true));
  EXPECT_EQ(all<AbandonHeartbeat>()[0].seq, held);
  EXPECT_EQ(sent().seq, held + 1);
  take(runner_->onMaster(now_, false));
  EXPECT_EQ(all<AbandonHeartbeat>().size(), 1U);
  EXPECT_TRUE(all<SendHeartbeat>().empty());
  ended(1, 0);
  EXPECT_TRUE(all<SendHeartbeat>().empty());  // Nobody to tell: it waits on disk.
  EXPECT_EQ(all<PersistResult>().size(), 1U);
  take(runner_->onMaster(now_, true));
  EXPECT_EQ(sent().status, RunnerStatus::Finished);
}

// Who leaves says so, and takes nothing more.
TEST_F(RunnerTest, AcceptsNothingWhileLeaving) {
  make();
  take(runner_->onLeaving(now_, Seconds(60)));
  EXPECT_EQ(sent().leaving_ms, 60'000);
  EXPECT_EQ(sent().wait_ms, 0);
  answer(runNew(1));
  EXPECT_TRUE(all<StartAttempt>().empty());
  EXPECT_TRUE(all<PersistAccept>().empty());
}

}  // namespace
}  // namespace baton::worker
