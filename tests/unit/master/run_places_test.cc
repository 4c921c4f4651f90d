#include <string>
#include <vector>

#include "tests/unit/master/flow_fixture.h"

// In which order runs of one flow get a place, and which get none.
namespace baton::test {
namespace {

using P = RunStatus;

class RunPlacesTest : public FlowTest {
 protected:
  // A missed instant of so long ago.
  RunRecord compensate(const std::string& flow, Seconds ago, Priority priority = Priority::Normal) {
    const WallTime at = clock_.wallNow() - ago;
    return trigger(flow, {.trigger = RunTrigger::Schedule,
                          .trigger_key = formatRfc3339(at),
                          .plan_time = at,
                          .priority = priority,
                          .compensates = true});
  }
  // A backfill of that many days, the oldest first.
  std::vector<RunId> backfill(const std::string& flow, int days) {
    const uint64_t id = 900;
    master::Operation operation;
    std::vector<master::RunStart> starts;
    BackfillRecord record;
    record.id = id;
    record.flow = flow;
    record.total = days;
    record.created_at = clock_.wallNow();
    for (int i = days; i > 0; --i) {
      const WallTime at = clock_.wallNow() - i * Seconds(86'400);
      starts.push_back({.flow = flow,
                        .trigger = RunTrigger::Backfill,
                        .trigger_key = formatRfc3339(at),
                        .plan_time = at,
                        .backfill = id});
    }
    operation.changes.backfills.push_back(record);
    rig_->flows.backfills[id].record = record;
    std::vector<RunId> ids;
    for (const RunRecord& run : rig_->runs.startAll(operation, starts)) ids.push_back(run.state.id);
    rig_->writer.submit(std::move(operation));
    settle();
    return ids;
  }
  // Until nothing comes any more, not even what has to be read first.
  void workAll() {
    while (!work().empty()) continue;
  }
  std::string why(RunId id) { return rig_->runs.whyWaiting(*rig_->flows.findRun(id)); }
  // Ends the one task that is under way; returns the run that is then.
  RunId endOne() {
    if (end().empty()) next();  // What ended well before had to be read first.
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.state.status == P::Running) return id;
    }
    return 0;
  }
};

TEST_F(RunPlacesTest, WhatIsDueNowGoesBeforeTheBacklog) {
  // Aim: whenever they came, and behind a takeover: due now, then missed, then backfill.
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId first = trigger("f").state.id;
  const std::vector<RunId> past = backfill("f", 3);
  const RunId old_missed = compensate("f", Seconds(7200), Priority::Critical).state.id;
  const RunId missed = compensate("f", Seconds(3600)).state.id;
  clock_.advance(Seconds(1));
  const RunId low = trigger("f", {.priority = Priority::Low}).state.id;
  const RunId later = trigger("f").state.id;
  EXPECT_EQ(runStatus(first), P::Running);
  EXPECT_NE(why(missed).find("what is due now goes before missed instants"), std::string::npos);
  EXPECT_NE(why(past[0]).find("goes before a backfill"), std::string::npos);
  EXPECT_EQ(why(later),
            "run " + std::to_string(first) + " is under way, 1 of 1 places taken, it is the next");
  EXPECT_NE(why(low).find("taken, 1 run before it"), std::string::npos);
  EXPECT_EQ(why(past[1]), "1 run of backfill 900 before it, 1 at once");
  EXPECT_EQ(why(past[2]), "2 runs of backfill 900 before it, 1 at once");
  begin();
  ASSERT_EQ(next(), "a");
  for (const RunId id : {later, low, old_missed, missed, past[0], past[1], past[2], RunId(0)}) {
    EXPECT_EQ(endOne(), id);
  }
}

TEST_F(RunPlacesTest, TheBacklogRefusesNothingThatIsDueNow) {
  for (const char* policy :
       {"{policy: queue, max_queued: 2}", "{policy: parallel, max_runs: 1, max_queued: 2}"}) {
    SCOPED_TRACE(policy);
    clock_.advance(Seconds(1));  // Other plan times.
    define("{flow: f, overlap: " + std::string(policy) + ", tasks: {a: {command: [x]}}}");
    trigger("f");
    ASSERT_EQ(next(), "a");
    compensate("f", Seconds(7200));
    compensate("f", Seconds(3600));
    const RunRecord third = compensate("f", Seconds(1800));
    EXPECT_EQ(third.state.status, P::Skipped);
    EXPECT_EQ(third.state.reason, RunReason::QueueFull);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(trigger("f").state.status, P::Waiting);
    const RunRecord over = trigger("f");
    EXPECT_EQ(over.state.status, P::Skipped);
    EXPECT_EQ(over.state.reason_text, "overlap.max_queued is 2, and so many runs wait already");
    workAll();
  }
}

TEST_F(RunPlacesTest, ARerunOfAMissedInstantIsDueNow) {
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId failed = compensate("f", Seconds(3600)).state.id;
  work({"a"});
  trigger("f");
  const RunId missed = compensate("f", Seconds(7200)).state.id;
  const RunId later = trigger("f").state.id;
  ASSERT_TRUE(orderRun({.id = failed, .command = master::api::RunCommand::Rerun}).ok());
  begin();
  ASSERT_EQ(next(), "a");
  for (const RunId id : {failed, later, missed, RunId(0)}) EXPECT_EQ(endOne(), id);
}

TEST_F(RunPlacesTest, AMissedInstantEndsNoRunThatIsDueNow) {
  // Aim: with cancel_running the newest is what counts, and that is not the backlog.
  define("{flow: f, overlap: cancel_running, tasks: {a: {command: [x]}}}");
  const RunId old_missed = compensate("f", Seconds(7200)).state.id;
  ASSERT_EQ(next(), "a");
  const RunId current = trigger("f").state.id;
  EXPECT_EQ(runStatus(old_missed), P::Terminating);
  const RunRecord refused = compensate("f", Seconds(3600));
  EXPECT_EQ(refused.state.status, P::Skipped);
  EXPECT_EQ(refused.state.reason, RunReason::OverlapCancel);
  EXPECT_EQ(refused.state.reason_text, "run " + std::to_string(current) + " has its place");
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(current), P::Running);
  EXPECT_EQ(compensate("f", Seconds(1800)).state.status, P::Skipped);
  EXPECT_EQ(runStatus(current), P::Running);
}

// A flow that waits for its own run of the day before must not stand still: not for a rerun of that
// run, nor behind an outage after which today comes first.
TEST_F(RunPlacesTest, WhoWaitsForItsOwnFlowKeepsNoPlaceFromWhatCameBefore) {
  constexpr Seconds kDay{86'400};
  define(R"({flow: f, tasks: {w: {event: {flow: f, window: last_day}},
                              x: {command: [x], needs: [w]}}})");
  const WallTime today = clock_.wallNow();
  const auto on = [&](int days) { return master::RunStart{.plan_time = today + days * kDay}; };
  const RunId first = trigger("f", on(0)).state.id;
  ASSERT_TRUE(orderRun({.id = first, .command = RunCommand::Skip, .task = "w"}).ok());
  work({"x"});
  ASSERT_EQ(runStatus(first), P::Failed);
  const RunId second = trigger("f", on(1)).state.id;
  const RunId third = trigger("f", on(2)).state.id;
  EXPECT_EQ(runStatus(second), P::Running);
  EXPECT_EQ(runStatus(third), P::Waiting) << "it is later than the one that waits";
  begin();
  ASSERT_TRUE(orderRun({.id = first, .command = RunCommand::Rerun}).ok());
  EXPECT_EQ(runStatus(first), P::Running);
  begin();
  workAll();
  for (const RunId id : {first, second, third}) EXPECT_EQ(runStatus(id), P::Finished) << id;
}

TEST_F(RunPlacesTest, TodayWaitsForTheDaysThatAreMadeUpFor) {
  constexpr Seconds kDay{86'400};
  define(R"({flow: f, tasks: {w: {event: {flow: f, window: last_day}},
                              x: {command: [x], needs: [w]}}})");
  clock_.advance(Seconds(10 * 86'400));
  const WallTime now = clock_.wallNow();
  const RunId before = trigger("f", {.plan_time = now - 4 * kDay}).state.id;
  ASSERT_TRUE(orderRun({.id = before, .command = RunCommand::Skip, .task = "w"}).ok());
  workAll();
  std::vector<RunId> runs{trigger("f", {.plan_time = now}).state.id};
  for (const int days : {2, 3, 1}) runs.push_back(compensate("f", days * kDay).state.id);
  begin();
  while (next() == "x") {
    size_t busy = 0;
    for (const auto& [id, task] : database_.rows().tasks) {
      busy += task.name == "x" && !isTerminal(task.state.status) && task.state.status != S::Created
                  ? 1
                  : 0;
    }
    EXPECT_EQ(busy, 1U) << "one at a time";
    end();
  }
  for (const RunId id : runs) EXPECT_EQ(runStatus(id), P::Finished) << id;
}

TEST_F(RunPlacesTest, ABacklogCostsNothingThatIsDueNow) {
  // Aim: with overlap skip, what is due waits for the one run of a backfill that is under way.
  define("{flow: f, overlap: skip, tasks: {a: {command: [x]}}}");
  const std::vector<RunId> past = backfill("f", 3);
  ASSERT_EQ(next(), "a");
  const RunId due = trigger("f").state.id;
  EXPECT_EQ(runStatus(due), P::Waiting);
  EXPECT_EQ(runStatus(trigger("f").state.id), P::Skipped) << "one waits already";
  for (std::string name = end(); !name.empty();) {
    name = end();
    if (name.empty()) name = next();  // What ended well before had to be read first.
  }
  EXPECT_EQ(runStatus(due), P::Finished);
  for (const RunId id : past) EXPECT_EQ(runStatus(id), P::Finished);
}

TEST_F(RunPlacesTest, ABackfillGoesOnBehindARunThatTookItsPlace) {
  define("{flow: f, overlap: cancel_running, tasks: {a: {command: [x]}}}");
  const std::vector<RunId> past = backfill("f", 2);
  ASSERT_EQ(next(), "a");
  const RunId due = trigger("f").state.id;
  EXPECT_EQ(runStatus(past[0]), P::Terminating);
  workAll();
  EXPECT_EQ(runStatus(due), P::Finished);
  EXPECT_EQ(row(past[0]).state.reason, RunReason::OverlapCancel);
  EXPECT_EQ(runStatus(past[1]), P::Finished);
}

TEST_F(RunPlacesTest, ARunOfABackfillThatIsAboutToBeginMakesRoom) {
  // Aim: it has its place and no tasks, and its end takes the backfill's other runs with it.
  define("{flow: f, overlap: cancel_running, tasks: {a: {command: [x]}}}");
  trigger("f", {.plan_time = clock_.wallNow() + Seconds(86'400'000)});
  workAll();
  database_.failReads(ErrorCode::Unavailable);
  const std::vector<RunId> past = backfill("f", 2);
  EXPECT_EQ(runStatus(past[0]), P::Waiting);
  const RunId due = trigger("f").state.id;
  database_.failReads({});
  pass(Millis(300));
  workAll();
  EXPECT_EQ(runStatus(due), P::Finished);
  EXPECT_EQ(row(past[0]).state.reason, RunReason::OverlapCancel);
  EXPECT_EQ(runStatus(past[1]), P::Finished);
}

TEST_F(RunPlacesTest, TheLastSuccessIsTheOneBeforeTheRunsOwnPlanTime) {
  // Aim: not a later one, whoever ran ahead; found when the run begins, and kept over a takeover.
  define("{flow: f, tasks: {a: {command: [x, \"${prev_success_time:%F}\"]}}}");
  const auto previous = [&](RunId id) { return row(id).state.prev_success; };
  const RunId first = trigger("f").state.id;
  clock_.advance(Seconds(1));
  const RunId second = trigger("f").state.id;  // Waits for the first.
  workAll();
  EXPECT_EQ(previous(first), WallTime{});
  EXPECT_EQ(previous(second), row(first).plan_time);
  const RunId ahead = trigger("f", {.plan_time = clock_.wallNow() + Seconds(86'400'000)}).state.id;
  EXPECT_EQ(previous(ahead), row(second).plan_time);
  const std::vector<RunId> past = backfill("f", 2);
  workAll();
  EXPECT_EQ(previous(past[0]), WallTime{});
  EXPECT_EQ(previous(past[1]), row(past[0]).plan_time);
  clock_.advance(Seconds(1));
  const RunId third = trigger("f").state.id;
  EXPECT_EQ(previous(third), row(second).plan_time);
  const RunId waits = trigger("f").state.id;
  begin();
  EXPECT_EQ(previous(third), row(second).plan_time);
  workAll();
  EXPECT_EQ(previous(waits), row(second).plan_time);  // Of the same plan time as the third.
  EXPECT_EQ(runStatus(waits), P::Finished);
}

TEST_F(RunPlacesTest, ARunBeginsWhenTheLastSuccessCanBeReadAgain) {
  define("{flow: f, tasks: {a: {noop: true}}}");
  trigger("f");
  database_.failReads(ErrorCode::Unavailable);
  const RunId past = backfill("f", 1).front();
  EXPECT_EQ(runStatus(past), P::Waiting);
  EXPECT_EQ(why(past), "it begins as soon as what was before it has begun");
  database_.failReads({});
  pass(Millis(300));
  EXPECT_EQ(runStatus(past), P::Finished);
}

}  // namespace
}  // namespace baton::test
