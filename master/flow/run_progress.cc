#include "master/flow/run_progress.h"

#include "common/base/mutant.h"
#include "common/base/status.h"

namespace baton::master {

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
  Node& node = nodes_[index];
  const SkipReason why = node.blocked != SkipReason::None ? node.blocked
                         : stopping_                      ? SkipReason::RunStopping
                         : graph_->node(index).disabled   ? SkipReason::Disabled
                                                          : SkipReason::None;
  if (why == SkipReason::None) {
    node.state = NodeState::Ready;
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
  node.reason = end == NodeState::Skipped ? why : SkipReason::None;
  --unended_;
  failed_ += end == NodeState::Failed ? 1 : 0;
  left_out_ += node.reason == SkipReason::UpstreamFailed ? 1 : 0;
  const bool stopped = end == NodeState::Terminated || node.reason == SkipReason::RunStopping;
  terminated_ += stopped ? 1 : 0;
}

RunEffects RunProgress::settle(std::vector<NodeIndex> ended) {
  RunEffects effects;
  while (!ended.empty()) {
    const NodeIndex index = ended.back();
    ended.pop_back();
    for (const FlowGraph::Edge& edge : graph_->behind(index)) {
      Node& behind = nodes_[edge.downstream];
      if (behind.state != NodeState::Waiting) continue;  // Skipped by hand before its time.
      if (behind.blocked == SkipReason::None && !meets(nodes_[index], edge.kind)) {
        behind.blocked = reasonBehind(nodes_[index], edge.kind);
      }
      --behind.missing;
      if (behind.missing == 0 || mutant("join_counted_twice")) {
        decide(edge.downstream, effects, ended);
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
  nodes_[index].reason = SkipReason::None;
}

RunEffects RunProgress::restore(const std::vector<Reached>& reached) {
  CHECK(reached.size() == nodes_.size());
  std::vector<Node> before(nodes_.size());
  for (size_t i = 0; i < before.size(); ++i) {
    before[i].state = reached[i].state;
    before[i].reason = reached[i].reason;
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
      const Node& upstream = nodes_[need.upstream];
      if (!hasEnded(upstream.state)) {
        ++node.missing;
      } else if (node.blocked == SkipReason::None && !meets(upstream, need.kind)) {
        node.blocked = reasonBehind(upstream, need.kind);
      }
    }
    if (!again[index] && hasEnded(before[index].state)) {
      finish(index, before[index].state, before[index].reason);
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
