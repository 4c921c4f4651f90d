#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton::dao {

// State of the active master as stored in the epoch row.
enum class EpochState : uint8_t { None = 0, Recovering = 1, Active = 2, Released = 3 };

// The single row that decides who may write (table ha_epoch).
struct EpochRow {
  uint64_t epoch = 0;
  std::string node_id;
  std::string incarnation;  // UUID of the owning process.
  std::string cluster_guid;
  EpochState state = EpochState::None;
  std::string address;  // host:port of the owner's web server.
  WallTime acquired_at{};
};

// What a takeover writes: the new epoch row and its line of history.
struct EpochClaim {
  uint64_t epoch = 0;
  uint64_t prev_epoch = 0;  // As read from ZooKeeper or the row; for the history only.
  std::string node_id;
  std::string incarnation;
  std::string address;
  std::string reason;  // first | expired | deleted | restart | handover | forced | reaffirm
  int64_t lock_czxid = 0;
};

// One takeover in the history (table ha_epoch_log); the phases in milliseconds are 0 until known.
struct EpochLogRow {
  uint64_t epoch = 0;
  uint64_t prev_epoch = 0;
  std::string node_id;
  std::string incarnation;
  std::string reason;
  WallTime bumped_at{};
  WallTime released_at{};  // Zero time: not released cleanly.
  int64_t detect_ms = 0;   // From the last sign of the old lock to the decision to contend.
  int64_t lock_ms = 0;     // From that decision to the lock owned.
  int64_t bump_ms = 0;     // From the lock to the epoch row committed.
  int64_t load_ms = 0;     // From the bump to live state loaded and rebuilt.
  int64_t active_ms = 0;   // From the load to the gates open.
  int64_t tasks_loaded = 0;
  int64_t attempts_in_doubt = 0;
};

// The cluster's own settings (table cluster, one row), written by `baton cluster init`.
struct ClusterRow {
  std::string name;
  std::string guid;
  int64_t heartbeat_ms = 30'000;
};

// Reads and moves the epoch row: the final arbiter of leadership.
// Own connection, made anew after a lost link. One thread at a time (the elector's role thread).
// Errors of all: Unavailable (database out of reach), Corrupt (schema or row missing),
// Internal (a statement that the server refuses).
class EpochStore {
 public:
  virtual ~EpochStore() = default;

  // The cluster's row. NotFound: `cluster init` has not run on this database.
  virtual Result<ClusterRow> readCluster() = 0;

  // The committed row, by a locking read (never a replica's or a snapshot's).
  virtual Result<EpochRow> read() = 0;

  // Takes the row: first ends every other connection of the read-write user (so that no older
  // write can commit any more), then changes the row if its epoch is below claim.epoch and writes
  // the history line, in one transaction.
  // Errors: Fenced (the row's epoch is >= claim.epoch; nothing changed), Busy (the row stayed
  // locked for 20 tries of 25 ms), Unavailable.
  virtual Status bump(const EpochClaim& claim) = 0;

  // Takes the row only if its epoch is exactly claim.prev_epoch: proof that nobody else was
  // active in between. Errors: Fenced as above.
  virtual Status reaffirm(const EpochClaim& claim) = 0;

  // Stores the state (and, for Released, the end in the history) if the row still has `epoch`.
  // Errors: Fenced.
  virtual Status setState(uint64_t epoch, EpochState state) = 0;

  // Completes the history line of `epoch` with phase times and counts. Errors: NotFound.
  virtual Status recordTakeover(const EpochLogRow& phases) = 0;

  // The newest `limit` takeovers, newest first.
  virtual Result<std::vector<EpochLogRow>> history(uint32_t limit) = 0;
};

}  // namespace baton::dao
