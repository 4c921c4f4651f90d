// Runs of flows, from the moment they are begun to their end, on the real parts of a term.
#include "master/flow/run_engine.h"

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using P = RunStatus;
using F = FailureReason;
using Names = std::vector<std::string>;
using master::api::RunCommand;

class RunEngineTest : public FlowTest {};

TEST_F(RunEngineTest, ADiamondRunsInOrderAndEndsFinished) {
  define(kDiamond);
  const RunId run = trigger("d").state.id;
  EXPECT_EQ(runStatus(run), P::Running);
  EXPECT_EQ(nodeStatus(run, "a"), S::Queued);
  EXPECT_EQ(nodeStatus(run, "e"), S::Created);
  const auto waiting = rig_->engine.whyWaiting(*rig_->live.findTask(node(run, "e").state.id));
  EXPECT_EQ(waiting.code, WaitingCode::Dependency);
  EXPECT_EQ(waiting.text, "b (success), c (success)");
  EXPECT_EQ(work(), (Names{"a", "b", "c", "e"}));
  EXPECT_EQ(runStatus(run), P::Finished);
  EXPECT_NE(row(run).state.finished_at, WallTime{});
  EXPECT_TRUE(rig_->flows.runs.empty());
  EXPECT_TRUE(rig_->live.tasks.empty());
}

TEST_F(RunEngineTest, TheAnswerToAResultCarriesTheNextTaskOfTheRun) {
  // Aim: one commit from the end of a task to the order of the next.
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  trigger("f");
  ASSERT_EQ(next(), "a");
  const uint64_t commits = database_.commits();
  EXPECT_EQ(end(), "b");
  EXPECT_EQ(database_.commits(), commits + 1);
}

// BUG-151: what does not hang on the failed task goes on.
TEST_F(RunEngineTest, AFailureSkipsWhatHangsOnItAndNothingElse) {
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  b: {command: [x], needs: [a]}
  c: {command: [x]}
  d: {command: [x], needs: [c]}
)");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"a"}), (Names{"a", "c", "d"}));
  EXPECT_EQ(nodeStatus(run, "b"), S::Skipped);
  EXPECT_EQ(nodeReason(run, "b"), F::UpstreamFailed);
  EXPECT_EQ(node(run, "b").state.reason_text, "a ended FAILED");
  EXPECT_EQ(runStatus(run), P::Failed);
  EXPECT_EQ(row(run).state.reason, RunReason::TaskFailed);
}

// BUG-150: a run has not failed while some of its tasks still run.
TEST_F(RunEngineTest, ARunEndsBehindItsLastTask) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(say(RunnerStatus::Idle, "v:0").order.has_value());
  EXPECT_EQ(end(RunnerStatus::Failed), "");
  EXPECT_EQ(runStatus(run), P::Running);
  say(RunnerStatus::Finished, "v:0");
  EXPECT_EQ(runStatus(run), P::Failed);
  EXPECT_GE(row(run).state.finished_at, node(run, "b").state.finished_at);
}

// BUG-152.
TEST_F(RunEngineTest, DisabledNodesAndIgnoredFailuresCountAsSuccess) {
  define(R"(
flow: f
tasks:
  a: {command: [x], disabled: true}
  b: {command: [x]}
  c: {command: [x], needs: [a, b]}
  d: {command: [x], on_failure: ignore}
  e: {command: [x], needs: [d]}
)");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"d"}), (Names{"b", "c", "d", "e"}));  // By age, then number.
  EXPECT_EQ(nodeReason(run, "a"), F::Disabled);
  EXPECT_EQ(nodeStatus(run, "d"), S::Failed);
  EXPECT_TRUE(node(run, "d").state.ignored);
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunEngineTest, OnFailureStopKillsTheRest) {
  define(R"(
flow: f
on_failure: stop
tasks:
  a: {command: [x]}
  b: {command: [x]}
  c: {command: [x], needs: [b]}
  d: {command: [x]}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(say(RunnerStatus::Idle, "v:0").order.has_value());  // b
  EXPECT_EQ(end(RunnerStatus::Failed), "");
  EXPECT_EQ(runStatus(run), P::Terminating);
  EXPECT_EQ(nodeStatus(run, "b"), S::Terminating);
  EXPECT_EQ(nodeReason(run, "c"), F::RunStopping);
  EXPECT_EQ(nodeStatus(run, "d"), S::Terminated);
  say(RunnerStatus::Idle, "v:0");
  EXPECT_EQ(runStatus(run), P::Failed);
}

// The end that stops a run begins nothing: what was to follow a failure is left out as all else.
TEST_F(RunEngineTest, OnFailureStopLeavesOutWhatTheFailureWouldBegin) {
  define(R"(
flow: f
on_failure: stop
tasks:
  a: {command: [x]}
  mend: {command: [x], needs: {a: failure}}
  tell: {noop: true, needs: {a: failure}}
  behind: {command: [x], needs: [mend]}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  EXPECT_EQ(end(RunnerStatus::Failed), "");
  for (const char* name : {"mend", "tell", "behind"}) {
    EXPECT_EQ(nodeStatus(run, name), S::Skipped) << name;
    EXPECT_EQ(nodeReason(run, name), F::RunStopping) << name;
  }
  EXPECT_EQ(runStatus(run), P::Failed);
}

TEST_F(RunEngineTest, ConditionsAndParametersSeeOutputs) {
  define(R"(
flow: f
params: {day: "${plan_time:%Y%m%d}"}
tasks:
  load: {command: [x], outputs: [rows]}
  check: {command: [check, "${load.rows}", "${day}"], needs: [load], when: "${load.rows} > 0"}
  none: {command: [x], needs: [load], when: "${load.rows} == 0"}
  behind: {command: [x], needs: [none]}
)");
  const RunId run = trigger("f", {.plan_time = *parseRfc3339("2026-03-04T05:06:07Z")}).state.id;
  ASSERT_EQ(next(), "load");
  EXPECT_EQ(end(RunnerStatus::Finished, {{"rows", "7"}}), "check");
  EXPECT_NE(node(run, "check").spec.find(R"("7","20260304")"), std::string::npos)
      << node(run, "check").spec;
  EXPECT_EQ(nodeReason(run, "none"), F::WhenFalse);
  EXPECT_EQ(nodeReason(run, "behind"), F::UpstreamSkipped);
  EXPECT_EQ(end(), "");
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunEngineTest, ATextThatDoesNotResolveFailsItsTaskAlone) {
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  b: {command: [x, "${a.rows}"], needs: [a]}
)");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work(), Names{"a"});
  EXPECT_EQ(nodeStatus(run, "b"), S::Failed);
  EXPECT_EQ(nodeReason(run, "b"), F::BadSpec);
  EXPECT_NE(node(run, "b").state.reason_text.find("command[1]"), std::string::npos);
  EXPECT_EQ(runStatus(run), P::Failed);
}

TEST_F(RunEngineTest, ALongChainOfTasksThatEndAtOnceNeedsNoStack) {
  std::string yaml = "flow: f\ntasks:\n  n0: {noop: true}\n";
  for (int i = 1; i < 10'000; ++i) {
    yaml += fmt::format("  n{}: {{noop: true, needs: [n{}]}}\n", i, i - 1);
  }
  rig_.reset();
  begin(defaults(), 30'000);
  define(yaml);
  const RunId run = trigger("f").state.id;
  settle();  // It is more than one turn takes.
  EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunEngineTest, ARunWaitsForTaskNumbersAndLosesNothing) {
  rig_.reset();
  begin(defaults(), 20);
  std::string yaml = "flow: f\ntasks:\n";
  for (int i = 0; i < 8; ++i) yaml += fmt::format("  n{}: {{noop: true}}\n", i);
  define(yaml);
  std::vector<RunId> runs;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(trigger("f").state.id);
  }
  pass(Seconds(1));
  for (const RunId run : runs) EXPECT_EQ(runStatus(run), P::Finished);
}

TEST_F(RunEngineTest, PlacesAreThoseOfTheNewestDefinitionBehindATakeoverToo) {
  // Aim: runs of an older version do not wait because nobody has read the newest one yet.
  define("{flow: f, tasks: {a: {command: [x]}}}");
  std::vector<RunId> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(trigger("f").state.id);
  define("{flow: f, overlap: {policy: parallel, max_runs: 2}, tasks: {a: {command: [x]}}}");
  EXPECT_EQ(runStatus(runs[1]), P::Waiting);
  begin();
  EXPECT_EQ(runStatus(runs[0]), P::Running);
  EXPECT_EQ(runStatus(runs[1]), P::Running);
  EXPECT_EQ(runStatus(runs[2]), P::Waiting);
}

// ------------------------------------------------------------------------------- sub-flows

TEST_F(RunEngineTest, ASubFlowIsATaskWithoutARunner) {
  define("{flow: inner, params: {who: nobody}, tasks: {i: {command: [x, \"${who}\"]}}}");
  define(R"(
flow: outer
tasks:
  s: {flow: inner, params: {who: me}}
  t: {command: [x], needs: [s]}
)");
  const RunId outer = trigger("outer").state.id;
  EXPECT_EQ(nodeStatus(outer, "s"), S::Running);
  ASSERT_EQ(rig_->flows.runs.size(), 2u);
  const RunId inner = rig_->flows.sub_runs.at(node(outer, "s").state.id);
  EXPECT_EQ(row(inner).parent_run, outer);
  EXPECT_EQ(row(inner).plan_time, row(outer).plan_time);
  EXPECT_NE(node(inner, "i").spec.find(R"("me")"), std::string::npos);
  EXPECT_EQ(work(), (Names{"i", "t"}));
  EXPECT_EQ(runStatus(inner), P::Finished);
  EXPECT_EQ(runStatus(outer), P::Finished);
}

TEST_F(RunEngineTest, AFailedSubFlowFailsItsTaskAndAStopReachesIn) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: outer, tasks: {s: {flow: inner}}}");
  const RunId failed = trigger("outer").state.id;
  work({"i"});
  EXPECT_EQ(nodeReason(failed, "s"), F::SubFlowFailed);
  EXPECT_EQ(runStatus(failed), P::Failed);

  const RunId stopped = trigger("outer").state.id;
  ASSERT_EQ(next(), "i");
  ASSERT_TRUE(stop(stopped).ok());
  EXPECT_EQ(nodeStatus(stopped, "s"), S::Terminating);
  say(RunnerStatus::Idle);
  EXPECT_EQ(nodeStatus(stopped, "s"), S::Terminated);
  EXPECT_EQ(runStatus(stopped), P::Terminated);
  EXPECT_TRUE(rig_->flows.runs.empty());
}

TEST_F(RunEngineTest, AMissingSubFlowAndEndlessNestingFailWithWords) {
  define("{flow: one, tasks: {s: {flow: nowhere}}}");
  const RunId run = trigger("one").state.id;
  EXPECT_EQ(node(run, "s").state.reason_text, "there is no flow nowhere");
  define("{flow: a, tasks: {s: {flow: b}}}");
  define("{flow: b, tasks: {s: {flow: a}}}");
  const RunId deep = trigger("a").state.id;
  EXPECT_EQ(runStatus(deep), P::Failed);
  EXPECT_TRUE(rig_->flows.runs.empty());
}

// ------------------------------------------------------------------------------- overlap

TEST_F(RunEngineTest, QueuedRunsBeginOneBehindTheOtherByPlanTime) {
  define("{flow: f, overlap: {policy: queue, max_queued: 2}, tasks: {a: {command: [x]}}}");
  const RunId first = trigger("f").state.id;
  const RunId late = trigger("f", {.plan_time = clock_.wallNow() + Seconds(9)}).state.id;
  const RunId early = trigger("f", {.plan_time = clock_.wallNow() + Seconds(1)}).state.id;
  const RunRecord over = trigger("f");
  EXPECT_EQ(over.state.status, P::Skipped);
  EXPECT_EQ(row(over.state.id).state.reason, RunReason::QueueFull);
  EXPECT_EQ(runStatus(late), P::Waiting);
  EXPECT_NE(rig_->runs.whyWaiting(*rig_->flows.findRun(late)).find("run 1 is under way"),
            std::string::npos);
  begin();
  ASSERT_EQ(next(), "a");
  EXPECT_EQ(end(), "a");
  EXPECT_EQ(runStatus(first), P::Finished);
  EXPECT_EQ(runStatus(early), P::Running);
  EXPECT_EQ(runStatus(late), P::Waiting);
  EXPECT_EQ(end(), "a");
  EXPECT_EQ(end(), "");
  EXPECT_EQ(runStatus(late), P::Finished);
}

TEST_F(RunEngineTest, OverlapSkipAndCancelRunning) {
  define("{flow: s, overlap: skip, tasks: {a: {command: [x]}}}");
  const RunId first = trigger("s").state.id;
  EXPECT_EQ(trigger("s").state.status, P::Skipped);
  EXPECT_EQ(runStatus(first), P::Running);
  work();
  define("{flow: c, overlap: cancel_running, tasks: {a: {command: [x]}}}");
  const RunId old = trigger("c").state.id;
  ASSERT_EQ(next(), "a");
  const RunId between = trigger("c").state.id;
  EXPECT_EQ(runStatus(old), P::Terminating);
  EXPECT_EQ(runStatus(between), P::Waiting);
  const RunId last = trigger("c").state.id;
  EXPECT_EQ(runStatus(between), P::Skipped);
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(old), P::Terminated);
  EXPECT_EQ(row(old).state.reason, RunReason::OverlapCancel);
  EXPECT_EQ(runStatus(last), P::Running);
}

TEST_F(RunEngineTest, ParallelRunsHaveAsManyPlacesAsItSays) {
  define("{flow: p, overlap: {policy: parallel, max_runs: 2}, tasks: {a: {command: [x]}}}");
  const RunId one = trigger("p").state.id;
  const RunId two = trigger("p").state.id;
  const RunId three = trigger("p").state.id;
  EXPECT_EQ(runStatus(one), P::Running);
  EXPECT_EQ(runStatus(two), P::Running);
  EXPECT_EQ(runStatus(three), P::Waiting);
  work();
  EXPECT_EQ(runStatus(three), P::Finished);
}

// BUG-149: a rerun of an earlier run takes its turn before a later one that waits.
TEST_F(RunEngineTest, ARerunTakesItsTurnByPlanTime) {
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId failed = trigger("f").state.id;
  work({"a"});
  clock_.advance(Seconds(1));
  const RunId running = trigger("f").state.id;
  clock_.advance(Seconds(1));
  const RunId later = trigger("f").state.id;
  ASSERT_TRUE(orderRun({.id = failed, .command = RunCommand::Rerun}).ok());
  EXPECT_EQ(runStatus(failed), P::Waiting);
  begin();
  ASSERT_EQ(next(), "a");
  EXPECT_EQ(end(), "a");
  EXPECT_EQ(runStatus(running), P::Finished);
  EXPECT_EQ(runStatus(failed), P::Running);
  EXPECT_EQ(runStatus(later), P::Waiting);
  EXPECT_EQ(end(), "a");
  EXPECT_EQ(end(), "");
  EXPECT_EQ(runStatus(later), P::Finished);
}

// ------------------------------------------------------------------------------- time

// ------------------------------------------------------------------------------- takeover

TEST_F(RunEngineTest, ATakeoverAtAnyPointRunsEachTaskOnce) {
  define("{flow: inner, tasks: {i: {command: [x]}, j: {noop: true, needs: [i]}}}");
  define(R"(
flow: f
tasks:
  a: {command: [x], outputs: [n]}
  b: {command: [x, "${a.n}"], needs: [a]}
  c: {flow: inner, needs: [a]}
  d: {command: [x], needs: {b: done, c: success}, when: "${a.n} == 3"}
  n: {noop: true, needs: [d]}
)");
  const RunId run = trigger("f").state.id;
  Names ran;
  begin();
  for (std::string name = next(); !name.empty();) {
    ran.push_back(name);
    begin();
    say(RunnerStatus::Running);
    begin();
    std::map<std::string, std::string> outputs;
    if (name == "a") outputs = {{"n", "3"}};
    name = end(RunnerStatus::Finished, outputs);
    begin();
    if (name.empty()) name = next();
  }
  EXPECT_EQ(runStatus(run), P::Finished);
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, (Names{"a", "b", "d", "i"}));
  for (const auto& [key, attempt] : database_.rows().attempts) EXPECT_EQ(key.second, 1);
  EXPECT_TRUE(rig_->flows.runs.empty());
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(RunEngineTest, AStopThatWasGivenJustBeforeTheDeathIsCarriedOut) {
  define(kDiamond);
  const RunId run = trigger("d").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_TRUE(stop(run).ok());
  begin();
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::Reset);
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(run), P::Terminated);
}

// ------------------------------------------------------------------------------- callbacks

TEST_F(RunEngineTest, TheEndOfARunIsToldOnceToEachReceiverThatWantsIt) {
  define(R"(
flow: f
callbacks: [{on: [failed], url: "http://one/x"}, {on: [finished], url: "http://two/x"}]
tasks: {a: {command: [x], retry: {max: 1, delay: 1s}}}
)");
  trigger("f");
  ASSERT_EQ(next(), "a");
  end(RunnerStatus::Failed);
  EXPECT_TRUE(webhooks_.calls.empty());  // BUG-158: it will be tried again.
  pass(Millis(1'100));
  work();
  ASSERT_EQ(webhooks_.calls.size(), 1u);
  EXPECT_EQ(webhooks_.calls[0].webhook.url, "http://two/x");
  EXPECT_NE(webhooks_.calls[0].webhook.body.find("\"run_finished\""), std::string::npos);
}

TEST_F(RunEngineTest, ANodeThatNeverStartsCountsOnceAgainstItsHost) {
  // Aim: one flow with a bad command must not close one host after the other, run by run; work of
  // many kinds that does not start closes the host.
  const auto fail_start = [&] {
    HeartbeatRequest failed = beat(RunnerStatus::Failed);
    failed.result = {};
    failed.result.reason = F::StartFailed;
    exchange(failed);
  };
  const auto health = [&] { return rig_->registry.hostViews("w").front().health; };
  say(RunnerStatus::Idle, "v:0");  // Another that takes tasks.
  define("{flow: f, tasks: {a: {command: [x]}}}");
  for (int i = 0; i < 8; ++i) {
    trigger("f");
    ASSERT_EQ(next(), "a");
    fail_start();
  }
  EXPECT_EQ(health(), "healthy");
  for (const std::string name : {"g", "h", "i", "j"}) {
    define("{flow: " + name + ", tasks: {a: {command: [x]}}}");
    trigger(name);
    ASSERT_EQ(next(), "a");
    fail_start();
  }
  EXPECT_EQ(health(), "quarantined");
}

}  // namespace
}  // namespace baton::test
