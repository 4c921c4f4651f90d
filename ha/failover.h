#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "ha/active_service.h"

namespace baton::ha {

// States of zkFailover; names as in the design and in GET /api/v1/cluster.
enum class FailoverState : uint8_t {
  Init,
  Connecting,
  Joining,
  Standby,
  Observer,
  Contending,
  Acquiring,
  Verifying,
  Promoting,
  Active,
  ActiveIsolated,
  Frozen,
  Draining,
  Demoting,
  FatalConfig,
  Stopped,
};
std::string_view toString(FailoverState state);  // "STANDBY", "ACTIVE_ISOLATED", …

// May this process act as the active master, and under which epoch? A snapshot of one atomic.
struct Permission {
  uint64_t epoch = 0;
  bool may_act = false;
};

// One master as known from the coordination service.
struct MemberInfo {
  std::string node_id;
  std::string role;     // active | standby
  std::string state;    // FailoverState of that member, as it last said.
  std::string address;  // host:port of its web server.
  std::string version;
  bool database_ok = true;
  bool heard = true;  // False: as it was when ZooKeeper last answered.
};

struct LeaderInfo {
  bool known = false;
  uint64_t epoch = 0;
  std::string node_id;
  std::string address;
  WallTime since{};
};

struct FailoverStats {
  FailoverState state = FailoverState::Init;
  std::string session_state;  // "connected", "connecting", "expired", "local"
  int64_t negotiated_session_ms = 0;
  uint64_t leader_changes = 0;  // Promotions and demotions of this process.
  uint64_t freezes = 0;
  std::string alarm;  // Why the state needs a person; empty if it does not.
};

// Decides whether this process leads and drives an IMasterActiveService accordingly. Two bodies:
// ZkFailover (ZooKeeper) and LocalFailover (file lock, for `standalone`).
class Failover {
 public:
  virtual ~Failover() = default;
  // Starts the threads. Returns at once; a coordination service that is down is waited for.
  // Errors: InvalidArgument (configuration), Conflict (another process holds the data directory).
  virtual Status start(IMasterActiveService& service) = 0;
  // Gives the role up cleanly (drain, demote, release the lock) and ends. Any state, any number
  // of times; at most 10 s.
  virtual void stop() noexcept = 0;

  // Test at every step that acts. Lock-free, any thread.
  virtual Permission permission() const noexcept = 0;
  // The database named another epoch, or a peer did: freeze, verify, then resume or demote.
  // Any thread, returns at once.
  virtual void onFenced(uint64_t seen_epoch) noexcept = 0;
  virtual void onHigherEpoch(uint64_t seen_epoch) noexcept = 0;
  // The service met something that only a reload can mend (reason is logged): demote; with
  // `give_up_lock` let another master have the role first.
  virtual void onServiceFailure(const std::string& why, bool give_up_lock) noexcept = 0;
  // Somebody asked for it: the role is given up in order (what is decided becomes durable) and
  // stood for again, so that whoever leads next has read everything anew. Only an active master
  // does it; nothing happens in any other state. Any thread, returns at once.
  virtual void handOver(const std::string& why) noexcept = 0;

  // Snapshots; any thread.
  virtual LeaderInfo leader() const = 0;
  virtual std::vector<MemberInfo> members() const = 0;
  virtual FailoverStats stats() const = 0;
};

}  // namespace baton::ha
