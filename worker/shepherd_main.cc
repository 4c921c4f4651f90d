#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

#include "common/base/log.h"
#include "worker/shepherd.h"

namespace baton::worker {
namespace {

Result<ShepherdOptions> parseShepherdArguments(const std::vector<std::string>& arguments) {
  ShepherdOptions options;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    const std::string& value = arguments[i + 1];
    if (name == "--dir") {
      options.dir = value;
      continue;
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < 0) {
      return Error::invalidArgument("{} is \"{}\", expected a number", name, value);
    }
    if (name == "--log-max-bytes") {
      options.log_bytes_max = number;
    } else if (name == "--idle-exit-ms") {
      options.idle_exit = Millis(number);
    } else {
      return Error::invalidArgument("unknown option {}", name);
    }
  }
  if (options.dir.empty() || options.dir.front() != '/') {
    return Error::invalidArgument("--dir is \"{}\", expected an absolute path", options.dir);
  }
  return options;
}

// Whatever the parent ignored or blocked must not reach the tasks.
void resetSignals() {
  // By the system call, because the C library refuses to touch signals 32 and 33.
  struct KernelAction {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  };
  const KernelAction standard{};
  for (int number = 1; number < NSIG; ++number) {
    syscall(SYS_rt_sigaction, number, &standard, nullptr, sizeof(standard.mask));
  }
  signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Tells whoever started us how it went, and lets go of its pipe.
void answerStarter(std::string_view text) {
  [[maybe_unused]] const ssize_t wrote = write(STDOUT_FILENO, text.data(), text.size());
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDOUT_FILENO);
  if (null > STDERR_FILENO) close(null);
}

}  // namespace

int runShepherd(const std::vector<std::string>& arguments) {
  resetSignals();
  umask(022);
  const auto options = parseShepherdArguments(arguments);
  if (!options.ok()) {
    answerStarter(options.error().text());
    return 2;
  }
  auto shepherd = Shepherd::create(*options);
  if (!shepherd.ok()) {
    answerStarter(shepherd.error().text());
    return 4;
  }
  const Status logging = openLog(
      {.file = options->dir + "/shepherd.log", .rotate_bytes = 4 * 1024 * 1024, .rotate_files = 2});
  if (!logging.ok()) logWarn("shepherd_log_not_open", field("error", logging.text()));
  answerStarter("ok");
  logInfo("shepherd_started", field("dir", options->dir), field("pid", getpid()));
  (*shepherd)->run();
  logInfo("shepherd_ended");
  return 0;
}

}  // namespace baton::worker
