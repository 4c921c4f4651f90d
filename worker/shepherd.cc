#include "worker/shepherd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstring>

#include "common/base/log.h"
#include "worker/attempt_files.h"

namespace baton::worker {
namespace {

constexpr size_t kAcknowledgedMax = 10'000;
constexpr Millis kOrphanDelay{20};
constexpr Millis kRemovalDelay{250};
constexpr Millis kOldLinkPatience{5'000};

}  // namespace

Result<std::unique_ptr<Shepherd>> Shepherd::create(ShepherdOptions options) {
  std::unique_ptr<Shepherd> shepherd(new Shepherd(std::move(options)));
  RETURN_IF_ERROR(shepherd->open());
  return shepherd;
}

Shepherd::~Shepherd() {
  if (listener_) unlinkat(dir_.get(), kShepherdSocketName, 0);
}

Status Shepherd::takeLock() {
  // flock and not fcntl: it is shared with children up to their exec, and that is wanted.
  lock_.reset(openat(dir_.get(), kShepherdLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_) {
    return Error::unavailable("{}/{} can't be opened: {}", options_.dir, kShepherdLockName,
                              strerror(errno));
  }
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error::conflict("another shepherd lives in {}", options_.dir);
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(lock_.get(), 0) != 0 ||
      pwrite(lock_.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Error::unavailable("{}/{} can't be written: {}", options_.dir, kShepherdLockName,
                              strerror(errno));
  }
  return {};
}

Status Shepherd::open() {
  dir_.reset(::open(options_.dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir_) {
    return Error::unavailable("directory {} can't be opened: {}", options_.dir, strerror(errno));
  }
  RETURN_IF_ERROR(takeLock());
  ASSIGN_OR_RETURN(loop_, net::EventLoop::create());
  ASSIGN_OR_RETURN(ShepherdRecords records, ShepherdRecords::create(dir_.get(), readBootId()));
  records_.emplace(std::move(records));
  context_ = {.dir_fd = dir_.get(),
              .data_dir = options_.dir,
              .records = &*records_,
              .open_files_soft_limit = 0};
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    context_.open_files_soft_limit = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  RETURN_IF_ERROR(watchChildren());
  RETURN_IF_ERROR(listenOnSocket());
  // What a former shepherd could not clear up goes under another name first, out of the way of
  // the attempts to come.
  const std::string old = fmt::format("{}.old-{}", kWorkRoot, getpid());
  if (renameat(dir_.get(), kWorkRoot, dir_.get(), old.c_str()) == 0) {
    removals_.push_back(old);
    removeFolders();
  }
  idle_timer_ = loop_->callAfter(options_.idle_exit, [this] { checkIdle(); });
  return {};
}

Status Shepherd::watchChildren() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return Error::unavailable("can't become the reaper of orphans: {}", strerror(errno));
  }
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  child_signals_.reset(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!child_signals_) return Error::unavailable("no signalfd to be had: {}", strerror(errno));
  return loop_->add(child_signals_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo info;
    while (read(child_signals_.get(), &info, sizeof(info)) > 0) continue;
    // Main processes have their pidfd; a look for others may wait a moment and serve many.
    if (std::exchange(reap_due_, true)) return;
    loop_->callAfter(kOrphanDelay, [this] { reapOrphans(); });
  });
}

Status Shepherd::listenOnSocket() {
  ASSIGN_OR_RETURN(listener_, listenAsShepherd(dir_.get()));
  return loop_->add(listener_.get(), EPOLLIN, [this](uint32_t) { onAccept(); });
}

void Shepherd::run() { loop_->run({}); }

void Shepherd::onAccept() {
  FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  if (peerUid(socket.get()) != static_cast<int64_t>(geteuid())) {
    logWarn("shepherd_refused_peer", field("uid", peerUid(socket.get())));
    return;
  }
  waiting_.push_back(std::move(socket));
  if (link_ == nullptr) return promoteWaiting();
  // The old daemon is dead (it held the worker's lock), but what it said may still be unread.
  if (promote_timer_ != 0) return;
  promote_timer_ = loop_->callAfter(kOldLinkPatience, [this] {
    promote_timer_ = 0;
    if (waiting_.empty()) return;
    logWarn("shepherd_dropped_old_link");
    link_.reset();
    promoteWaiting();
  });
}

void Shepherd::promoteWaiting() {
  greeted_ = false;
  if (promote_timer_ != 0) loop_->cancel(promote_timer_);
  promote_timer_ = 0;
  if (waiting_.empty()) return;
  FileDescriptor socket = std::move(waiting_.front());
  waiting_.pop_front();
  auto link = ShepherdLink::create(*loop_, std::move(socket),
                                   {.on_line = [this](const std::string& line) { onLine(line); },
                                    .on_ended = [this] { onLinkEnded(); }});
  if (!link.ok()) return logError("shepherd_link_failed", field("error", link.error().text()));
  link_ = std::move(*link);
}

void Shepherd::onLinkEnded() {
  ended_link_ = std::move(link_);
  loop_->post([this] { ended_link_.reset(); });
  promoteWaiting();
  if (idle_timer_ != 0) loop_->cancel(idle_timer_);
  idle_timer_ = loop_->callAfter(options_.idle_exit, [this] { checkIdle(); });
}

void Shepherd::onLine(const std::string& line) {
  const auto request = parseShepherdRequest(line);
  if (!request.ok()) {
    logError("shepherd_bad_request", field("error", request.error().text()));
    return;
  }
  std::visit([this](const auto& one) { handle(one); }, *request);
}

void Shepherd::send(const ShepherdNote& note) {
  if (link_ != nullptr && greeted_) link_->send(toLine(note));
}

void Shepherd::handle(const HelloRequest&) {
  HelloNote note;
  note.pid = getpid();
  note.version = BATON_VERSION;
  note.takes_input = true;
  for (const auto& [key, attempt] : attempts_) note.running.push_back(attempt->startedNote());
  for (const auto& [key, ended] : results_) note.ended.push_back(ended);
  greeted_ = true;
  send(note);
}

bool Shepherd::isKnown(const AttemptKey& key) const {
  const KeyTuple tuple = tupleOf(key);
  return attempts_.contains(tuple) || results_.contains(tuple) || acknowledged_.contains(tuple);
}

void Shepherd::handle(const StartRequest& request) {
  if (isKnown(request.key)) {
    logError("second_start_refused", field("task", request.key.task_id),
             field("attempt", request.key.attempt));
    return send(RefusedNote{.key = request.key, .text = "this attempt was started before"});
  }
  if (records_->wantsCompaction()) compactRecords();
  records_->noteStart();
  Result<ChildProcess> child = startChild(context_, request);
  if (!child.ok()) {
    EndedNote note;
    note.key = request.key;
    note.result.reason = FailureReason::StartFailed;
    note.result.reason_text = child.error().message();
    note.ended_us = toMicros(SystemClock().bootNow());
    return onEnded(std::move(note));
  }
  ShepherdAttempt::Hooks hooks{
      .on_started = [this](const ShepherdAttempt& one) { send(one.startedNote()); },
      .on_ended = [this](EndedNote note) { onEnded(std::move(note)); },
      .adopted_children = [this](const ShepherdAttempt& one) { return adoptedChildren(one); }};
  auto attempt = std::make_unique<ShepherdAttempt>(
      *loop_, context_, request, std::move(*child),
      ShepherdAttempt::Limits{.log_bytes_max = options_.log_bytes_max}, std::move(hooks));
  by_pid_[attempt->pid()] = attempt.get();
  attempts_[tupleOf(request.key)] = std::move(attempt);
}

void Shepherd::handle(const StopRequest& request) {
  const auto found = attempts_.find(tupleOf(request.key));
  if (found != attempts_.end()) found->second->stop(request.why, Millis(request.grace_ms));
}

void Shepherd::handle(const AckRequest& request) { forget(request.key); }

void Shepherd::onEnded(EndedNote note) {
  const KeyTuple tuple = tupleOf(note.key);
  if (const auto found = attempts_.find(tuple); found != attempts_.end()) {
    records_->recordGone(note.key);
    by_pid_.erase(found->second->pid());
    attempts_.erase(found);
  }
  const EndedNote& kept = results_[tuple] = std::move(note);
  send(kept);
}

void Shepherd::forget(const AttemptKey& key) {
  const KeyTuple tuple = tupleOf(key);
  if (results_.erase(tuple) == 0) return;
  acknowledged_.insert(tuple);
  acknowledged_order_.push_back(tuple);
  if (acknowledged_order_.size() > kAcknowledgedMax) {
    acknowledged_.erase(acknowledged_order_.front());
    acknowledged_order_.pop_front();
  }
  removals_.push_back(workFolder(key));
  if (removal_timer_ == 0) {
    removal_timer_ = loop_->callAfter(kRemovalDelay, [this] { removeFolders(); });
  }
}

// A child does it, many at once: removing folders waits for the disk, and a task may have left
// millions of files.
void Shepherd::removeFolders() {
  removal_timer_ = 0;
  if (removals_.empty()) return;
  if (remover_ == 0) {
    remover_ = fork();
    if (remover_ == 0) {
      // It must not seem to be a living shepherd: with a copy of the lock, the listener or a
      // link the daemon would not notice our end before the last file is gone.
      constexpr int kDirFd = STDERR_FILENO + 1;
      if (dir_.get() != kDirFd) dup2(dir_.get(), kDirFd);
      close_range(kDirFd + 1, ~0U, 0);
      for (const std::string& folder : removals_) removeTree(kDirFd, folder);
      _exit(0);
    }
    if (remover_ > 0) {
      removals_.clear();
      return;
    }
    remover_ = 0;
  }
  removal_timer_ = loop_->callAfter(kRemovalDelay, [this] { removeFolders(); });
}

bool Shepherd::reap(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG) != 0) return true;
  if (info.si_pid == 0) return false;
  if (child == remover_) remover_ = 0;
  return true;
}

void Shepherd::reapOrphans() {
  reap_due_ = false;
  for (const pid_t child : readChildren(getpid())) {
    if (!by_pid_.contains(child)) reap(child);
  }
}

std::vector<pid_t> Shepherd::adoptedChildren(const ShepherdAttempt& attempt) {
  std::vector<pid_t> adopted;
  for (const pid_t child : readChildren(getpid())) {
    if (by_pid_.contains(child) || reap(child) || child == remover_) continue;
    const auto stat = readProcStat(child);
    if (!stat) continue;
    const pid_t main = attempt.pid();
    bool ours = stat->group == main || stat->session == main;
    if (!ours) {
      const std::string environment = readEnvironmentBlock(child);
      ours =
          findInEnvironment(environment, "BATON_TASK_ID") ==
              std::to_string(attempt.key().task_id) &&
          findInEnvironment(environment, "BATON_ATTEMPT") == std::to_string(attempt.key().attempt);
    }
    if (ours) adopted.push_back(child);
  }
  return adopted;
}

void Shepherd::compactRecords() {
  std::vector<ProcessRecord> open;
  for (const auto& [key, attempt] : attempts_) {
    if (attempt->starting()) return;  // It may be about to write its line: next time.
    open.push_back(
        {.key = attempt->key(), .pid = attempt->pid(), .start_ticks = attempt->startTicks()});
  }
  const Status compacted = records_->compact(open);
  if (!compacted.ok()) logWarn("records_not_compacted", field("error", compacted.text()));
}

void Shepherd::checkIdle() {
  idle_timer_ = 0;
  if (link_ != nullptr || !attempts_.empty() || !results_.empty() || !waiting_.empty()) {
    if (link_ == nullptr) {
      idle_timer_ = loop_->callAfter(options_.idle_exit, [this] { checkIdle(); });
    }
    return;
  }
  removeFolders();
  loop_->stop();
}

}  // namespace baton::worker
