#include "cli/signal_waiter.h"

#include <pthread.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace baton::cli {

Result<SignalWaiter> SignalWaiter::make() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  if (const int failed = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); failed != 0) {
    return Error::internal("block signals: {}", std::strerror(failed));
  }
  std::signal(SIGPIPE, SIG_IGN);
  FileDescriptor fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd) return Error::internal("signalfd: {}", std::strerror(errno));
  return SignalWaiter(std::move(fd));
}

int SignalWaiter::wait() {
  signalfd_siginfo info{};
  while (true) {
    const ssize_t got = ::read(fd_.get(), &info, sizeof info);
    if (got == static_cast<ssize_t>(sizeof info)) return static_cast<int>(info.ssi_signo);
    if (got < 0 && errno == EINTR) continue;
    return SIGTERM;  // The descriptor is broken: ending is the safe reading.
  }
}

}  // namespace baton::cli
