#include "master/host/heartbeat_rules.h"

#include "common/base/mutant.h"

namespace baton::master {
namespace {

HeartbeatStep judgeAccepted(RunnerStatus status, const AttemptKey& current,
                            const OpenAttempt& open) {
  const bool names_open = sameAttempt(current, open.key);
  switch (status) {
    case RunnerStatus::Idle:
      if (open.terminating) return HeartbeatStep::StopProved;
      return open.confirmed ? HeartbeatStep::RunnerReset : HeartbeatStep::StartFailed;
    case RunnerStatus::Running:
      if (!names_open || open.terminating) return HeartbeatStep::Reset;
      return open.confirmed ? HeartbeatStep::KeepRunning : HeartbeatStep::Started;
    case RunnerStatus::Finished:
      return names_open ? HeartbeatStep::EndedWell : HeartbeatStep::Reset;
    case RunnerStatus::Failed:
      return names_open ? HeartbeatStep::EndedBadly : HeartbeatStep::Reset;
  }
  return HeartbeatStep::NoEffect;
}

}  // namespace

bool sameAttempt(const AttemptKey& a, const AttemptKey& b) {
  return a.task_id == b.task_id && a.attempt == b.attempt &&
         (a.nonce.empty() || b.nonce.empty() || a.nonce == b.nonce);
}

HeartbeatStep judgeHeartbeat(const HeartbeatPair& pair, RunnerStatus status,
                             const AttemptKey& current, const AttemptKey& last_order,
                             const OpenAttempt* open) {
  if (open == nullptr) {
    switch (status) {
      case RunnerStatus::Idle:
        return HeartbeatStep::Idle;
      case RunnerStatus::Running:
        return HeartbeatStep::Reset;
      default:
        return HeartbeatStep::Acknowledge;
    }
  }
  if (!mutant("pair_rule_off")) {
    if (pair < open->pair) return HeartbeatStep::NoEffect;
    if (pair == open->pair) {
      return open->terminating ? HeartbeatStep::Reset : HeartbeatStep::RepeatOrder;
    }
  }
  // Whoever reports on an attempt by its nonce has had its order, whatever last_order says.
  const bool reported = status != RunnerStatus::Idle && sameAttempt(current, open->key);
  const bool accepted = reported || open->confirmed || sameAttempt(last_order, open->key);
  if (!accepted && !mutant("last_order_ignored")) {
    // The runner listens only for the reply to its newest request, so the order is lost for good.
    return open->terminating ? HeartbeatStep::StopProved : HeartbeatStep::OrderLost;
  }
  return judgeAccepted(status, current, *open);
}

}  // namespace baton::master
