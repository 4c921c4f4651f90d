#pragma once

#include <optional>

#include "common/base/clock.h"
#include "conf/master_config.h"

namespace baton::cli {

struct ClusterInitOptions {
  std::optional<Millis> heartbeat;  // H to write into the cluster's row; absent: kept, or 30 s.
};

// Makes what a cluster stands on, or completes it: schema and rows in the database, the root in
// ZooKeeper. May be run again. Talks to both directly; no master need run. Returns the exit code.
int clusterInit(const conf::MasterConfig& config, const ClusterInitOptions& options);

}  // namespace baton::cli
