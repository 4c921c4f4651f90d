#pragma once

#include "conf/standalone_config.h"

namespace baton::cli {

// Runs master and worker in one process on SQLite until SIGTERM or SIGINT. Makes what it needs in
// its data folder: database, tokens, the client's settings. Returns the exit code.
int serveStandalone(const conf::StandaloneConfig& config);

}  // namespace baton::cli
