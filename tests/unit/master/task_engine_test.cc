// The moves of lifecycle.md, one by one, as reports, commands and timers bring them about.
#include "master/task/task_engine.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;
using master::api::TaskCommand;

class TaskEngineTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
};

// BUG-090: what is queued under a clock that is ahead waits behind nobody once it is right again,
// nor does what is tried again, also behind a takeover.
TEST_F(TaskEngineTest, AQueueUnderAWrongClockKeepsItsOrder) {
  dispatch();
  clock_.stepWall(Seconds(11 * 3'600));
  const TaskId old = submit(retried());
  clock_.stepWall(-Seconds(11 * 3'600));
  pass(Millis(200));
  const TaskId young = submit();
  begin();
  say(RunnerStatus::Running);
  // Behind a takeover a specification has to be read first.
  const auto given = [&](RunnerStatus said) {
    HeartbeatReply reply = exchange(beat(said));
    if (!reply.order) reply = say(RunnerStatus::Idle);
    return reply.order ? reply.order->key.task_id : TaskId(0);
  };
  ASSERT_EQ(given(RunnerStatus::Finished), old);
  ASSERT_EQ(given(RunnerStatus::Failed), young);
  pass(Millis(1'200));
  EXPECT_EQ(status(old), TaskStatus::Queued);
  const TaskId last = submit();
  EXPECT_EQ(given(RunnerStatus::Finished), old);
  EXPECT_EQ(status(young), TaskStatus::Finished);
  EXPECT_EQ(status(last), TaskStatus::Queued);
}

TEST_F(TaskEngineTest, ASubmittedTaskIsQueuedUnlessItWaitsForSomething) {
  // Aim: (none) -> QUEUED, or CREATED with a reason.
  EXPECT_EQ(status(submit()), S::Queued);
  TaskSpec held = spec();
  held.hold = true;
  const TaskId hold = submit(held);
  EXPECT_EQ(status(hold), S::Created);
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(hold)).code, WaitingCode::Hold);
  TaskSpec later = spec();
  later.not_before = clock_.wallNow() + Seconds(10);
  const TaskId at = submit(later);
  EXPECT_EQ(status(at), S::Created);
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(at)).code, WaitingCode::NotBefore);
  pass(Seconds(9));
  EXPECT_EQ(status(at), S::Created);
  pass(Millis(1'100));
  EXPECT_EQ(status(at), S::Queued);
}

TEST_F(TaskEngineTest, ANotBeforeFollowsTheWallClockWhenItIsSet) {
  // Aim: people mean wall time; neither direction starts it too early or never.
  TaskSpec later = spec();
  later.not_before = clock_.wallNow() + Seconds(100);
  const TaskId id = submit(later);
  clock_.stepWall(-Micros(Seconds(50)));
  pass(Seconds(101));
  EXPECT_EQ(status(id), S::Created);
  clock_.stepWall(Seconds(60));
  pass(Seconds(1));
  EXPECT_EQ(status(id), S::Queued);
}

TEST_F(TaskEngineTest, ATaskThatIsReleasedBeforeItsTimeStartsAtItsTime) {
  // Aim: a hold takes the timer away, so its end brings it back.
  TaskSpec task = spec();
  task.not_before = clock_.wallNow() + Seconds(2);
  task.hold = true;
  const TaskId id = submit(task);
  EXPECT_EQ(command(id, TaskCommand::Release)->status, S::Created);
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(id)).code, WaitingCode::NotBefore);
  pass(Millis(1'900));
  EXPECT_EQ(status(id), S::Created);
  pass(Millis(200));
  EXPECT_EQ(status(id), S::Queued);
}

TEST_F(TaskEngineTest, TheCountsOfWaitingTasksAreThoseOfALookAtEach) {
  // Aim: they are kept with every move, so no move may forget them.
  const auto expectCounts = [&] {
    std::map<WaitingCode, uint64_t> looked;
    std::array<uint64_t, kPriorityCount> priorities{};
    for (const auto& [id, task] : rig_->live.tasks) {
      const WaitingCode code = rig_->engine.whyWaiting(task).code;
      if (code != WaitingCode::None) ++looked[code];
      ++priorities[static_cast<size_t>(task.state.priority)];
    }
    auto counted = rig_->engine.waitingByReason();
    std::erase_if(counted, [](const auto& reason) { return reason.second == 0; });
    EXPECT_EQ(counted, looked);
    EXPECT_EQ(rig_->live.by_priority, priorities);
  };
  TaskSpec task = retried();
  const TaskId failing = run(task);
  say(R::Failed);
  task.priority = Priority::High;
  const TaskId queued = submit(task);
  task.policy.labels = {{"gpu", "yes"}};
  submit(task);
  task.policy.labels.clear();
  task.hold = true;
  const TaskId held = submit(task);
  task.not_before = clock_.wallNow() + Seconds(60);
  const TaskId held_long = submit(task);
  task.hold = false;
  const TaskId later = submit(task);
  expectCounts();
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::Hold), 2U);
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::NotBefore), 1U);
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::RetryDelay), 1U);
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::NoRunnerMatches), 1U);
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::AllRunnersBusy), 1U);
  order(queued, TaskCommand::Hold);
  order(later, TaskCommand::Hold);
  order(later, TaskCommand::Hold);
  order(held_long, TaskCommand::Release);
  expectCounts();
  order(queued, TaskCommand::Release);
  order(held, TaskCommand::Stop);
  order(later, TaskCommand::Skip);
  order(failing, TaskCommand::Stop);
  expectCounts();
  order(held, TaskCommand::Rerun);
  begin();
  expectCounts();
  pass(Seconds(61));
  expectCounts();
}

TEST_F(TaskEngineTest, AnAttemptRunsAndEndsWell) {
  // Aim: QUEUED -> DISPATCHED -> RUNNING -> FINISHED, each durable, with the runner's times.
  const TaskId id = run();
  EXPECT_EQ(attempt(id).status, AttemptStatus::Running);
  clock_.advance(Seconds(5));
  HeartbeatRequest end = beat(R::Finished);
  end.result.run_ms = 4'000;
  end.result.ended_ms = 500;
  end.result.outputs = {{"k", "v"}};
  const WallTime now = clock_.wallNow();
  EXPECT_EQ(exchange(end).command, Command::Reset);
  const TaskState ended = state(id);
  EXPECT_EQ(ended.status, S::Finished);
  EXPECT_EQ(ended.return_code, 0);
  EXPECT_NE(ended.finished_at, WallTime{});
  EXPECT_EQ(attempt(id).status, AttemptStatus::Finished);
  EXPECT_EQ(attempt(id).finished_at, now - Millis(500));
  EXPECT_EQ(attempt(id).started_at, now - Millis(4'500));
  EXPECT_EQ(database_.rows().tasks.at(id).outputs, R"({"k":"v"})");
  EXPECT_EQ(rig_->live.findTask(id), nullptr);
  EXPECT_EQ(rig_->live.open_attempts, 0U);
}

TEST_F(TaskEngineTest, AShortTaskMayEndBeforeItsFirstRunningReport) {
  // Aim: DISPATCHED goes straight to FINISHED or FAILED.
  const TaskId well = dispatch();
  say(R::Finished);
  EXPECT_EQ(status(well), S::Finished);
  const TaskId badly = dispatch();
  say(R::Failed);
  EXPECT_EQ(status(badly), S::Failed);
  EXPECT_EQ(state(badly).reason, FailureReason::ExitCode);
}

TEST_F(TaskEngineTest, TimesOfARunnerWithAWildClockStayBehindTheDispatch) {
  // Aim: no attempt starts before it was given out, whatever durations are claimed.
  const TaskId id = dispatch();
  const WallTime dispatched = attempt(id).dispatched_at;
  HeartbeatRequest end = beat(R::Finished);
  end.result.run_ms = 365LL * 86'400'000;
  end.result.ended_ms = 365LL * 86'400'000;
  exchange(end);
  EXPECT_GE(attempt(id).started_at, dispatched);
  EXPECT_GE(attempt(id).finished_at, attempt(id).started_at);
}

TEST_F(TaskEngineTest, FailedAttemptsAreRetriedWithGrowingDelaysUntilNoneIsLeft) {
  // Aim: retry.max counts extra attempts; numbers go on; the last reason is the task's.
  const TaskId id = run(retried(2));
  say(R::Failed);
  EXPECT_EQ(status(id), S::Retrying);
  EXPECT_EQ(state(id).not_before, clock_.wallNow() + Millis(1'000));
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(id)).code, WaitingCode::RetryDelay);
  pass(Millis(900));
  EXPECT_EQ(status(id), S::Retrying);
  pass(Millis(200));
  EXPECT_EQ(status(id), S::Queued);
  ASSERT_EQ(say(R::Idle).command, Command::RunNew);
  EXPECT_EQ(state(id).attempt, 2);
  say(R::Failed);
  EXPECT_EQ(state(id).not_before, clock_.wallNow() + Millis(2'000));
  pass(Millis(2'100));
  ASSERT_EQ(say(R::Idle).command, Command::RunNew);
  say(R::Failed);
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).attempt, 3);
  EXPECT_EQ(state(id).retries_used, 2);
  EXPECT_EQ(state(id).return_code, 1);
}

TEST_F(TaskEngineTest, WhatNeverRunsIsStoppedSkippedOrHeldAtOnce) {
  // Aim: CREATED, QUEUED and RETRYING take cancel and skip; QUEUED takes hold.
  const TaskId stopped = submit();
  EXPECT_EQ(command(stopped, TaskCommand::Stop)->status, S::Terminated);
  const TaskId skipped = submit();
  EXPECT_EQ(command(skipped, TaskCommand::Skip)->status, S::Skipped);
  const TaskId held = submit();
  EXPECT_EQ(command(held, TaskCommand::Hold)->status, S::Created);
  EXPECT_TRUE(state(held).hold);
  EXPECT_EQ(say(R::Idle).command, Command::GoOn);
  EXPECT_EQ(command(held, TaskCommand::Release)->status, S::Queued);
  EXPECT_FALSE(command(held, TaskCommand::Release).ok());
  EXPECT_EQ(command(held, TaskCommand::Stop)->status, S::Terminated);
  const TaskId retrying = run(retried());
  say(R::Failed);
  EXPECT_EQ(command(retrying, TaskCommand::Stop)->status, S::Terminated);
  pass(Seconds(5));
  EXPECT_EQ(status(retrying), S::Terminated);
  const TaskId again = run(retried());
  say(R::Failed);
  EXPECT_FALSE(command(again, TaskCommand::Hold).ok());
  EXPECT_EQ(command(again, TaskCommand::Skip)->status, S::Skipped);
}

TEST_F(TaskEngineTest, ARunningTaskIsStoppedByItsRunnerAndThenTerminated) {
  // Aim: RUNNING -> TERMINATING -> RESET -> IDLE -> TERMINATED, with what the process left.
  const TaskId id = run(retried());
  EXPECT_EQ(command(id, TaskCommand::Stop)->status, S::Terminating);
  EXPECT_EQ(say(R::Running).command, Command::Reset);
  EXPECT_EQ(status(id), S::Terminating);
  HeartbeatRequest closing = beat(R::Idle);
  closing.current = accepted_["w:0"];
  closing.result.signal = 15;
  exchange(closing);
  EXPECT_EQ(status(id), S::Terminated);
  EXPECT_EQ(state(id).signal, 15);
  EXPECT_EQ(attempt(id).status, AttemptStatus::Terminated);
  EXPECT_FALSE(command(id, TaskCommand::Stop).ok());
}

TEST_F(TaskEngineTest, AStopReachesARunnerWhoseHeartbeatIsHeldAtOnce) {
  // Aim: nobody waits half an interval for a RESET.
  const TaskId id = run();
  HeartbeatRequest running = beat(R::Running);
  running.wait_ms = 400;
  const ReplyRef held = send(running);
  EXPECT_FALSE(held->has_value());
  order(id, TaskCommand::Stop);
  ASSERT_TRUE(held->has_value());
  EXPECT_EQ((**held)->command, Command::Reset);
}

TEST_F(TaskEngineTest, AResultBeforeTheResetWinsTheRace) {
  // Aim: TERMINATING takes FINISHED as FINISHED, and FAILED as TERMINATED.
  const TaskId well = run();
  order(well, TaskCommand::Stop);
  say(R::Finished);
  EXPECT_EQ(status(well), S::Finished);
  const TaskId badly = run(retried());
  order(badly, TaskCommand::Stop);
  say(R::Failed);
  EXPECT_EQ(status(badly), S::Terminated);
}

TEST_F(TaskEngineTest, TheMasterStopsWhatTheRunnerLetsRunTooLong) {
  // Aim: one grace later than the runner; the end counts as a failed attempt `timeout`.
  TaskSpec task = retried(1);
  task.policy.timeout = Millis(2'000);
  task.policy.kill_grace = Millis(500);
  const TaskId id = run(task);
  for (int i = 0; i < 4; ++i) {
    pass(Millis(500));
    EXPECT_EQ(say(R::Running).command, Command::GoOn);
  }
  for (int i = 0; i < 4; ++i) {
    pass(Millis(500));
    say(R::Running);
  }
  EXPECT_EQ(status(id), S::Terminating);
  EXPECT_EQ(state(id).cause, StopCause::Timeout);
  say(R::Idle);
  EXPECT_EQ(status(id), S::Retrying);
  EXPECT_EQ(state(id).reason, FailureReason::Timeout);
  EXPECT_EQ(attempt(id).reason, FailureReason::Timeout);
}

TEST_F(TaskEngineTest, AStopByHandOutranksATimeout) {
  // Aim: the owner wants it to end, not to be repeated.
  TaskSpec task = retried(5);
  task.policy.timeout = Millis(100);
  task.policy.kill_grace = Millis(100);
  const TaskId id = run(task);
  pass(Millis(1'500));
  ASSERT_EQ(state(id).cause, StopCause::Timeout);
  order(id, TaskCommand::Stop);
  EXPECT_EQ(state(id).cause, StopCause::Stop);
  say(R::Idle);
  EXPECT_EQ(status(id), S::Terminated);
}

TEST_F(TaskEngineTest, ARerunGoesOnCountingAttemptsAndStartsItsRetriesAnew) {
  // Aim: attempt numbers are never used twice; history is kept.
  const TaskId id = run(retried(1));
  say(R::Failed);
  pass(Millis(1'100));
  say(R::Idle);
  say(R::Failed);
  ASSERT_EQ(status(id), S::Failed);
  const auto again = command(id, TaskCommand::Rerun);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->status, S::Queued);
  EXPECT_EQ(again->retries_used, 0);
  EXPECT_EQ(again->reason, FailureReason::None);
  ASSERT_EQ(say(R::Idle).command, Command::RunNew);
  EXPECT_EQ(state(id).attempt, 3);
  say(R::Finished);
  EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(attempt(id, 1).status, AttemptStatus::Failed);
  EXPECT_FALSE(command(submit(), TaskCommand::Rerun).ok());
}

TEST_F(TaskEngineTest, ARerunBeginsWithoutTheOutputsOfTheRunBefore) {
  // Aim: what a task shows is what its newest run wrote.
  const TaskId id = run();
  HeartbeatRequest finished = beat(R::Finished);
  finished.result.outputs = {{"a", "1"}};
  exchange(finished);
  EXPECT_EQ(database_.rows().tasks.at(id).outputs, R"({"a":"1"})");
  order(id, TaskCommand::Rerun);
  EXPECT_EQ(database_.rows().tasks.at(id).outputs, "");
  ASSERT_EQ(say(R::Idle).command, Command::RunNew);
  say(R::Finished);
  EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(database_.rows().tasks.at(id).outputs, "");
}

TEST_F(TaskEngineTest, ForcedSuccessIsForFailedTasksAlone) {
  // Aim: FAILED -> FINISHED, marked; nothing else takes it.
  const TaskId id = run();
  EXPECT_FALSE(command(id, TaskCommand::ForceSuccess).ok());
  say(R::Failed);
  EXPECT_EQ(command(id, TaskCommand::ForceSuccess)->status, S::Finished);
  EXPECT_TRUE(state(id).forced);
  EXPECT_FALSE(command(id, TaskCommand::ForceSuccess).ok());
  EXPECT_EQ(rig_->live.findTask(id), nullptr);
}

TEST_F(TaskEngineTest, ARowThatIsOlderThanTheTasksEndIsReadAgain) {
  // Aim: a command decided on a stale row would resurrect an old state.
  const TaskId id = run();
  const BootTime read_at = clock_.bootNow();
  clock_.advance(Millis(1));
  say(R::Failed);
  TaskRecord stale = database_.rows().tasks.at(id);
  stale.state.attempt = 0;
  master::Operation operation;
  const auto rerun = rig_->engine.rerun(operation, stale, false, read_at);
  EXPECT_EQ(rerun.error().code(), ErrorCode::Busy);
  EXPECT_EQ(rig_->engine.forceSuccess(operation, stale, read_at).error().code(), ErrorCode::Busy);
}

TEST_F(TaskEngineTest, ARowIsStaleUntilTheEndIsDurable) {
  // Aim: while the commit of an end is held up, a row read later still shows the run before.
  const TaskId id = run();
  say(R::Failed);
  ASSERT_TRUE(command(id, TaskCommand::Rerun).ok());
  database_.lockTask(id);
  rig_->dispatcher.post([&] {
    rig_->commands.command(id, TaskCommand::Stop, false, requester(), nullptr, clock_.bootNow(),
                           [](auto&&) {});
  });
  settle();
  clock_.advance(Millis(10));
  const TaskRecord row = database_.rows().tasks.at(id);
  ASSERT_NE(row.state.status, S::Terminated);
  ASSERT_EQ(rig_->live.findTask(id), nullptr);
  master::Operation operation;
  const auto rerun = rig_->engine.rerun(operation, row, false, clock_.bootNow());
  EXPECT_EQ(rerun.error().code(), ErrorCode::Busy);
  database_.unlockTask(id);
  pass(Millis(3'000));
  ASSERT_EQ(state(id).status, S::Terminated);
  EXPECT_TRUE(command(id, TaskCommand::Rerun).ok());
}

TEST_F(TaskEngineTest, ATaskGoesOnlyToRunnersThatAnnounceItsKind) {
  // Aim: a kind that nobody carries waits and names it; whoever announces it gets the task.
  TaskSpec task = spec();
  task.kind = "copy";
  task.policy.labels = {{"zone", "a"}};
  const TaskId id = submit(task);
  TaskSpec request = spec();
  request.kind = "http";
  const TaskId other = submit(request);
  say(RunnerStatus::Idle);
  const auto why = [&](TaskId waiting) {
    return rig_->engine.whyWaiting(*rig_->live.findTask(waiting));
  };
  EXPECT_EQ(why(id).code, WaitingCode::NoRunnerMatches);
  EXPECT_EQ(why(id).text,
            "no runner announces the kind copy (plug-in baton-task-copy) and has the labels "
            "{\"zone\":\"a\"}");
  EXPECT_EQ(why(other).text, "no runner announces the kind http");
  HeartbeatRequest announced = beat(RunnerStatus::Idle, "v:0");
  announced.labels = {{"zone", "a"}, {"kind.copy", "true"}};
  const HeartbeatReply reply = exchange(announced);
  ASSERT_TRUE(reply.order.has_value());
  EXPECT_EQ(reply.order->key.task_id, id);
  EXPECT_EQ(status(other), S::Queued);
}

TEST_F(TaskEngineTest, TheLabelOfTheKindComesOnTopOfAllOthers) {
  // Aim: a task with as many labels as are accepted is stored and read back like any other.
  TaskSpec task = spec();
  task.kind = "copy";
  for (size_t i = 0; i < kLabelsMax; ++i) task.policy.labels["l" + std::to_string(i)] = "x";
  const TaskId id = submit(task);
  const auto stored = policyFromText(database_.rows().tasks.at(id).policy);
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  EXPECT_EQ(stored->labels.size(), kLabelsMax + 1);
  EXPECT_EQ(stored->labels.at("kind.copy"), "true");
}

TEST_F(TaskEngineTest, ATaskThatNobodyTakesFailsAtItsDispatchTimeout) {
  // Aim: QUEUED -> FAILED dispatch_timeout, not retried; a task taken in time is not touched.
  TaskSpec task = retried(5);
  task.policy.dispatch_timeout = Millis(2'000);
  task.policy.labels = {{"gpu", "yes"}};
  const TaskId id = submit(task);
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(id)).code, WaitingCode::NoRunnerMatches);
  task.policy.labels.clear();
  const TaskId taken = run(task);
  pass(Millis(2'100));
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).reason, FailureReason::DispatchTimeout);
  EXPECT_EQ(status(taken), S::Running);
}

TEST_F(TaskEngineTest, ARunnerThatLostItsTaskFailsTheAttempt) {
  // Aim: IDLE while DISPATCHED is start_failed, while RUNNING runner_reset; both are retried.
  const TaskId never = dispatch(retried());
  say(R::Idle);
  EXPECT_EQ(status(never), S::Retrying);
  EXPECT_EQ(attempt(never).reason, FailureReason::StartFailed);
  order(never, TaskCommand::Stop);
  const TaskId lost = run(retried());
  say(R::Idle);
  EXPECT_EQ(status(lost), S::Retrying);
  EXPECT_EQ(attempt(lost).reason, FailureReason::RunnerReset);
}

TEST_F(TaskEngineTest, AnOrderThatNeverArrivedGoesBackToTheQueueIfTheRunnerNoLongerFits) {
  // Aim: DISPATCHED -> QUEUED without using a retry; the attempt is closed as undelivered.
  TaskSpec task = spec();
  task.policy.labels = {{"gpu", "yes"}};
  const TaskId id = submit(task);
  HeartbeatRequest fit = beat(R::Idle);
  fit.labels = {{"gpu", "yes"}};
  ASSERT_EQ((**send(fit))->command, Command::RunNew);  // It never arrives.
  exchange(beat(R::Idle));
  EXPECT_EQ(status(id), S::Queued);
  EXPECT_EQ(attempt(id).status, AttemptStatus::Undelivered);
  EXPECT_EQ(state(id).retries_used, 0);
  fit = beat(R::Idle, "v:0");
  fit.labels = {{"gpu", "yes"}};
  EXPECT_EQ(exchange(fit).order->key.attempt, 2);
}

}  // namespace
}  // namespace baton::test
