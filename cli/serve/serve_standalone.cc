#include "cli/serve/serve_standalone.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/serve/serve_common.h"
#include "common/base/duration_text.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "conf/client_config.h"
#include "conf/secret_file.h"
#include "ha/local/directory_lock.h"
#include "ha/local/local_failover.h"
#include "master/calendar_ports.h"
#include "master/flow_ports.h"
#include "master/master_active_service.h"
#include "master/master_ports.h"
#include "master/param_ports.h"
#include "webapi/client/api_client.h"
#include "webapi/web_server.h"
#include "webapi/webhook_sender.h"
#include "worker/worker_daemon.h"

namespace baton::cli {
namespace {

constexpr const char* kNode = "standalone";
constexpr Millis kOtherLimit{1'000};

// The token in that file of the data folder, made at the first start.
Result<std::string> ownToken(const std::string& path) {
  if (std::filesystem::exists(path)) return conf::readTokenFile(path);
  const std::string token = randomHex(24);
  RETURN_IF_ERROR(conf::writeSecretFile(path, token));
  return token;
}

struct Prepared {
  std::unique_ptr<dao::Database> database;
  dao::ClusterRow cluster;
  Millis heartbeat{0};
  std::string token;
  std::string worker_token;
};

Result<Prepared> prepare(const conf::StandaloneConfig& config) {
  std::error_code failed;
  std::filesystem::create_directories(config.data_dir, failed);
  if (failed) {
    return Error::unavailable("data folder {} can't be made: {}", config.data_dir,
                              failed.message());
  }
  std::filesystem::permissions(config.data_dir, std::filesystem::perms::owner_all, failed);
  // Nothing in there changes under another process that runs on it.
  ASSIGN_OR_RETURN(const auto lock, ha::DirectoryLock::take(config.data_dir));
  Prepared prepared;
  ASSIGN_OR_RETURN(prepared.token, ownToken(config.data_dir + "/token"));
  ASSIGN_OR_RETURN(prepared.worker_token, ownToken(config.data_dir + "/worker_token"));
  dao::DatabaseOptions options;
  options.kind = dao::DatabaseOptions::Kind::Sqlite;
  options.path = config.data_dir + "/baton.db";
  ASSIGN_OR_RETURN(prepared.database, dao::openDatabase(options));
  dao::ClusterInit init;
  init.name = kNode;
  init.guid = makeUuid();
  init.set_heartbeat = config.engine.heartbeat.interval.has_value();
  if (init.set_heartbeat) init.heartbeat_ms = config.engine.heartbeat.interval->count();
  ASSIGN_OR_RETURN(prepared.cluster, prepared.database->initCluster(init));
  prepared.heartbeat = Millis(prepared.cluster.heartbeat_ms);
  return prepared;
}

// Whether another standalone, to which that client file leads, still runs.
bool othersAnswer(const std::string& client_file, const std::string& address, const Clock& clock) {
  const auto known = conf::readClientFile(client_file);
  if (!known.ok() || known->masters == std::vector<std::string>{address}) return false;
  webapi::ApiClient::Options options;
  options.masters = known->masters;
  options.token = known->token;
  const auto api = webapi::ApiClient::make(std::move(options), clock);
  if (!api.ok()) return false;
  // Whoever listens there now is not that one if it does not know the token.
  const auto answers = api->askAll("/api/v1/cluster", kOtherLimit);
  return std::any_of(answers.begin(), answers.end(),
                     [](const webapi::MasterAnswer& one) { return one.answer.ok(); });
}

// Once in the data folder, for those who name it, and once where the command line looks by itself:
// unless that leads to another one that runs. Returns what to write before a client verb.
Result<std::string> leaveClientSettings(const conf::StandaloneConfig& config,
                                        const std::string& address, const Clock& clock) {
  const std::string token_file = config.data_dir + "/token";
  const std::string own_file = config.data_dir + "/client.yaml";
  RETURN_IF_ERROR(conf::writeClientFile(own_file, {address}, token_file));
  const std::string shared_file = conf::standaloneClientFile();
  if (!othersAnswer(shared_file, address, clock)) {
    RETURN_IF_ERROR(conf::writeClientFile(shared_file, {address}, token_file));
    return std::string();
  }
  const std::string prefix = "BATON_CLIENT_CONFIG=" + own_file + " ";
  std::cerr << "baton standalone: the client verbs stay with the standalone that " << shared_file
            << " names and that still runs; to reach this one: " << prefix << "baton ...\n";
  return prefix;
}

worker::WorkerOptions workerOptionsOf(const conf::StandaloneConfig& config,
                                      const Prepared& prepared, uint16_t port) {
  worker::WorkerOptions options;
  options.worker_id = conf::hostName();
  options.host = conf::hostName();
  options.data_dir = config.data_dir + "/worker";
  options.masters = {fmt::format("127.0.0.1:{}", port)};
  options.token = prepared.worker_token;
  options.runners = config.runners;
  options.labels = config.labels;
  options.plugins = config.plugins;
  options.listen_host = "127.0.0.1";
  options.log_bytes_max = config.output_max_bytes;
  options.heartbeat = prepared.heartbeat;
  return options;
}

Status serve(const conf::StandaloneConfig& config, Prepared& prepared, SignalWaiter& signals) {
  SystemClock clock;
  dao::Database& database = *prepared.database;
  webapi::WebhookSender webhooks({.allow = config.engine.callback.allow, .version = BATON_VERSION});
  RETURN_IF_ERROR(webhooks.start());
  master::Metrics metrics(prepared.cluster.name);
  master::MasterActiveService service(
      {clock, database, webhooks, metrics, config.engine.callback.secret},
      activeOptionsOf(config.engine, kNode, prepared.heartbeat));
  master::MasterPorts ports(clock, database, service, metrics,
                            {kNode, prepared.cluster.name, prepared.cluster.guid});
  master::FlowPorts flow_ports(clock, database, ports);
  master::CalendarPorts calendar_ports(database, ports);
  master::ParamPorts param_ports(database, ports);
  webapi::WebServer web({ports, ports, ports, ports, ports, ports, flow_ports, flow_ports,
                         flow_ports, calendar_ports, param_ports, ports, service.watchLog()},
                        {.host = config.http.host,
                         .port = static_cast<uint16_t>(config.http.port),
                         .client_token = prepared.token,
                         .worker_token = prepared.worker_token,
                         .version = BATON_VERSION});
  RETURN_IF_ERROR(web.start());
  const std::string address = conf::advertisedAddress(config.http, web.port());
  ha::LocalFailover failover({kNode, address, config.data_dir, BATON_VERSION, ha::failStop}, clock,
                             [&database] { return Result(database.makeEpochStore()); });
  service.setFailover(failover);
  ports.setFailover(failover);
  RETURN_IF_ERROR(failover.start(service));
  ASSIGN_OR_RETURN(const std::string prefix, leaveClientSettings(config, address, clock));
  worker::WorkerDaemon daemon(workerOptionsOf(config, prepared, web.port()));
  RETURN_IF_ERROR(daemon.start());
  std::cout << "baton standalone: http://" << address << ", data in " << config.data_dir << "\n"
            << "Another terminal: " << prefix << "baton task submit --follow -- echo hello\n"
            << std::flush;
  awaitEnd(signals);
  logInfo("standalone_stopping");
  web.drain();
  daemon.stop();
  failover.stop();
  web.stop();
  webhooks.stop();
  return {};
}

}  // namespace

int serveStandalone(const conf::StandaloneConfig& config) {
  auto signals = SignalWaiter::make();
  if (!signals.ok()) return failStart("standalone", signals.error());
  if (const Status opened = openLog(config.log); !opened.ok()) {
    return failStart("standalone", opened.error());
  }
  auto prepared = prepare(config);
  if (!prepared.ok()) return failStart("standalone", prepared.error());
  const Status served = serve(config, *prepared, *signals);
  return served.ok() ? 0 : failStart("standalone", served.error());
}

}  // namespace baton::cli
