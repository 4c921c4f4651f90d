#pragma once

#include <sys/types.h>

#include <string>

namespace baton::bench {

// Megabytes of a process; zero if it is gone.
struct Memory {
  double rss = 0;
  double pss = 0;
};
Memory memoryOf(pid_t pid);

// Processor time so far, in seconds: of a whole process (steps of 10 ms), and of its threads of one
// name, as far as they live.
double cpuSecondsOf(pid_t pid);
double cpuSecondsOf(pid_t pid, const std::string& thread);

}  // namespace baton::bench
