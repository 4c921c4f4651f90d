#pragma once

#include <compare>
#include <cstdint>

#include "common/model/records.h"
#include "common/protocol/heartbeat.h"

// Which heartbeats prove what: the rules of docs/heartbeat.md as a pure function, shared by the
// master and the simulation.
namespace baton::master {

// Order of a runner's requests: the daemon's start count, then the request's number.
struct HeartbeatPair {
  uint64_t incarnation = 0;
  uint64_t seq = 0;
  auto operator<=>(const HeartbeatPair&) const = default;
};

// The runner's open attempt as the master knows it.
struct OpenAttempt {
  AttemptKey key;
  HeartbeatPair pair;        // Of the heartbeat that was answered with it.
  bool confirmed = false;    // It was reported running.
  bool terminating = false;  // A stop was asked for.
};

// What a heartbeat means for the runner's open attempt. "Idle after" steps: what follows is
// decided as if the runner had said IDLE without an open attempt.
enum class HeartbeatStep : uint8_t {
  NoEffect,     // Proves nothing: GO_ON.
  RepeatOrder,  // The very heartbeat again: the same RUN_NEW.
  OrderLost,    // The order never arrived and never will: new pair, the same RUN_NEW again.
  Reset,        // RESET; nothing changes.
  KeepRunning,  // RUNNING as known: seen, held.
  Started,      // DISPATCHED becomes RUNNING.
  EndedWell,    // Result of the open attempt: ended well.
  EndedBadly,   // Result of the open attempt: failed, or stopped while TERMINATING.
  StopProved,   // Idle after: the stopped attempt is gone.
  StartFailed,  // Idle after: it was accepted and never ran.
  RunnerReset,  // Idle after: it ran and is gone without a result.
  Idle,         // No open attempt and nothing to do: may be given a task.
  Acknowledge,  // No open attempt; a result that is recorded or kept as late.
};

// `open` null: none. `last_order` is the newest attempt that the runner ever accepted.
// The caller has dealt with pairs below the highest seen this term and with results that name
// another attempt than the open one (stored, or kept as late) before it asks.
HeartbeatStep judgeHeartbeat(const HeartbeatPair& pair, RunnerStatus status,
                             const AttemptKey& current, const AttemptKey& last_order,
                             const OpenAttempt* open);

// True if both name the same attempt. An absent nonce (plain clients) matches any.
bool sameAttempt(const AttemptKey& a, const AttemptKey& b);

}  // namespace baton::master
