// Backfills: runs for instants of the past, by order of people.
#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::api::FlowBackfill;
using Code = ErrorCode;

class BackfillTest : public PlannerTest {};

TEST_F(BackfillTest, ABackfillRunsTheInstantsOfTheScheduleAndMovesNothing) {
  apply("{flow: F, schedule: {" + std::string(kDaily) + "}, tasks: {a: {command: [x]}}}");
  const FlowRecord before = flowRow("f");
  FlowBackfill request = days("2026-02-15T00:00:00Z", "2026-02-24T12:00:00Z");
  request.dry_run = true;
  auto view = backfill(request);
  ASSERT_TRUE(view.ok()) << view.status().text();
  EXPECT_EQ(view->id, 0U);
  ASSERT_EQ(view->plan_times.size(), 5U);
  EXPECT_EQ(view->plan_times.front(), instant("2026-02-20T02:00:00Z"));
  EXPECT_TRUE(runsOf("f", RunTrigger::Backfill).empty());

  request.dry_run = false;
  request.newest_first = true;
  request.request = {"p", "k", "h"};
  view = backfill(request);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->plan_times.front(), instant("2026-02-24T02:00:00Z"));
  EXPECT_EQ(database_.rows().backfills.at(view->id).total, 5);
  const auto repeated = backfill(request);
  ASSERT_TRUE(repeated.ok());
  EXPECT_TRUE(repeated->replayed && !view->replayed);
  EXPECT_EQ(repeated->runs, view->runs);
  EXPECT_EQ(repeated->plan_times, view->plan_times);
  // One after the other, the newest first.
  std::string name = next();
  for (const RunId id : view->runs) {
    EXPECT_EQ(runStatus(id), RunStatus::Running);
    EXPECT_EQ(name, "a");
    name = end();
    if (name.empty()) name = next();  // What ended well before the next one had to be read.
    EXPECT_EQ(runStatus(id), RunStatus::Finished);
  }
  const FlowRecord after = flowRow("f");
  EXPECT_EQ(after.next_at, before.next_at);
  EXPECT_EQ(after.last_instant, before.last_instant);
  EXPECT_EQ(runsOf("f", RunTrigger::Backfill).size(), 5U);
  EXPECT_TRUE(rig_->flows.backfills.empty());
}

TEST_F(BackfillTest, ABackfillOfRunsThatEndAtOnceRunsThemAll) {
  apply("{flow: F, schedule: {" + std::string(kDaily) + "}, tasks: {a: {noop: true}}}", false);
  FlowBackfill request = days("2026-02-20T00:00:00Z", "2026-03-01T12:00:00Z");
  request.parallel = 3;
  const auto view = backfill(request);
  ASSERT_TRUE(view.ok()) << view.status().text();
  ASSERT_EQ(view->runs.size(), 10U);
  for (const RunId id : view->runs) EXPECT_EQ(runStatus(id), RunStatus::Finished);
  EXPECT_TRUE(rig_->flows.backfills.empty());
}

TEST_F(BackfillTest, ABackfillThatFailsStopsUnlessItIsToGoOn) {
  apply("{flow: F, schedule: {" + std::string(kDaily) + "}, tasks: {a: {command: [x]}}}");
  FlowBackfill request = days("2026-02-20T00:00:00Z", "2026-02-22T12:00:00Z");
  const auto stopped = backfill(request);
  ASSERT_EQ(next(), "a");
  say(RunnerStatus::Failed);
  EXPECT_EQ(runStatus(stopped->runs[0]), RunStatus::Failed);
  EXPECT_EQ(runStatus(stopped->runs[2]), RunStatus::Skipped);
  EXPECT_EQ(row(stopped->runs[2]).state.reason, RunReason::BackfillStopped);
  request.stop_on_failure = false;
  const auto going = backfill(request);
  ASSERT_EQ(next(), "a");
  say(RunnerStatus::Failed);
  EXPECT_EQ(runStatus(going->runs[1]), RunStatus::Running);
}

TEST_F(BackfillTest, ARerunOfAStoppedBackfillIsNobodysFailure) {
  // Aim: it was asked for by hand, and waits for its turn whatever becomes of the others, also
  // behind a takeover, which knows no more that the backfill was stopped.
  for (const bool taken_over : {false, true}) {
    begin();
    apply("{flow: F, schedule: {" + std::string(kDaily) +
          "}, overlap: {policy: parallel, max_runs: 2}, tasks: {a: {command: [x]}}}");
    FlowBackfill request = days("2026-02-20T00:00:00Z", "2026-02-22T12:00:00Z");
    request.parallel = 2;
    const auto view = backfill(request);
    ASSERT_EQ(next(), "a");
    const HeartbeatReply other = say(RunnerStatus::Idle, "w:1");
    ASSERT_TRUE(other.order.has_value());
    say(RunnerStatus::Running, "w:1");
    say(RunnerStatus::Failed);
    ASSERT_EQ(runStatus(view->runs[0]), RunStatus::Failed);
    ASSERT_EQ(runStatus(view->runs[2]), RunStatus::Skipped);
    const RunId by_hand = trigger("f").state.id;
    ASSERT_EQ(runStatus(by_hand), RunStatus::Running);
    ASSERT_TRUE(orderRun({.id = view->runs[0],
                          .command = master::api::RunCommand::Rerun,
                          .request = requester()})
                    .ok());
    ASSERT_EQ(runStatus(view->runs[0]), RunStatus::Waiting);
    if (taken_over) {
      begin();
      say(RunnerStatus::Running, "w:1");
    }
    exchange(beat(RunnerStatus::Failed, "w:1"));
    EXPECT_EQ(runStatus(view->runs[1]), RunStatus::Failed);
    EXPECT_EQ(runStatus(view->runs[0]), RunStatus::Running) << taken_over;
    ASSERT_TRUE(stop(view->runs[0]).ok());
    ASSERT_TRUE(stop(by_hand).ok());
    for (const std::string runner : {"w:0", "w:1"}) {
      say(RunnerStatus::Running, runner);
      say(RunnerStatus::Idle, runner);
    }
  }
}

TEST_F(BackfillTest, WhatCanNotBeBackfilledIsSaid) {
  apply("{flow: F, schedule: {" + std::string(kDaily) + "}, tasks: {a: {noop: true}}}");
  apply("{flow: e, schedule: {every: 10s}, tasks: {a: {noop: true}}}", false);
  apply(
      "{flow: m, schedule: {every: 10s, start: '2026-01-01T00:00:00Z'}, tasks: {a: {noop: true}}}",
      false);
  const auto field = [&](const FlowBackfill& request) {
    const auto refused = backfill(request);
    EXPECT_FALSE(refused.ok());
    return refused.ok() ? "" : refused.error().field() + ": " + refused.error().message();
  };
  FlowBackfill list;
  list.flow = "F";
  EXPECT_EQ(field(list), "from: expected either from and to, or plan_times");
  list.plan_times = {instant("2026-02-19T02:00:00Z")};
  EXPECT_EQ(field(list),
            "plan_times: 2026-02-19T02:00:00Z lies before the schedule's start, "
            "2026-02-20T00:00:00Z");
  list.plan_times = {instant("2026-03-19T02:00:00Z")};
  EXPECT_EQ(field(list), "plan_times: 2026-03-19T02:00:00Z lies in the future");
  EXPECT_EQ(field(days("2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z")).substr(0, 3), "to:");
  EXPECT_EQ(field(days("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z")),
            "from: the schedule (cron 0 2 * * * UTC, from 2026-02-20T00:00:00Z) has no instant "
            "from 2026-02-01T00:00:00Z to "
            "2026-02-02T00:00:00Z; the next one is 2026-02-20T02:00:00Z");
  EXPECT_TRUE(field(days("2027-02-01T00:00:00Z", "2027-02-02T00:00:00Z"))
                  .starts_with("from: 2027-02-01T00:00:00Z lies in the future; a backfill makes "
                               "runs for instants that have passed, it is 2026-03-0"));
  // What has not passed is not to come by the back door.
  const std::string ahead =
      field(days(formatRfc3339(clock_.wallNow() - Seconds(1)), "2027-02-02T00:00:00Z"));
  EXPECT_NE(ahead.find(", which is now; the next one is 2026-03-0"), std::string::npos) << ahead;
  FlowBackfill range = days("2026-02-01T00:00:00Z", "2026-03-02T00:00:00Z");
  range.flow = "e";
  EXPECT_EQ(field(range).substr(0, 5), "from:");
  range.flow = "m";
  EXPECT_EQ(field(range),
            "to: there are more than 10000 instants in the range; the 10000th is "
            "2026-02-02T03:46:30Z");
  range.parallel = 101;
  EXPECT_EQ(field(range), "parallel: is 101, expected 1 to 100");
  EXPECT_EQ(database_.rows().runs.size(), 0U);
}

}  // namespace
}  // namespace baton::test
