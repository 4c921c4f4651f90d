#include "master/flow/flow_graph.h"

#include "common/base/status.h"

namespace baton::master {

FlowGraph::FlowGraph(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  first_edge_.assign(nodes_.size() + 1, 0);
  for (const Node& node : nodes_) {
    for (const Need& need : node.needs) {
      CHECK(need.upstream < nodes_.size());
      ++first_edge_[need.upstream + 1];
    }
  }
  for (size_t i = 1; i < first_edge_.size(); ++i) first_edge_[i] += first_edge_[i - 1];
  edges_.resize(first_edge_.back());
  std::vector<size_t> next = first_edge_;
  std::vector<size_t> missing(nodes_.size());
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    for (const Need& need : nodes_[i].needs) edges_[next[need.upstream]++] = {i, need.kind};
    missing[i] = nodes_[i].needs.size();
    if (missing[i] == 0) order_.push_back(i);
  }
  for (size_t at = 0; at < order_.size(); ++at) {
    for (const Edge& edge : behind(order_[at])) {
      if (--missing[edge.downstream] == 0) order_.push_back(edge.downstream);
    }
  }
  CHECK(order_.size() == nodes_.size());  // No cycle.
}

std::vector<bool> FlowGraph::withDescendants(std::span<const NodeIndex> from) const {
  std::vector<bool> marked(nodes_.size());
  for (const NodeIndex index : from) marked[index] = true;
  for (const NodeIndex index : order_) {
    if (!marked[index]) continue;
    for (const Edge& edge : behind(index)) marked[edge.downstream] = true;
  }
  return marked;
}

}  // namespace baton::master
