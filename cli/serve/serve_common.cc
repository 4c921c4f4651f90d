#include "cli/serve/serve_common.h"

#include <poll.h>
#include <signal.h>

#include <iostream>

#include "common/base/duration_text.h"
#include "common/base/log.h"

namespace baton::cli {
namespace {

constexpr Millis kDatabaseRetry{1'000};

// True if a signal to end came within `limit`.
bool endAskedWithin(SignalWaiter& signals, Millis limit) {
  pollfd waiting{signals.fd(), POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(limit.count())) <= 0) return false;
  return signals.wait() != SIGHUP;
}

}  // namespace

dao::DatabaseOptions databaseOptionsOf(const conf::DatabaseConfig& config) {
  dao::DatabaseOptions options;
  options.kind = dao::DatabaseOptions::Kind::Mysql;
  options.host = config.host;
  options.port = config.port;
  options.socket = config.socket;
  options.name = config.name;
  options.user = config.user;
  options.password = config.password;
  options.reader_user = config.reader_user;
  options.reader_password = config.reader_password;
  options.tls_ca = config.tls_ca;
  return options;
}

std::string zkHostsOf(const conf::ZookeeperConfig& config) {
  std::string hosts;
  for (const std::string& host : config.hosts) hosts += (hosts.empty() ? "" : ",") + host;
  return hosts + config.root;
}

int failStart(const std::string& program, const Error& error) {
  std::cerr << "baton " << program << ": " << error.message() << "\n";
  return 1;
}

Result<dao::ClusterRow> awaitCluster(dao::Database& database, SignalWaiter& signals) {
  const auto store = database.makeEpochStore();
  bool said = false;
  while (true) {
    Status ready = database.checkSchema();
    if (ready.ok()) {
      auto cluster = store->readCluster();
      if (cluster.ok()) return cluster;
      ready = cluster.status();
    }
    if (ready.error().code() != ErrorCode::Unavailable) return ready.error();
    if (!said) logWarn("database_awaited", field("error", ready.text()));
    said = true;
    if (endAskedWithin(signals, kDatabaseRetry)) return Error(ErrorCode::Cancelled, "ended");
  }
}

Result<Millis> heartbeatOf(const conf::EngineConfig& config, const dao::ClusterRow& cluster) {
  const Millis row(cluster.heartbeat_ms);
  const auto& stated = config.heartbeat.interval;
  if (stated && *stated != row) {
    return Error::conflict(
        "heartbeat.interval is {} but the cluster {} was made with {}; leave the key out, or stop "
        "all masters and run `baton cluster init --heartbeat {}`",
        formatDuration(*stated), cluster.name, formatDuration(row), formatDuration(*stated));
  }
  return row;
}

master::ActiveOptions activeOptionsOf(const conf::EngineConfig& config, const std::string& node_id,
                                      Millis heartbeat) {
  master::ActiveOptions options;
  options.node_id = node_id;
  options.heartbeat = heartbeat;
  options.watchdog_period = config.watchdog_period;
  options.stuck_after = config.stuck_after;
  options.quarantine = {.failures_max = static_cast<uint32_t>(config.quarantine.failures),
                        .window = config.quarantine.window,
                        .cooldown = config.quarantine.cooldown};
  options.plain_clients = config.heartbeat.plain_clients;
  options.running_max = static_cast<uint64_t>(config.running_max);
  options.ageing = config.ageing;
  options.queue_max = static_cast<uint64_t>(config.queue_max);
  options.audit_keep = config.audit_keep;
  options.callback_timeout = config.callback.timeout;
  options.callback_tries_max = config.callback.tries;
  return options;
}

void awaitEnd(SignalWaiter& signals) {
  while (signals.wait() == SIGHUP)
    logInfo("reload_ignored", field("why", "no key can be reloaded"));
}

}  // namespace baton::cli
