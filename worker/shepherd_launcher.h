#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "worker/shepherd_records.h"

// The daemon's way to a living shepherd, and what has to be done about a dead one.
namespace baton::worker {

struct ShepherdLaunch {
  std::vector<std::string> command;  // Program and verb, e.g. {"/proc/self/exe", "shepherd"}.
  std::string dir;                   // Data directory, absolute.
  int64_t log_bytes_max = 64LL * 1024 * 1024;
  Millis idle_exit{60'000};
};

// Whether somebody holds the shepherd's lock. Errors: Unavailable.
Result<bool> isShepherdAlive(int dir_fd);

// Starts a shepherd in a session of its own and returns its pid when it serves (or says why not).
// It is a child of the caller, to be reaped when it has ended.
// Errors: Conflict (one lives already), Unavailable, DeadlineExceeded (10 s).
Result<pid_t> launchShepherd(const ShepherdLaunch& launch);

// Only when no shepherd lives: kills what the last one left behind and proves that it is gone.
// A process is touched if it is the very one of a record (pid and start time), a member of that
// one's group, below it, or if its environment names this worker, a task and this data directory
// (another one is another worker's, whatever its name). A recycled pid matches none of these. Takes
// up to 30 s. Returns the attempts that were on record. Errors: Unavailable (something can't be
// killed; it is named).
Result<std::vector<AttemptKey>> clearAfterShepherd(int dir_fd, const std::string& worker_id);

// As the first process of a pid namespace (a container without an init) the worker inherits what a
// dead shepherd left, and nobody else would ever reap it. Elsewhere this does nothing. `spared` is
// the child whose end the caller waits for itself. Does not block.
void reapAdopted(pid_t spared) noexcept;

}  // namespace baton::worker
