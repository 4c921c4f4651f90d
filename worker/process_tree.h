#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "worker/proc_info.h"

namespace baton::worker {

// Sends a signal to a process only if it is still the one that `stat` described: the signal goes
// through a pidfd that is opened first and checked against the start time afterwards, so that a
// recycled number is never hit. True when it was sent.
bool signalProcess(const ProcStat& stat, int signal);

// Whether a process still lives (a zombie is dead) and is the one with that start time.
bool isAlive(pid_t pid, uint64_t start_ticks);

// All living processes below the given roots, the roots included, parents first. Zombies are left
// out.
std::vector<ProcStat> collectTree(const std::vector<pid_t>& roots);

}  // namespace baton::worker
