#include "worker/shepherd_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <unordered_set>

#include "common/base/log.h"
#include "worker/attempt_files.h"
#include "worker/process_tree.h"

namespace baton::worker {
namespace {

constexpr Millis kLaunchPatience{10'000};
constexpr Millis kClearPatience{30'000};
constexpr int kClearPauseMs = 20;

// Reads what the new shepherd says about itself, up to the end of its pipe.
Result<std::string> readAnswer(int fd) {
  const SystemClock clock;
  const BootTime deadline = clock.bootNow() + kLaunchPatience;
  std::string answer;
  while (true) {
    const auto left = std::chrono::duration_cast<Millis>(deadline - clock.bootNow()).count();
    if (left <= 0) return Error(ErrorCode::DeadlineExceeded, "the shepherd did not answer in 10 s");
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
    std::array<char, 1024> buffer;
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return answer;
    answer.append(buffer.data(), static_cast<size_t>(got));
  }
}

Result<pid_t> spawnShepherd(const ShepherdLaunch& launch, int answer_fd) {
  std::vector<std::string> words = launch.command;
  for (const std::string& word :
       {std::string("--dir"), launch.dir, std::string("--log-max-bytes"),
        std::to_string(launch.log_bytes_max), std::string("--idle-exit-ms"),
        std::to_string(launch.idle_exit.count())}) {
    words.push_back(word);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // It never learns the daemon's secrets: they could be in the environment.
  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
#if BATON_MUTANTS
  if (const char* name = getenv("BATON_MUTANT"))
    variables.push_back(fmt::format("BATON_MUTANT={}", name));
#endif
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, answer_fd, 1);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Error::unavailable("{} can't be executed: {}", launch.command.front(), strerror(error));
  }
  return pid;
}

// Whose attempts they are: a name is not enough, because workers of several clusters, or several
// standalones, can have the same name on one host.
struct Ownership {
  std::string worker_id;
  std::string dir;  // Data directory, canonical.
};

bool isOwned(pid_t pid, const Ownership& owner) {
  const std::string environment = readEnvironmentBlock(pid);
  const auto output = findInEnvironment(environment, "BATON_OUTPUT");
  if (findInEnvironment(environment, "BATON_WORKER") != owner.worker_id ||
      !findInEnvironment(environment, "BATON_TASK_ID") || !output) {
    return false;
  }
  std::error_code failed;
  const auto path = std::filesystem::weakly_canonical(*output, failed);
  return !failed && path.native().starts_with(fmt::format("{}/{}/", owner.dir, kWorkRoot));
}

// `groups` remembers the groups whose leader was seen to be a recorded process.
std::vector<ProcStat> findLeftovers(const std::vector<ProcessRecord>& records,
                                    const Ownership& owner, std::unordered_set<pid_t>& groups) {
  for (const ProcessRecord& record : records) {
    if (isAlive(record.pid, record.start_ticks)) groups.insert(record.pid);
  }
  std::vector<pid_t> roots;
  for (const pid_t pid : listProcesses()) {
    const auto stat = readProcStat(pid);
    if (!stat || stat->isDead() || pid == getpid()) continue;
    if (groups.contains(stat->group) || groups.contains(stat->session) || isOwned(pid, owner)) {
      roots.push_back(pid);
    }
  }
  return collectTree(roots);
}

// Returns when one of them has died or a short time is over.
void awaitDeath(const std::vector<ProcStat>& processes) {
  std::vector<FileDescriptor> fds;
  std::vector<pollfd> waits;
  for (const ProcStat& process : processes) {
    FileDescriptor fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
    if (!fd) continue;
    waits.push_back({.fd = fd.get(), .events = POLLIN, .revents = 0});
    fds.push_back(std::move(fd));
  }
  poll(waits.data(), waits.size(), kClearPauseMs);
}

}  // namespace

Result<bool> isShepherdAlive(int dir_fd) {
  const FileDescriptor lock(openat(dir_fd, kShepherdLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    return Error::unavailable("{} can't be opened: {}", kShepherdLockName, strerror(errno));
  }
  if (flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
  return true;
}

Result<pid_t> launchShepherd(const ShepherdLaunch& launch) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::unavailable("no pipe to be had: {}", strerror(errno));
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  ASSIGN_OR_RETURN(const pid_t pid, spawnShepherd(launch, write_end.get()));
  write_end.reset();
  auto answer = readAnswer(read_end.get());
  if (answer.ok() && *answer == "ok") return pid;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  if (!answer.ok()) return answer.error();
  const bool conflict = answer->starts_with("conflict");
  return Error::make(conflict ? ErrorCode::Conflict : ErrorCode::Unavailable,
                     "the shepherd did not start: {}",
                     answer->empty() ? "it ended without a word" : *answer);
}

Result<std::vector<AttemptKey>> clearAfterShepherd(int dir_fd, const std::string& worker_id) {
  ASSIGN_OR_RETURN(RecordedProcesses recorded, ShepherdRecords::read(dir_fd));
  std::vector<AttemptKey> attempts;
  for (const ProcessRecord& record : recorded.open) attempts.push_back(record.key);
  if (recorded.boot_id != readBootId()) recorded.open.clear();  // Other processes by now.
  std::error_code failed;
  const auto dir = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", dir_fd), failed);
  if (failed) return Error::unavailable("the data directory has no name: {}", failed.message());
  const Ownership owner{.worker_id = worker_id, .dir = dir.native()};
  const SystemClock clock;
  const BootTime deadline = clock.bootNow() + kClearPatience;
  std::unordered_set<pid_t> groups;
  while (true) {
    const std::vector<ProcStat> alive = findLeftovers(recorded.open, owner, groups);
    if (alive.empty()) return attempts;
    if (clock.bootNow() > deadline) {
      return Error::unavailable("process {} of a former attempt can't be killed",
                                alive.front().pid);
    }
    for (const ProcStat& process : alive) {
      logInfo("leftover_killed", field("pid", process.pid), field("group", process.group));
      signalProcess(process, SIGKILL);
    }
    awaitDeath(alive);
  }
}

void reapAdopted(pid_t spared) noexcept {
  if (getpid() != 1) return;
  for (const pid_t child : readChildren(getpid())) {
    if (child != spared) waitpid(child, nullptr, WNOHANG);
  }
}

}  // namespace baton::worker
