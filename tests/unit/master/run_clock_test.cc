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

// The very case for a deadline: a run hangs, and the next one waits behind it.
TEST_F(RunClockTest, ARunThatWaitsIsLateToo) {
  define("{flow: f, deadline: {finish_by: \"06:30\"}, tasks: {a: {command: [x]}}}");
  for (const bool taken_over : {false, true}) {
    const WallTime plan = *parseRfc3339("2026-03-05T05:45:00Z");
    clock_.stepWall(plan - clock_.wallNow());
    const RunId first = trigger("f", {.plan_time = plan}).state.id;
    const RunId second = trigger("f", {.plan_time = plan + Seconds(1)}).state.id;
    EXPECT_EQ(runStatus(second), P::Waiting);
    EXPECT_EQ(row(second).state.due_at, *parseRfc3339("2026-03-05T06:30:00Z"));
    if (taken_over) begin();
    clock_.advance(Seconds(44 * 60));
    settle();
    EXPECT_FALSE(row(second).state.late);
    clock_.advance(Seconds(120));
    settle();
    for (const RunId run : {first, second}) EXPECT_TRUE(row(run).state.late);
    EXPECT_EQ(runStatus(second), P::Waiting);
    ASSERT_TRUE(stop(second).ok());
    ASSERT_TRUE(stop(first).ok());
  }
}

TEST_F(RunClockTest, WhoAsksForThePastHasNoDeadline) {
  define("{flow: part, deadline: {finish_by: \"06:30\"}, tasks: {a: {command: [x]}}}");
  define(
      "{flow: f, deadline: {finish_by: \"06:30\"}, overlap: {policy: parallel, max_runs: 10}, "
      "tasks: {s: {flow: part}}}");
  clock_.stepWall(*parseRfc3339("2026-03-05T12:00:00Z") - clock_.wallNow());
  const WallTime past = *parseRfc3339("2026-03-04T02:00:00Z");
  const auto dueAt = [&](master::RunStart what) {
    what.plan_time = past;
    const RunId run = trigger("f", what).state.id;
    settle();
    const RunRecord part = row(run + 1);
    EXPECT_EQ(part.parent_run, run);
    EXPECT_EQ(part.state.due_at, row(run).state.due_at);
    EXPECT_EQ(part.state.late, row(run).state.late);
    EXPECT_EQ(row(run).state.late, row(run).state.due_at != WallTime{});
    return row(run).state.due_at;
  };
  EXPECT_EQ(dueAt({}), WallTime{});
  EXPECT_EQ(dueAt({.trigger = RunTrigger::Schedule,
                   .trigger_key = "missed",
                   .compensates = true,
                   .principal = "p"}),
            WallTime{});
  EXPECT_EQ(dueAt({.trigger = RunTrigger::Schedule, .trigger_key = "late", .compensates = true}),
            *parseRfc3339("2026-03-04T06:30:00Z"));
  begin();
  settle();
  for (const auto& [id, run] : database_.rows().runs) {
    EXPECT_EQ(run.state.late, run.state.due_at != WallTime{}) << id;
  }
}

TEST_F(RunClockTest, ARerunKeepsTheDeadlineAndWhetherItWasMissed) {
  define("{flow: f, deadline: {finish_by: \"06:30\"}, tasks: {a: {command: [x]}}}");
  const WallTime plan = *parseRfc3339("2026-03-05T05:45:00Z");
  const auto rerunBehindIt = [&](const std::set<std::string>& failing) {
    clock_.stepWall(plan - clock_.wallNow());
    const RunId run = trigger("f", {.plan_time = plan}).state.id;
    work(failing);
    clock_.advance(Seconds(3'600));
    EXPECT_TRUE(orderRun({.id = run,
                          .command = master::api::RunCommand::Rerun,
                          .scope = master::api::RerunScope::All})
                    .ok());
    settle();
    const bool late = row(run).state.late;
    work();
    EXPECT_EQ(runStatus(run), P::Finished);
    EXPECT_EQ(row(run).state.late, late);
    return late;
  };
  EXPECT_FALSE(rerunBehindIt({})) << "it was done in time";
  EXPECT_TRUE(rerunBehindIt({"a"})) << "it was not";
}

}  // namespace
}  // namespace baton::test
