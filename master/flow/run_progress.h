#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "master/flow/flow_graph.h"

namespace baton::master {

// How far a node of a run is.
enum class NodeState : uint8_t {
  Waiting,  // For upstream nodes.
  Ready,    // May start or has started; its end is to be told.
  Succeeded,
  Failed,
  FailedIgnored,  // Failed, and by its own rule that does not matter.
  Terminated,     // Ended from outside.
  Skipped,
};
bool hasEnded(NodeState state);

// Why a node was skipped.
enum class SkipReason : uint8_t {
  None,
  Disabled,           // By the definition; counts as success for those behind it.
  ByOperator,         // Counts as success as well.
  WhenFalse,          // Its own condition.
  UpstreamFailed,     // One that it needs failed, or was skipped for this reason.
  UpstreamSkipped,    // One that it needs was skipped by its condition, or for this reason.
  UpstreamSucceeded,  // It waited for a failure that did not come.
  RunStopping,
};

// What a step of a run leads to. Nodes that are skipped have been dealt with already, with all that
// follows from it; they are listed to be recorded.
struct RunEffects {
  std::vector<NodeIndex> ready;
  std::vector<NodeIndex> skipped;
};

enum class RunEnd : uint8_t { Running, Finished, Failed, Terminated };

// The dependency counters of one run, in memory. Pure: told what ended, it says what may start.
// An ended node costs as much as there are nodes behind it, however large the run is. One thread.
//
// A node starts when all its needs are met. It is skipped as soon as one can't be met any more
// and no upstream node is still to end, so that its end never overtakes theirs. Why follows from
// how its needs stand and never from the order in which they ended: what would keep it from running
// though all went well (one was passed over, a failure did not come) goes before a failure.
// The run fails if a node failed whose failure is not ignored, whatever ran behind it; also if one
// was skipped that by now would have to run: for a failure, or though all it needs is there since
// something ran again. In the same way what was skipped because the run was stopped counts as ended
// from outside.
class RunProgress {
 public:
  explicit RunProgress(std::shared_ptr<const FlowGraph> graph);

  // Once, first of all.
  RunEffects start();
  // A node that was ready has ended; `why` for Skipped (WhenFalse, ByOperator, RunStopping). Told
  // again, or for a node that was skipped meanwhile, it changes nothing.
  RunEffects onEnded(NodeIndex node, NodeState end, SkipReason why = SkipReason::None);
  // A node that waits is skipped by an operator, or Terminated. Changes nothing if it does not
  // wait.
  RunEffects endEarly(NodeIndex node, NodeState end);
  // Nothing more starts: what waits is skipped. Nodes that are ready have to end by themselves or
  // be ended.
  RunEffects stopRest();
  // Before stopRest(): of the nodes that are ready these were never let go, and are skipped as
  // well.
  RunEffects leaveOut(const std::vector<NodeIndex>& unbegun);
  // Marks nodes (of FlowGraph::withDescendants or a choice of one's own) as never having run, and
  // counts anew. What is ready then and was not before is in the effects.
  RunEffects rerun(const std::vector<bool>& again);
  // What ended is declared to have ended otherwise; rerun() then decides about what is behind.
  void amend(NodeIndex node, NodeState end);
  // Instead of start(): how far the run was when somebody else carried it. Ready is a node that had
  // begun: it goes on whatever has become of its needs meanwhile. One that had not is Waiting; what
  // its needs say of it is in the effects.
  struct Reached {
    NodeState state = NodeState::Waiting;
    SkipReason reason = SkipReason::None;
  };
  RunEffects restore(const std::vector<Reached>& reached);

  NodeState state(NodeIndex node) const { return nodes_[node].state; }
  // Why it counts as skipped, as its needs now stand; skippedFor: as they stood when it was, which
  // is what was recorded.
  SkipReason skipReason(NodeIndex node) const { return nodes_[node].reason; }
  SkipReason skippedFor(NodeIndex node) const { return nodes_[node].recorded; }
  // Ended, and keeps the run from being well.
  bool isUnwell(NodeIndex node) const;
  // Of a need whose node has ended.
  bool isMet(const Need& need) const { return meets(nodes_[need.upstream], need.kind); }
  // Running until every node has ended.
  RunEnd end() const;
  // The same, as it stands while others still run: Running if all is well so far.
  RunEnd outlook() const;
  size_t unended() const { return unended_; }

 private:
  struct Node {
    NodeState state = NodeState::Waiting;
    SkipReason recorded = SkipReason::None;
    SkipReason reason = SkipReason::None;
    uint32_t missing = 0;  // Upstream nodes that have not ended.
  };
  static bool meets(const Node& upstream, NeedKind kind);
  static SkipReason reasonBehind(const Node& upstream, NeedKind kind);
  // Why a node can't run whose needs have ended; None: they are met.
  SkipReason blockedBy(NodeIndex node) const;
  // Why a skipped node counts as skipped: what was recorded, until all its needs have ended.
  SkipReason reasonNow(NodeIndex node) const;
  // Whether that has changed.
  bool refresh(NodeIndex node);
  void count(const Node& node, int by);
  // All nodes anew: those that have ended in `before` and are not marked stay as they were.
  RunEffects recount(const std::vector<Node>& before, const std::vector<bool>& again);
  void finish(NodeIndex node, NodeState end, SkipReason why);
  // Hands the ends in `ended` on to the nodes behind them, and what follows from them, and so on.
  RunEffects settle(std::vector<NodeIndex> ended);
  // What becomes of a node whose upstream nodes have all ended.
  void decide(NodeIndex node, RunEffects& effects, std::vector<NodeIndex>& ended);

  const std::shared_ptr<const FlowGraph> graph_;
  std::vector<Node> nodes_;
  size_t unended_ = 0;
  int64_t failed_ = 0;
  int64_t left_out_ = 0;  // Skipped for the failure of another.
  int64_t terminated_ = 0;
  bool stopping_ = false;
};

}  // namespace baton::master
