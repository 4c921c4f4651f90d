#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "cli/command_line.h"
#include "cli/serve/serve_init.h"
#include "cli/serve/serve_master.h"
#include "cli/serve/serve_standalone.h"
#include "cli/serve/serve_worker.h"
#include "tests/bench/bench.h"
#include "worker/http_task.h"
#include "worker/shepherd.h"

namespace {

// Of standard output: a pipe or socket whose other end is closed.
bool readerGone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

// The one program. Here alone the verbs meet what they start.
int main(int argc, char** argv) {
  // Else the first socket would be what verbs print to. Opened the wrong way round, so that whoever
  // uses one of them still hears that it is closed.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", mode) < 0) return 1;
  }
  baton::cli::Programs programs;
  programs.master = baton::cli::serveMaster;
  programs.worker = baton::cli::serveWorker;
  programs.standalone = baton::cli::serveStandalone;
  programs.cluster_init = baton::cli::clusterInit;
  programs.bench = baton::bench::runBench;
  programs.shepherd = baton::worker::runShepherd;
  programs.http_task = baton::worker::runHttpTask;
  const baton::SystemClock clock;
  baton::cli::Surroundings surroundings{
      std::cin,
      std::cout,
      std::cerr,
      clock,
      [](baton::Millis pause) { std::this_thread::sleep_for(pause); },
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1,
      readerGone};
  return baton::cli::run({argv + 1, argv + argc}, programs, surroundings);
}
