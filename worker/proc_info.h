#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What /proc says about processes. All calls read files of the kernel and never block for long.
namespace baton::worker {

// One line of /proc/<pid>/stat, as far as it is needed.
struct ProcStat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  int64_t threads = 0;
  uint64_t start_ticks = 0;  // Since boot; with the pid it names a process for the whole boot.

  // Dead and waiting to be reaped. A first thread that ended before the others looks like a zombie
  // too, but its process runs on.
  bool isDead() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

// Reads the text of a stat file; the program's name in it may hold blanks and brackets.
std::optional<ProcStat> parseProcStat(std::string_view text);
// Nothing when there is no such process.
std::optional<ProcStat> readProcStat(pid_t pid);
// The children of all threads of a process; empty when it is gone.
std::vector<pid_t> readChildren(pid_t pid);
// All processes.
std::vector<pid_t> listProcesses();
// "NAME=value" in a block of NUL-ended strings.
std::optional<std::string> findInEnvironment(std::string_view block, std::string_view name);
// The whole environment block of a process; empty when it can't be read.
std::string readEnvironmentBlock(pid_t pid);
// Names this boot of the machine.
std::string readBootId();

}  // namespace baton::worker
