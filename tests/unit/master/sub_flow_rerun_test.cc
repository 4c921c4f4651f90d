// Reruns through the borders of flows: what had ended well in a sub-flow is not run again.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using P = RunStatus;
using S = TaskStatus;
using Names = std::vector<std::string>;
using master::api::RerunScope;
using master::api::RunCommand;

class SubFlowRerunTest : public FlowTest {
 protected:
  void SetUp() override {
    FlowTest::SetUp();
    define("{flow: part, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
    define(R"(
flow: f
tasks:
  pre: {command: [x]}
  s: {flow: part, needs: {pre: done}}
  z: {command: [x], needs: [s]}
)");
  }
  Result<RunRecord> rerun(RunId run, RerunScope scope = RerunScope::Failed,
                          const std::string& task = {}) {
    return orderRun({.id = run,
                     .command = RunCommand::Rerun,
                     .scope = scope,
                     .task = task,
                     .request = requester()});
  }
  std::vector<RunId> runsOf(const std::string& flow) const {
    std::vector<RunId> ids;
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.flow == flow) ids.push_back(id);
    }
    return ids;
  }
  // A run whose sub-flow failed at b; the sub-flow's run is the last one of `part`.
  RunId failed() {
    const RunId run = trigger("f").state.id;
    EXPECT_EQ(work({"b"}), (Names{"pre", "a", "b"}));
    EXPECT_EQ(runStatus(run), P::Failed);
    return run;
  }
};

TEST_F(SubFlowRerunTest, WhatFailedGoesOnInItsOwnRun) {
  for (const bool taken_over : {false, true}) {
    const RunId run = failed();
    const RunId part = runsOf("part").back();
    const size_t runs = runsOf("part").size();
    ASSERT_TRUE(rerun(run).ok());
    if (taken_over) begin();
    EXPECT_EQ(next(), "b");
    if (taken_over) begin();
    EXPECT_EQ(runStatus(part), P::Running);
    EXPECT_EQ(nodeStatus(run, "s"), S::Running);
    EXPECT_EQ(rig_->flows.sub_runs.at(node(run, "s").state.id), part);
    if (taken_over) say(RunnerStatus::Running);
    std::string behind = end();
    if (behind.empty()) behind = next();
    EXPECT_EQ(behind, "z");
    end();
    EXPECT_EQ(runStatus(run), P::Finished);
    EXPECT_EQ(runStatus(part), P::Finished);
    EXPECT_EQ(row(part).state.reruns, 1);
    EXPECT_EQ(node(part, "a").state.attempt, 1);
    EXPECT_EQ(node(part, "b").state.attempt, 2);
    EXPECT_EQ(runsOf("part").size(), runs);
    EXPECT_TRUE(rig_->flows.trees.empty());
    EXPECT_EQ(database_.violation(), "");
  }
}

TEST_F(SubFlowRerunTest, ASecondFailureIsMendedAsTheFirst) {
  const RunId run = failed();
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(rerun(run).ok());
    EXPECT_EQ(work({"b"}), Names{"b"});
    EXPECT_EQ(runStatus(run), P::Failed);
    EXPECT_EQ(nodeReason(run, "s"), FailureReason::SubFlowFailed);
  }
  ASSERT_TRUE(rerun(run).ok());
  EXPECT_EQ(work(), (Names{"b", "z"}));
  EXPECT_EQ(runsOf("part").size(), 1U);
}

TEST_F(SubFlowRerunTest, EveryOtherScopeBeginsANewRunOfIt) {
  const RunId run = failed();
  ASSERT_TRUE(rerun(run, RerunScope::One, "s").ok());
  EXPECT_EQ(work({"b"}), (Names{"a", "b"}));
  ASSERT_TRUE(rerun(run, RerunScope::From, "s").ok());
  begin();
  EXPECT_EQ(work({"b"}), (Names{"a", "b"}));
  ASSERT_TRUE(rerun(run, RerunScope::All).ok());
  EXPECT_EQ(work({"b"}), (Names{"pre", "a", "b"}));
  EXPECT_EQ(runsOf("part").size(), 4U);
  // The newest goes on.
  ASSERT_TRUE(rerun(run).ok());
  EXPECT_EQ(work(), (Names{"b", "z"}));
  EXPECT_EQ(runsOf("part").size(), 4U);
  EXPECT_EQ(runStatus(runsOf("part").back()), P::Finished);
}

TEST_F(SubFlowRerunTest, BehindWhatRunsAgainItBeginsANew) {
  // Aim: its parameters may be others by now.
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work({"pre", "b"}), (Names{"pre", "a", "b"}));
  ASSERT_TRUE(rerun(run).ok());
  EXPECT_EQ(work(), (Names{"pre", "a", "b", "z"}));
  EXPECT_EQ(runsOf("part").size(), 2U);
}

TEST_F(SubFlowRerunTest, ARunOfItThatWasMendedByHandCounts) {
  for (const bool under_way : {false, true}) {
    const RunId run = failed();
    const RunId part = runsOf("part").back();
    const size_t runs = runsOf("part").size();
    ASSERT_TRUE(rerun(part).ok());
    if (!under_way) {
      EXPECT_EQ(work(), Names{"b"});
      EXPECT_EQ(runStatus(part), P::Finished);
      EXPECT_EQ(runStatus(run), P::Failed);
    }
    ASSERT_TRUE(rerun(run).ok());
    if (under_way) {
      EXPECT_EQ(nodeStatus(run, "s"), S::Running);
    }
    EXPECT_EQ(work(), under_way ? (Names{"b", "z"}) : Names{"z"});
    EXPECT_EQ(runStatus(run), P::Finished);
    EXPECT_EQ(runsOf("part").size(), runs);
  }
}

TEST_F(SubFlowRerunTest, ThroughSeveralBorders) {
  define("{flow: g, tasks: {t: {flow: f}, last: {command: [x], needs: [t]}}}");
  for (const bool stopped : {false, true}) {
    const RunId run = trigger("g").state.id;
    if (stopped) {
      ASSERT_EQ(next(), "pre");
      ASSERT_EQ(end(), "a");
      ASSERT_EQ(end(), "b");
      ASSERT_TRUE(stop(run).ok());
      say(RunnerStatus::Idle);
      ASSERT_EQ(runStatus(run), P::Terminated);
    } else {
      EXPECT_EQ(work({"b"}), (Names{"pre", "a", "b"}));
    }
    const size_t runs = runsOf("part").size() + runsOf("f").size();
    ASSERT_TRUE(rerun(run).ok());
    begin();
    EXPECT_EQ(work(), (Names{"b", "z", "last"}));
    EXPECT_EQ(runStatus(run), P::Finished);
    EXPECT_EQ(runsOf("part").size() + runsOf("f").size(), runs);
    EXPECT_TRUE(rig_->flows.runs.empty());
    EXPECT_TRUE(rig_->flows.trees.empty());
  }
}

TEST_F(SubFlowRerunTest, ARunOfADeletedFlowDoesNotGoOn) {
  const RunId run = failed();
  rig_->flows.flows.at("part").record.deleted = true;
  ASSERT_TRUE(rerun(run).ok());
  settle();
  EXPECT_EQ(runStatus(run), P::Failed);
  EXPECT_EQ(node(run, "s").state.reason_text, "there is no flow part");
  rig_->flows.flows.at("part").record.deleted = false;
  ASSERT_TRUE(rerun(run).ok());
  EXPECT_EQ(work(), (Names{"b", "z"}));
}

}  // namespace
}  // namespace baton::test
