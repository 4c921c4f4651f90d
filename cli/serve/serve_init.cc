#include "cli/serve/serve_init.h"

#include <iostream>

#include "cli/serve/serve_common.h"
#include "common/base/duration_text.h"
#include "common/base/random.h"
#include "ha/cluster_init.h"

namespace baton::cli {
namespace {

Result<dao::ClusterRow> makeCluster(const conf::MasterConfig& config, const InitOptions& options) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const auto database, dao::openDatabase(databaseOptionsOf(config.database)));
  dao::ClusterInit init;
  init.name = config.cluster_name;
  init.guid = makeUuid();
  if (options.heartbeat) init.heartbeat_ms = options.heartbeat->count();
  ASSIGN_OR_RETURN(const dao::ClusterRow cluster, database->initCluster(init));
  const bool changes = options.heartbeat && options.heartbeat->count() != cluster.heartbeat_ms;
  ha::ClusterInitOptions zookeeper;
  zookeeper.zk_hosts = zkHostsOf(config.zookeeper);
  zookeeper.cluster = config.cluster_name;
  zookeeper.credentials = config.zookeeper.digest;
  zookeeper.adopt = options.adopt;
  zookeeper.demand_stopped = changes;
  RETURN_IF_ERROR(ha::initCluster(zookeeper, *database->makeEpochStore(), clock));
  if (!changes) return cluster;
  init.set_heartbeat = true;
  return database->initCluster(init);
}

}  // namespace

int clusterInit(const conf::MasterConfig& config, const InitOptions& options) {
  const auto cluster = makeCluster(config, options);
  if (!cluster.ok()) return failStart("cluster init", cluster.error());
  std::cout << "cluster " << cluster->name << " is ready: guid " << cluster->guid
            << ", heartbeat interval " << formatDuration(Millis(cluster->heartbeat_ms)) << "\n";
  return 0;
}

}  // namespace baton::cli
