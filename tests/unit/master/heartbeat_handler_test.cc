#include "master/host/heartbeat_handler.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;

class HeartbeatHandlerTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
};

TEST_F(HeartbeatHandlerTest, AHeldIdleRunnerGetsATaskTheMomentThereIsOne) {
  // Aim: nobody waits an interval for work; the order is durable before it leaves.
  HeartbeatRequest idle = beat();
  idle.wait_ms = 400;
  const ReplyRef held = send(idle);
  EXPECT_FALSE(held->has_value());
  const TaskId id = submit();
  ASSERT_TRUE(held->has_value());
  EXPECT_EQ((**held)->command, Command::RunNew);
  EXPECT_EQ((**held)->order->key.task_id, id);
  EXPECT_EQ((**held)->interval_ms, 0);
  EXPECT_EQ(attempt(id).nonce, (**held)->order->key.nonce);
}

TEST_F(HeartbeatHandlerTest, TheLargestReportThatIsAcceptedCanBeStored) {
  // Aim: the limits of the report are those of the columns (which the database here enforces).
  const auto wide = [](size_t chars) {
    std::string text;
    while (chars-- > 0) text += "\xc3\xa4";
    return text;
  };
  HeartbeatRequest said = beat();
  said.runner_id = std::string(64, 'r');
  said.worker_id = wide(64);
  said.host = wide(255);
  said.boot_id = wide(64);
  said.version = wide(64);
  said.worker_address = wide(255);
  said.journal_id = wide(64);
  said.incarnation = said.seq = static_cast<uint64_t>(INT64_MAX);
  said.labels = {{"zone", std::string(kLabelsJsonBytesMax - 11, 'z')}};
  const auto read = parseHeartbeatRequest(heartbeatRequestToJson(said), said.runner_id);
  ASSERT_TRUE(read.ok()) << read.status().text();
  const ReplyRef reply = send(*read);
  settle();
  EXPECT_EQ(rig_->bug, "");
  EXPECT_EQ(database_.violation(), "");
  ASSERT_TRUE(reply->has_value());
  EXPECT_EQ(database_.rows().runners.at(said.runner_id).worker_address, wide(255));
}

TEST_F(HeartbeatHandlerTest, AHoldEndsAfterItsTimeWhichIsAtMostHalfAnInterval) {
  // Aim: no reply is held longer than the contract says, whatever was asked for.
  HeartbeatRequest idle = beat();
  idle.wait_ms = 100'000;
  const ReplyRef held = send(idle);
  pass(Millis(450));
  EXPECT_FALSE(held->has_value());
  pass(Millis(100));
  ASSERT_TRUE(held->has_value());
  EXPECT_EQ((**held)->command, Command::GoOn);
}

TEST_F(HeartbeatHandlerTest, ANewerHeartbeatEndsTheHeldOne) {
  // Aim: a runner has one request that counts.
  HeartbeatRequest first = beat();
  first.wait_ms = 400;
  const ReplyRef older = send(first);
  HeartbeatRequest second = beat();
  second.wait_ms = 400;
  const ReplyRef newer = send(second);
  ASSERT_TRUE(older->has_value());
  EXPECT_EQ((**older)->command, Command::GoOn);
  EXPECT_EQ((**older)->seq, *first.seq);
  EXPECT_FALSE(newer->has_value());
  rig_->heartbeats.gone("w:0", {1, *second.seq});
  submit();
  EXPECT_FALSE(newer->has_value());
}

TEST_F(HeartbeatHandlerTest, ADoubledRequestGetsTheSameOrderAgainAndALostOneANewPair) {
  // Aim: one attempt, however often its order has to be said.
  const TaskId id = submit();
  const HeartbeatRequest idle = beat();
  const HeartbeatReply first = ***send(idle);
  const HeartbeatReply again = ***send(idle);
  EXPECT_EQ(again.order->key, first.order->key);
  EXPECT_EQ(attempt(id).seq, *idle.seq);
  const HeartbeatRequest next = beat();  // It says that it accepted nothing.
  const HeartbeatReply lost = ***send(next);
  EXPECT_EQ(lost.order->key, first.order->key);
  EXPECT_EQ(attempt(id).seq, *next.seq);
  EXPECT_EQ(state(id).attempt, 1);
}

TEST_F(HeartbeatHandlerTest, ALateHeartbeatHasNoEffect) {
  // Aim: an IDLE from before the order neither fails the attempt nor takes another task.
  const HeartbeatRequest late = beat();
  const TaskId id = run();
  const TaskId other = submit();
  EXPECT_EQ((**send(late))->command, Command::GoOn);
  EXPECT_EQ(status(id), S::Running);
  EXPECT_EQ(status(other), S::Queued);
}

TEST_F(HeartbeatHandlerTest, AResultMayBeAnsweredWithTheNextTask) {
  // Aim: one round trip a short task; both are one transaction.
  const TaskId first = run();
  const TaskId second = submit();
  const uint64_t commits = database_.commits();
  const HeartbeatReply reply = say(R::Finished);
  EXPECT_EQ(reply.command, Command::RunNew);
  EXPECT_EQ(reply.order->key.task_id, second);
  EXPECT_EQ(status(first), S::Finished);
  EXPECT_EQ(status(second), S::Dispatched);
  EXPECT_EQ(database_.commits(), commits + 1);
}

TEST_F(HeartbeatHandlerTest, AResultThatIsToldAgainIsAcknowledgedAndChangesNothing) {
  // Aim: the runner may throw it away, also at another master that knows only the database.
  const TaskId id = run();
  HeartbeatRequest end = beat(R::Finished);
  exchange(end);
  const TaskState ended = state(id);
  EXPECT_EQ(exchange(beat(R::Finished)).command, Command::Reset);
  begin();
  EXPECT_EQ(exchange(beat(R::Finished)).command, Command::Reset);
  EXPECT_EQ(state(id).finished_at, ended.finished_at);
  EXPECT_TRUE(attempt(id).late_report.empty());
}

TEST_F(HeartbeatHandlerTest, AResultAfterTheEndIsKeptAsLateAndTheStatusStays) {
  // Aim: a terminal status is never overwritten; people still see what came.
  const TaskId id = run();
  pass(Millis(3'500));
  ASSERT_EQ(status(id), S::Failed);
  EXPECT_EQ(exchange(beat(R::Finished)).command, Command::Reset);
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).reason, FailureReason::RunnerLost);
  EXPECT_NE(attempt(id).late_report.find("FINISHED"), std::string::npos);
}

TEST_F(HeartbeatHandlerTest, ALateResultThatOvertakesTheEndOfItsAttemptIsKeptBehindIt) {
  // Aim: the runner deletes a result that was answered, so the answer waits until it is kept.
  const TaskId id = run();
  rig_->writer.freeze();  // The end is decided, and its commit takes long.
  pass(Millis(3'500));
  ASSERT_EQ(attempt(id).status, AttemptStatus::Running);
  const ReplyRef reply = send(beat(R::Finished));
  EXPECT_FALSE(reply->has_value());
  rig_->writer.resume();
  settle();
  ASSERT_TRUE(reply->has_value());
  EXPECT_EQ((**reply)->command, Command::Reset);
  EXPECT_EQ(state(id).reason, FailureReason::RunnerLost);
  EXPECT_NE(attempt(id).late_report.find("FINISHED"), std::string::npos);
}

TEST_F(HeartbeatHandlerTest, ALostRunnerThatComesBackIsReset) {
  // Aim: what nobody waits for any more is stopped.
  run();
  pass(Millis(3'500));
  EXPECT_EQ(say(R::Running).command, Command::Reset);
}

TEST_F(HeartbeatHandlerTest, AReportAboutAnotherRunnersAttemptIsForbidden) {
  // Aim: no runner can end another's attempt, running or ended.
  const TaskId id = run();
  HeartbeatRequest thief = beat(R::Finished, "v:0");
  thief.current = accepted_["w:0"];
  EXPECT_EQ((*send(thief))->error().code(), ErrorCode::PermissionDenied);
  EXPECT_EQ(status(id), S::Running);
  say(R::Finished);
  thief.seq = ++seqs_["v:0"];
  EXPECT_EQ((*send(thief))->error().code(), ErrorCode::PermissionDenied);
}

TEST_F(HeartbeatHandlerTest, AnUnknownTaskOrAnOlderAttemptIsReset) {
  // Aim: the runner stops what nobody asked for.
  HeartbeatRequest unknown = beat(R::Running);
  unknown.current = unknown.last_order = {4711, 1, "n"};
  unknown.has_last_order = true;
  EXPECT_EQ(exchange(unknown).command, Command::Reset);
  TaskSpec task = spec();
  task.policy.retry = {1, Millis(0), 1.0, Millis(0)};
  const TaskId id = run(task);
  const AttemptKey older = accepted_["w:0"];
  say(R::Failed);
  pass(Millis(100));
  ASSERT_EQ(say(R::Idle).command, Command::RunNew);
  HeartbeatRequest stale = beat(R::Running);
  stale.current = older;
  EXPECT_EQ(exchange(stale).command, Command::Reset);
  EXPECT_EQ(state(id).attempt, 2);
  EXPECT_EQ(status(id), S::Dispatched);
}

TEST_F(HeartbeatHandlerTest, ARunnerThatHasSeenALaterEpochIsRefusedAndBelieved) {
  // Aim: a deposed master learns it from a runner and does nothing.
  const TaskId id = submit();
  HeartbeatRequest ahead = beat();
  ahead.epoch = epoch_ + 1;
  EXPECT_EQ((*send(ahead))->error().code(), ErrorCode::NotActive);
  EXPECT_EQ(rig_->higher_epoch, epoch_ + 1);
  EXPECT_EQ(status(id), S::Queued);
}

TEST_F(HeartbeatHandlerTest, ARunnerOfAnotherClusterIsRefused) {
  // Aim: a copied configuration can't mix two clusters.
  HeartbeatRequest foreign = beat();
  foreign.cluster_guid = "another";
  EXPECT_EQ((*send(foreign))->error().code(), ErrorCode::PermissionDenied);
  EXPECT_EQ(rig_->live.findRunner("w:0"), nullptr);
}

TEST_F(HeartbeatHandlerTest, AReplyToAnOlderEpochAsksForTheNextBeatAtOnce) {
  // Aim: the fleet reports to a new master without a pause.
  HeartbeatRequest idle = beat();
  idle.epoch = epoch_ - 1;
  EXPECT_EQ(exchange(idle).interval_ms, 0);
  idle = beat();
  idle.epoch = epoch_;
  EXPECT_EQ(exchange(idle).interval_ms, kH.count());
}

TEST_F(HeartbeatHandlerTest, HeartbeatsBeforeTheGateAreAnsweredWhenItOpensOrTheTermEnds) {
  // Aim: a recovering master holds them; one that gives up says so.
  rig_->close();
  EXPECT_EQ((*send(beat()))->error().code(), ErrorCode::NotActive);
  ++epoch_;
  database_.rule(epoch_);
  rig_ = std::make_unique<TermRig>(
      TermRig::Setup{clock_, database_, metrics_, webhooks_, defaults(), epoch_});
  const ReplyRef early = send(beat());
  EXPECT_FALSE(early->has_value());
  ASSERT_TRUE(rig_->recover().ok());
  rig_->open();
  settle();
  ASSERT_TRUE(early->has_value());
  EXPECT_TRUE((*early)->ok());
}

TEST_F(HeartbeatHandlerTest, ATakeoverAdoptsWhatRunsAndRepeatsWhatMayNotHaveArrived) {
  // Aim: the table of ha.md 5.3: nothing is run again because of a new master.
  const TaskId running = run();
  const TaskId given = dispatch(spec(), "v:0");
  accepted_.erase("v:0");
  begin();
  EXPECT_EQ(say(R::Running).command, Command::GoOn);
  EXPECT_EQ(state(running).attempt, 1);
  const HeartbeatReply again = say(R::Idle, "v:0");
  EXPECT_EQ(again.command, Command::RunNew);
  EXPECT_EQ(again.order->key.task_id, given);
  EXPECT_EQ(again.order->key.attempt, 1);
  say(R::Finished, "v:0");
  say(R::Finished);
  EXPECT_EQ(status(running), S::Finished);
  EXPECT_EQ(status(given), S::Finished);
}

TEST_F(HeartbeatHandlerTest, ALostJournalProvesNothingUntilTheOldOneIsSilentForLong) {
  // Aim: 409 until lost_after; then the attempt is lost, not proved gone, and is not retried.
  TaskSpec task = spec();
  task.policy.retry.max = 5;
  const TaskId id = run(task);
  accepted_.erase("w:0");
  const auto reborn = [this] {
    HeartbeatRequest request = beat(R::Idle);
    request.journal_id = "journal-new";
    return request;
  };
  EXPECT_EQ((*send(reborn()))->error().code(), ErrorCode::Conflict);
  EXPECT_EQ(rig_->registry.stateOf(*rig_->live.findRunner("w:0")), "conflict");
  pass(Millis(2'000));
  EXPECT_EQ((*send(reborn()))->error().code(), ErrorCode::Conflict);
  EXPECT_EQ(status(id), S::Running);
  pass(Millis(1'200));
  EXPECT_EQ(exchange(reborn()).command, Command::GoOn);
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).reason, FailureReason::RunnerLost);
}

TEST_F(HeartbeatHandlerTest, AnOlderIncarnationIsAConflictAndANewerOneIsNot) {
  // Aim: a copied data directory shows; a restarted daemon does not.
  HeartbeatRequest request = beat();
  request.incarnation = 5;
  exchange(request);
  request = beat();
  request.incarnation = 4;
  EXPECT_EQ((*send(request))->error().code(), ErrorCode::Conflict);
  request = beat();
  request.incarnation = 6;
  request.seq = 1;
  EXPECT_EQ(exchange(request).command, Command::GoOn);
}

TEST_F(HeartbeatHandlerTest, APlainClientIsARunnerOnlyIfTheConfigurationSaysSo) {
  // Aim: without the key the missing field is named; with it a status alone is enough.
  HeartbeatRequest plain;
  plain.runner_id = "sh";
  EXPECT_EQ((*send(plain))->error().field(), "incarnation");
  master::ActiveOptions options = defaults();
  options.plain_clients = true;
  begin(options);
  EXPECT_EQ((**send(plain))->command, Command::GoOn);
  const TaskId id = submit();
  const HeartbeatReply order = ***send(plain);
  ASSERT_EQ(order.command, Command::RunNew);
  HeartbeatRequest running = plain;
  running.status = R::Running;
  running.current = {id, 1, ""};
  EXPECT_EQ((**send(running))->command, Command::GoOn);
  EXPECT_EQ(status(id), S::Running);
  HeartbeatRequest failed = running;
  failed.status = R::Failed;
  failed.result.return_code = 3;
  EXPECT_EQ((**send(failed))->command, Command::Reset);
  EXPECT_EQ(state(id).reason, FailureReason::ExitCode);
  EXPECT_EQ(state(id).return_code, 3);
}

}  // namespace
}  // namespace baton::test
