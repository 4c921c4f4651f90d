#include "tests/bench/sweeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace baton::bench {
namespace {

std::string commandLineOf(const std::filesystem::path& process) {
  std::ifstream in(process / "cmdline");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Twice, because one that was just being started may have been missed.
void endAllThatName(const std::string& folder) {
  for (int round = 0; round < 2; ++round) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
      const std::string name = entry.path().filename().string();
      if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        continue;
      }
      const auto pid = static_cast<pid_t>(std::stol(name));
      if (pid == getpid()) continue;
      if (commandLineOf(entry.path()).find(folder) != std::string::npos) kill(pid, SIGKILL);
    }
  }
}

[[noreturn]] void sweepBehind(int alive, const std::string& folder, bool keep_folder) {
  setsid();  // A Ctrl-C at the terminal is not for this process.
  char byte = 0;
  while (read(alive, &byte, 1) < 0 && errno == EINTR) {
  }
  std::error_code failed;
  if (std::filesystem::exists(folder, failed)) {
    endAllThatName(folder);
    if (!keep_folder) std::filesystem::remove_all(folder, failed);
  }
  _exit(0);
}

}  // namespace

Result<Sweeper> Sweeper::start(const std::string& folder, bool keep_folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error::unavailable("pipe: {}", strerror(errno));
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return Error::unavailable("fork: {}", strerror(errno));
  if (child == 0) {
    writing.reset();
    // A grandchild, so that nobody has to wait for it.
    if (fork() != 0) _exit(0);
    sweepBehind(reading.get(), folder, keep_folder);
  }
  waitpid(child, nullptr, 0);
  return Sweeper(std::move(writing));
}

}  // namespace baton::bench
