#include "tests/bench/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/base/clock.h"

namespace baton::bench {
namespace {

constexpr Millis kEndPatience{10'000};
constexpr size_t kTailBytes = 500;

std::string tailOf(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() > kTailBytes ? all.size() - kTailBytes : 0);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& argv, const std::string& log) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, words.front(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    return Error::unavailable("{} can't be started: {}", argv.front(), strerror(failure));
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end(SIGTERM);
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

Child::~Child() { end(SIGTERM); }

void Child::end(int signal) noexcept {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  for (Millis waited{0}; waitpid(pid_, nullptr, WNOHANG) == 0; waited += Millis(2)) {
    if (waited == kEndPatience) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(Millis(2));
  }
  pid_ = 0;
}

Status runToEnd(const std::vector<std::string>& argv, const std::string& log) {
  ASSIGN_OR_RETURN(const Child child, Child::start(argv, log));
  int state = 0;
  const pid_t pid = child.pid();
  if (waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return Error::unavailable("{} failed: {}", argv.front(), tailOf(log));
}

}  // namespace baton::bench
