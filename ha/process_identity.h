#pragma once

#include <cstdint>
#include <string>

namespace baton::ha {

// What tells a process from every other that ever ran on any host.
struct ProcessIdentity {
  std::string boot_id;
  int64_t pid = 0;
  int64_t start_ticks = 0;  // Since boot, as in /proc/<pid>/stat.
};

// The calling process. Fields that /proc does not show stay empty or 0.
ProcessIdentity ownProcess();

}  // namespace baton::ha
