// Time limits and deadlines of runs, and clocks that are set.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using P = RunStatus;

class RunClockTest : public FlowTest {};

TEST_F(RunClockTest, ARunIsStoppedAtItsTimeoutAndCountsAsFailed) {
  define("{flow: f, timeout: 5s, tasks: {a: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  for (int i = 0; i < 3; ++i) {
    pass(Seconds(1));
    say(RunnerStatus::Running);
  }
  begin();  // The next master keeps the same limit.
  say(RunnerStatus::Running);
  pass(Millis(1'900));
  EXPECT_EQ(runStatus(run), P::Running);
  pass(Millis(300));
  EXPECT_EQ(runStatus(run), P::Terminating);
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(run), P::Failed);
  EXPECT_EQ(row(run).state.reason, RunReason::Timeout);
}

TEST_F(RunClockTest, ClocksThatAreSetChangeNoTimeLimitOfARun) {
  // Aim: the limit is a length of time, the deadline a time of day.
  for (const int64_t step : {-3'600, 3'600}) {
    define(
        "{flow: f, timeout: 40m, timezone: UTC, deadline: {finish_by: \"06:30\"}, "
        "tasks: {a: {command: [x]}}}");
    clock_.stepWall(*parseRfc3339("2026-03-05T05:45:00Z") - clock_.wallNow());
    const RunId run = trigger("f", {.plan_time = clock_.wallNow()}).state.id;
    ASSERT_EQ(next(), "a");
    const auto passing = [&](int seconds) {
      for (int i = 0; i < seconds; ++i) {
        clock_.advance(Seconds(1));
        say(RunnerStatus::Running);
      }
    };
    passing(10);
    clock_.stepWall(Seconds(step));
    passing(30);
    EXPECT_EQ(row(run).state.late, step > 0);
    EXPECT_EQ(runStatus(run), P::Running);
    clock_.stepWall(-Seconds(step));  // Right again.
    passing(39 * 60 - 30);
    EXPECT_EQ(row(run).state.late, step > 0) << "06:24 there";
    EXPECT_EQ(runStatus(run), P::Running);
    passing(60);
    EXPECT_EQ(runStatus(run), P::Terminating);
    say(RunnerStatus::Idle);
    EXPECT_EQ(runStatus(run), P::Failed);
    EXPECT_EQ(row(run).state.reason, RunReason::Timeout);
  }
}

TEST_F(RunClockTest, AnotherPriorityUnderAnotherClockChangesNoTimeLimit) {
  define(R"(
flow: f
tasks:
  s: {command: [x], timeout: 40m}
  e: {event: {name: x, key: k}, timeout: 40m}
  q: {command: [x], dispatch_timeout: 40m}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "s");
  say(RunnerStatus::Running);
  clock_.stepWall(Seconds(3'600));
  ASSERT_TRUE(change(run, [&](auto& operation, auto& live) {
                return rig_->runs.setPriority(operation, live, Priority::High);
              }).ok());
  pass(Seconds(1));
  for (const char* name : {"s", "e"}) EXPECT_EQ(nodeStatus(run, name), S::Running) << name;
  EXPECT_EQ(nodeStatus(run, "q"), S::Queued);
  EXPECT_EQ(node(run, "q").state.priority, Priority::High);
  ASSERT_TRUE(stop(run).ok());
  say(RunnerStatus::Running);
  say(RunnerStatus::Idle);
}

TEST_F(RunClockTest, ARunThatIsNotDoneByItsDeadlineIsMarkedLate) {
  define(
      "{flow: f, timezone: Europe/Berlin, deadline: {finish_by: \"06:30\"}, "
      "tasks: {a: {command: [x]}}}");
  const WallTime plan = *parseRfc3339("2026-03-04T23:00:00Z");  // Midnight there.
  clock_.stepWall(plan - clock_.wallNow());
  const RunId run = trigger("f", {.plan_time = plan}).state.id;
  EXPECT_EQ(row(run).state.due_at, *parseRfc3339("2026-03-05T05:30:00Z"));
  clock_.advance(Seconds(6 * 3600));
  settle();
  EXPECT_FALSE(row(run).state.late);
  clock_.advance(Seconds(3600));
  settle();
  EXPECT_TRUE(row(run).state.late);
  EXPECT_EQ(runStatus(run), P::Running);
}

}  // namespace
}  // namespace baton::test
