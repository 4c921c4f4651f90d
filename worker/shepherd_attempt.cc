#include "worker/shepherd_attempt.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "common/base/log.h"
#include "common/base/mutant.h"
#include "worker/attempt_files.h"
#include "worker/output_values.h"

namespace baton::worker {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
// A pipe holds at most 1 MiB; what a process that got away writes on and on is not waited for.
constexpr size_t kFinalReadsMax = 64;
constexpr int kLooksBeforeWarning = 100;

BootTime bootTimeNow() { return SystemClock().bootNow(); }

}  // namespace

ShepherdAttempt::ShepherdAttempt(net::EventLoop& loop, const ChildContext& context,
                                 StartRequest request, ChildProcess child, Limits limits,
                                 Hooks hooks)
    : loop_(loop),
      context_(context),
      request_(std::move(request)),
      hooks_(std::move(hooks)),
      child_(std::move(child)),
      stdout_(context.dir_fd, logFile(request_.key, LogStream::Stdout), limits.log_bytes_max),
      stderr_(context.dir_fd, logFile(request_.key, LogStream::Stderr), limits.log_bytes_max),
      started_(bootTimeNow()) {
  if (const auto stat = readProcStat(child_.pid)) start_ticks_ = stat->start_ticks;
  watch();
}

ShepherdAttempt::~ShepherdAttempt() {
  if (timer_ != 0) loop_.cancel(timer_);
  for (FileDescriptor* fd :
       {&child_.pidfd, &child_.stdout_pipe, &child_.stderr_pipe, &child_.failure_pipe}) {
    closePipe(*fd);
  }
}

void ShepherdAttempt::closePipe(FileDescriptor& pipe) {
  if (!pipe) return;
  loop_.remove(pipe.get());
  pipe.reset();
}

void ShepherdAttempt::watch() {
  const auto add = [this](const FileDescriptor& fd, net::EventLoop::Callback callback) {
    CHECK(loop_.add(fd.get(), EPOLLIN, std::move(callback)).ok());
  };
  add(child_.pidfd, [this](uint32_t) { onMainEnded(); });
  add(child_.failure_pipe, [this](uint32_t) { onFailurePipe(); });
  add(child_.stdout_pipe, [this](uint32_t) { readOutput(child_.stdout_pipe, stdout_, false); });
  add(child_.stderr_pipe, [this](uint32_t) { readOutput(child_.stderr_pipe, stderr_, false); });
}

StartedNote ShepherdAttempt::startedNote() const {
  return {.key = request_.key, .pid = child_.pid, .started_us = toMicros(started_), .why = why_};
}

void ShepherdAttempt::onFailurePipe() {
  if (!child_.failure_pipe) return;
  bool ended = false;
  start_failure_ = readStartFailure(child_.failure_pipe.get(), request_, ended);
  if (!ended) return;
  closePipe(child_.failure_pipe);
  if (start_failure_.empty() && !main_ended_) hooks_.on_started(*this);
}

void ShepherdAttempt::readOutput(FileDescriptor& pipe, OutputFile& file, bool to_the_end) {
  static thread_local std::array<char, kReadBytes> buffer;
  for (size_t reads = 0; pipe && reads < (to_the_end ? kFinalReadsMax : 1); ++reads) {
    const ssize_t got = read(pipe.get(), buffer.data(), buffer.size());
    if (got > 0) {
      file.append({buffer.data(), static_cast<size_t>(got)});
    } else if (got == 0) {
      closePipe(pipe);
    } else if (errno != EINTR) {
      return;  // Nothing there (yet).
    }
  }
}

void ShepherdAttempt::onMainEnded() {
  if (main_ended_) return;
  siginfo_t info{};
  // WNOWAIT: it stays a zombie, which pins its number until the group is proved to be empty.
  if (waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED | WNOHANG | WNOWAIT) !=
          0 ||
      info.si_pid == 0) {
    return;
  }
  ended_ = bootTimeNow();
  main_ended_ = true;
  exit_code_ = info.si_status;
  exit_kind_ = info.si_code;
  onFailurePipe();
  loop_.remove(child_.pidfd.get());
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = 0;
  clearLeftovers();
}

std::vector<ProcStat> ShepherdAttempt::findTree() const {
  // Everything that descends from the attempt is below its main process or, once a parent in
  // between has died, below one of our own children: we are the reaper of orphans.
  std::vector<pid_t> roots = hooks_.adopted_children(*this);
  if (!main_ended_) roots.push_back(child_.pid);
  return collectTree(roots);
}

size_t ShepherdAttempt::signalTree(int signal) {
  // The walk comes first: who is in the tree is known by parents, and a signal makes orphans.
  const std::vector<ProcStat> tree = findTree();
  if (!reaped_) kill(-child_.pid, signal);
  for (const ProcStat& process : tree) {
    if (process.group != child_.pid || reaped_) signalProcess(process, signal);
  }
  return tree.size();
}

void ShepherdAttempt::stop(StopReason why, Millis grace) {
  if (why_ != StopReason::None || main_ended_) return;
  why_ = why;
  signalTree(SIGTERM);
  timer_ = loop_.callAfter(grace, [this] {
    timer_ = 0;
    killed_by_us_ = true;
    signalTree(SIGKILL);
    // A process that was being born escapes one walk; its parent's death brings the next look.
  });
}

bool ShepherdAttempt::groupIsEmpty() const { return kill(-child_.pid, 0) != 0 && errno == ESRCH; }

void ShepherdAttempt::clearLeftovers() {
  if (mutant("leftovers_not_killed")) {
    waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), nullptr, WEXITED | WNOHANG);
    return finish();
  }
  if (signalTree(SIGKILL) == 0) {
    // Nobody was left who could have given birth since the walk.
    if (!reaped_) {
      waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), nullptr, WEXITED | WNOHANG);
      reaped_ = true;
    }
    if (groupIsEmpty()) return finish();
  }
  if (++looks_ % kLooksBeforeWarning == 0) {
    logWarn("leftovers_still_alive", field("task", key().task_id), field("attempt", key().attempt),
            field("group", child_.pid));
  }
  timer_ = loop_.callAfter(Millis(std::min(looks_, 50)), [this] {
    timer_ = 0;
    clearLeftovers();
  });
}

EndedNote ShepherdAttempt::makeNote() {
  EndedNote note;
  note.key = request_.key;
  note.why = why_;
  note.ended_us = toMicros(ended_);
  note.stdout_cut = stdout_.lostBytes() > 0;
  note.stderr_cut = stderr_.lostBytes() > 0;
  AttemptResult& result = note.result;
  result.run_ms = std::chrono::duration_cast<Millis>(ended_ - started_).count();
  result.stdout_bytes = stdout_.storedBytes();
  result.stderr_bytes = stderr_.storedBytes();
  if (!start_failure_.empty()) {
    result.reason = FailureReason::StartFailed;
    result.reason_text = start_failure_;
    return note;
  }
  if (exit_kind_ == CLD_EXITED) {
    result.return_code = exit_code_;
    if (exit_code_ != 0) result.reason = FailureReason::ExitCode;
  } else {
    result.signal = exit_code_;
    result.reason = FailureReason::Signal;
    if (!killed_by_us_ && exit_code_ == SIGKILL) {
      result.reason_text = "killed by SIGKILL, which was not sent by baton (out of memory?)";
    }
  }
  OutputValues outputs =
      readOutputValues(context_.dir_fd, workFolder(request_.key) + "/" + kOutputName);
  result.outputs = std::move(outputs.values);
  // Of an attempt that failed they count for nothing.
  if (result.reason == FailureReason::None) result.reason_text = std::move(outputs.problem);
  return note;
}

void ShepherdAttempt::finish() {
  readOutput(child_.stdout_pipe, stdout_, true);
  readOutput(child_.stderr_pipe, stderr_, true);
  closePipe(child_.stdout_pipe);
  closePipe(child_.stderr_pipe);
  stdout_.finish();
  stderr_.finish();
  const auto on_ended = hooks_.on_ended;  // It destroys this, and the original with it.
  on_ended(makeNote());
}

}  // namespace baton::worker
