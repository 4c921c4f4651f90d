// What people order runs to do.
#include "master/flow/run_orders.h"

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using P = RunStatus;
using F = FailureReason;
using Names = std::vector<std::string>;
using master::api::RerunScope;
using master::api::RunCommand;

class RunOrdersTest : public FlowTest {};

TEST_F(RunOrdersTest, StopEndsWhatRunsAndSkipsWhatWaits) {
  define(kDiamond);
  const RunId run = trigger("d").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(stop(run).ok());
  EXPECT_EQ(runStatus(run), P::Terminating);
  EXPECT_EQ(nodeReason(run, "e"), F::RunStopping);
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(run), P::Terminated);
  EXPECT_EQ(row(run).state.reason, RunReason::StopAsked);
}

// Orders about one ended run at the same moment, which have all read it before any was decided.
class OrdersAtOnceTest : public FlowTest {
 protected:
  void SetUp() override {
    FlowTest::SetUp();
    define(R"({flow: f, tasks: {a: {command: [x]}, b: {command: [x]}, n: {noop: true},
                               z: {command: [y], needs: [a, b]}}})");
  }
  // Answers in the order of the orders.
  std::vector<Status> atOnce(const std::vector<master::api::RunOrder>& orders) {
    std::vector<std::optional<Status>> answers(orders.size());
    for (size_t i = 0; i < orders.size(); ++i) {
      rig_->run_orders.order(orders[i], [&, i](auto result) { answers[i] = result.status(); });
    }
    for (int step = 0; step < 100; ++step) {
      clock_.advance(Micros(1));  // A row read in the microsecond of an end is read again.
      rig_->step();
    }
    std::vector<Status> out;
    for (const auto& answer : answers) {
      EXPECT_TRUE(answer.has_value());
      out.push_back(answer.value_or(Status()));
    }
    EXPECT_EQ(database_.violation(), "");
    return out;
  }
};

TEST_F(OrdersAtOnceTest, ForcedTasksAreAllForced) {
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"a", "b"}).size(), 2U);
  EXPECT_EQ(runStatus(run), P::Failed);
  const auto answers = atOnce({{.id = run, .command = RunCommand::ForceSuccess, .task = "a"},
                               {.id = run, .command = RunCommand::ForceSuccess, .task = "b"}});
  for (const Status& answer : answers) EXPECT_TRUE(answer.ok()) << answer.text();
  EXPECT_EQ(work(), (Names{"z"}));
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(OrdersAtOnceTest, EachRerunIsOneOfItsOwn) {
  define("{flow: t, trigger: {event: {flow: f}}, tasks: {q: {noop: true}}}");
  rig_->flows.flows["t"].record.online = true;
  rig_->events.onFlowChanged(rig_->flows.flows["t"]);
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work().size(), 3U);
  ASSERT_EQ(runStatus(run), P::Finished);
  const master::api::RunOrder again{
      .id = run, .command = RunCommand::Rerun, .scope = RerunScope::One, .task = "n"};
  for (const Status& answer : atOnce({again, again, again})) {
    EXPECT_TRUE(answer.ok()) << answer.text();
  }
  EXPECT_EQ(row(run).state.reruns, 3);
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(OrdersAtOnceTest, ARunThatNeverBeganBeginsOnce) {
  define("{flow: f, tasks: {n: {noop: true}, m: {noop: true}, h: {command: [x]}}}");
  const RunId first = trigger("f").state.id;
  const RunId run = trigger("f").state.id;
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Skip}).ok());
  EXPECT_EQ(work().size(), 1U);
  ASSERT_EQ(runStatus(first), P::Finished);
  const master::api::RunOrder all{
      .id = run, .command = RunCommand::Rerun, .scope = RerunScope::All};
  (void)atOnce({all, all});
  (void)work();
  size_t tasks = 0;
  for (const auto& [id, task] : database_.rows().tasks) tasks += task.run_id == run ? 1 : 0;
  EXPECT_EQ(tasks, 3U);
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunOrdersTest, APausedRunStartsNothingAndGoesOnWhereItWas) {
  define(kDiamond);
  const RunId run = trigger("d").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Pause}).ok());
  EXPECT_EQ(end(), "");
  EXPECT_EQ(runStatus(run), P::Paused);
  const master::LiveTask& held = *rig_->live.findTask(node(run, "b").state.id);
  EXPECT_EQ(rig_->engine.whyWaiting(held).code, WaitingCode::RunPaused);
  begin();  // A takeover changes nothing about that.
  EXPECT_EQ(next(), "");
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Resume}).ok());
  EXPECT_EQ(work(), (Names{"b", "c", "e"}));
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunOrdersTest, APauseTakesBackWhatIsQueuedOrWaitsForItsRetry) {
  define(R"(
flow: f
tasks:
  a: {command: [x], retry: {max: 1, delay: 1s}}
  b: {command: [x]}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Pause}).ok());
  EXPECT_EQ(nodeStatus(run, "b"), S::Created);
  EXPECT_EQ(end(RunnerStatus::Failed), "");
  EXPECT_EQ(nodeStatus(run, "a"), S::Retrying);
  pass(Seconds(2));
  EXPECT_EQ(nodeStatus(run, "a"), S::Created);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Resume}).ok());
  pass(Millis(100));
  EXPECT_EQ(work().size(), 2u);
  EXPECT_EQ(runStatus(run), P::Finished);
}

// A pause must not keep a wait that has begun from ending, and nobody must be told that it does.
TEST_F(RunOrdersTest, AWaitGoesOnThroughAPause) {
  define("{flow: src, tasks: {a: {command: [x]}}}");
  define("{flow: f, tasks: {w: {event: {flow: src}}, t: {needs: [w], command: [y]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(nodeStatus(run, "w"), S::Running);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Pause}).ok());
  const auto why = [&](const char* task) {
    return rig_->engine.whyWaiting(*rig_->live.findTask(node(run, task).state.id)).code;
  };
  EXPECT_EQ(why("w"), WaitingCode::Event);
  EXPECT_EQ(why("t"), WaitingCode::Dependency);
  trigger("src");
  EXPECT_EQ(work(), (Names{"a"}));
  settle();
  EXPECT_EQ(nodeStatus(run, "w"), S::Finished);
  EXPECT_EQ(nodeStatus(run, "t"), S::Created);
  EXPECT_EQ(why("t"), WaitingCode::RunPaused);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Resume}).ok());
  EXPECT_EQ(work(), (Names{"t"}));
  EXPECT_EQ(runStatus(run), P::Finished);
}

// What nobody wants to wait for any more must be passed over, by hand and durably.
TEST_F(RunOrdersTest, AWaitForAnEventIsSkippedByHand) {
  define("{flow: f, tasks: {w: {event: {name: e}}, t: {needs: [w], command: [y]}}}");
  const RunId run = trigger("f").state.id;
  begin();  // Also behind a takeover.
  ASSERT_EQ(nodeStatus(run, "w"), S::Running);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Skip, .task = "w"}).ok());
  EXPECT_EQ(nodeStatus(run, "w"), S::Skipped);
  EXPECT_EQ(nodeReason(run, "w"), F::SkippedByHand);
  EXPECT_EQ(rig_->events.whyWaiting(node(run, "w").state.id), "") << "nobody waits any more";
  EXPECT_EQ(work(), (Names{"t"}));
  EXPECT_EQ(runStatus(run), P::Finished);
  EXPECT_EQ(database_.violation(), "");
}

// What runs is not skipped: the answer must say what to do instead.
TEST_F(RunOrdersTest, WhatRunsIsStoppedAndNotSkipped) {
  define("{flow: sub, tasks: {a: {command: [x]}}}");
  define("{flow: f, tasks: {s: {flow: sub}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  const auto refusal = [&](RunId id, const char* task) {
    const auto answer = orderRun({.id = id, .command = RunCommand::Skip, .task = task});
    return answer.ok() ? "ok" : answer.error().message();
  };
  const RunId sub = run + 1;
  EXPECT_EQ(refusal(run, "s"), fmt::format("task {} is run {}, which is under way: stop that one",
                                           node(run, "s").state.id, sub));
  say(RunnerStatus::Running);
  EXPECT_EQ(refusal(sub, "a"),
            fmt::format("task {} is RUNNING: only what has not begun is skipped; stop it",
                        node(sub, "a").state.id));
  end();
  EXPECT_EQ(runStatus(run), P::Finished);
}

// BUG-157: what succeeded is not run again.
TEST_F(RunOrdersTest, TheCountsOfWaitingTasksAreThoseOfALookAtEach) {
  // Aim: paused and waiting runs, sub-flows and event waits are counted as their tasks say.
  const auto counts = [&] {
    std::map<WaitingCode, uint64_t> looked;
    for (const auto& [id, task] : rig_->live.tasks) {
      const WaitingCode code = rig_->engine.whyWaiting(task).code;
      if (code != WaitingCode::None) ++looked[code];
    }
    auto counted = rig_->engine.waitingByReason();
    for (const WaitingCode code : {WaitingCode::Event, WaitingCode::RunPaused}) {
      EXPECT_TRUE(counted.contains(code));  // Metrics show a zero too.
    }
    std::erase_if(counted, [](const auto& reason) { return reason.second == 0; });
    EXPECT_EQ(counted, looked);
    return counted;
  };
  define("{flow: part, tasks: {x: {event: {name: never, key: k}}}}");
  define(
      "{flow: f, tasks: {a: {command: [x]}, b: {command: [x], hold: true}, c: {noop: true, needs: "
      "[a]}, e: {event: {name: never, key: k}}, p: {flow: part}}}");
  const RunId run = trigger("f").state.id;
  using Counts = std::map<WaitingCode, uint64_t>;
  const Counts before{{WaitingCode::NoRunnerMatches, 1},
                      {WaitingCode::Hold, 1},
                      {WaitingCode::Dependency, 2},
                      {WaitingCode::Event, 2}};
  EXPECT_EQ(counts(), before);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Pause}).ok());
  const Counts paused{
      {WaitingCode::RunPaused, 2}, {WaitingCode::Dependency, 2}, {WaitingCode::Event, 2}};
  EXPECT_EQ(counts(), paused);
  begin();
  EXPECT_EQ(counts(), paused);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Stop}).ok());
  EXPECT_TRUE(counts().empty());
  trigger("f");
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Rerun}).ok());
  EXPECT_EQ(runStatus(run), RunStatus::Waiting);
  EXPECT_EQ(counts().at(WaitingCode::FlowLimit), 4U);
  begin();
  EXPECT_EQ(counts().at(WaitingCode::FlowLimit), 4U);
}

TEST_F(RunOrdersTest, RerunOfWhatFailedRunsThatAndWhatIsBehind) {
  define(
      "{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}, "
      "c: {command: [x], needs: [b]}}}");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"b"}), (Names{"a", "b"}));
  EXPECT_EQ(runStatus(run), P::Failed);
  const auto answer = orderRun({.id = run, .command = RunCommand::Rerun});
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(work(), (Names{"b", "c"}));
  EXPECT_EQ(runStatus(run), P::Finished);
  EXPECT_EQ(node(run, "a").state.attempt, 1);
  EXPECT_EQ(node(run, "b").state.attempt, 2);
  EXPECT_EQ(row(run).state.reruns, 1);
  EXPECT_EQ(row(run).state.reason, RunReason::None);
}

TEST_F(RunOrdersTest, AnOlderSubRunThatRunsAgainTakesNothingFromTheNewer) {
  // Aim: a task is the newest of its sub-runs, whatever is ordered of older ones, done or refused.
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: outer, tasks: {s: {flow: inner}}}");
  for (const bool refused : {true, false}) {
    const RunId outer = trigger("outer").state.id;
    const RunId older = rig_->flows.sub_runs.at(node(outer, "s").state.id);
    work({"i"});
    ASSERT_EQ(runStatus(outer), P::Failed);
    ASSERT_TRUE(
        orderRun({.id = outer, .command = RunCommand::Rerun, .scope = RerunScope::All}).ok());
    const auto again = orderRun({.id = older,
                                 .command = RunCommand::Rerun,
                                 .scope = refused ? RerunScope::One : RerunScope::All,
                                 .task = refused ? "nope" : ""});
    EXPECT_EQ(again.ok(), !refused);
    work();
    EXPECT_EQ(runStatus(outer), P::Finished) << refused;
    EXPECT_EQ(nodeStatus(outer, "s"), S::Finished) << refused;
  }
}

TEST_F(RunOrdersTest, RerunFromATaskOrOfOneAlone) {
  define(
      "{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}, "
      "c: {command: [x], needs: [b]}}}");
  const RunId run = trigger("f").state.id;
  work();
  ASSERT_TRUE(
      orderRun({.id = run, .command = RunCommand::Rerun, .scope = RerunScope::From, .task = "b"})
          .ok());
  EXPECT_EQ(work(), (Names{"b", "c"}));
  ASSERT_TRUE(
      orderRun({.id = run, .command = RunCommand::Rerun, .scope = RerunScope::One, .task = "b"})
          .ok());
  EXPECT_EQ(work(), Names{"b"});
  EXPECT_EQ(runStatus(run), P::Finished);
  const auto unknown =
      orderRun({.id = run, .command = RunCommand::Rerun, .scope = RerunScope::One, .task = "z"});
  EXPECT_EQ(unknown.status().error().code(), ErrorCode::NotFound);
  const auto skip = orderRun({.id = run, .command = RunCommand::Skip, .task = "z"});
  EXPECT_EQ(skip.status().error().code(), ErrorCode::Conflict);  // Nothing of it waits any more.
  EXPECT_TRUE(rig_->flows.runs.empty());
}

TEST_F(RunOrdersTest, ForcedSuccessLetsTheRunGoOn) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"a"}), Names{"a"});
  const auto answer = orderRun({.id = run, .command = RunCommand::ForceSuccess, .task = "a"});
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(work(), Names{"b"});
  EXPECT_EQ(runStatus(run), P::Finished);
  EXPECT_TRUE(node(run, "a").state.forced);
}

TEST_F(RunOrdersTest, ForcedSuccessOfTheLastTaskMakesTheRunFinished) {
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  work({"a"});
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::ForceSuccess, .task = "a"}).ok());
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunOrdersTest, ATaskThatIsSkippedByHandCountsAsSuccess) {
  define(kDiamond);
  const RunId run = trigger("d").state.id;
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Skip, .task = "b"}).ok());
  EXPECT_EQ(nodeReason(run, "b"), F::SkippedByHand);
  EXPECT_EQ(work(), (Names{"a", "c", "e"}));
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunOrdersTest, HeldTasksWaitForTheirReleaseAndTheirTurn) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a], hold: true}}}");
  const RunId run = trigger("f").state.id;
  const TaskId b = node(run, "b").state.id;
  EXPECT_EQ(work(), Names{"a"});
  EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(b)).code, WaitingCode::Hold);
  order(b, master::api::TaskCommand::Release);
  EXPECT_EQ(work(), Names{"b"});
  // Released before its turn it still waits for that.
  const RunId second = trigger("f").state.id;
  order(node(second, "b").state.id, master::api::TaskCommand::Release);
  EXPECT_EQ(work(), (Names{"a", "b"}));
  EXPECT_EQ(runStatus(second), P::Finished);
}

}  // namespace
}  // namespace baton::test
