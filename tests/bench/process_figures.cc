#include "tests/bench/process_figures.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace baton::bench {

Memory memoryOf(pid_t pid) {
  Memory memory;
  std::ifstream in(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    const double megabytes =
        colon == line.npos ? 0 : std::strtod(line.c_str() + colon + 1, nullptr) / 1024;
    if (line.starts_with("Rss:")) memory.rss = megabytes;
    if (line.starts_with("Pss:")) memory.pss = megabytes;
  }
  return memory;
}

double cpuSecondsOf(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');  // The name may hold blanks.
  if (name_end == line.npos) return 0;
  constexpr int kUserTime = 12;  // Fields behind the name: user time is the 12th, system time next.
  size_t at = name_end + 1;
  for (int field = 1; field < kUserTime && at != line.npos; ++field) at = line.find(' ', at + 1);
  if (at == line.npos) return 0;
  char* rest = nullptr;
  const double user = std::strtod(line.c_str() + at, &rest);
  const double system = std::strtod(rest, nullptr);
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double cpuSecondsOf(pid_t pid, const std::string& thread) {
  double seconds = 0;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), failed)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm") >> std::ws, name);
    if (name != thread) continue;
    double nanos = 0;
    std::ifstream(entry.path() / "schedstat") >> nanos;
    seconds += nanos / 1e9;
  }
  return seconds;
}

}  // namespace baton::bench
