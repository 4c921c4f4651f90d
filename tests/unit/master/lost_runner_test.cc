// A runner that holds a task falls silent, and nobody can prove that the process is gone.
#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;
using master::api::TaskCommand;

class LostRunnerTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
};

TEST_F(LostRunnerTest, ALostRunnersTaskIsNeverRetriedByItself) {
  // Aim: nobody proved that the process is gone, so no second copy is started.
  const TaskId id = run(retried(5));
  pass(Millis(3'200));
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).reason, FailureReason::RunnerLost);
  EXPECT_TRUE(state(id).unproven);
}

TEST_F(LostRunnerTest, ALostTaskIsTriedAgainWhereItsOwnerAcceptsASecondCopy) {
  // Aim: one further attempt for one loss; who comes back is told to end his copy, and the last
  // loss ends the task.
  TaskSpec task = retried(1);
  task.policy.retry.on_lost = true;
  const TaskId id = run(task);
  const HeartbeatRequest lost = beat(R::Running);
  pass(Millis(3'200));
  EXPECT_EQ(attempt(id, 1).reason, FailureReason::RunnerLost);
  EXPECT_FALSE(state(id).unproven);
  pass(Millis(1'100));
  ASSERT_EQ(status(id), S::Queued);
  ASSERT_EQ(say(R::Idle, "v:0").command, Command::RunNew);
  EXPECT_EQ(state(id).attempt, 2);
  EXPECT_EQ(exchange(lost).command, Command::Reset);
  EXPECT_EQ(state(id).attempt, 2);
  pass(Millis(4'500));
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(state(id).reason, FailureReason::RunnerLost);
  EXPECT_TRUE(state(id).unproven);
  EXPECT_EQ(database_.direct().attempts.size(), 2u);
}

TEST_F(LostRunnerTest, AStoppedTaskOfALostRunnerEndsUnproven) {
  // Aim: TERMINATED with unproven; with cause timeout it fails as runner_lost, never as timeout.
  const TaskId stopped = run();
  order(stopped, TaskCommand::Stop);
  TaskSpec timed = retried(5);
  timed.policy.timeout = Millis(100);
  timed.policy.kill_grace = Millis(100);
  const TaskId timeout = run(timed, "v:0");
  pass(Millis(3'500));
  EXPECT_EQ(status(stopped), S::Terminated);
  EXPECT_TRUE(state(stopped).unproven);
  EXPECT_EQ(status(timeout), S::Failed);
  EXPECT_EQ(state(timeout).reason, FailureReason::RunnerLost);
}

TEST_F(LostRunnerTest, ARerunOfAnUnprovenTaskNeedsForce) {
  // Aim: a person accepts in words that two copies may run.
  const TaskId id = run();
  pass(Millis(3'500));
  ASSERT_TRUE(state(id).unproven);
  EXPECT_EQ(command(id, TaskCommand::Rerun).error().code(), ErrorCode::Conflict);
  EXPECT_EQ(status(id), S::Failed);
  EXPECT_EQ(command(id, TaskCommand::Rerun, true)->status, S::Queued);
  EXPECT_FALSE(state(id).unproven);
}

}  // namespace
}  // namespace baton::test
