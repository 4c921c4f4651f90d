#include "master/flow/run_progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/base/random.h"

namespace baton::master {
namespace {

using Nodes = std::vector<NodeIndex>;

FlowGraph::Node needing(std::vector<Need> needs, bool disabled = false) {
  return {.needs = std::move(needs), .disabled = disabled};
}

RunProgress runOf(std::vector<FlowGraph::Node> nodes) {
  return RunProgress(std::make_shared<FlowGraph>(std::move(nodes)));
}

TEST(RunProgressTest, DiamondJoinsOnce) {
  RunProgress run = runOf({needing({}), needing({{0}}), needing({{0}}), needing({{1}, {2}})});
  EXPECT_EQ(run.start().ready, Nodes{0});
  EXPECT_EQ(run.onEnded(0, NodeState::Succeeded).ready, (Nodes{1, 2}));
  EXPECT_TRUE(run.onEnded(2, NodeState::Succeeded).ready.empty());
  EXPECT_TRUE(run.onEnded(2, NodeState::Succeeded).ready.empty());  // Told twice.
  EXPECT_EQ(run.onEnded(1, NodeState::Succeeded).ready, Nodes{3});
  EXPECT_EQ(run.end(), RunEnd::Running);
  run.onEnded(3, NodeState::Succeeded);
  EXPECT_EQ(run.end(), RunEnd::Finished);
}

// BUG-151: a failure stops what is behind it and nothing else; BUG-150: the run ends with the last.
TEST(RunProgressTest, IndependentBranchesGoOn) {
  RunProgress run = runOf({needing({}), needing({{0}}), needing({}), needing({{2}})});
  EXPECT_EQ(run.start().ready, (Nodes{0, 2}));
  EXPECT_EQ(run.onEnded(0, NodeState::Failed).skipped, Nodes{1});
  EXPECT_EQ(run.skipReason(1), SkipReason::UpstreamFailed);
  EXPECT_EQ(run.end(), RunEnd::Running);
  EXPECT_EQ(run.outlook(), RunEnd::Failed);
  EXPECT_EQ(run.onEnded(2, NodeState::Succeeded).ready, Nodes{3});
  run.onEnded(3, NodeState::Succeeded);
  EXPECT_EQ(run.end(), RunEnd::Failed);
}

// BUG-152: a disabled node and an ignored failure let what is behind them run; the run is well.
TEST(RunProgressTest, DisabledNodesAndIgnoredFailuresCountAsSuccess) {
  RunProgress run =
      runOf({needing({}, true), needing({}), needing({{0}, {1}}), needing({}), needing({{3}})});
  const RunEffects begun = run.start();
  EXPECT_EQ(begun.ready, (Nodes{1, 3}));
  EXPECT_EQ(begun.skipped, Nodes{0});
  EXPECT_EQ(run.skipReason(0), SkipReason::Disabled);
  EXPECT_EQ(run.onEnded(1, NodeState::Succeeded).ready, Nodes{2});
  EXPECT_EQ(run.onEnded(3, NodeState::FailedIgnored).ready, Nodes{4});
  run.onEnded(2, NodeState::Succeeded);
  run.onEnded(4, NodeState::Succeeded);
  EXPECT_EQ(run.end(), RunEnd::Finished);
}

TEST(RunProgressTest, NeedsForFailureAndForAnyEnd) {
  const std::vector<FlowGraph::Node> nodes{needing({}), needing({{0, NeedKind::Failure}}),
                                           needing({{0, NeedKind::Done}})};
  RunProgress well = runOf(nodes);
  well.start();
  const RunEffects behind = well.onEnded(0, NodeState::Succeeded);
  EXPECT_EQ(behind.ready, Nodes{2});
  EXPECT_EQ(behind.skipped, Nodes{1});
  EXPECT_EQ(well.skipReason(1), SkipReason::UpstreamSucceeded);
  RunProgress broken = runOf(nodes);
  broken.start();
  EXPECT_EQ(broken.onEnded(0, NodeState::Failed).ready, (Nodes{1, 2}));
}

// A condition that is false passes over the node and what needs its success, without a failure.
TEST(RunProgressTest, FalseConditionSkipsTheBranchAndFailsNothing) {
  RunProgress branch = runOf({needing({}), needing({{0}}), needing({{1}})});
  branch.start();
  const RunEffects behind = branch.onEnded(0, NodeState::Skipped, SkipReason::WhenFalse);
  EXPECT_EQ(behind.skipped, (Nodes{1, 2}));
  EXPECT_EQ(branch.skipReason(2), SkipReason::UpstreamSkipped);
  EXPECT_EQ(branch.end(), RunEnd::Finished);
}

TEST(RunProgressTest, OrderOfTheListDoesNotMatter) {
  RunProgress run = runOf({needing({{1}}), needing({})});
  EXPECT_EQ(run.start().ready, Nodes{1});
  EXPECT_EQ(run.onEnded(1, NodeState::Succeeded).ready, Nodes{0});
}

TEST(RunProgressTest, StoppedRunStartsNothingMore) {
  RunProgress run = runOf({needing({}), needing({{0}}), needing({})});
  run.start();
  EXPECT_EQ(run.stopRest().skipped, Nodes{1});
  EXPECT_TRUE(run.onEnded(0, NodeState::Terminated).ready.empty());
  EXPECT_EQ(run.end(), RunEnd::Running);
  run.onEnded(2, NodeState::Terminated);
  EXPECT_EQ(run.end(), RunEnd::Terminated);
}

TEST(RunProgressTest, OperatorSkipsAWaitingNode) {
  RunProgress run = runOf({needing({}), needing({{0}}), needing({{1}})});
  run.start();
  const RunEffects effects = run.endEarly(1, NodeState::Skipped);
  EXPECT_TRUE(effects.skipped.empty());
  EXPECT_EQ(effects.ready, Nodes{2});
  EXPECT_TRUE(run.onEnded(0, NodeState::Failed).ready.empty());
  EXPECT_EQ(run.state(1), NodeState::Skipped);
}

// BUG-157: a rerun of what failed leaves what succeeded alone.
TEST(RunProgressTest, RerunOfFailedNodesKeepsTheOthers) {
  const auto graph = std::make_shared<FlowGraph>(
      std::vector{needing({}), needing({{0}}), needing({{1}}), needing({})});
  RunProgress run(graph);
  run.start();
  run.onEnded(0, NodeState::Succeeded);
  run.onEnded(1, NodeState::Failed);
  run.onEnded(3, NodeState::Succeeded);
  ASSERT_EQ(run.end(), RunEnd::Failed);
  const Nodes failed{1};
  EXPECT_EQ(run.rerun(graph->withDescendants(failed)).ready, Nodes{1});
  EXPECT_EQ(run.state(0), NodeState::Succeeded);
  EXPECT_EQ(run.state(3), NodeState::Succeeded);
  EXPECT_EQ(run.end(), RunEnd::Running);
  EXPECT_EQ(run.onEnded(1, NodeState::Succeeded).ready, Nodes{2});
  run.onEnded(2, NodeState::Succeeded);
  EXPECT_EQ(run.end(), RunEnd::Finished);
}

// Ten thousand nodes in a row, wide, and skipped one behind the other: no recursion, no slow step.
TEST(RunProgressTest, LargeRuns) {
  constexpr NodeIndex kNodes = 10'000;
  std::vector<FlowGraph::Node> chain{needing({})}, wide{needing({})};
  for (NodeIndex i = 1; i < kNodes; ++i) {
    chain.push_back(needing({{i - 1}}));
    wide.push_back(needing({{0}}));
  }
  RunProgress deep = runOf(chain);
  deep.start();
  EXPECT_EQ(deep.onEnded(0, NodeState::Failed).skipped.size(), kNodes - 1);
  EXPECT_EQ(deep.end(), RunEnd::Failed);
  RunProgress broad = runOf(wide);
  broad.start();
  EXPECT_EQ(broad.onEnded(0, NodeState::Succeeded).ready.size(), kNodes - 1);
}

// What a node comes to, by the definition alone.
class SlowModel {
 public:
  SlowModel(const std::vector<FlowGraph::Node>& nodes, const std::vector<NodeState>& ends)
      : nodes_(nodes), ends_(ends) {}

  NodeState stateOf(NodeIndex index) {
    if (const auto known = states_.find(index); known != states_.end()) return known->second;
    NodeState state = nodes_[index].disabled ? NodeState::Skipped : ends_[index];
    passes_[index] = nodes_[index].disabled || state == NodeState::Succeeded ||
                     state == NodeState::FailedIgnored;
    for (const Need& need : nodes_[index].needs) {
      const NodeState upstream = stateOf(need.upstream);
      const bool failed = upstream == NodeState::Failed || upstream == NodeState::Terminated;
      const bool met = need.kind == NeedKind::Done ||
                       (need.kind == NeedKind::Failure ? failed : passes_[need.upstream]);
      if (met) continue;
      state = NodeState::Skipped;
      passes_[index] = false;
    }
    return states_[index] = state;
  }

 private:
  const std::vector<FlowGraph::Node>& nodes_;
  const std::vector<NodeState>& ends_;
  std::map<NodeIndex, NodeState> states_;
  std::map<NodeIndex, bool> passes_;
};

// Random graphs, ends and orders against the model; and a rerun from anywhere is like a first run.
TEST(RunProgressTest, RandomRunsAgreeWithTheModel) {
  Random random(7);
  const auto below = [&](size_t end) {
    return static_cast<size_t>(random.between(0, static_cast<int64_t>(end) - 1));
  };
  for (int round = 0; round < 3'000; ++round) {
    const size_t size = 1 + below(12);
    std::vector<FlowGraph::Node> nodes(size);
    std::vector<NodeState> ends(size);
    for (NodeIndex i = 0; i < size; ++i) {
      for (NodeIndex upstream = 0; upstream < i; ++upstream) {
        if (below(3) == 0) nodes[i].needs.push_back({upstream, static_cast<NeedKind>(below(3))});
      }
      nodes[i].disabled = below(8) == 0;
      const NodeState choices[] = {NodeState::Succeeded, NodeState::Succeeded, NodeState::Failed,
                                   NodeState::FailedIgnored, NodeState::Skipped};
      ends[i] = choices[below(5)];
    }
    const auto graph = std::make_shared<FlowGraph>(nodes);
    SlowModel model(nodes, ends);
    RunProgress run(graph);
    std::vector<int> started(size);
    const auto play = [&](RunEffects effects) {
      Nodes ready = effects.ready;
      while (!ready.empty()) {
        const size_t at = below(ready.size());
        const NodeIndex node = ready[at];
        ready.erase(ready.begin() + static_cast<ptrdiff_t>(at));
        ++started[node];
        for (const Need& need : nodes[node].needs) ASSERT_TRUE(hasEnded(run.state(need.upstream)));
        effects = run.onEnded(
            node, ends[node],
            ends[node] == NodeState::Skipped ? SkipReason::WhenFalse : SkipReason::None);
        ready.insert(ready.end(), effects.ready.begin(), effects.ready.end());
      }
    };
    const auto compare = [&] {
      bool failed = false;
      for (NodeIndex i = 0; i < size; ++i) {
        ASSERT_EQ(run.state(i), model.stateOf(i)) << "round " << round << " node " << i;
        failed = failed || run.state(i) == NodeState::Failed;
      }
      ASSERT_EQ(run.end(), failed ? RunEnd::Failed : RunEnd::Finished);
    };
    play(run.start());
    compare();
    for (const int times : started) ASSERT_LE(times, 1);
    const Nodes from{static_cast<NodeIndex>(below(size))};
    const std::vector<bool> again = graph->withDescendants(from);
    started.assign(size, 0);
    play(run.rerun(again));
    compare();
    for (NodeIndex i = 0; i < size; ++i) ASSERT_LE(started[i], again[i] ? 1 : 0);
  }
}

}  // namespace
}  // namespace baton::master
