#pragma once

#include <functional>
#include <string>

#include "cli/signal_waiter.h"
#include "common/base/status.h"
#include "conf/master_config.h"
#include "dao/database.h"
#include "master/term_context.h"

// What `master`, `standalone` and `cluster init` share. These files belong to the executable: they
// see everything and put it together.
namespace baton::cli {

dao::DatabaseOptions databaseOptionsOf(const conf::DatabaseConfig& config);

// The ensemble as ZkFailover::Options wants it.
std::string zkHostsOf(const conf::ZookeeperConfig& config);

// Prints "baton PROGRAM: message" to standard error and returns the exit code of a failed start.
int failStart(const std::string& program, const Error& error);

// The cluster's row, once the database answers and has this program's schema. While it is out of
// reach: waits, saying so once in the log. Errors: Cancelled (a signal to end came), all that
// waiting can't mend.
Result<dao::ClusterRow> awaitCluster(dao::Database& database, SignalWaiter& signals);

// H of a master: the cluster's row rules. Errors: Conflict (the settings say something else).
Result<Millis> heartbeatOf(const conf::EngineConfig& config, const dao::ClusterRow& cluster);

master::ActiveOptions activeOptionsOf(const conf::EngineConfig& config, const std::string& node_id,
                                      Millis heartbeat);

// Blocks until SIGTERM or SIGINT.
void awaitEnd(SignalWaiter& signals);

}  // namespace baton::cli
