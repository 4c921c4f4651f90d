#pragma once

#include "conf/master_config.h"

namespace baton::cli {

// Runs a master, standby or active as the election decides, until SIGTERM or SIGINT; then gives
// the role up in order. Returns the exit code.
int serveMaster(const conf::MasterConfig& config);

}  // namespace baton::cli
