// What a takeover keeps of runs whose tasks run again, or ended otherwise than was recorded first.
#include <set>

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using master::api::RerunScope;
using master::api::RunCommand;

class TakenOverRunTest : public FlowTest {
 protected:
  Result<RunRecord> rerunOne(RunId run, const std::string& task) {
    return orderRun({.id = run,
                     .command = RunCommand::Rerun,
                     .scope = RerunScope::One,
                     .task = task,
                     .request = requester()});
  }
  Result<RunRecord> force(RunId run, const std::string& task) {
    return orderRun(
        {.id = run, .command = RunCommand::ForceSuccess, .task = task, .request = requester()});
  }
  void defineOnline(const std::string& name, const std::string& yaml) {
    rig_->flows.flows[name].record.online = true;
    define(yaml);
    rig_->events.onFlowChanged(rig_->flows.flows[name]);
  }
  size_t runsOf(const std::string& flow) const {
    size_t found = 0;
    for (const auto& [id, run] : database_.rows().runs) found += run.flow == flow ? 1 : 0;
    return found;
  }
  // The task runs on that runner, which says so from then on.
  void startOn(const std::string& runner, const std::string& task) {
    const HeartbeatReply reply = say(RunnerStatus::Idle, runner);
    ASSERT_TRUE(reply.order.has_value());
    ASSERT_EQ(nameOf(reply.order->key.task_id), task);
    say(RunnerStatus::Running, runner);
  }
};

// What runs while something it needs runs again is no waiting task for the next master either.
TEST_F(TakenOverRunTest, WhatRunsBehindARerunIsStoppedAndNotSkipped) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end();
  ASSERT_EQ(accepted_.at("w:0").task_id, node(run, "b").state.id);
  say(RunnerStatus::Running);
  ASSERT_TRUE(rerunOne(run, "a").ok());
  startOn("w:1", "a");
  for (const bool stopped : {false, true}) {
    if (stopped) {
      ASSERT_TRUE(stop(run).ok());
    }
    begin();
    EXPECT_EQ(nodeStatus(run, "b"), stopped ? TaskStatus::Terminating : TaskStatus::Running);
    EXPECT_EQ(say(RunnerStatus::Running).command, stopped ? Command::Reset : Command::GoOn);
    say(RunnerStatus::Running, "w:1");
  }
  say(RunnerStatus::Idle);
  say(RunnerStatus::Idle, "w:1");
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
}

TEST_F(TakenOverRunTest, WhatRunsGoesOnThoughItsNeedIsMetNoMore) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: {a: failure}}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end(RunnerStatus::Failed);
  say(RunnerStatus::Running);
  ASSERT_TRUE(force(run, "a").ok());
  begin();
  EXPECT_EQ(runStatus(run), RunStatus::Running);
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::GoOn);
  end();
  EXPECT_EQ(nodeStatus(run, "b"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

// Each end of a task begins a run, also of a kind that counts no attempts; an end that is only
// declared to have been another one begins none, and nobody is told of it again.
TEST_F(TakenOverRunTest, EachEndBeginsARunAndNoEndBeginsTwo) {
  defineOnline("t", "{flow: t, trigger: {event: {flow: f, task: n}}, tasks: {q: {noop: true}}}");
  defineOnline("u", "{flow: u, trigger: {event: {flow: f}}, tasks: {q: {noop: true}}}");
  define(R"(
flow: f
callbacks: [{on: [finished, failed], url: "http://one/x"}]
tasks:
  a: {command: [x]}
  n: {noop: true, needs: [a]}
  i: {command: [x], on_failure: ignore}
)");
  const RunId run = trigger("f").state.id;
  work({"i"});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  ASSERT_TRUE(orderRun({.id = run,
                        .command = RunCommand::Rerun,
                        .scope = RerunScope::From,
                        .task = "a",
                        .request = requester()})
                  .ok());
  work();
  EXPECT_EQ(runsOf("t"), 2U);
  EXPECT_EQ(runsOf("u"), 2U);
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  ASSERT_TRUE(force(run, "i").ok());
  EXPECT_EQ(nodeStatus(run, "i"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_EQ(runsOf("u"), 2U);
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  EXPECT_TRUE(rig_->flows.runs.empty());
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(TakenOverRunTest, ARunThatStaysFailedIsToldOnceAndSaysWhatIsLeft) {
  define(R"(
flow: f
callbacks: [{on: [finished, failed], url: "http://one/x"}]
tasks: {a: {command: [x]}, b: {command: [x]}}
)");
  const RunId run = trigger("f").state.id;
  work({"a", "b"});
  ASSERT_EQ(runStatus(run), RunStatus::Failed);
  const int32_t reruns = row(run).state.reruns;
  ASSERT_TRUE(force(run, "a").ok());
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
  EXPECT_NE(row(run).state.reason_text.find("task b"), std::string::npos)
      << row(run).state.reason_text;
  EXPECT_EQ(row(run).state.reruns, reruns);
  ASSERT_TRUE(force(run, "b").ok());
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_TRUE(rig_->flows.runs.empty());
  // The end that is another one has an id of its own.
  for (auto& call : webhooks_.calls) call.done({});
  settle();
  std::set<std::string> ids;
  for (const auto& call : webhooks_.calls) {
    for (const auto& [key, value] : call.webhook.headers) {
      if (key == "Baton-Delivery-Id") ids.insert(value);
    }
  }
  EXPECT_EQ(ids, (std::set<std::string>{fmt::format("{}/0/run_failed", run),
                                        fmt::format("{}/1/run_finished", run)}));
}

TEST_F(TakenOverRunTest, AWaitForAnEventGoesOnBehindARerunOfWhatItNeeded) {
  define("{flow: f, tasks: {a: {command: [x]}, e: {event: {name: x, key: k}, needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  work();
  ASSERT_TRUE(rerunOne(run, "a").ok());
  ASSERT_EQ(next(), "a");
  begin();
  end();
  EXPECT_EQ(nodeStatus(run, "e"), TaskStatus::Running);
  EXPECT_NE(rig_->events.whyWaiting(node(run, "e").state.id), "");
  master::api::EventSend event;
  event.name = "x";
  event.key = "k";
  rig_->dispatcher.post([&] { rig_->events.send(event, [](const auto&) {}); });
  settle();
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

TEST_F(TakenOverRunTest, AnOlderSubRunTakesNothingFromTheTaskThatItWas) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: f, tasks: {t: {command: [x]}, p: {flow: inner, needs: [t]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "t");
  ASSERT_EQ(end(), "i");
  const RunId older = rig_->flows.sub_runs.at(node(run, "p").state.id);
  end(RunnerStatus::Failed);
  ASSERT_TRUE(orderRun({.id = older, .command = RunCommand::Rerun, .request = requester()}).ok());
  ASSERT_TRUE(orderRun({.id = run,
                        .command = RunCommand::Rerun,
                        .scope = RerunScope::All,
                        .request = requester()})
                  .ok());
  startOn("w:0", "i");
  startOn("w:1", "t");
  begin();
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::GoOn);
  EXPECT_EQ(say(RunnerStatus::Running, "w:1").command, Command::GoOn);
  exchange(beat(RunnerStatus::Finished));
  EXPECT_EQ(runStatus(older), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Created);
  exchange(beat(RunnerStatus::Finished, "w:1"));
  EXPECT_EQ(work(), std::vector<std::string>{"i"});
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

// A sub-flow that was lost with its runner runs again by nobody's accident.
TEST_F(TakenOverRunTest, WhatMayStillRunInASubFlowNeedsForce) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: f, tasks: {p: {flow: inner}}}");
  const RunId run = trigger("f").state.id;
  startOn("w:0", "i");
  begin();
  pass(20 * kH);
  ASSERT_EQ(nodeReason(run, "p"), FailureReason::SubFlowFailed);
  ASSERT_TRUE(node(run, "p").state.unproven);
  for (const bool taken_over : {false, true}) {
    if (taken_over) begin();
    const auto refused =
        orderRun({.id = run, .command = RunCommand::Rerun, .request = requester()});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().text().find("force"), std::string::npos);
  }
  EXPECT_TRUE(
      orderRun({.id = run, .command = RunCommand::Rerun, .force = true, .request = requester()})
          .ok());
  EXPECT_FALSE(node(run, "p").state.unproven);
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Running);
}

// The room of a run is that of its texts as they are, however often they are made.
TEST_F(TakenOverRunTest, PausesTakeNoRoom) {
  std::string tasks;
  for (int i = 0; i < 100; ++i) tasks += fmt::format("  t{}: {{command: [x]}}\n", i);
  define("flow: f\nparams: {p: \"" + std::string(120'000, 'x') + "\"}\ntasks:\n" + tasks);
  const RunId run = trigger("f").state.id;
  const auto order = [&](RunCommand command) {
    EXPECT_TRUE(orderRun({.id = run, .command = command, .request = requester()}).ok());
    for (int i = 0; i < 4; ++i) settle();  // So many texts are made over several turns.
  };
  for (int i = 0; i < 4; ++i) {
    order(RunCommand::Pause);
    order(RunCommand::Resume);
  }
  EXPECT_EQ(nodeStatus(run, "t99"), TaskStatus::Queued);
  ASSERT_TRUE(stop(run).ok());
}

}  // namespace
}  // namespace baton::test
