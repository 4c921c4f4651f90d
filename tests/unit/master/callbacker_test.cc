#include "master/task/callbacker.h"

#include "common/base/digest.h"
#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;
using master::api::TaskCommand;

class CallbackerTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
  static TaskSpec calling(bool wait = false, const std::string& host = "http://h") {
    TaskSpec task = spec();
    task.policy.callback.url = host + "/x?y=1";
    task.policy.callback.on = {"failed", "finished"};
    task.policy.callback.wait = wait;
    return task;
  }
  void answer(size_t call, Status status = {}) {
    webhooks_.calls.at(call).done(std::move(status));
    settle();
  }
  OutboxRecord outbox() const { return database_.rows().outbox.begin()->second; }
  static std::string header(const FakeWebhooks::Call& call, const std::string& name) {
    for (const auto& [key, value] : call.webhook.headers) {
      if (key == name) return value;
    }
    return {};
  }
};

TEST_F(CallbackerTest, ACallbackIsStoredWithTheEndItTellsOfAndSentOnceThatIsDurable) {
  // Aim: no end without its row; the receiver can tell repeats and check the signature.
  const TaskId id = run(calling());
  say(R::Finished);
  ASSERT_EQ(webhooks_.calls.size(), 1U);
  const FakeWebhooks::Call& call = webhooks_.calls[0];
  EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(outbox().state, OutboxRecord::State::Pending);
  EXPECT_EQ(outbox().tries, 1);
  const std::string delivery = std::to_string(id) + "/1/finished";
  EXPECT_EQ(header(call, "Baton-Delivery-Id"), delivery);
  const std::string epoch = std::to_string(epoch_);
  EXPECT_EQ(
      header(call, "Baton-Signature"),
      "sha256=" + hmacSha256Hex("key", delivery + "\n1\n" + epoch + "\n1\n" + call.webhook.body));
  const Json body = *parseJson(call.webhook.body);
  EXPECT_EQ(body["event"], "finished");
  EXPECT_EQ(body["return_code"], 0);
  const Micros age = rig_->callbacker.oldestAge();
  clock_.advance(Seconds(7));
  EXPECT_EQ(rig_->callbacker.oldestAge(), age + Seconds(7));
  answer(0);
  EXPECT_EQ(rig_->callbacker.oldestAge(), Micros(0));
  EXPECT_EQ(outbox().state, OutboxRecord::State::Delivered);
  EXPECT_EQ(rig_->callbacker.pending(), 0U);
}

TEST_F(CallbackerTest, WhatWasNotAskedForIsNotTold) {
  // Aim: `on` is obeyed.
  const TaskId id = submit(calling());
  order(id, TaskCommand::Stop);
  EXPECT_TRUE(webhooks_.calls.empty());
  EXPECT_TRUE(database_.rows().outbox.empty());
}

TEST_F(CallbackerTest, AFailedDeliveryIsRepeatedWithBackOffAndThenDead) {
  // Aim: at least once, a bounded number of times, and afterwards on the list of dead letters.
  master::ActiveOptions options = defaults();
  options.callback_tries_max = 3;
  begin(options);
  run(calling());
  say(R::Failed);
  answer(0, Error::unavailable("refused"));
  EXPECT_EQ(outbox().last_error, "unavailable: refused");
  pass(Millis(900));
  EXPECT_EQ(webhooks_.calls.size(), 1U);
  pass(Millis(200));
  ASSERT_EQ(webhooks_.calls.size(), 2U);
  answer(1, Error::unavailable("refused"));
  pass(Millis(1'900));
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  pass(Millis(200));
  ASSERT_EQ(webhooks_.calls.size(), 3U);
  answer(2, Error::unavailable("refused"));
  EXPECT_EQ(outbox().state, OutboxRecord::State::Dead);
  EXPECT_EQ(outbox().tries, 3);
  pass(Seconds(20));
  EXPECT_EQ(webhooks_.calls.size(), 3U);
}

TEST_F(CallbackerTest, ATargetThatIsNotAllowedIsDeadAtOnce) {
  // Aim: what the allow list refuses today it refuses tomorrow.
  run(calling());
  say(R::Finished);
  answer(0, Error(ErrorCode::PermissionDenied, "not on the list"));
  EXPECT_EQ(outbox().state, OutboxRecord::State::Dead);
}

TEST_F(CallbackerTest, WhoWaitsForACallbackIsToldHowItWent) {
  const TaskId id = run(calling(true));
  say(R::Finished);
  ASSERT_EQ(status(id), S::Callback);
  const auto text = [&] { return rig_->callbacker.awaitedText(id); };
  EXPECT_EQ(text(), fmt::format("its callback {} to h is under way, try 1 of 8", outbox().id));
  answer(0, Error::unavailable("HTTP 500"));
  EXPECT_EQ(text(), fmt::format("its callback {} to h is to be tried again at {}, 1 of 8 tries "
                                "failed: unavailable: HTTP 500",
                                outbox().id, formatRfc3339(outbox().next_at)));
}

TEST_F(CallbackerTest, AnAwaitedCallbackKeepsTheTaskUntilItIsDelivered) {
  // Aim: CALLBACK -> FINISHED with the 2xx, and no second callback about the same end.
  const TaskId id = run(calling(true));
  EXPECT_EQ(say(R::Finished).command, Command::Reset);
  EXPECT_EQ(status(id), S::Callback);
  answer(0);
  EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(webhooks_.calls.size(), 1U);
}

TEST_F(CallbackerTest, AnAwaitedCallbackThatIsGivenUpFinishesOrFailsAsTheOwnerWants) {
  // Aim: callback.on_failure, and a failure of that kind is told like any other.
  master::ActiveOptions options = defaults();
  options.callback_tries_max = 1;
  begin(options);
  const TaskId finishes = run(calling(true));
  say(R::Finished);
  answer(0, Error::unavailable("no"));
  EXPECT_EQ(status(finishes), S::Finished);
  TaskSpec task = calling(true);
  task.policy.callback.on_failure = CallbackSpec::OnFailure::Fail;
  const TaskId fails = run(task);
  say(R::Finished);
  answer(1, Error::unavailable("no"));
  EXPECT_EQ(status(fails), S::Failed);
  EXPECT_EQ(state(fails).reason, FailureReason::CallbackFailed);
  ASSERT_EQ(webhooks_.calls.size(), 3U);
  EXPECT_NE(webhooks_.calls[2].webhook.body.find("failed"), std::string::npos);
}

TEST_F(CallbackerTest, AStopDropsTheAwaitedCallback) {
  // Aim: CALLBACK -> FINISHED; what is under way may still arrive, but nobody waits for it.
  const TaskId id = run(calling(true));
  say(R::Finished);
  EXPECT_EQ(command(id, TaskCommand::Stop)->status, S::Finished);
  EXPECT_EQ(outbox().state, OutboxRecord::State::Dropped);
  answer(0, Error::unavailable("late"));
  EXPECT_EQ(outbox().state, OutboxRecord::State::Dropped);
  EXPECT_EQ(status(id), S::Finished);
}

TEST_F(CallbackerTest, ASlowReceiverHoldsUpNobodyElse) {
  // Aim: two deliveries at a time to one receiver; others are not touched by it.
  for (int i = 0; i < 4; ++i) {
    run(calling(false, "http://slow"));
    say(R::Finished);
  }
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  run(calling(false, "http://quick"));
  say(R::Finished);
  ASSERT_EQ(webhooks_.calls.size(), 3U);
  EXPECT_TRUE(webhooks_.calls[2].webhook.url.starts_with("http://quick"));
  answer(0);
  ASSERT_EQ(webhooks_.calls.size(), 4U);
  EXPECT_TRUE(webhooks_.calls[3].webhook.url.starts_with("http://slow"));
  answer(1);
  EXPECT_EQ(webhooks_.calls.size(), 5U);
}

TEST_F(CallbackerTest, WhatWasNeverTriedGoesBeforeRepeats) {
  // Aim: of those that wait for a busy receiver nobody is kept off by others that fail (BUG-160).
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(run(calling(false, "http://dead")));
    say(R::Finished);
  }
  ASSERT_EQ(webhooks_.calls.size(), 2U);
  answer(0, Error::unavailable("timeout"));
  pass(Millis(1'100));  // The first one is due again, and waits like the others.
  answer(1, Error::unavailable("timeout"));
  answer(2, Error::unavailable("timeout"));
  answer(3, Error::unavailable("timeout"));
  ASSERT_EQ(webhooks_.calls.size(), 6U);
  std::vector<std::string> tried;
  for (const auto& call : webhooks_.calls) tried.push_back(header(call, "Baton-Delivery-Id"));
  std::vector<std::string> expected;
  for (const size_t i : {0, 1, 2, 3, 4, 0})
    expected.push_back(fmt::format("{}/1/finished", ids[i]));
  EXPECT_EQ(tried, expected);
}

TEST_F(CallbackerTest, WhatEndsATermEndsItsDeliveries) {
  // Aim: a deposed master sends nothing, also of what waits for a sender, and an answer that comes
  // when the term is gone finds nobody (the address sanitizer watches).
  run(calling());
  say(R::Finished);
  const FakeWebhooks::Call call = webhooks_.calls.at(0);
  EXPECT_TRUE(call.webhook.may_send());
  rig_->may_act = false;
  EXPECT_FALSE(call.webhook.may_send());
  rig_->may_act = true;
  rig_->close();
  EXPECT_FALSE(call.webhook.may_send());
  rig_.reset();
  EXPECT_FALSE(call.webhook.may_send());
  call.done({});
  begin();
  EXPECT_EQ(outbox().state, OutboxRecord::State::Pending);
}

TEST_F(CallbackerTest, ADeliveryThatDidNotLeaveInTimeIsClaimedAgainAndCostsNoTry) {
  // Aim: the claim is fresh when the receiver is called, not when the job is queued.
  run(calling());
  say(R::Finished);
  pass(Millis(2'100));
  EXPECT_FALSE(webhooks_.calls.at(0).webhook.may_send());
  answer(0, Error(ErrorCode::Cancelled, "too late"));
  EXPECT_EQ(outbox().tries, 0);
  pass(Millis(1'100));
  ASSERT_EQ(webhooks_.calls.size(), 2U);
  EXPECT_TRUE(webhooks_.calls[1].webhook.may_send());
  EXPECT_EQ(outbox().tries, 1);
}

TEST_F(CallbackerTest, NumbersAreReservedWhereTheyAreTaken) {
  // Aim: ends alone, without a single submit, never use the numbers up.
  begin(defaults(), 40);
  std::vector<TaskId> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(submit(calling()));
  begin(defaults(), 10);
  say(R::Idle);  // Its specification has to be read.
  say(R::Idle);
  for (int i = 0; i < 30; ++i) say(R::Finished);
  for (const TaskId id : ids) EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(database_.rows().outbox.size(), 30U);
}

TEST_F(CallbackerTest, WithoutNumbersInHandACallbackGetsItsNumberInItsTransaction) {
  // Aim: more ends between two commits than there are numbers: none is lost, none is told twice.
  begin(defaults(), 40);
  TaskSpec task = calling();
  task.policy.callback.on = {"terminated"};
  for (int i = 0; i < 30; ++i) submit(task);
  begin(defaults(), 10);
  rig_->dispatcher.post([&] {
    while (!rig_->live.tasks.empty()) {
      master::Operation operation;
      const Status stopped =
          rig_->engine.stop(operation, rig_->live.tasks.begin()->second, StopCause::Stop);
      EXPECT_TRUE(stopped.ok());
      rig_->writer.submit(std::move(operation));
    }
  });
  settle();
  EXPECT_EQ(database_.rows().outbox.size(), 30U);
  std::set<std::string> told;
  for (size_t i = 0; i < webhooks_.calls.size(); ++i) {
    told.insert(header(webhooks_.calls[i], "Baton-Delivery-Id"));
    answer(i);
  }
  EXPECT_EQ(told.size(), 30U);
  for (const auto& [id, row] : database_.rows().outbox) {
    EXPECT_EQ(row.state, OutboxRecord::State::Delivered);
  }
}

TEST_F(CallbackerTest, AnAwaitedCallbackMayBeDroppedBeforeItHasANumber) {
  // Aim: CALLBACK -> FINISHED at once; the row is dropped as soon as it is known.
  begin(defaults(), 2);
  const TaskId other = run(calling(), "v:0");
  const TaskId another = run(calling(), "u:0");
  const TaskId id = run(calling(true));
  const std::vector<HeartbeatRequest> ends = {beat(R::Finished, "v:0"), beat(R::Finished, "u:0"),
                                              beat(R::Finished)};
  rig_->dispatcher.post([&] {
    for (const HeartbeatRequest& end : ends) rig_->heartbeats.handle(end, [](const auto&) {});
    master::Operation operation;
    master::LiveTask& task = *rig_->live.findTask(id);
    EXPECT_EQ(task.state.status, S::Callback);
    EXPECT_TRUE(rig_->engine.stop(operation, task, StopCause::Stop).ok());
    rig_->writer.submit(std::move(operation));
  });
  settle();
  EXPECT_EQ(status(id), S::Finished);
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  for (const auto& [number, row] : database_.rows().outbox) {
    EXPECT_EQ(row.state,
              row.task_id == id ? OutboxRecord::State::Dropped : OutboxRecord::State::Pending);
  }
  EXPECT_EQ(rig_->callbacker.pending(), 2U);
  EXPECT_NE(other, another);
}

TEST_F(CallbackerTest, TheNumbersOfOneTasksEventsRise) {
  // Aim: a receiver may drop what has a lower number than it has seen, also when numbers were
  // short.
  master::ActiveOptions options = defaults();
  options.callback_tries_max = 1;
  begin(options, 2);
  run(calling(), "v:0");
  run(calling(), "u:0");
  TaskSpec task = calling(true);
  task.policy.callback.on_failure = CallbackSpec::OnFailure::Fail;
  const TaskId id = run(task);
  const std::vector<HeartbeatRequest> ends = {beat(R::Finished, "v:0"), beat(R::Finished, "u:0"),
                                              beat(R::Finished)};
  rig_->dispatcher.post([&] {
    for (const HeartbeatRequest& end : ends) rig_->heartbeats.handle(end, [](const auto&) {});
  });
  settle();
  answer(0);
  answer(1);
  ASSERT_EQ(webhooks_.calls.size(), 3U);
  answer(2, Error::unavailable("no"));
  ASSERT_EQ(status(id), S::Failed);
  ASSERT_EQ(webhooks_.calls.size(), 4U);
  const auto number = [&](size_t call) {
    return std::stoull(header(webhooks_.calls[call], "Baton-Event-Seq"));
  };
  EXPECT_LT(number(2), number(3));
}

TEST_F(CallbackerTest, ATakeoverSendsWhatWasNotDeliveredOnceTheOldTryIsOver) {
  // Aim: at least once over masters; the claim of the old one is waited for.
  const TaskId id = run(calling(true));
  say(R::Finished);
  ASSERT_EQ(webhooks_.calls.size(), 1U);
  begin();
  EXPECT_EQ(status(id), S::Callback);
  EXPECT_EQ(webhooks_.calls.size(), 1U);
  pass(Millis(10'100));
  ASSERT_EQ(webhooks_.calls.size(), 2U);
  EXPECT_EQ(header(webhooks_.calls[1], "Baton-Delivery-Id"),
            header(webhooks_.calls[0], "Baton-Delivery-Id"));
  answer(1);
  EXPECT_EQ(status(id), S::Finished);
}

TEST_F(CallbackerTest, ADeadLetterIsSentAgainWhenSomebodyAsks) {
  // Aim: from the first try on, also by the next master; with a row in the audit log; never twice
  // at a time.
  master::ActiveOptions options = defaults();
  options.callback_tries_max = 1;
  begin(options);
  const TaskId id = run(calling(true));
  say(R::Finished);
  answer(0, Error::unavailable("refused"));
  const OutboxRecord dead = outbox();
  ASSERT_EQ(dead.state, OutboxRecord::State::Dead);
  EXPECT_EQ(status(id), S::Finished);
  const auto resend = [&](const OutboxRecord& record) {
    std::optional<Result<OutboxRecord>> answered;
    rig_->callbacker.resend(record, requester(), [&](auto result) { answered = result; });
    settle();
    return *answered;
  };
  const auto first = resend(dead);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->state, OutboxRecord::State::Pending);
  EXPECT_EQ(resend(dead).error().code(), ErrorCode::Conflict);
  ASSERT_EQ(webhooks_.calls.size(), 2U);
  EXPECT_EQ(header(webhooks_.calls[0], "Baton-Delivery-Id"),
            header(webhooks_.calls[1], "Baton-Delivery-Id"));
  EXPECT_EQ(outbox().tries, 1);
  EXPECT_FALSE(outbox().awaited);
  begin(options);  // The next one waits until that try is over.
  pass(Seconds(60));
  ASSERT_EQ(webhooks_.calls.size(), 3U);
  answer(2);
  EXPECT_EQ(outbox().state, OutboxRecord::State::Delivered);
  EXPECT_EQ(resend(outbox()).error().code(), ErrorCode::Conflict);
  std::vector<AuditRecord> rows = database_.rows().audit;
  std::erase_if(rows, [](const AuditRecord& row) { return row.action != "callback.resend"; });
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].object, std::to_string(dead.id));
  EXPECT_FALSE(rows[0].refused);
  EXPECT_TRUE(rows[1].refused);
}

}  // namespace
}  // namespace baton::test
