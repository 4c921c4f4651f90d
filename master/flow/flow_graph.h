#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace baton::master {

using NodeIndex = uint32_t;

// How an upstream node must have ended for a node to start.
enum class NeedKind : uint8_t { Success, Failure, Done };

struct Need {
  NodeIndex upstream;
  NeedKind kind = NeedKind::Success;
};

// Who waits for whom in one version of a flow. Immutable and shared by all runs of the version.
class FlowGraph {
 public:
  struct Node {
    std::vector<Need> needs;
    bool disabled = false;  // Passed over as if it had succeeded.
  };
  // The nodes' needs name nodes of the same list, each at most once, and form no cycle: checked
  // where a definition is read; here a broken one ends the process.
  explicit FlowGraph(std::vector<Node> nodes);

  size_t size() const { return nodes_.size(); }
  const Node& node(NodeIndex index) const { return nodes_[index]; }
  // The nodes that need this one.
  struct Edge {
    NodeIndex downstream;
    NeedKind kind;
  };
  std::span<const Edge> behind(NodeIndex index) const {
    return {edges_.data() + first_edge_[index], edges_.data() + first_edge_[index + 1]};
  }
  // Every upstream node stands before those that need it.
  const std::vector<NodeIndex>& order() const { return order_; }
  // The given nodes and all that need them, directly or not; as a mark for each node.
  std::vector<bool> withDescendants(std::span<const NodeIndex> from) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // By upstream node.
  std::vector<size_t> first_edge_;
  std::vector<NodeIndex> order_;
};

}  // namespace baton::master
