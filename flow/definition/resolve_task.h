#pragma once

#include "flow/definition/flow_spec.h"

namespace baton::flow {

// The task as it runs in one run: every text resolved, `params` all that it gets (those of the
// start, its own and the flow's). For a sub-flow these are what its run is started with. `context`
// is that of the run; its task and level Task are filled in from the node. Errors: InvalidArgument
// (the field names the text, "command[1]"): the task fails as bad_spec.
Result<TaskNode> resolveTask(const TaskNode& node, PlaceholderContext context);

// A resolved task that takes a runner as it is submitted, with the variables BATON_FLOW,
// BATON_RUN_ID, BATON_PLAN_TIME and BATON_PREV_SUCCESS_TIME (RFC 3339 in the flow's zone; the last
// one is left out if there is none). Group, weight and window stay with the node. Errors:
// InvalidArgument (a resolved request, or a plug-in's keys, are no good), Unsupported (a kind
// without a runner, or TaskNode::unsupported). The field says where; the task fails as bad_spec.
Result<TaskSpec> taskSpecOf(const TaskNode& resolved, const PlaceholderContext& context);

}  // namespace baton::flow
