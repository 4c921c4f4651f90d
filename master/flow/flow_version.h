#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/calendar/recurrence.h"
#include "flow/definition/condition.h"
#include "flow/definition/flow_spec.h"
#include "master/flow/flow_graph.h"

namespace baton::master {

// A version of a definition, made ready to run. Immutable, shared by its runs; any thread.
struct FlowVersion {
  uint32_t number = 0;
  flow::FlowSpec spec;
  TimeZone zone = TimeZone::utc();
  std::shared_ptr<const FlowGraph> graph;            // Node i is spec.tasks[i].
  std::vector<std::optional<flow::Condition>> when;  // By node.
  std::unordered_map<std::string, NodeIndex> nodes;  // By name.
  std::set<std::string> parts;                       // Keys of the flows that its tasks are.
  std::set<NodeIndex> self_waits;                    // Waits for runs of this very flow.

  std::optional<NodeIndex> find(std::string_view task) const;
};

// `spec` was checked (flow::parseFlow): a broken one ends the process. Only whoever made it changes
// it, before others see it.
std::shared_ptr<FlowVersion> makeFlowVersion(uint32_t number, flow::FlowSpec spec);

// The same from a stored text. Errors: Corrupt (it does not pass the checks of this program).
Result<std::shared_ptr<const FlowVersion>> readFlowVersion(const std::string& flow, uint32_t number,
                                                           std::string_view text);

}  // namespace baton::master
