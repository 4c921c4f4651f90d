#include "master/flow/run_progress.h"

#include "common/base/mutant.h"
#include "common/base/status.h"

namespace baton::master {
namespace {

// Of several reasons the one that stays when the others are mended.
int rankOf(SkipReason reason) {
  switch (reason) {
    case SkipReason::UpstreamSkipped:
      return 4;
    case SkipReason::UpstreamSucceeded:
      return 3;
    case SkipReason::UpstreamFailed:
      return 2;
    case SkipReason::RunStopping:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

bool hasEnded(NodeState state) { return state != NodeState::Waiting && state != NodeState::Ready; }

RunProgress::RunProgress(std::shared_ptr<const FlowGraph> graph)
    : graph_(std::move(graph)), nodes_(graph_->size()), unended_(graph_->size()) {
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    nodes_[i].missing = static_cast<uint32_t>(graph_->node(i).needs.size());
  }
}

bool RunProgress::meets(const Node& upstream, NeedKind kind) {
  switch (kind) {
    case NeedKind::Done:
      return true;
    case NeedKind::Failure:
      return upstream.state == NodeState::Failed || upstream.state == NodeState::Terminated;
    case NeedKind::Success:
      break;
  }
  return upstream.state == NodeState::Succeeded || upstream.state == NodeState::FailedIgnored ||
         (upstream.state == NodeState::Skipped &&
          (upstream.reason == SkipReason::Disabled || upstream.reason == SkipReason::ByOperator));
}

SkipReason RunProgress::reasonBehind(const Node& upstream, NeedKind kind) {
  if (upstream.state == NodeState::Skipped) {
    if (upstream.reason == SkipReason::RunStopping) return SkipReason::RunStopping;
    if (upstream.reason == SkipReason::UpstreamFailed && kind == NeedKind::Success) {
      return SkipReason::UpstreamFailed;
    }
    if (kind == NeedKind::Success) return SkipReason::UpstreamSkipped;
  }
  return kind == NeedKind::Failure ? SkipReason::UpstreamSucceeded : SkipReason::UpstreamFailed;
}

SkipReason RunProgress::blockedBy(NodeIndex index) const {
  SkipReason why = SkipReason::None;
  for (const Need& need : graph_->node(index).needs) {
    const Node& upstream = nodes_[need.upstream];
    if (meets(upstream, need.kind)) continue;
    const SkipReason behind = reasonBehind(upstream, need.kind);
    if (rankOf(behind) > rankOf(why)) why = behind;
  }
  return why;
}

SkipReason RunProgress::reasonNow(NodeIndex index) const {
  const Node& node = nodes_[index];
  // What was skipped for its own sake stays so, whatever becomes of its needs.
  if (node.missing > 0 || rankOf(node.recorded) == 0) return node.recorded;
  const SkipReason why = blockedBy(index);
  if (why == SkipReason::None && graph_->node(index).disabled) return SkipReason::Disabled;
  if (node.recorded == SkipReason::RunStopping &&
      rankOf(why) <= rankOf(SkipReason::UpstreamFailed)) {
    return node.recorded;
  }
  // All it needs is there by now, and it has not run.
  return why == SkipReason::None ? SkipReason::UpstreamFailed : why;
}

bool RunProgress::refresh(NodeIndex index) {
  Node& node = nodes_[index];
  if (node.state != NodeState::Skipped) return false;
  const SkipReason now = reasonNow(index);
  if (now == node.reason) return false;
  count(node, -1);
  node.reason = now;
  count(node, 1);
  return true;
}

void RunProgress::count(const Node& node, int by) {
  const bool stopped =
      node.state == NodeState::Terminated || node.reason == SkipReason::RunStopping;
  failed_ += node.state == NodeState::Failed ? by : 0;
  left_out_ += node.reason == SkipReason::UpstreamFailed ? by : 0;
  terminated_ += stopped ? by : 0;
}

bool RunProgress::isUnwell(NodeIndex index) const {
  const Node& node = nodes_[index];
  return node.state == NodeState::Failed || node.state == NodeState::Terminated ||
         node.reason == SkipReason::RunStopping || node.reason == SkipReason::UpstreamFailed;
}

RunEffects RunProgress::start() {
  RunEffects effects;
  std::vector<NodeIndex> ended;
  for (const NodeIndex node : graph_->order()) {
    if (nodes_[node].missing == 0) decide(node, effects, ended);
  }
  RunEffects behind = settle(std::move(ended));
  effects.ready.insert(effects.ready.end(), behind.ready.begin(), behind.ready.end());
  effects.skipped.insert(effects.skipped.end(), behind.skipped.begin(), behind.skipped.end());
  return effects;
}

void RunProgress::decide(NodeIndex index, RunEffects& effects, std::vector<NodeIndex>& ended) {
  const SkipReason blocked = blockedBy(index);
  const SkipReason why = blocked != SkipReason::None    ? blocked
                         : stopping_                    ? SkipReason::RunStopping
                         : graph_->node(index).disabled ? SkipReason::Disabled
                                                        : SkipReason::None;
  if (why == SkipReason::None) {
    nodes_[index].state = NodeState::Ready;
    effects.ready.push_back(index);
    return;
  }
  finish(index, NodeState::Skipped, why);
  effects.skipped.push_back(index);
  ended.push_back(index);
}

void RunProgress::finish(NodeIndex index, NodeState end, SkipReason why) {
  Node& node = nodes_[index];
  node.state = end;
  node.recorded = node.reason = end == NodeState::Skipped ? why : SkipReason::None;
  --unended_;
  count(node, 1);
}

RunEffects RunProgress::settle(std::vector<NodeIndex> ended) {
  RunEffects effects;
  std::vector<NodeIndex> changed;  // Skipped for another reason than before.
  while (!ended.empty() || !changed.empty()) {
    const bool has_ended = !ended.empty();
    std::vector<NodeIndex>& from = has_ended ? ended : changed;
    const NodeIndex index = from.back();
    from.pop_back();
    for (const FlowGraph::Edge& edge : graph_->behind(index)) {
      Node& behind = nodes_[edge.downstream];
      if (has_ended) --behind.missing;
      const bool twice = has_ended && mutant("join_counted_twice");
      if (behind.missing > 0 && !twice) continue;
      if (behind.state == NodeState::Waiting) {
        decide(edge.downstream, effects, ended);
      } else if (refresh(edge.downstream)) {
        changed.push_back(edge.downstream);
      }
    }
  }
  return effects;
}

RunEffects RunProgress::onEnded(NodeIndex index, NodeState end, SkipReason why) {
  CHECK(hasEnded(end));
  if (nodes_[index].state != NodeState::Ready) return {};
  finish(index, end, why);
  return settle({index});
}

RunEffects RunProgress::endEarly(NodeIndex index, NodeState end) {
  CHECK(hasEnded(end));
  if (nodes_[index].state != NodeState::Waiting) return {};
  finish(index, end, SkipReason::ByOperator);
  return settle({index});
}

RunEffects RunProgress::stopRest() {
  stopping_ = true;
  RunEffects effects;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != NodeState::Waiting) continue;
    finish(i, NodeState::Skipped, SkipReason::RunStopping);
    effects.skipped.push_back(i);
  }
  (void)settle(effects.skipped);  // Nothing waits: it is counted, no more.
  return effects;
}

RunEffects RunProgress::leaveOut(const std::vector<NodeIndex>& unbegun) {
  stopping_ = true;
  RunEffects effects;
  for (const NodeIndex node : unbegun) {
    if (nodes_[node].state != NodeState::Ready) continue;
    finish(node, NodeState::Skipped, SkipReason::RunStopping);
    effects.skipped.push_back(node);
  }
  RunEffects behind = settle(effects.skipped);
  effects.skipped.insert(effects.skipped.end(), behind.skipped.begin(), behind.skipped.end());
  return effects;
}

RunEffects RunProgress::rerun(const std::vector<bool>& again) {
  CHECK(again.size() == nodes_.size());
  stopping_ = false;
  return recount(std::vector<Node>(nodes_), again);
}

void RunProgress::amend(NodeIndex index, NodeState end) {
  CHECK(hasEnded(end) && hasEnded(nodes_[index].state));
  nodes_[index].state = end;
  nodes_[index].recorded = nodes_[index].reason = SkipReason::None;
}

RunEffects RunProgress::restore(const std::vector<Reached>& reached) {
  CHECK(reached.size() == nodes_.size());
  std::vector<Node> before(nodes_.size());
  for (size_t i = 0; i < before.size(); ++i) {
    before[i].state = reached[i].state;
    before[i].recorded = reached[i].reason;
  }
  return recount(before, std::vector<bool>(nodes_.size(), false));
}

RunEffects RunProgress::recount(const std::vector<Node>& before, const std::vector<bool>& again) {
  nodes_.assign(before.size(), Node{});
  unended_ = nodes_.size();
  failed_ = left_out_ = terminated_ = 0;
  RunEffects effects;
  std::vector<NodeIndex> none;
  for (const NodeIndex index : graph_->order()) {
    Node& node = nodes_[index];
    for (const Need& need : graph_->node(index).needs) {
      node.missing += hasEnded(nodes_[need.upstream].state) ? 0 : 1;
    }
    if (!again[index] && hasEnded(before[index].state)) {
      finish(index, before[index].state, before[index].recorded);
      (void)refresh(index);
    } else if (!again[index] && before[index].state == NodeState::Ready) {
      node.state = NodeState::Ready;
    } else if (node.missing == 0) {
      decide(index, effects, none);
    }
  }
  return effects;
}

RunEnd RunProgress::outlook() const {
  if (stopping_ && failed_ == 0) return RunEnd::Terminated;
  if (failed_ > 0) return RunEnd::Failed;
  if (terminated_ > 0) return RunEnd::Terminated;
  if (left_out_ > 0) return RunEnd::Failed;
  return RunEnd::Running;
}

RunEnd RunProgress::end() const {
  if (unended_ > 0) return RunEnd::Running;
  const RunEnd so_far = outlook();
  return so_far == RunEnd::Running ? RunEnd::Finished : so_far;
}

}  // namespace baton::master
