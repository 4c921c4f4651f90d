#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "ha/failover.h"

namespace baton::ha {

// What the coordination service made of a request, as far as the election has to know.
enum class CoordCode : uint8_t {
  Ok,
  Absent,       // A node that the request needs does not exist.
  Exists,       // The node exists already and belongs to another session.
  BadVersion,   // The compare-and-set token was stale: somebody else moved the epoch.
  Ambiguous,    // No answer: it may have happened or not. Read back before trying again.
  SessionDead,  // The handle can never be used again.
  Refused,      // Credentials or access list.
  Mismatch,     // The root belongs to another cluster.
  Failed,       // Anything else; nothing was changed.
};

// Identity of one process of a master.
struct MasterIdentity {
  std::string node_id;
  std::string incarnation;  // UUID of the process.
  std::string address;      // host:port of its web server.
  std::string version;
  std::string boot_id;  // With pid and start_ticks: says whether that process still exists.
  int64_t pid = 0;
  int64_t start_ticks = 0;
};

// A master's own node under /masters.
struct MemberRecord {
  MasterIdentity who;
  FailoverState state = FailoverState::Init;
  int32_t priority = 100;
  bool eligible = true;
  uint64_t seen_epoch = 0;
  bool database_ok = true;
  int64_t czxid = 0;  // Read only: order of joining.
};

// The leader record in /lock.
struct LockRecord {
  MasterIdentity who;
  uint64_t epoch = 0;
  uint64_t prev_epoch = 0;
  std::string reason;
  std::string attempt;  // Names one acquire request, so that a lost answer can be read back.
};

// The lock as read. `parsed` false: foreign data, to be left alone.
struct LockView {
  int64_t owner_session = 0;
  int64_t czxid = 0;
  WallTime since{};
  bool parsed = true;
  LockRecord record;
};

// Everything an election is decided on, read in one go; reading arms the watches.
struct ElectionView {
  uint64_t epoch = 0;         // Value of /epoch; 0 if it cannot be parsed.
  int32_t epoch_version = 0;  // The token for AcquireRequest.
  bool paused = false;        // /control/pause exists.
  std::optional<LockView> lock;
};

// Creates what is missing below the root and the own member node.
struct JoinRequest {
  std::string expected_guid;         // Empty: any.
  std::string create_guid;           // Written to /cluster if that is absent; empty: leave absent.
  uint64_t epoch = 0;                // Value of /epoch if that is absent.
  std::optional<MemberRecord> self;  // Absent: only the common nodes (cluster init).
};

// Moves /epoch (if its version is still `epoch_version`) and creates /lock, both or none.
struct AcquireRequest {
  int32_t epoch_version = 0;
  LockRecord lock;
};

// What a coordinator tells its owner. `generation` is that of the handle which it concerns.
struct SessionUp {
  uint64_t generation;
  int64_t session_id;
  int64_t timeout_ms;
};
struct SessionDown {
  uint64_t generation;
};
struct SessionExpired {
  uint64_t generation;
};
struct SessionRefused {
  uint64_t generation;
};
struct SessionFailed {
  uint64_t generation;
  std::string why;
};  // No handle could be made.
struct JoinReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
  std::string guid;  // As found; empty if /cluster is absent (code Absent).
};
struct ViewReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
  ElectionView view;
};
struct AcquireReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
};
struct RenewReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
};
struct ReleaseReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
};
struct MembersReply {
  uint64_t generation;
  uint64_t id;
  CoordCode code;
  std::vector<MemberRecord> members;
};
struct ViewChanged {
  uint64_t generation;
};  // /lock or /control/pause changed.
struct MembersChanged {
  uint64_t generation;
};  // A master came or went.

// The election's view of a coordination service (ZooKeeper, or a simulated one). Every request is
// answered at most once, by an event with its id; none blocks. A request on a handle that is not
// connected is answered Ambiguous or SessionDead. Events of one handle come in the order of the
// service: an answer never overtakes a change that preceded it. Thread: the elector's only.
class Coordinator {
 public:
  virtual ~Coordinator() = default;
  // Makes a new handle; the former one must be closed. Later events carry `generation`.
  virtual void open(uint64_t generation) = 0;
  // Ends the session (its nodes go away if the service can be reached). Returns at once.
  virtual void close() = 0;
  virtual void join(uint64_t id, const JoinRequest& request) = 0;
  // `sync`: first lets the server catch up with all that was proposed before.
  virtual void readView(uint64_t id, bool sync) = 0;
  virtual void acquire(uint64_t id, const AcquireRequest& request) = 0;
  // Rewrites the own member node: a quorum write, so success proves the session was alive.
  virtual void renew(uint64_t id, const MemberRecord& self) = 0;
  // Deletes /lock if /epoch still has this version, i.e. nobody took over meanwhile.
  virtual void release(uint64_t id, int32_t epoch_version) = 0;
  virtual void readMembers(uint64_t id) = 0;
};

}  // namespace baton::ha
