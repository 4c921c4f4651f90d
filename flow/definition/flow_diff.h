#pragma once

#include <string>
#include <vector>

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// What would change, in words, one line a change: the flow's own keys first, then the tasks by
// name: "task load: timeout 1h -> 2h", "task load: needs +extract", "task x added". Empty if the
// definitions mean the same.
std::vector<std::string> diffFlows(const FlowSpec& before, const FlowSpec& after);

}  // namespace baton::flow
