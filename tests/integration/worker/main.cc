#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "worker/shepherd.h"
#include "worker/worker_daemon.h"

namespace {

// A worker of two runners that lives until it is killed: daemon WORKER_ID DATA_DIR MASTER
int runDaemon(const std::vector<std::string>& arguments) {
  baton::worker::WorkerOptions options;
  options.worker_id = arguments.at(0);
  options.host = "127.0.0.1";
  options.data_dir = arguments.at(1);
  options.masters = {arguments.at(2)};
  options.token = "token";
  options.runners = 2;
  options.listen_host = "127.0.0.1";
  options.heartbeat = baton::Millis(200);
  baton::worker::WorkerDaemon daemon(options);
  const baton::Status started = daemon.start();
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.text().c_str());
    return 1;
  }
  while (true) pause();
}

}  // namespace

// The test program is its own shepherd, as the baton program is, and its own daemon.
int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "shepherd" || verb == "daemon") {
    const std::vector<std::string> arguments(argv + 2, argv + argc);
    return verb == "daemon" ? runDaemon(arguments) : baton::worker::runShepherd(arguments);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
