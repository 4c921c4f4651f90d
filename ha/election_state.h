#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "dao/epoch_store.h"
#include "ha/active_service.h"
#include "ha/coordinator.h"
#include "ha/failover.h"

namespace baton::ha {

// Constants of one master's election.
struct ElectionConfig {
  MasterIdentity self;
  int32_t priority = 100;
  bool eligible = true;
  uint64_t jitter_seed = 1;  // Of the back-off.

  // Observers watch and serve reads, but never contend.
  bool observer() const { return !eligible || priority <= 0; }
};

// Timers of the election; a state has at most one of each.
enum class TimerKind : uint8_t {
  Reopen,      // Make a new handle.
  FatalRetry,  // See whether the configuration was mended.
  JoinRetry,
  HoldOff,  // Stay away from contending until then.
  Contend,  // The rank delay.
  ViewRetry,
  Renew,  // Next write of the own member node.
  LeaseEnd,
  Poll,           // Next read of the epoch row.
  DatabaseLimit,  // The active has not reached the database for too long.
  BumpRetry,
  PromoteLimit,
  MembersRefresh,
  // Deadlines of requests, in the order of RequestKind.
  JoinDeadline,
  ViewDeadline,
  AcquireDeadline,
  RenewDeadline,
  ReleaseDeadline,
  MembersDeadline,
  Count,
};

// Requests; at most one of each is under way, older answers are stale.
enum class RequestKind : uint8_t {
  Join,
  View,
  Acquire,
  Renew,
  Release,
  Members,
  Probe,
  Bump,
  Promote,
  Drain,
  Demote,
  Count,
};

struct PendingRequest {
  uint64_t id = 0;  // 0: none.
  BootTime sent{};
};

enum class PromoteStage : uint8_t { None, Confirm, Bump, BumpVerify, Recover };
enum class AfterDemote : uint8_t { Rejoin, Fatal, Stop };

inline constexpr BootTime kNever = BootTime::max();
inline constexpr size_t kTimerCount = static_cast<size_t>(TimerKind::Count);
inline constexpr size_t kRequestCount = static_cast<size_t>(RequestKind::Count);

// All that an election remembers. Changed by step() only; a plain value.
struct ElectionState {
  FailoverState phase = FailoverState::Init;
  std::string reason;  // Why the phase was entered.
  std::string alarm;   // Why the state needs a person.
  bool stopping = false;
  BootTime unheard_since = kNever;  // Of ZooKeeper; kNever: it is connected, or nothing was begun.

  // Session.
  uint64_t generation = 0;
  bool handle_open = false;
  bool connected = false;
  bool session_ready = false;  // Connected at least once, so id and timeout are known.
  bool joined = false;
  int64_t session_id = 0;
  int64_t session_ms = 0;  // Negotiated timeout, T.
  int64_t reopen_delay_ms = 0;
  BootTime joining_since{};

  // What was read last.
  std::optional<ElectionView> view;
  bool view_stale = true;  // A change was announced after the last view was asked for.
  std::vector<MemberRecord> members;
  std::string last_leader;  // Node that held the lock when it was last seen held.
  std::string zk_guid;
  bool database_ok = true;
  Micros database_took{0};          // By the last answered probe.
  std::optional<ProbeReply> probe;  // The last good one.
  uint64_t probe_min_id = 0;        // Older probes do not count for what is being decided.

  // Contending.
  BootTime contending_since{};
  uint64_t attempts = 0;
  uint64_t jitter = 0;
  bool contend_due = false;  // The rank delay is over.

  // Role.
  bool lock_owned = false;      // As far as known.
  bool lock_confirmed = false;  // Read as ours with a watch armed, and no change since.
  int64_t lock_czxid = 0;
  int32_t epoch_version = 0;  // Of /epoch since our own acquire.
  Leadership leadership;      // epoch 0: none.
  dao::EpochClaim claim;
  PromoteStage stage = PromoteStage::None;
  std::string doubt;  // Arisen while promoting: to be verified before anything acts.
  BootTime acquire_started{};
  BootTime lock_at{};
  BootTime lease_until{};
  bool database_lost = false;  // Out of reach for too long; the members' answer decides.
  AfterDemote after_demote = AfterDemote::Rejoin;
  bool release_wanted = false;
  Millis rejoin_hold_off{0};
  uint32_t promote_failures = 0;
  std::vector<BootTime> losses;  // Involuntary ones of the last ten minutes, at most 16.

  uint64_t next_id = 1;
  uint64_t leader_changes = 0;
  uint64_t freezes = 0;
  std::array<PendingRequest, kRequestCount> pending{};
  std::array<BootTime, kTimerCount> timers = filledTimers();

  bool mayAct() const {
    return phase == FailoverState::Active || phase == FailoverState::ActiveIsolated;
  }
  // Has (or had until the next demote) the active role.
  bool hasRole() const { return mayAct() || phase == FailoverState::Frozen; }
  // ZooKeeper has been away for so long that what was read last is told with a mark.
  bool unheard(BootTime now) const;
  // `alarm`, and what a person must know of ZooKeeper's silence.
  std::string alarmAt(BootTime now) const;
  // The earliest timer, kNever if there is none.
  BootTime nextTimer() const;

 private:
  static std::array<BootTime, kTimerCount> filledTimers() {
    std::array<BootTime, kTimerCount> timers{};
    timers.fill(kNever);
    return timers;
  }
};

}  // namespace baton::ha
