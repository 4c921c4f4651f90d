#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "dao/epoch_store.h"

namespace baton::ha {

struct ClusterInitOptions {
  std::string zk_hosts;  // As in ZkFailover::Options, as are the next two.
  std::string cluster;
  std::string credentials;
  bool adopt = false;  // Give an empty ensemble the cluster that the database already has.
  // Refuse while a master is known to ZooKeeper. One that was killed stays known until its session
  // has timed out.
  bool demand_stopped = false;
  Millis limit{15'000};  // For everything together.
};

// The part of `baton cluster init` that concerns ZooKeeper: creates the root, /cluster with the
// guid from the database's cluster row, and the nodes below. Repeating it changes nothing.
// Errors: Conflict (the ensemble holds another cluster under this name, or it holds none while
// the database has had an epoch and `adopt` is not set, or masters run), Unavailable,
// PermissionDenied, those of EpochStore::readCluster. Blocks; any thread.
Status initCluster(const ClusterInitOptions& options, dao::EpochStore& store, const Clock& clock);

}  // namespace baton::ha
