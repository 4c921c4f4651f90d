#include "master/flow/run_progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

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

// Why c is skipped follows from what a and b came to, and so does the end once b is mended.
TEST(RunProgressTest, TheOrderOfEndsDecidesNothing) {
  for (const bool failure_first : {true, false}) {
    RunProgress run = runOf({needing({}), needing({}), needing({{0}, {1}}), needing({{2}})});
    run.start();
    if (failure_first) run.onEnded(1, NodeState::Failed);
    run.onEnded(0, NodeState::Skipped, SkipReason::WhenFalse);
    if (!failure_first) run.onEnded(1, NodeState::Failed);
    EXPECT_EQ(run.skipReason(2), SkipReason::UpstreamSkipped);
    EXPECT_EQ(run.skipReason(3), SkipReason::UpstreamSkipped);
    EXPECT_EQ(run.end(), RunEnd::Failed);
    run.rerun({false, true, false, false});
    run.onEnded(1, NodeState::Succeeded);
    EXPECT_EQ(run.end(), RunEnd::Finished);
    // Whose needs are met by now has to run.
    run.rerun({true, false, false, false});
    run.onEnded(0, NodeState::Succeeded);
    EXPECT_EQ(run.end(), RunEnd::Failed);
    EXPECT_TRUE(run.isUnwell(2));
    EXPECT_EQ(run.skippedFor(2), SkipReason::UpstreamSkipped);
  }
}

TEST(RunProgressTest, ADisabledNodeIsOwedNothing) {
  // Aim: skipped for a failure or with a stop, it counts as disabled once its needs are there.
  for (const bool stopped : {true, false}) {
    RunProgress run = runOf({needing({}), needing({{0}}, true), needing({{1}, {0}})});
    run.start();
    if (stopped) run.stopRest();
    run.onEnded(0, NodeState::Failed);
    run.rerun({true, false, false});
    run.onEnded(0, NodeState::Succeeded);
    EXPECT_EQ(run.skipReason(1), SkipReason::Disabled);
    EXPECT_EQ(run.end(), stopped ? RunEnd::Terminated : RunEnd::Failed);  // For the last one.
    EXPECT_EQ(run.rerun({false, false, true}).ready, Nodes{2});
    run.onEnded(2, NodeState::Succeeded);
    EXPECT_EQ(run.end(), RunEnd::Finished);
  }
}

// A run whose ready nodes end in an order of its own.
struct Player {
  RunProgress run;
  Random& random;
  Nodes ready = {};

  void take(const RunEffects& effects) {
    ready.insert(ready.end(), effects.ready.begin(), effects.ready.end());
  }
  void endOne(const std::vector<NodeState>& ends) {
    const auto at = random.between(0, static_cast<int64_t>(ready.size()) - 1);
    const NodeIndex node = ready[static_cast<size_t>(at)];
    ready.erase(ready.begin() + at);
    const bool skipped = ends[node] == NodeState::Skipped;
    take(run.onEnded(node, ends[node], skipped ? SkipReason::WhenFalse : SkipReason::None));
  }
  void play(const std::vector<NodeState>& ends) {
    while (!ready.empty()) endOne(ends);
  }
};

std::string tellOf(const RunProgress& run, size_t size) {
  std::string text =
      std::to_string(static_cast<int>(run.end())) + std::to_string(static_cast<int>(run.outlook()));
  for (NodeIndex i = 0; i < size; ++i) {
    text += " " + std::to_string(static_cast<int>(run.state(i))) + "/" +
            std::to_string(static_cast<int>(run.skipReason(i)));
  }
  return text;
}

// The next master, who knows what was recorded, says the same.
void expectSameBehindATakeover(const RunProgress& run, const std::shared_ptr<FlowGraph>& graph) {
  std::vector<RunProgress::Reached> reached;
  for (NodeIndex i = 0; i < graph->size(); ++i) {
    reached.push_back({run.state(i), run.skippedFor(i)});
  }
  RunProgress next(graph);
  (void)next.restore(reached);
  ASSERT_EQ(tellOf(next, graph->size()), tellOf(run, graph->size()));
}

// Random graphs and ends, in several orders, mended in several orders: one outcome. And whatever
// was done to a run, a rerun of what is not well makes it so.
TEST(RunProgressTest, RunsAreMendedWhateverTheOrder) {
  Random random(11);
  const auto below = [&](size_t end) {
    return static_cast<size_t>(random.between(0, static_cast<int64_t>(end) - 1));
  };
  for (int round = 0; round < 2'000; ++round) {
    SCOPED_TRACE(round);
    const size_t size = 1 + below(9);
    std::vector<FlowGraph::Node> nodes(size);
    std::vector<NodeState> ends(size), well(size);
    for (NodeIndex i = 0; i < size; ++i) {
      for (NodeIndex upstream = 0; upstream < i; ++upstream) {
        if (below(3) == 0) nodes[i].needs.push_back({upstream, static_cast<NeedKind>(below(3))});
      }
      nodes[i].disabled = below(8) == 0;
      const NodeState choices[] = {NodeState::Succeeded, NodeState::Failed, NodeState::Terminated,
                                   NodeState::FailedIgnored, NodeState::Skipped};
      ends[i] = choices[below(5)];
      const bool bad = ends[i] == NodeState::Failed || ends[i] == NodeState::Terminated;
      well[i] = bad ? NodeState::Succeeded : ends[i];
    }
    const auto graph = std::make_shared<FlowGraph>(nodes);
    std::set<std::string> first, mended;
    for (int order = 0; order < 3; ++order) {
      Player player{RunProgress(graph), random};
      player.take(player.run.start());
      player.play(ends);
      first.insert(tellOf(player.run, size));
      Nodes bad;
      for (NodeIndex i = 0; i < size; ++i) {
        const NodeState at = player.run.state(i);
        if (at == NodeState::Failed || at == NodeState::Terminated) bad.push_back(i);
      }
      while (!bad.empty()) {
        const size_t at = below(bad.size());
        player.run.amend(bad[at], NodeState::Succeeded);
        player.take(player.run.rerun(std::vector<bool>(size)));
        bad.erase(bad.begin() + static_cast<ptrdiff_t>(at));
        ASSERT_TRUE(player.ready.empty());
        expectSameBehindATakeover(player.run, graph);
      }
      mended.insert(tellOf(player.run, size));
    }
    ASSERT_EQ(first.size(), 1U);
    ASSERT_EQ(mended.size(), 1U);

    Player player{RunProgress(graph), random};
    player.take(player.run.start());
    for (int step = 0; step < 12; ++step) {
      if (!player.ready.empty() && below(3) > 0) {
        player.endOne(below(2) == 0 ? ends : well);
      } else if (below(6) == 0 && player.run.unended() > 0) {
        player.run.stopRest();
        player.play(std::vector<NodeState>(size, NodeState::Terminated));
      } else if (player.ready.empty()) {
        std::vector<bool> again(size);
        again[below(size)] = true;
        player.take(player.run.rerun(again));
      }
      expectSameBehindATakeover(player.run, graph);
    }
    player.play(well);
    for (size_t pass = 0; pass <= size && player.run.end() != RunEnd::Finished; ++pass) {
      Nodes unwell;
      for (NodeIndex i = 0; i < size; ++i) {
        if (player.run.isUnwell(i)) unwell.push_back(i);
      }
      player.take(player.run.rerun(graph->withDescendants(unwell)));
      player.play(well);
    }
    ASSERT_EQ(player.run.end(), RunEnd::Finished) << tellOf(player.run, size);
  }
}

}  // namespace
}  // namespace baton::master
