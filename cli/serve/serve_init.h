#pragma once

#include <optional>

#include "common/base/clock.h"
#include "conf/master_config.h"

namespace baton::cli {

// What `baton cluster init` is asked for beside the settings.
struct InitOptions {
  std::optional<Millis> heartbeat;  // H to write into the cluster's row; absent: kept, or 30 s.
  bool adopt = false;               // Make the database's cluster anew in an empty ensemble.
};

// Makes what a cluster stands on, or completes it: schema and rows in the database, the root in
// ZooKeeper. May be run again. Talks to both directly; no master need run, and none may run when
// the heartbeat is to change. Returns the exit code.
int clusterInit(const conf::MasterConfig& config, const InitOptions& options);

}  // namespace baton::cli
