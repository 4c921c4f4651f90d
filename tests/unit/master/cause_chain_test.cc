// Why something waits or failed, followed to where that begins.
#include "master/cause_chain.h"

#include <gtest/gtest.h>

#include <map>

namespace baton::test {
namespace {

using master::CauseChain;
using master::api::NodeView;
using master::api::RunView;

class CauseChainTest : public testing::Test {
 protected:
  RunView& addRun(RunId id, RunStatus status) {
    RunView& view = runs_[id];
    view.record.state.id = id;
    view.record.state.status = status;
    view.record.flow = "f" + std::to_string(id);
    return view;
  }
  NodeView& addNode(RunId run, const std::string& name, TaskStatus status,
                    std::vector<std::string> needs = {}) {
    NodeView& node = nodes_[run].emplace_back();
    node.task.record.name = name;
    node.task.record.state.id = ++last_id_;
    node.task.record.state.status = status;
    node.needs = std::move(needs);
    if (status == TaskStatus::Created) node.task.waiting_for = WaitingCode::Dependency;
    return node;
  }
  CauseChain chain() {
    return CauseChain({.run = [this](RunId id) -> Result<RunView> { return runs_.at(id); },
                       .nodes = [this](RunId id) -> Result<std::vector<NodeView>> {
                         ++reads_;
                         return nodes_.at(id);
                       },
                       .ahead = [this](RunId id) { return ahead_[id]; }});
  }
  std::vector<std::string> behind(RunId run, const std::string& task) {
    CauseChain made = chain();
    made.behindTask(run, task);
    return made.takeLines();
  }

  std::map<RunId, RunView> runs_;
  std::map<RunId, std::vector<NodeView>> nodes_;
  std::map<RunId, RunId> ahead_;
  TaskId last_id_ = 0;
  int reads_ = 0;
};

TEST_F(CauseChainTest, WaitsAreFollowedIntoSubFlows) {
  addRun(1, RunStatus::Running);
  addNode(1, "s", TaskStatus::Running).sub_run = 2;
  addNode(1, "m", TaskStatus::Created, {"s (success)"}).task.waiting_text = "s (success)";
  addNode(1, "z", TaskStatus::Created, {"m (success)", "done (done)"});
  addNode(1, "done", TaskStatus::Finished);
  addRun(2, RunStatus::Running);
  NodeView& queued = addNode(2, "a", TaskStatus::Queued);
  queued.task.waiting_for = WaitingCode::NoRunnerMatches;
  queued.task.waiting_text = "no runner has gpu";
  addNode(2, "b", TaskStatus::Created, {"a (success)"});
  EXPECT_EQ(behind(1, "z"),
            (std::vector<std::string>{"task m (id 2) is CREATED: waits (dependency): s (success)",
                                      "task s (id 1) is RUNNING",
                                      "run 2 of f2 for 1970-01-01T00:00:00Z is RUNNING",
                                      "task a (id 5) is QUEUED: waits (no_runner_matches): no "
                                      "runner has gpu"}));
  EXPECT_EQ(behind(1, "done"), std::vector<std::string>());
}

TEST_F(CauseChainTest, ASkippedTaskIsFollowedToTheFailure) {
  const auto skipped = [this](const std::string& name, const std::string& need) {
    addNode(1, name, TaskStatus::Skipped, {need}).task.record.state.reason =
        FailureReason::UpstreamFailed;
  };
  NodeView& failed = addNode(1, "a", TaskStatus::Failed);
  failed.task.record.state.reason = FailureReason::ExitCode;
  failed.task.record.state.reason_text = "exit code 3";
  skipped("b", "a (success)");
  skipped("c", "b (success)");
  skipped("d", "c (success)");
  EXPECT_EQ(behind(1, "d"),
            (std::vector<std::string>{"task c (id 3) is SKIPPED: upstream_failed",
                                      "task b (id 2) is SKIPPED: upstream_failed",
                                      "task a (id 1) is FAILED: exit_code: exit code 3"}));
}

TEST_F(CauseChainTest, APlaceIsFollowedToTheRunThatHasIt) {
  const RunView waiting = addRun(9, RunStatus::Waiting);
  ahead_[9] = 8;
  addRun(8, RunStatus::Running);
  addNode(8, "hangs", TaskStatus::Running).sub_run = 9;  // A circle ends.
  CauseChain made = chain();
  made.behindRun(waiting, {});
  EXPECT_EQ(made.takeLines(),
            (std::vector<std::string>{"run 8 of f8 for 1970-01-01T00:00:00Z is RUNNING",
                                      "task hangs (id 1) is RUNNING"}));
}

// Of a long way the ends are told, and each run is read once.
TEST_F(CauseChainTest, LongWaysAreCutInTheMiddle) {
  constexpr int kNodes = 2'000;
  addNode(1, "n0", TaskStatus::Running);
  for (int i = 1; i < kNodes; ++i) {
    addNode(1, fmt::format("n{}", i), TaskStatus::Created, {fmt::format("n{} (success)", i - 1)});
  }
  const auto lines = behind(1, fmt::format("n{}", kNodes - 1));
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines.front(), "task n1998 (id 1999) is CREATED");
  EXPECT_EQ(lines[10], "and 1988 more");
  EXPECT_EQ(lines.back(), "task n0 (id 1) is RUNNING");
  EXPECT_EQ(reads_, 1);
}

TEST_F(CauseChainTest, WideWaysAreCutToo) {
  for (RunId run = 1; run < 60; ++run) {
    addRun(run, RunStatus::Running);
    for (int i = 0; i < 20; ++i) addNode(run, fmt::format("n{}", i), TaskStatus::Queued);
    nodes_[run][0].task.record.state.status = TaskStatus::Running;
    nodes_[run][0].sub_run = run + 1;
  }
  CauseChain made = chain();
  made.run(1);
  const auto lines = made.takeLines();
  EXPECT_LE(lines.size(), 42U);
  EXPECT_LE(reads_, 25);
}

}  // namespace
}  // namespace baton::test
