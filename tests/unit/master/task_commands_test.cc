#include "master/task/task_commands.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using R = RunnerStatus;
using S = TaskStatus;

class TaskCommandsTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
  static master::api::Submission submission(size_t tasks = 1, const std::string& key = {},
                                            const std::string& hash = "h") {
    master::api::Submission made;
    made.tasks.assign(tasks, spec());
    made.bulk = tasks > 1;
    made.request.principal = "p";
    made.request.idempotency_key = key;
    made.request.request_hash = hash;
    return made;
  }
};

TEST_F(TaskCommandsTest, AnAcceptedTaskIsInTheDatabaseWhenTheAnswerLeaves) {
  // Aim: the first promise.
  std::optional<TaskId> seen;
  rig_->commands.submit(submission(), clock_.bootNow(), [&](const auto& answer) {
    seen = *parseTaskId((*parseJson(answer->body))["id"].template get<std::string>());
    EXPECT_TRUE(database_.rows().tasks.contains(*seen));
  });
  EXPECT_FALSE(seen.has_value());
  settle();
  EXPECT_TRUE(seen.has_value());
}

TEST_F(TaskCommandsTest, ARepeatWithTheSameKeyGetsTheFirstAnswerAndMakesNoTask) {
  // Aim: also while the first one is not yet durable, when the database does not know it.
  std::vector<master::api::SubmitAnswer> answers;
  const auto take = [&](const auto& answer) { answers.push_back(*answer); };
  rig_->commands.submit(submission(1, "k"), clock_.bootNow(), take);
  rig_->commands.submit(submission(1, "k"), clock_.bootNow(), take);
  settle();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].body, answers[1].body);
  EXPECT_FALSE(answers[0].replayed);
  EXPECT_TRUE(answers[1].replayed);
  EXPECT_EQ(database_.rows().tasks.size(), 1U);
  EXPECT_EQ(database_.rows().idempotency.size(), 1U);
}

TEST_F(TaskCommandsTest, TheSameKeyWithAnotherBodyIsAConflictAndAnotherPrincipalsKeyIsAnother) {
  // Aim: a key names one request of one client.
  ASSERT_TRUE(offer(submission(1, "k", "one")).ok());
  EXPECT_EQ(offer(submission(1, "k", "two")).error().code(), ErrorCode::Conflict);
  master::api::Submission other = submission(1, "k", "two");
  other.request.principal = "q";
  EXPECT_TRUE(offer(other).ok());
}

TEST_F(TaskCommandsTest, ABulkIsAcceptedWholeOrNotAtAll) {
  // Aim: queue.max counts live tasks; a refused bulk leaves nothing behind.
  master::ActiveOptions options = defaults();
  options.queue_max = 5;
  begin(options);
  const auto three = offer(submission(3));
  ASSERT_TRUE(three.ok());
  EXPECT_EQ((*parseJson(three->body))["ids"].size(), 3U);
  EXPECT_EQ(offer(submission(3)).error().code(), ErrorCode::Overloaded);
  EXPECT_EQ(database_.rows().tasks.size(), 3U);
  EXPECT_TRUE(offer(submission(2)).ok());
  say(R::Idle);
  say(R::Finished);
  EXPECT_TRUE(offer(submission(1)).ok());
}

TEST_F(TaskCommandsTest, MoreTasksThanNumbersInHandAreRefusedUntilNumbersAreThere) {
  // Aim: never a number twice, never a block; the refusal itself reserves more.
  begin(defaults(), 10);
  EXPECT_TRUE(offer(submission(9)).ok());
  EXPECT_TRUE(offer(submission(4)).ok() || offer(submission(4)).ok());
  std::set<TaskId> ids;
  for (const auto& [id, task] : database_.rows().tasks) ids.insert(id);
  EXPECT_EQ(ids.size(), 13U);
}

TEST_F(TaskCommandsTest, ASubmissionWhoseKeyWasLookedUpLongAgoIsNotDecidedOnThatAnswer) {
  // Aim: "the key is not in the database" grows old.
  std::optional<ErrorCode> refused;
  const BootTime looked_up = clock_.bootNow();
  clock_.advance(Seconds(61));
  rig_->commands.submit(submission(1, "k"), looked_up,
                        [&](const auto& answer) { refused = answer.error().code(); });
  settle();
  EXPECT_EQ(refused, ErrorCode::Overloaded);
}

TEST_F(TaskCommandsTest, AClosedGateTakesNothing) {
  // Aim: a master that gives up accepts no task that it could not write.
  rig_->commands.close();
  EXPECT_EQ(offer(submission()).error().code(), ErrorCode::NotActive);
}

TEST_F(TaskCommandsTest, ALargeSpecificationIsFetchedBeforeThePick) {
  // Aim: memory holds small ones alone, and the runner gets the large one whole.
  TaskSpec large = spec();
  large.kind = "script";
  large.command.clear();
  large.script = std::string(5'000, 's');
  const TaskId id = submit(large);
  EXPECT_EQ(rig_->live.findTask(id)->spec, nullptr);
  HeartbeatRequest idle = beat();
  idle.wait_ms = 400;
  const ReplyRef held = send(idle);
  ASSERT_TRUE(held->has_value());
  ASSERT_EQ((**held)->command, Command::RunNew);
  EXPECT_NE((**held)->order->run_part.find(large.script), std::string::npos);
}

TEST_F(TaskCommandsTest, WhatTasksHadOfTheirOwnGoesWithThem) {
  // Aim: an address for each callback and labels for each task cost memory only while it lives.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kWaves = 10;  // Twenty times as slow, and as telling.
#else
  constexpr int kWaves = 200;
#endif
  constexpr int kWave = 500;
  LabelMap all;
  for (int bit = 0; bit < 17; ++bit) all[fmt::format("bit-{}", bit)] = "1";
  const auto told = [&](R said) {
    HeartbeatRequest request = beat(said);
    request.labels = all;
    return exchange(request).command;
  };
  int number = 0;
  for (int wave = 0; wave < kWaves; ++wave) {
    master::api::Submission made = submission(kWave);
    for (TaskSpec& task : made.tasks) {
      ++number;
      task.policy.callback.url = fmt::format("http://h/{}", number);
      task.policy.callback.on = {"failed"};
      for (int bit = 0; bit < 17; ++bit) {
        if ((number >> bit & 1) != 0) task.policy.labels[fmt::format("bit-{}", bit)] = "1";
      }
    }
    ASSERT_TRUE(offer(std::move(made)).ok());
    ASSERT_EQ(told(R::Idle), Command::RunNew);
    for (int i = 1; i < kWave; ++i) ASSERT_EQ(told(R::Finished), Command::RunNew);
    ASSERT_EQ(told(R::Finished), Command::Reset);
    database_.direct().tasks.clear();  // Their rows are of no interest here.
    database_.direct().attempts.clear();
  }
  EXPECT_EQ(number, kWaves * kWave);
  EXPECT_TRUE(rig_->live.tasks.empty());
  EXPECT_EQ(rig_->live.policies.size(), 0U);
  EXPECT_EQ(rig_->live.classes.signatureCount(), 0U);
  EXPECT_EQ(rig_->live.classes.classCount(), 1U);
  EXPECT_LE(rig_->live.classes.signatureLimit(), size_t{kWave});
}

TEST_F(TaskCommandsTest, TheClusterLimitHoldsAndATaskSaysSo) {
  // Aim: limits.running_max counts open attempts of all runners.
  master::ActiveOptions options = defaults();
  options.running_max = 1;
  begin(options);
  run();
  const TaskId second = submit();
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::GoOn);
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(second)).code, WaitingCode::ClusterLimit);
  say(R::Finished);
  EXPECT_EQ(status(second), S::Dispatched);
}

TEST_F(TaskCommandsTest, TheLeastLoadedWorkerGetsTheNextTask) {
  // Aim: work spreads over hosts before it fills one.
  for (const char* runner : {"a:0", "a:1", "b:0", "b:1"}) {
    HeartbeatRequest idle = beat(R::Idle, runner);
    idle.wait_ms = 400;
    send(idle);
  }
  const TaskId one = submit();
  const TaskId two = submit();
  const auto worker = [&](TaskId id) { return attempt(id).runner_id.substr(0, 1); };
  EXPECT_NE(worker(one), worker(two));
}

TEST_F(TaskCommandsTest, NothingIsPickedWhileTheDatabaseTakesNoWrites) {
  // Aim: no order is decided that can't be made durable.
  rig_->picker.close();
  const TaskId id = submit();
  EXPECT_EQ(say(R::Idle).command, Command::GoOn);
  EXPECT_EQ(status(id), S::Queued);
  rig_->picker.open();
  EXPECT_EQ(say(R::Idle).command, Command::RunNew);
}

}  // namespace
}  // namespace baton::test
