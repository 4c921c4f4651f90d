#pragma once

#include <string>
#include <vector>

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// A circle in which the runs of flows would begin each other for ever (sub-flows, and triggers on
// the end of a flow or task), as "a -> b -> a"; empty: these make none. What else the cluster has
// is for the master to look at (flow apply). Pure.
std::string beginningCircle(const std::vector<const FlowSpec*>& flows);

}  // namespace baton::flow
