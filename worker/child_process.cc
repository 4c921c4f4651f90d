#include "worker/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "worker/attempt_files.h"

namespace baton::worker {
namespace {

enum class StartStage : int32_t { Record, Folder, Streams, Execute };

struct StartFailure {
  StartStage stage = StartStage::Execute;
  int32_t error = 0;
};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::unavailable("no pipe to be had: {}", strerror(errno));
  }
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  // Only our end: the flag belongs to the end, and programs expect outputs that block.
  fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

Status writeScript(const ChildContext& context, const StartRequest& request) {
  const std::string path = workFolder(request.key) + "/" + kScriptName;
  const FileDescriptor fd(openat(context.dir_fd, path.c_str(),
                                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700));
  size_t done = 0;
  while (fd && done < request.script.size()) {
    const ssize_t wrote =
        write(fd.get(), request.script.data() + done, request.script.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  if (fd && done == request.script.size()) return {};
  return Error::unavailable("the script can't be written to {}: {}", path, strerror(errno));
}

// A file in memory that begins with the input: it needs no reader like a pipe, and what it holds
// never gets to a disk.
Result<FileDescriptor> inputFile(const std::string& input) {
  FileDescriptor fd(memfd_create("baton-input", MFD_CLOEXEC));
  size_t done = 0;
  while (fd && done < input.size()) {
    const ssize_t wrote = write(fd.get(), input.data() + done, input.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  if (!fd || done < input.size() || lseek(fd.get(), 0, SEEK_SET) != 0) {
    return Error::unavailable("no memory to be had for standard input: {}", strerror(errno));
  }
  return fd;
}

// Pointers into the strings, ended by a null pointer, as exec wants them.
std::vector<char*> pointersTo(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& one : strings) pointers.push_back(const_cast<char*>(one.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildPlan {
  const ChildContext& context;
  const StartRequest& request;
  std::string dir;
  std::vector<char*> argv;
  std::vector<char*> env;
  int stdin_fd;  // -1: empty.
  int stdout_fd;
  int stderr_fd;
  int failure_fd;
};

[[noreturn]] void giveUp(const ChildPlan& plan, StartStage stage) {
  const StartFailure failure{stage, errno};
  [[maybe_unused]] const ssize_t wrote = write(plan.failure_fd, &failure, sizeof(failure));
  _exit(127);
}

bool connectStreams(const ChildPlan& plan) {
  const int in = plan.stdin_fd >= 0 ? plan.stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
  return in >= 0 && dup2(in, 0) == 0 && dup2(plan.stdout_fd, 1) == 1 &&
         dup2(plan.stderr_fd, 2) == 2;
}

[[noreturn]] void runChild(const ChildPlan& plan) {
  setsid();
  if (!plan.context.records->recordSelf(plan.request.key).ok()) {
    giveUp(plan, StartStage::Record);
  }
  if (!connectStreams(plan)) giveUp(plan, StartStage::Streams);
  if (chdir(plan.dir.c_str()) != 0) giveUp(plan, StartStage::Folder);
  signal(SIGPIPE, SIG_DFL);  // All others are at their default in the shepherd as well.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  rlimit files{};
  if (plan.context.open_files_soft_limit != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = plan.context.open_files_soft_limit;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  // Marked and not closed: the lock has to be held until the exec.
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  environ = const_cast<char**>(plan.env.data());  // execvp looks for PATH here.
  execvp(plan.argv.front(), plan.argv.data());
  giveUp(plan, StartStage::Execute);
}

}  // namespace

Result<ChildProcess> startChild(const ChildContext& context, const StartRequest& request) {
  RETURN_IF_ERROR(makeFolders(context.dir_fd, workFolder(request.key)));
  const std::string own_folder = context.data_dir + "/" + workFolder(request.key);
  std::vector<std::string> argv = request.argv;
  if (request.has_script) {
    RETURN_IF_ERROR(writeScript(context, request));
    argv.push_back(own_folder + "/" + kScriptName);
  }
  FileDescriptor input;
  if (!request.input.empty()) {
    ASSIGN_OR_RETURN(input, inputFile(request.input));
  }
  ASSIGN_OR_RETURN(Pipe out, makePipe());
  ASSIGN_OR_RETURN(Pipe err, makePipe());
  ASSIGN_OR_RETURN(Pipe failure, makePipe());
  const ChildPlan plan{.context = context,
                       .request = request,
                       .dir = request.dir.empty() ? own_folder : request.dir,
                       .argv = pointersTo(argv),
                       .env = pointersTo(request.env),
                       .stdin_fd = input ? input.get() : -1,
                       .stdout_fd = out.write_end.get(),
                       .stderr_fd = err.write_end.get(),
                       .failure_fd = failure.write_end.get()};
  // The child borrows our memory until its exec, and we sleep meanwhile: copying the address space
  // would cost more than the rest of a start. It leaves nothing behind there but this pointer.
  char** const own_environment = environ;
  const pid_t pid = vfork();
  if (pid == 0) runChild(plan);
  environ = own_environment;
  if (pid < 0) return Error::unavailable("no process to be had: {}", strerror(errno));
  ChildProcess child;
  child.pid = pid;
  child.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // A child of ours that is not yet reaped can always be opened, unless descriptors have run out.
  if (!child.pidfd) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Error::unavailable("no pidfd to be had: {}", strerror(error));
  }
  child.stdout_pipe = std::move(out.read_end);
  child.stderr_pipe = std::move(err.read_end);
  child.failure_pipe = std::move(failure.read_end);
  return child;
}

std::string readStartFailure(int failure_pipe, const StartRequest& request, bool& ended) {
  StartFailure failure;
  const ssize_t got = read(failure_pipe, &failure, sizeof(failure));
  ended = got >= 0;
  if (got != static_cast<ssize_t>(sizeof(failure))) return {};
  const char* why = strerror(failure.error);
  switch (failure.stage) {
    case StartStage::Record:
      return fmt::format("the start can't be recorded: {}", why);
    case StartStage::Streams:
      return fmt::format("its streams can't be connected: {}", why);
    case StartStage::Folder:
      return fmt::format("working directory \"{}\" can't be entered: {}",
                         request.dir.empty() ? workFolder(request.key) : request.dir, why);
    case StartStage::Execute:
      return fmt::format("\"{}\" can't be executed: {}", request.argv.front(), why);
  }
  return {};
}

}  // namespace baton::worker
