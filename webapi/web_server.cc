#include "webapi/web_server.h"

#include <vector>

#include "common/base/log.h"
#include "webapi/audit_handlers.h"
#include "webapi/auth.h"
#include "webapi/calendar_handlers.h"
#include "webapi/cluster_handlers.h"
#include "webapi/event_handlers.h"
#include "webapi/flow_handlers.h"
#include "webapi/host_handlers.h"
#include "webapi/limit_handlers.h"
#include "webapi/log_handlers.h"
#include "webapi/open_api.h"
#include "webapi/param_handlers.h"
#include "webapi/request_gate.h"
#include "webapi/router.h"
#include "webapi/run_handlers.h"
#include "webapi/runner_handlers.h"
#include "webapi/task_handlers.h"
#include "webapi/watch_handlers.h"

namespace baton::webapi {
namespace {

// A token of 64 KB is refused as a wrong token and not as a broken request.
constexpr size_t kHeadBytesMax = 96 * 1024;

net::HttpServer::Options serverOptions(const WebServer::Options& options) {
  net::HttpServer::Options server;
  server.host = options.host;
  server.port = options.port;
  server.name = "web";
  server.pool_threads = options.pool_threads;
  server.connections_max = options.connections_max;
  server.limits.body_bytes_max = options.body_bytes_max;
  server.limits.head.bytes_max = kHeadBytesMax;
  return server;
}

}  // namespace

// All that exists while the server runs. In the order of construction; the server goes first.
struct WebServer::Parts {
  Parts(const Ports& ports, const Options& options, Authenticator known)
      : document(dumpJson(openApiDocument(routeSpecs(), options.version))),
        authenticator(std::move(known)),
        router(routeSpecs()),
        tasks(ports.tasks),
        logs(ports.tasks, ports.hosts,
             {.worker_token = options.worker_token, .worker_timeout = options.worker_timeout}),
        runners(ports.heartbeats, ports.hosts),
        limits(ports.groups),
        flows(ports.flows),
        runs(ports.runs),
        events(ports.events),
        calendars(ports.calendars),
        params(ports.params),
        hosts(ports.hosts),
        audit(ports.audit),
        watch(ports.watch, ports.tasks, ports.runs,
              {.watchers_max = options.watchers_max, .heartbeat = options.watch_heartbeat}),
        gate(router, authenticator, ports.cluster, std::make_shared<ErrorMapper>(ports.cluster)),
        server(
            serverOptions(options),
            [this](std::string_view method, std::string_view path) {
              return gate.runOn(method, path);
            },
            [this](net::HttpRequest request, const net::Responder& responder) {
              gate.handle(std::move(request), responder);
            },
            [this](const net::HttpRequest& head) { return gate.admitBody(head); }),
        cluster(ports.cluster, ports.callbacks, server.counters(), watch) {
    tasks.bindTo(router);
    logs.bindTo(router);
    runners.bindTo(router);
    limits.bindTo(router);
    flows.bindTo(router);
    runs.bindTo(router);
    events.bindTo(router);
    calendars.bindTo(router);
    params.bindTo(router);
    hosts.bindTo(router);
    audit.bindTo(router);
    watch.bindTo(router);
    cluster.bindTo(router);
    router.bind("getOpenApi",
                [this](const Call& call) { call.reply(net::HttpResponse::json(200, document)); });
    CHECK(router.unbound().empty());
  }

  const std::string document;
  const Authenticator authenticator;
  Router router;
  TaskHandlers tasks;
  LogHandlers logs;
  RunnerHandlers runners;
  LimitHandlers limits;
  FlowHandlers flows;
  RunHandlers runs;
  EventHandlers events;
  CalendarHandlers calendars;
  ParamHandlers params;
  HostHandlers hosts;
  AuditHandlers audit;
  WatchHandlers watch;
  RequestGate gate;
  net::HttpServer server;
  ClusterHandlers cluster;
};

WebServer::WebServer(Ports ports, Options options)
    : Service("web-server"), ports_(ports), options_(std::move(options)) {}

WebServer::~WebServer() { stop(); }

uint16_t WebServer::port() const { return port_.load(); }

Status WebServer::onStart() {
  ASSIGN_OR_RETURN(Authenticator known,
                   Authenticator::create(options_.client_token, options_.worker_token));
  parts_ = std::make_unique<Parts>(ports_, options_, std::move(known));
  RETURN_IF_ERROR(parts_->server.start());
  port_ = parts_->server.port();
  logInfo("web_server_started", field("host", options_.host), field("port", port_.load()));
  return {};
}

void WebServer::drain() {
  if (parts_) parts_->server.stopAccepting();
}

void WebServer::onStop() noexcept {
  if (!parts_) return;
  // Reads of logs in flight end by their deadline while the others are drained.
  parts_->logs.beginStop();
  parts_->watch.beginStop();
  parts_->server.stop(options_.drain_patience);
  parts_->logs.stop();
}

}  // namespace baton::webapi
