// What the tasks of flows count against, and when they start.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using Names = std::vector<std::string>;
using master::api::LimitChange;
using master::api::RerunScope;
using master::api::RunCommand;

class FlowLimitsTest : public FlowTest {
 protected:
  void limit(LimitKind kind, const std::string& name, std::optional<int64_t> max) {
    bool well = false;
    rig_->dispatcher.post([&] {
      rig_->limits.change({.record = {.kind = kind, .name = name, .max = max}},
                          [&](const auto& view) { well = view.ok(); });
    });
    settle();
    EXPECT_TRUE(well) << name;
  }
  master::TaskEngine::Waiting why(RunId run, const std::string& name) {
    const master::LiveTask* task = rig_->live.findTask(node(run, name).state.id);
    return task == nullptr ? master::TaskEngine::Waiting{} : rig_->engine.whyWaiting(*task);
  }
  TaskLimitsScope scope(RunId run, const std::string& name) {
    return rig_->live.findTask(node(run, name).state.id)->policy->scope;
  }
  // Whether the idle runner gets a task; a specification may have to be read first.
  bool takes(const std::string& runner) {
    return say(RunnerStatus::Idle, runner).order || say(RunnerStatus::Idle, runner).order;
  }
  void setWall(const char* time) {
    clock_.stepWall(*parseRfc3339(time) - clock_.wallNow());
    pass(Millis(200));
  }
};

TEST_F(FlowLimitsTest, TasksOfAFlowCarryWhatTheyCountAgainst) {
  // Aim: group, weight, flow, user and hours; nothing for what takes no runner.
  define(R"(
flow: Night
owner: dwh
timezone: Europe/Berlin
window: "22:00-06:00"
tasks:
  a: {command: [x], group: warehouse, weight: 3, window: "23:00-01:00"}
  b: {command: [x], weight: 7}
  c: {noop: true, needs: [a]}
)");
  const RunId run = trigger("night", {.principal = "client"}).state.id;
  EXPECT_EQ(scope(run, "a"), (TaskLimitsScope{.group = "warehouse",
                                              .weight = 3,
                                              .flow = "Night",
                                              .user = "dwh",
                                              .window = "23:00-01:00",
                                              .flow_window = "22:00-06:00",
                                              .time_zone = "Europe/Berlin"}));
  EXPECT_EQ(scope(run, "b").user, "dwh");
  EXPECT_EQ(scope(run, "b").weight, 1) << "there is no group whose units these were";
  EXPECT_EQ(scope(run, "c"), TaskLimitsScope{});
  EXPECT_EQ(node(run, "a").group, "warehouse") << "lists find it";
  define("{flow: plain, tasks: {a: {command: [x]}}}");
  const RunId plain = trigger("plain", {.principal = "client"}).state.id;
  EXPECT_EQ(scope(plain, "a"), (TaskLimitsScope{.flow = "plain", .user = "client"}));
}

TEST_F(FlowLimitsTest, TheLimitOfAFlowIsThatOfAllItsRuns) {
  // Aim: whatever the spelling; attempts in doubt count after a takeover.
  define("{flow: Loads, overlap: {policy: parallel, max_runs: 9}, tasks: {a: {command: [x]}}}");
  limit(LimitKind::Flow, "LOADS", 1);
  const RunId one = trigger("loads").state.id;
  const RunId two = trigger("loads").state.id;
  const RunId three = trigger("loads").state.id;
  ASSERT_EQ(next(), "a");
  EXPECT_EQ(say(RunnerStatus::Idle, "w:1").command, Command::GoOn);
  EXPECT_EQ(why(two, "a").code, WaitingCode::FlowLimit);
  EXPECT_EQ(why(two, "a").text, "flow LOADS: 1 tasks run, the limit is 1");
  begin();
  EXPECT_FALSE(takes("w:1")) << "the first is in doubt";
  EXPECT_EQ(rig_->limits.view(LimitKind::Flow, "loads")->in_use, 1);
  limit(LimitKind::Flow, "loads", 2);
  EXPECT_EQ(database_.rows().limits.size(), 1U) << "one row, whatever the spelling";
  EXPECT_TRUE(takes("w:1"));
  limit(LimitKind::Flow, "loads", 1);
  EXPECT_EQ(end(), "") << "one of the two that run is as many as there may be";
  EXPECT_EQ(exchange(beat(RunnerStatus::Finished, "w:1")).command, Command::RunNew);
  EXPECT_FALSE(exchange(beat(RunnerStatus::Finished, "w:1")).order);
  for (const RunId run : {one, two, three}) EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

TEST_F(FlowLimitsTest, TasksOfAFlowStartInItsHoursOnly) {
  // Aim: on the clock of the flow's zone, through a takeover, opened by a timer and nothing else.
  setWall("2026-06-01T19:50:00Z");
  define(R"(
flow: f
schedule: {cron: "0 2 1 1 *", timezone: Europe/Berlin}
window: "22:00-06:00"
tasks:
  a: {command: [x]}
  b: {command: [x], window: "23:00-23:30"}
)");
  define("{flow: free, tasks: {z: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  const RunId free = trigger("free").state.id;
  EXPECT_EQ(work(), Names{"z"}) << "nobody else waits for it";
  EXPECT_EQ(runStatus(free), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(run, "a"), S::Queued);
  EXPECT_EQ(why(run, "a").code, WaitingCode::Window);
  EXPECT_EQ(why(run, "a").text,
            "its flow starts tasks at 22:00-06:00 (Europe/Berlin), next at 2026-06-01T20:00:00Z");
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::Window), 2U);
  begin();
  EXPECT_EQ(next(), "");
  EXPECT_EQ(why(run, "a").code, WaitingCode::Window);
  clock_.advance(std::chrono::minutes(10));
  settle();
  EXPECT_EQ(work(), Names{"a"}) << "the other has hours of its own";
  EXPECT_EQ(why(run, "b").text,
            "it starts at 23:00-23:30 (Europe/Berlin), next at 2026-06-01T21:00:00Z");
  clock_.advance(std::chrono::minutes(60));
  settle();
  EXPECT_EQ(work(), Names{"b"});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_EQ(rig_->live.gates.all(LimitKind::Window).size(), 0U) << "nothing is left behind";
}

TEST_F(FlowLimitsTest, WhatCanNeverRunSaysSoAndHoldsBackNobody) {
  // Aim: BUG-147; a full group, a shut one, labels of nobody and a dead host stand in no way.
  limit(LimitKind::Group, "small", 2);
  limit(LimitKind::Group, "shut", 0);
  HeartbeatRequest dead = beat(RunnerStatus::Idle, "x:0");
  dead.labels = {{"zone", "x"}};
  exchange(dead);
  pass(kH * 4);
  define(R"(
flow: f
tasks:
  heavy: {command: [x], group: small, weight: 4, priority: critical}
  shut: {command: [x], group: shut, priority: critical}
  gpu: {command: [x], labels: {gpu: "yes"}, priority: critical}
  lost: {command: [x], labels: {zone: x}, group: small, weight: 2, priority: critical}
  first: {command: [x], group: small, weight: 2}
  second: {command: [x], group: small}
  other: {command: [x], group: new}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "first");
  EXPECT_EQ(why(run, "heavy").text,
            "can never run: its weight is 4 and group small has a limit of 2");
  EXPECT_EQ(why(run, "shut").text,
            "can never run: group shut has a limit of 0: nothing of it runs");
  EXPECT_EQ(why(run, "gpu").code, WaitingCode::NoRunnerMatches);
  EXPECT_EQ(why(run, "lost").code, WaitingCode::NoRunnerMatches);
  EXPECT_EQ(why(run, "second").text, "group small: 2 of 2 units are in use, this task needs 1");
  const HeartbeatReply beside = say(RunnerStatus::Idle, "w:1");
  ASSERT_TRUE(beside.order);
  EXPECT_EQ(nameOf(beside.order->key.task_id), "other") << "a group that nobody set has no limit";
  EXPECT_EQ(end(), "second");
  limit(LimitKind::Group, "small", 4);
  EXPECT_EQ(end(), "heavy");
}

TEST_F(FlowLimitsTest, ALimitOfOneAndARerunDoNotStandStill) {
  // Aim: BUG-149: run 1 failed, run 2 stands behind it; the rerun of run 1 and run 2 both end, in
  // the order of their instants where the flow's runs are strictly in order.
  for (const char* overlap : {"queue", "{policy: parallel, max_runs: 2}"}) {
    SCOPED_TRACE(overlap);
    define(
        fmt::format("{{flow: f, overlap: {}, tasks: {{a: {{command: [x]}}, b: {{command: [x], "
                    "needs: [a]}}}}}}",
                    overlap));
    limit(LimitKind::Flow, "f", 1);
    const RunId before = trigger("f").state.id;
    EXPECT_EQ(work({"a"}), (Names{"a"}));
    ASSERT_EQ(runStatus(before), RunStatus::Failed);
    clock_.advance(Seconds(1));
    const RunId blocker = trigger("f").state.id;
    ASSERT_EQ(next(), "a");
    clock_.advance(Seconds(1));
    const RunId behind = trigger("f").state.id;
    ASSERT_TRUE(
        orderRun({.id = before, .command = RunCommand::Rerun, .scope = RerunScope::Failed}).ok());
    begin();
    say(RunnerStatus::Running);
    for (std::string name = end(); !name.empty(); name = end()) continue;
    work();
    for (const RunId run : {before, blocker, behind}) {
      EXPECT_EQ(runStatus(run), RunStatus::Finished) << run;
    }
    if (overlap == std::string("queue")) {
      EXPECT_LE(row(before).state.finished_at, row(behind).state.started_at);
    }
    clock_.advance(Seconds(1));
  }
}

TEST_F(FlowLimitsTest, APriorityThatChangesCountsForWhatWaits) {
  // Aim: the queue's lanes follow, also for what runs meanwhile.
  define("{flow: f, tasks: {a: {command: [x], group: g}, b: {command: [x], group: g}}}");
  limit(LimitKind::Group, "g", 1);
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  bool well = false;
  rig_->dispatcher.post([&] {
    rig_->limits.change({.what = LimitChange::What::MinPriority,
                         .record = {.kind = LimitKind::Cluster, .min_priority = Priority::High}},
                        [&](const auto& view) { well = view.ok(); });
  });
  settle();
  ASSERT_TRUE(well);
  EXPECT_EQ(why(run, "b").code, WaitingCode::Degraded);
  ASSERT_TRUE(
      orderRun({.id = run, .command = RunCommand::SetPriority, .priority = Priority::High}).ok());
  EXPECT_EQ(why(run, "b").code, WaitingCode::GroupLimit);
  EXPECT_EQ(end(), "b");
  EXPECT_EQ(end(), "");
  EXPECT_EQ(rig_->live.gates.find(LimitKind::Group, "g")->in_use, 0);
  EXPECT_EQ(rig_->live.ready.laneCount(), 0U);
}

}  // namespace
}  // namespace baton::test
