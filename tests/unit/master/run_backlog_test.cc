// Definitions that ask for more than one event of the dispatcher may do: sub-flows within
// sub-flows, large flows, takeovers with many runs and definitions.
#include <algorithm>
#include <set>

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using P = RunStatus;
using F = FailureReason;

// More than one event may do, with the rows of one run on top.
constexpr size_t kMostPerEvent = 5'000;

class RunBacklogTest : public PlannerTest {
 protected:
  static constexpr uint64_t kStock = 100'000;

  void SetUp() override {
    at("2026-03-02T00:00:30Z");
    begin(defaults(), kStock);
  }
  // A new master, of which nothing but the opening of the gates has been done.
  void takeOver(master::ActiveOptions options = defaults()) { open(std::move(options), kStock); }
  // Flows f0 to f<levels - 1>, each with four tasks that are the next one; `leaf` is the last.
  void defineTree(int levels, const std::string& leaf) {
    define("{flow: f" + std::to_string(levels) + ", tasks: {t: " + leaf + "}}");
    for (int level = levels - 1; level >= 0; --level) {
      const std::string part = "{flow: f" + std::to_string(level + 1) + "}";
      define("{flow: f" + std::to_string(level) + ", tasks: {a: " + part + ", b: " + part +
             ", c: " + part + ", d: " + part + "}}");
    }
  }
  RunId startTree() {
    master::Operation operation;
    const RunRecord root =
        rig_->runs.start(operation, {.flow = "f0", .plan_time = clock_.wallNow()});
    rig_->writer.submit(std::move(operation));
    return root.state.id;
  }
  // How much a step changed, in rows of tasks.
  size_t rowsOfStep() {
    const auto& rows = database_.rows().tasks;
    const size_t before = rows.size();
    const size_t live_before = rig_->live.tasks.size();
    rig_->step();
    const size_t made = rows.size() - before;
    const size_t live = rig_->live.tasks.size();
    return std::max(made, live_before > live ? live_before - live : 0);
  }
  size_t runsWith(P status) const {
    size_t count = 0;
    for (const auto& [id, run] : database_.rows().runs) count += run.state.status == status ? 1 : 0;
    return count;
  }
  // Every task of the tree is a row once, and every sub-flow of it has one run.
  void expectEachOnce(size_t runs) const {
    std::set<std::pair<RunId, std::string>> nodes;
    std::set<TaskId> parents;
    for (const auto& [id, task] : database_.rows().tasks) {
      EXPECT_TRUE(nodes.emplace(task.run_id, task.name).second) << id;
    }
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.parent_task != 0) {
        EXPECT_TRUE(parents.insert(run.parent_task).second) << id;
      }
    }
    EXPECT_EQ(database_.rows().runs.size(), runs);
  }
};

// 1 + 4 + 16 + … + 4^6 runs.
constexpr size_t kTreeRuns = 5'461;

TEST_F(RunBacklogTest, ATreeOfSubFlowsGrowsAPartInEachTurn) {
  defineTree(6, "{command: [x]}");
  startTree();
  EXPECT_LT(rig_->live.tasks.size(), kMostPerEvent);
  size_t turns = 0;
  Reply reply;
  for (; rig_->flows.runs.size() < kTreeRuns && turns < 100; ++turns) {
    if (turns == 1) {
      rig_->dispatcher.post([&] {
        rig_->heartbeats.handle(beat(), [&](auto result) { reply = std::move(result); });
      });
    }
    EXPECT_LT(rowsOfStep(), kMostPerEvent);
    // Who comes in between is served in between.
    EXPECT_TRUE(reply.has_value() || turns < 3);
  }
  settle();
  EXPECT_GT(turns, 3u);
  expectEachOnce(kTreeRuns);
  EXPECT_EQ(rig_->flows.trees.size(), 1u);
}

TEST_F(RunBacklogTest, ATreeThatEndsByItselfEndsWhole) {
  defineTree(6, "{noop: true}");
  const RunId root = startTree();
  for (int i = 0; i < 100 && !rig_->flows.runs.empty(); ++i) {
    EXPECT_LT(rowsOfStep(), 2 * kMostPerEvent);
  }
  settle();
  EXPECT_EQ(runStatus(root), P::Finished);
  EXPECT_EQ(runsWith(P::Finished), kTreeRuns);
  expectEachOnce(kTreeRuns);
  EXPECT_TRUE(rig_->flows.trees.empty());
  EXPECT_TRUE(rig_->live.tasks.empty());
}

// Whoever dies when, and whether the last turn was committed or not.
TEST_F(RunBacklogTest, ATakeoverBetweenTwoTurnsGoesOnWithTheRest) {
  defineTree(5, "{noop: true}");
  const RunId root = startTree();
  for (int i = 0; i < 200 && (i == 0 || !rig_->flows.runs.empty()); ++i) {
    rig_->step();
    if (i % 2 == 1) rig_->dispatcher.runPendingForTest();  // Decided, and lost.
    takeOver();
  }
  settle();
  EXPECT_EQ(runStatus(root), P::Finished);
  expectEachOnce(1'365);
  EXPECT_EQ(runsWith(P::Finished), 1'365u);
  EXPECT_TRUE(rig_->live.tasks.empty());
}

TEST_F(RunBacklogTest, AStopEndsAGrowingTreeAndNothingMoreBegins) {
  defineTree(6, "{command: [x]}");
  const RunId root = startTree();
  for (int i = 0; i < 3; ++i) rig_->step();
  const size_t runs = database_.rows().runs.size();
  ASSERT_GT(runs, 100u);
  ASSERT_LT(runs, kTreeRuns);
  master::Operation operation;
  ASSERT_TRUE(rig_->runs.stop(operation, *rig_->flows.findRun(root), RunReason::StopAsked).ok());
  rig_->writer.submit(std::move(operation));
  for (int i = 0; i < 100 && !rig_->flows.runs.empty(); ++i) {
    EXPECT_LT(rowsOfStep(), kMostPerEvent);
  }
  settle();
  EXPECT_EQ(runStatus(root), P::Terminated);
  EXPECT_LE(database_.rows().runs.size(), runs + 2'000);  // Those of the turn that was under way.
  EXPECT_EQ(runsWith(P::Terminated), database_.rows().runs.size());
  EXPECT_TRUE(rig_->live.tasks.empty());
  EXPECT_TRUE(rig_->flows.trees.empty());
}

TEST_F(RunBacklogTest, AStopOfATreeOutlivesTheMasterInTheMiddleOfIt) {
  defineTree(6, "{command: [x]}");
  const RunId root = startTree();
  for (int i = 0; i < 100 && rig_->flows.runs.size() < kTreeRuns; ++i) rig_->step();
  settle();
  ASSERT_EQ(rig_->flows.runs.size(), kTreeRuns);
  master::Operation operation;
  ASSERT_TRUE(rig_->runs.stop(operation, *rig_->flows.findRun(root), RunReason::StopAsked).ok());
  rig_->writer.submit(std::move(operation));
  rig_->step();
  const size_t ended = runsWith(P::Terminated);
  EXPECT_LT(ended, kTreeRuns);
  takeOver();
  for (int i = 0; i < 100 && !rig_->flows.runs.empty(); ++i) {
    EXPECT_LT(rowsOfStep(), kMostPerEvent);
  }
  settle();
  EXPECT_EQ(runsWith(P::Terminated), kTreeRuns);
  EXPECT_TRUE(rig_->live.tasks.empty());
}

TEST_F(RunBacklogTest, TheTasksOfOneTreeAreLimited) {
  master::ActiveOptions options = defaults();
  options.tree_tasks_max = 30;
  begin(options, kStock);
  define(
      "{flow: ten, tasks: {a: {noop: true, hold: true}, b: {noop: true, needs: [a]}, "
      "c: {noop: true, needs: [a]}, d: {noop: true, needs: [a]}, e: {noop: true, needs: [a]}, "
      "f: {noop: true, needs: [a]}, g: {noop: true, needs: [a]}, h: {noop: true, needs: [a]}, "
      "i: {noop: true, needs: [a]}, j: {noop: true, needs: [a]}}}");
  define("{flow: mid, tasks: {x: {flow: ten}, y: {flow: ten}}}");
  define("{flow: top, tasks: {p: {flow: mid}, q: {flow: mid}}}");
  const RunId root = trigger("top").state.id;
  // Two tasks of the first mid, two times ten; the second mid fits, and none of its parts.
  EXPECT_EQ(rig_->flows.trees.at(root).tasks, 22u);
  EXPECT_EQ(nodeStatus(root, "p"), S::Running);
  EXPECT_EQ(nodeStatus(root, "q"), S::Failed);
  RunId second = 0;
  for (const auto& [id, run] : database_.rows().runs) {
    if (run.parent_task == node(root, "q").state.id) second = id;
  }
  for (const char* name : {"x", "y"}) {
    EXPECT_EQ(nodeReason(second, name), F::SubFlowFailed);
    EXPECT_NE(node(second, name).state.reason_text.find("all of a run together may have 30"),
              std::string::npos)
        << node(second, name).state.reason_text;
  }
  // Whoever looks at the top sees why.
  const std::string& why = rig_->flows.findRun(root)->record.state.reason_text;
  EXPECT_NE(why.find("may have 30"), std::string::npos) << why;
  begin(options, kStock);
  EXPECT_EQ(rig_->flows.trees.at(root).tasks, 22u);
  EXPECT_TRUE(stop(root).ok());
  EXPECT_TRUE(rig_->flows.runs.empty());
  EXPECT_TRUE(rig_->flows.trees.empty());
}

TEST_F(RunBacklogTest, TheParametersOfOneTreeAreLimited) {
  master::ActiveOptions options = defaults();
  options.tree_param_bytes_max = 250'000;
  begin(options, kStock);
  define("{flow: inner, params: {p: null}, tasks: {a: {noop: true, hold: true}}}");
  define("{flow: outer, params: {p: " + std::string(100'000, 'x') +
         "}, tasks: {a: {flow: inner}, b: {flow: inner}, c: {flow: inner}}}");
  const RunId run = trigger("outer").state.id;
  EXPECT_EQ(nodeStatus(run, "b"), S::Running);
  EXPECT_EQ(nodeStatus(run, "c"), S::Failed);
  EXPECT_NE(node(run, "c").state.reason_text.find("bytes of parameters"), std::string::npos);
}

std::string manyTasks(size_t count, const std::string& more = {}) {
  std::string yaml = "flow: many\n" + more + "tasks:\n";
  for (size_t i = 0; i < count; ++i) yaml += fmt::format("  t{}: {{command: [x]}}\n", i);
  return yaml;
}

TEST_F(RunBacklogTest, ALargeFlowIsLetGoAPartInEachTurn) {
  define(manyTasks(9'000));
  master::Operation operation;
  const RunId run =
      rig_->runs.start(operation, {.flow = "many", .plan_time = clock_.wallNow()}).state.id;
  rig_->writer.submit(std::move(operation));
  rig_->step();
  const auto queued = [&] { return rig_->live.by_status[static_cast<size_t>(S::Queued)]; };
  EXPECT_LT(queued(), kMostPerEvent);
  // A pause in the middle holds back all, a takeover in the middle loses none.
  ASSERT_TRUE(
      change(run, [&](auto& changed, auto& live) { return rig_->runs.pause(changed, live); }).ok());
  EXPECT_EQ(queued(), 0u);
  takeOver();
  settle();
  EXPECT_EQ(queued(), 0u);
  master::Operation resumed;
  ASSERT_TRUE(rig_->runs.resume(resumed, *rig_->flows.findRun(run)).ok());
  rig_->writer.submit(std::move(resumed));
  rig_->step();
  EXPECT_LT(queued(), kMostPerEvent);
  takeOver();
  for (int i = 0; i < 20 && queued() < 9'000; ++i) rig_->step();
  EXPECT_EQ(queued(), 9'000u);
  EXPECT_EQ(database_.rows().tasks.size(), 9'000u);
}

// Values that many tasks get cost a turn as much as many rows.
TEST_F(RunBacklogTest, LargeParametersCountAsWell) {
  define(manyTasks(200, "params: {p: " + std::string(100'000, 'x') + "}\n"));
  trigger("many");
  rig_->step();
  EXPECT_LT(rig_->live.by_status[static_cast<size_t>(S::Queued)], 150u);
  for (int i = 0; i < 50; ++i) rig_->step();
  EXPECT_EQ(rig_->live.by_status[static_cast<size_t>(S::Queued)], 200u);
}

TEST_F(RunBacklogTest, ATakeoverCarriesOnManyRunsAPartInEachTurn) {
  define(
      "{flow: f, overlap: {policy: parallel, max_runs: 1000}, tasks: {a: {noop: true, "
      "hold: true}, w: {event: {name: e, window: same_day}}, b: {command: [x]}}}");
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 250; ++k) {
      master::Operation operation;
      rig_->runs.start(operation, {.flow = "f", .plan_time = clock_.wallNow()});
      rig_->writer.submit(std::move(operation));
    }
    for (int k = 0; k < 5; ++k) rig_->step();
  }
  ASSERT_EQ(rig_->flows.runs.size(), 1'000u);
  const RunId last = 1'000;
  ASSERT_TRUE(say(RunnerStatus::Idle).order || say(RunnerStatus::Idle).order);
  const RunId running = database_.rows().tasks.at(accepted_["w:0"].task_id).run_id;
  takeOver();
  const auto owed = [&] {
    size_t count = 0;
    for (const auto& [id, run] : rig_->flows.runs) count += run.owed ? 1 : 0;
    return count;
  };
  EXPECT_EQ(owed(), 1'000u);
  // What somebody asks for before its turn, or reports, comes first.
  master::Operation operation;
  ASSERT_TRUE(rig_->runs.stop(operation, *rig_->flows.findRun(last), RunReason::StopAsked).ok());
  rig_->writer.submit(std::move(operation));
  settle();
  EXPECT_EQ(owed(), 0u);
  EXPECT_EQ(runStatus(last), P::Terminated);
  EXPECT_EQ(rig_->events.whyWaiting(node(1, "w").state.id).substr(0, 9), "waits for");
  say(RunnerStatus::Finished);
  EXPECT_EQ(nodeStatus(running, "b"), S::Finished);
}

TEST_F(RunBacklogTest, AnEndThatIsReportedBeforeItsRunWasCarriedOnCounts) {
  define(
      "{flow: f, tasks: {a: {command: [x]}, b: {noop: true, needs: [a]}, "
      "c: {command: [x], needs: [b]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  takeOver();
  const HeartbeatRequest report = beat(RunnerStatus::Finished);
  Reply reply;
  rig_->heartbeats.handle(report, [&](auto result) { reply = result; });  // Before all others.
  settle();
  EXPECT_EQ(nodeStatus(run, "b"), S::Finished);
  EXPECT_NE(nodeStatus(run, "c"), S::Created);
}

// ------------------------------------------------------------------------------- definitions

std::string largeFlow(const std::string& name, const std::string& head, size_t bytes) {
  return "flow: " + name + "\ndescription: about the weather\n" + head +
         "tasks:\n  a: {script: \"" + std::string(std::min<size_t>(bytes, 60'000), 'x') + "\"}\n";
}

TEST_F(RunBacklogTest, ATakeoverReadsTriggersBeforeItsDispatcherRuns) {
  apply(largeFlow("by-event", "trigger: {event: e}\n", 60'000));
  apply(largeFlow("off", "trigger: {event: e}\n", 60'000), false);
  apply(largeFlow("plain", "", 60'000));
  apply("flow: escaped\n\"tri\\x67ger\": {event: e}\ntasks: {a: {noop: true}}\n");
  takeOver();
  EXPECT_NE(rig_->flows.findFlow("by-event")->newest, nullptr);
  EXPECT_NE(rig_->flows.findFlow("escaped")->newest, nullptr);
  EXPECT_EQ(rig_->flows.findFlow("plain")->newest, nullptr);
  EXPECT_EQ(rig_->flows.findFlow("off")->newest, nullptr);
  std::optional<Result<master::api::EventSent>> sent;
  master::api::EventSend event;
  event.name = "e";
  event.key = "k";
  rig_->dispatcher.post(
      [&] { rig_->events.send(event, [&](auto result) { sent = std::move(result); }); });
  settle();
  EXPECT_EQ(database_.rows().runs.size(), 2u);
  EXPECT_EQ(rig_->flows.bytes_read, 0u);
}

TEST_F(RunBacklogTest, ATakeoverKnowsWhichDefinitionsMayNameACalendar) {
  apply(largeFlow("plain", "", 100));
  apply(largeFlow("said", "owner: calendar people\n", 100));
  apply("flow: escaped\nowner: \"a\\x20b\"\ntasks: {a: {noop: true}}\n", false);
  takeOver();
  auto unread = rig_->calendar_commands.unreadFollowers();
  std::sort(unread.begin(), unread.end());
  EXPECT_EQ(unread, (std::vector<std::string>{"escaped", "said"}));
}

TEST_F(RunBacklogTest, WhatACheckOfTriggersWouldReadIsKnownBefore) {
  apply("flow: c\ntasks: {a: {noop: true}}\n");
  apply("flow: b\ntasks: {s: {flow: c}}\n");
  apply("flow: a\ntasks: {s: {flow: b}}\n");
  takeOver();
  const flow::ParsedFlow parsed =
      flow::parseFlow("test", "flow: n\ntrigger: {event: {flow: c}}\ntasks: {s: {flow: a}}\n");
  const master::EventDesk::Versions versions{master::makeFlowVersion(1, *parsed.flow)};
  std::vector<std::string> read;
  for (auto unread = rig_->events.unreadBehind(versions); !unread.empty();
       unread = rig_->events.unreadBehind(versions)) {
    for (const std::string& key : unread) {
      read.push_back(key);
      const auto found = master::FlowState::unreadOf(*rig_->flows.findFlow(key));
      rig_->flows.learn(key, found.number,
                        master::readFlowVersion(found.flow, found.number, *found.text));
    }
  }
  EXPECT_EQ(read, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(rig_->events.findCircle(versions).has_value());
  EXPECT_EQ(rig_->flows.bytes_read, 0u);
}

// Each flow is looked at once, however many lead to it.
TEST_F(RunBacklogTest, ManyDefinitionsThatNameEachOtherAreCheckedTogether) {
  constexpr int kFlows = 300;
  master::EventDesk::Versions versions;
  for (int i = 0; i < kFlows; ++i) {
    std::string text = fmt::format("flow: f{}\ntasks:\n  a: {{noop: true}}\n", i);
    for (int j = i + 1; j < kFlows; ++j) text += fmt::format("  t{}: {{flow: f{}}}\n", j, j);
    versions.push_back(master::makeFlowVersion(1, *flow::parseFlow("test", text).flow));
  }
  EXPECT_FALSE(rig_->events.findCircle(versions).has_value());
  EXPECT_TRUE(rig_->events.unreadBehind(versions).empty());
  versions.push_back(
      master::makeFlowVersion(1, *flow::parseFlow("test",
                                                  "flow: last\ntrigger: {event: {flow: f299}}\n"
                                                  "tasks: {s: {flow: f298}}\n")
                                      .flow));
  const auto circle = rig_->events.findCircle(versions);
  ASSERT_TRUE(circle.has_value());
  EXPECT_EQ(circle->definition, 298U);
  EXPECT_NE(circle->error.message().find("f298 -> f299 -> last -> f298"), std::string::npos)
      << circle->error.message();
}

TEST_F(RunBacklogTest, WhatIsDueAfterATakeoverIsReadAPartInEachTurn) {
  const std::string daily = "schedule: {cron: '0 2 * * *', timezone: UTC}\n";
  for (int i = 0; i < 30; ++i) {
    apply(largeFlow(fmt::format("f{}", i), daily, 60'000));
  }
  at("2026-03-02T02:00:01Z");
  takeOver();
  size_t turns = 0;
  for (size_t before = 0; turns < 100; ++turns) {
    rig_->step();
    EXPECT_LT(rig_->flows.bytes_read - before, 400'000u);
    before = rig_->flows.bytes_read;
    if (database_.rows().runs.size() == 30) break;
  }
  EXPECT_GT(turns, 4u);
  EXPECT_EQ(database_.rows().runs.size(), 30u);
}

}  // namespace
}  // namespace baton::test
