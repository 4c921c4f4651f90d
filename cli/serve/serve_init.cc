#include "cli/cluster_init.h"

#include <iostream>

#include "cli/serve/serve_common.h"
#include "common/base/duration_text.h"
#include "common/base/random.h"
#include "ha/cluster_init.h"

namespace baton::cli {

int clusterInit(const conf::MasterConfig& config, const ClusterInitOptions& options) {
  const SystemClock clock;
  auto database = dao::openDatabase(databaseOptionsOf(config.database));
  if (!database.ok()) return failStart("cluster init", database.error());
  if (const Status migrated = (*database)->migrate(); !migrated.ok()) {
    return failStart("cluster init", migrated.error());
  }
  dao::ClusterInit init;
  init.name = config.cluster_name;
  init.guid = makeUuid();
  if (options.heartbeat) init.heartbeat_ms = options.heartbeat->count();
  init.set_heartbeat = options.heartbeat.has_value();
  const auto cluster = (*database)->initCluster(init);
  if (!cluster.ok()) return failStart("cluster init", cluster.error());
  ha::ClusterInitOptions zookeeper;
  for (const std::string& host : config.zookeeper.hosts) {
    zookeeper.zk_hosts += (zookeeper.zk_hosts.empty() ? "" : ",") + host;
  }
  zookeeper.zk_hosts += config.zookeeper.root;
  zookeeper.cluster = config.cluster_name;
  zookeeper.credentials = config.zookeeper.digest;
  const auto store = (*database)->makeEpochStore();
  if (const Status made = ha::initCluster(zookeeper, *store, clock); !made.ok()) {
    return failStart("cluster init", made.error());
  }
  std::cout << "cluster " << cluster->name << " is ready: guid " << cluster->guid
            << ", heartbeat interval " << formatDuration(Millis(cluster->heartbeat_ms)) << "\n";
  return 0;
}

}  // namespace baton::cli
