#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton::ha {

// A won election: lock owned and epoch row bumped.
struct Leadership {
  uint64_t epoch = 0;
  std::string incarnation;  // UUID of this process.
  std::string cluster_guid;
  std::string reason;     // As in dao::EpochClaim.
  BootTime bumped_at{};   // Completion of the bump; the suppression of lost runners counts from it.
  int64_t detect_ms = 0;  // Phase times so far, see dao::EpochLogRow.
  int64_t lock_ms = 0;
  int64_t bump_ms = 0;
};

// What the service thinks of itself; read lock-free by the elector.
struct Health {
  bool database_ok = true;
  bool loop_ok = true;  // The dispatcher made progress in the last 5 s.
};

// What zkFailover drives. All calls but freeze and health come from the role thread, one at a
// time, never from the elector.
class IMasterActiveService {
 public:
  virtual ~IMasterActiveService() = default;
  // Starts the active role: recover, then open the gates. Returns when the gates are open.
  // Abortable within 100 ms by `stop`. A failed promote leaves nothing running.
  virtual Status promote(const Leadership& leadership, std::stop_token stop) = 0;
  // Flips the permission; at most 1 ms, any thread.
  virtual void freeze(const std::string& why) noexcept = 0;
  // Goes on after a freeze. A changed epoch (re-affirmed) takes effect from the next batch on.
  // False: it can't (what it knows may be wrong by now) and has to be demoted.
  virtual bool resume(const Leadership& leadership) noexcept = 0;
  // Stops accepting and dispatching and commits what is decided. False: the deadline came first.
  virtual bool drain(BootTime deadline) = 0;
  // Ends the active role, drops the live state and closes its connections. Any state.
  virtual void demote(const std::string& why, BootTime deadline) = 0;
  virtual Health health() const noexcept = 0;
};

}  // namespace baton::ha
