#include "cli/serve/serve_master.h"

#include "cli/serve/serve_common.h"
#include "common/base/log.h"
#include "ha/zk_failover.h"
#include "master/calendar_ports.h"
#include "master/flow_ports.h"
#include "master/master_active_service.h"
#include "master/master_ports.h"
#include "master/param_ports.h"
#include "webapi/web_server.h"
#include "webapi/webhook_sender.h"

namespace baton::cli {
namespace {

// Everything that needs the cluster's row, in the order of construction; gone in reverse.
int runMaster(const conf::MasterConfig& config, SystemClock& clock, dao::Database& database,
              const dao::ClusterRow& cluster, Millis heartbeat, SignalWaiter& signals) {
  webapi::WebhookSender webhooks({.allow = config.engine.callback.allow, .version = BATON_VERSION});
  if (const Status started = webhooks.start(); !started.ok()) {
    return failStart("master", started.error());
  }
  master::Metrics metrics(cluster.name);
  master::MasterActiveService service(
      {clock, database, webhooks, metrics, config.engine.callback.secret},
      activeOptionsOf(config.engine, config.node_id, heartbeat));
  master::MasterPorts ports(clock, database, service, metrics,
                            {config.node_id, cluster.name, cluster.guid});
  master::FlowPorts flow_ports(clock, database, ports);
  master::CalendarPorts calendar_ports(database, ports);
  master::ParamPorts param_ports(database, ports);
  webapi::WebServer web({ports, ports, ports, ports, ports, ports, flow_ports, flow_ports,
                         flow_ports, calendar_ports, param_ports, ports, service.watchLog()},
                        {.host = config.http.host,
                         .port = static_cast<uint16_t>(config.http.port),
                         .client_token = config.token,
                         .worker_token = config.worker_token,
                         .version = BATON_VERSION});
  if (const Status started = web.start(); !started.ok()) {
    return failStart("master", started.error());
  }
  ha::ZkFailover::Options options;
  options.node_id = config.node_id;
  options.address = conf::advertisedAddress(config.http, web.port());
  options.cluster = config.cluster_name;
  options.zk_hosts = zkHostsOf(config.zookeeper);
  options.session_ms = static_cast<int32_t>(config.zookeeper.session.count());
  options.credentials = config.zookeeper.digest;
  options.priority = config.priority;
  options.eligible = config.eligible;
  options.version = BATON_VERSION;
  ha::ZkFailover failover(options, clock,
                          [&database] { return Result(database.makeEpochStore()); });
  service.setFailover(failover);
  ports.setFailover(failover);
  if (const Status started = failover.start(service); !started.ok()) {
    return failStart("master", started.error());
  }
  logInfo("master_started", field("node", config.node_id), field("cluster", cluster.name),
          field("address", options.address), field("version", BATON_VERSION));
  awaitEnd(signals);
  logInfo("master_stopping", field("node", config.node_id));
  web.drain();
  failover.stop();
  web.stop();
  webhooks.stop();
  logInfo("master_stopped", field("node", config.node_id));
  return 0;
}

}  // namespace

int serveMaster(const conf::MasterConfig& config) {
  auto signals = SignalWaiter::make();
  if (!signals.ok()) return failStart("master", signals.error());
  if (const Status opened = openLog(config.log); !opened.ok()) {
    return failStart("master", opened.error());
  }
  SystemClock clock;
  auto database = dao::openDatabase(databaseOptionsOf(config.database));
  if (!database.ok()) return failStart("master", database.error());
  const auto cluster = awaitCluster(**database, *signals);
  if (!cluster.ok()) {
    if (cluster.error().code() == ErrorCode::Cancelled) return 0;
    return failStart("master", cluster.error());
  }
  if (cluster->name != config.cluster_name) {
    return failStart("master",
                     Error::conflict("cluster.name is {} but the database {} belongs to {}",
                                     config.cluster_name, config.database.name, cluster->name));
  }
  const auto heartbeat = heartbeatOf(config.engine, *cluster);
  if (!heartbeat.ok()) return failStart("master", heartbeat.error());
  if (const auto warnings = (*database)->durabilityWarnings(); warnings.ok()) {
    for (const std::string& warning : *warnings) {
      logWarn("database_not_durable", field("why", warning));
    }
  }
  return runMaster(config, clock, **database, *cluster, *heartbeat, *signals);
}

}  // namespace baton::cli
