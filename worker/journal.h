#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/file_descriptor.h"
#include "common/base/status.h"
#include "common/protocol/heartbeat.h"
#include "worker/shepherd_message.h"

namespace baton::worker {

// A result that no master has taken yet.
struct KeptResult {
  AttemptKey key;
  AttemptResult result;
  BootTime ended{};  // Of the present boot, whenever it was written.
  StopReason why = StopReason::None;
};

// What is on disk about one slot.
struct JournalSlot {
  bool has_last_order = false;
  AttemptKey last_order;
  std::optional<Order> open;  // Accepted and not settled; `last_order` names it.
  Epoch open_epoch = 0;
  std::optional<KeptResult> result;
};

// The durable state of a worker's daemon: who it is, which epochs it has seen, what its runners
// accepted and which results are not yet taken. Records are appended and checksummed; a torn tail
// is cut off, and the file is rewritten when it has grown. Also holds the lock that keeps a second
// worker off the data directory. One thread.
class Journal {
 public:
  static constexpr const char* kFileName = "journal";
  static constexpr const char* kLockName = "worker.lock";

  struct Options {
    std::string dir;  // Absolute; made if it is not there (mode 0700).
    size_t compact_bytes = 4 * 1024 * 1024;
  };

  // Takes the lock, reads, raises the incarnation by one and syncs it.
  // A damaged journal is moved aside under a name that says so and a new one with a new id is
  // begun: see replacedDamaged().
  // Errors: Conflict (another worker has the directory; names it and its pid), Unavailable,
  // StorageFull.
  static Result<std::unique_ptr<Journal>> open(Options options, const Clock& clock);

  const std::string& journalId() const { return journal_id_; }
  uint64_t incarnation() const { return incarnation_; }
  // True when nothing was known at the start: what carries this worker's id must be stopped.
  bool isNew() const { return is_new_; }
  // The path of the damaged journal that was moved aside; empty if there was none.
  const std::string& replacedDamaged() const { return replaced_damaged_; }
  int dirFd() const { return dir_.get(); }

  // The cluster to which this worker belongs, empty while none is known.
  const std::string& clusterGuid() const { return cluster_guid_; }
  Epoch epochOf(const std::string& cluster_guid) const;
  const std::map<std::string, JournalSlot>& slots() const { return slots_; }

  // These change the state at once and the disk with the next sync(). What is equal to the state
  // already costs nothing.
  void noteEpoch(const std::string& cluster_guid, Epoch epoch);
  void noteAccept(const std::string& runner_id, const Order& order, Epoch epoch);
  void noteResult(const std::string& runner_id, const KeptResult& result);
  void noteSettled(const std::string& runner_id, const AttemptKey& key);

  // False while only settlements wait: losing one makes a result be told twice, which is harmless.
  bool needsSync() const { return urgent_; }
  // Writes and syncs all that was noted. Errors: StorageFull, Unavailable: nothing of it may be
  // relied on, and the same call may be repeated.
  Status sync();

 private:
  Journal(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  Status openDirectory();
  Status takeLock();
  Status load();
  Status setAside(const Error& why);
  void note(const Json& record, bool urgent);
  Status apply(const std::string& payload);
  Status applyAccept(const Json& record);
  Status applyResult(const Json& record);
  Json acceptRecord(const std::string& runner_id, const Order& order, Epoch epoch) const;
  Json resultRecord(const std::string& runner_id, const KeptResult& kept) const;
  Status append();
  std::string snapshot() const;
  Status rewrite();

  const Options options_;
  const Clock& clock_;
  std::string boot_id_;
  FileDescriptor dir_;
  FileDescriptor lock_;
  FileDescriptor file_;
  size_t size_ = 0;  // Of the valid part of the file.
  // Lines that go to disk as one record: after a power loss all of a batch is there or none.
  std::string unwritten_;
  bool urgent_ = false;

  std::string journal_id_;
  uint64_t incarnation_ = 0;
  bool is_new_ = false;
  std::string replaced_damaged_;
  std::string cluster_guid_;
  std::map<std::string, Epoch> epochs_;
  std::map<std::string, JournalSlot> slots_;
};

}  // namespace baton::worker
