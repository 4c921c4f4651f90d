#pragma once

#include "conf/worker_config.h"

namespace baton::cli {

// Runs a worker until SIGTERM or SIGINT; its tasks go on under the shepherd. Returns the exit code.
int serveWorker(const conf::WorkerConfig& config);

}  // namespace baton::cli
