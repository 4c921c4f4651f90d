#pragma once

#include <vector>

#include "ha/election_event.h"
#include "ha/election_state.h"

namespace baton::ha {

struct StepResult {
  ElectionState state;
  std::vector<Action> actions;  // To be done in this order.
};

// The whole decision of zkFailover: what one event changes and asks for. Pure: no clock, thread,
// log or I/O. `now` never goes back. A Tick is due whenever now >= state.nextTimer().
StepResult step(const ElectionConfig& config, ElectionState state, const Event& event,
                BootTime now);

// Renewal period, lease length and request deadline for a negotiated session timeout.
Millis renewPeriod(int64_t session_ms);
Millis leaseLength(int64_t session_ms);
Millis requestDeadline(int64_t session_ms);

// Position of `node_id` among the eligible members, by priority, then by time of joining.
// `excluded` (the dead leader) is left out.
uint32_t rankOf(const std::vector<MemberRecord>& members, const std::string& node_id,
                const std::string& excluded);

}  // namespace baton::ha
