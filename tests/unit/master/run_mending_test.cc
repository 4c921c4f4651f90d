// Runs that did not end well and are made well: the end does not depend on the order in which
// things happened, and no run stays as it is for ever.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using F = FailureReason;
using P = RunStatus;
using S = TaskStatus;
using Names = std::vector<std::string>;
using master::api::RerunScope;
using master::api::RunCommand;

class RunMendingTest : public FlowTest {
 protected:
  Result<RunRecord> rerun(RunId run, RerunScope scope = RerunScope::Failed,
                          const std::string& task = {}) {
    return orderRun({.id = run, .command = RunCommand::Rerun, .scope = scope, .task = task});
  }
  Result<RunRecord> force(RunId run, const std::string& task) {
    return orderRun({.id = run, .command = RunCommand::ForceSuccess, .task = task});
  }
  // Ends what runs and is named so; the order in which it was given out does not matter.
  void endNamed(const std::string& name, RunnerStatus how,
                std::map<std::string, std::string> outputs = {}) {
    const auto accepted = accepted_;
    for (const auto& [runner, key] : accepted) {
      if (nameOf(key.task_id) != name) continue;
      HeartbeatRequest request = beat(how, runner);
      request.result.outputs = std::move(outputs);
      exchange(request);
      return;
    }
    FAIL() << name << " does not run";
  }
};

// c is to be passed over because of a, and b failed: before or behind that.
TEST_F(RunMendingTest, WhatIsPassedOverAnywayIsOwedNothing) {
  define(R"(
flow: f
tasks:
  x: {command: [x], outputs: [go]}
  a: {noop: true, needs: [x], when: "${x.go} == 1"}
  b: {command: [x]}
  c: {noop: true, needs: [a, b]}
)");
  for (const bool failure_first : {true, false}) {
    for (const std::string how : {"one", "failed", "force"}) {
      for (const bool taken_over : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", failure_first, how, taken_over));
        const RunId run = trigger("f").state.id;
        say(RunnerStatus::Idle, "w:0");
        say(RunnerStatus::Idle, "w:1");
        if (failure_first) endNamed("b", RunnerStatus::Failed);
        endNamed("x", RunnerStatus::Finished, {{"go", "0"}});
        if (!failure_first) endNamed("b", RunnerStatus::Failed);
        ASSERT_EQ(runStatus(run), P::Failed);
        EXPECT_EQ(nodeReason(run, "c"), F::UpstreamSkipped);
        EXPECT_EQ(node(run, "c").state.reason_text, "a was SKIPPED, b ended FAILED");
        const auto answer = how == "one"      ? rerun(run, RerunScope::One, "b")
                            : how == "failed" ? rerun(run)
                                              : force(run, "b");
        ASSERT_TRUE(answer.ok()) << answer.status().text();
        if (taken_over) begin();
        EXPECT_EQ(work(), how == "force" ? Names{} : Names{"b"});
        EXPECT_EQ(runStatus(run), P::Finished) << row(run).state.reason_text;
        EXPECT_EQ(row(run).state.reason, RunReason::None);
      }
    }
  }
}

// `mend` ran for a failure that is none any more: there is nothing to run, and nothing is left.
TEST_F(RunMendingTest, WhatHasNothingToRunForByNowIsPassedOver) {
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  mend: {command: [x], needs: {a: failure}}
)");
  for (const std::string how : {"one", "force", "stop"}) {
    for (const bool taken_over : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", how, taken_over));
      const RunId run = trigger("f").state.id;
      ASSERT_EQ(next(), "a");
      ASSERT_EQ(end(RunnerStatus::Failed), "mend");
      if (how == "stop") {
        ASSERT_TRUE(stop(run).ok());
        say(RunnerStatus::Idle);
      } else {
        end(RunnerStatus::Failed);
      }
      const P before = how == "stop" ? P::Terminated : P::Failed;
      ASSERT_EQ(runStatus(run), before);
      ASSERT_TRUE((how == "one" ? rerun(run, RerunScope::One, "a") : force(run, "a")).ok());
      work();
      EXPECT_EQ(runStatus(run), before) << "mend did not end well";
      if (taken_over) begin();
      const auto answer = rerun(run);
      ASSERT_TRUE(answer.ok()) << answer.status().text();
      EXPECT_EQ(work(), Names{});
      EXPECT_EQ(nodeReason(run, "mend"), F::UpstreamSucceeded);
      EXPECT_EQ(node(run, "mend").state.reason_text, "a ended FINISHED");
      EXPECT_EQ(runStatus(run), P::Finished);
      EXPECT_NE(row(run).state.started_at, WallTime{});
      EXPECT_TRUE(rig_->flows.runs.empty());
    }
  }
}

TEST_F(RunMendingTest, ARerunThatChangesNothingSaysWhy) {
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  n: {noop: true, needs: {a: failure}}
)");
  const RunId run = trigger("f").state.id;
  work();
  const auto answer = rerun(run, RerunScope::One, "n");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message(),
            fmt::format("task n of run {} would be skipped again: a ended FINISHED", run));
  const auto failed = rerun(run);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(),
            fmt::format("no task of run {} has failed: rerun with the scope all, from or one (run "
                        "rerun --all, --from TASK, --task TASK) runs again what ended well",
                        run));
}

// A forced success gives its turn to all that stood in the shade of the failure.
TEST_F(RunMendingTest, AForcedSuccessReachesWhatWaitsForAFailureBehindIt) {
  define(R"(
flow: f
tasks:
  b: {command: [x]}
  q: {command: [x], needs: [b]}
  mend: {command: [x], needs: {q: failure}}
  off: {noop: true, needs: [b], disabled: true}
  last: {command: [x], needs: [off]}
)");
  const RunId run = trigger("f").state.id;
  work({"b"});
  ASSERT_EQ(nodeReason(run, "mend"), F::UpstreamSucceeded);
  ASSERT_TRUE(force(run, "b").ok());
  EXPECT_EQ(work({"q"}), (Names{"q", "mend", "last"}));
  EXPECT_EQ(nodeStatus(run, "mend"), S::Finished);
  ASSERT_TRUE(rerun(run).ok());
  work();
  EXPECT_EQ(runStatus(run), P::Finished);
}

// Each need that is not met is told, and none that is.
TEST_F(RunMendingTest, WordsOfWhatWasSkipped) {
  define(R"(
flow: w
tasks:
  i: {command: [x], on_failure: ignore}
  d: {noop: true, disabled: true}
  z: {command: [x]}
  n1: {noop: true, needs: [i, d, z]}
  n2: {noop: true, needs: {i: failure}}
  n3: {noop: true, needs: {n1: failure}}
  n4: {noop: true, needs: {d: failure}}
  n5: {noop: true, needs: {n1: success, z: failure}}
)");
  const RunId run = trigger("w").state.id;
  work({"i", "z"});
  const auto expectText = [&](const char* name, const char* text) {
    EXPECT_EQ(node(run, name).state.reason_text, text) << name;
  };
  expectText("n1", "z ended FAILED");
  expectText("n2", "i ended FAILED, which counts as success");
  expectText("n3", "n1 was SKIPPED");
  expectText("n4", "d was SKIPPED");
  expectText("n5", "n1 was SKIPPED");
}

TEST_F(RunMendingTest, WhatAForcedSuccessDidNotWriteIsToldSo) {
  define(R"(
flow: f
tasks:
  count: {command: [x], outputs: [n]}
  part: {command: [x, "${count.n}"], needs: [count]}
)");
  for (const bool taken_over : {false, true}) {
    const RunId run = trigger("f").state.id;
    work({"count"});
    if (taken_over) begin();
    ASSERT_TRUE(force(run, "count").ok());
    EXPECT_EQ(runStatus(run), P::Failed);
    EXPECT_NE(node(run, "part")
                  .state.reason_text.find(
                      "that output is not there (it failed, and was declared a success by hand)"),
              std::string::npos)
        << node(run, "part").state.reason_text;
  }
}

TEST_F(RunMendingTest, WordsOfRunsThatWait) {
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId first = trigger("f").state.id;
  const RunId second = trigger("f").state.id;
  const RunId third = trigger("f").state.id;
  const auto order = [&](RunId run, RunCommand what) {
    return orderRun({.id = run, .command = what, .request = requester()});
  };
  ASSERT_TRUE(order(first, RunCommand::Pause).ok());
  EXPECT_EQ(rig_->runs.whyWaiting(*rig_->flows.findRun(second)),
            fmt::format("run {} is PAUSED, and keeps its place until run resume, 1 of 1 places "
                        "taken, it is the next",
                        first));
  ASSERT_TRUE(order(third, RunCommand::Skip).ok());
  EXPECT_EQ(runStatus(third), P::Skipped);
  EXPECT_EQ(row(third).state.reason, RunReason::SkippedByHand);
  EXPECT_EQ(row(third).state.reason_text, "skipped by p");
  ASSERT_TRUE(order(third, RunCommand::Rerun).ok());
  EXPECT_EQ(row(third).state.reason, RunReason::None);
  // One that ran before has more to lose than its turn.
  ASSERT_TRUE(order(first, RunCommand::Stop).ok());
  ASSERT_TRUE(order(first, RunCommand::Rerun).ok());
  const auto refused = order(first, RunCommand::Skip);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("it ran before, and waits to run again"),
            std::string::npos)
      << refused.error().message();
}

}  // namespace
}  // namespace baton::test
