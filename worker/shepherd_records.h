#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"
#include "common/protocol/heartbeat.h"

namespace baton::worker {

inline constexpr const char* kRecordsName = "shepherd.records";
inline constexpr const char* kShepherdLockName = "shepherd.lock";
inline constexpr const char* kShepherdSocketName = "shepherd.sock";

// One process that a shepherd started and whose tree was not yet proved to be gone.
struct ProcessRecord {
  AttemptKey key;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
};

// What a shepherd left behind.
struct RecordedProcesses {
  std::string boot_id;
  std::vector<ProcessRecord> open;
};

// The file in which each child of the shepherd writes who it is before it executes a task's
// program, so that whoever finds the shepherd dead knows what may still live. It is not synced:
// it has to outlive the shepherd, not the machine (another boot id says that all is gone).
class ShepherdRecords {
 public:
  // Begins an empty file for this boot. Errors: Unavailable, StorageFull.
  static Result<ShepherdRecords> create(int dir_fd, const std::string& boot_id);
  // What the file says; a torn last line is left out. No file: nothing. Errors: Unavailable.
  static Result<RecordedProcesses> read(int dir_fd);

  // In the child, after its session is made: writes "pid and start time". Errors: Unavailable.
  Status recordSelf(const AttemptKey& key) const;
  // Nothing of the attempt is left.
  void recordGone(const AttemptKey& key);
  // True when the file is large enough to be worth rewriting.
  bool wantsCompaction() const { return lines_ > kLinesMax; }
  // Rewrites the file with these alone. Only while no child is on its way to recordSelf: it would
  // write to the file that is going away.
  Status compact(const std::vector<ProcessRecord>& open);
  // To be called for each start: counts lines.
  void noteStart() { ++lines_; }

 private:
  static constexpr size_t kLinesMax = 20'000;
  ShepherdRecords(int dir_fd, std::string boot_id)
      : dir_fd_(dir_fd), boot_id_(std::move(boot_id)) {}
  Status rewrite(const std::vector<ProcessRecord>& open);

  int dir_fd_;
  std::string boot_id_;
  FileDescriptor fd_;
  size_t lines_ = 0;
};

}  // namespace baton::worker
