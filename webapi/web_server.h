#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/service/service.h"
#include "master/api/audit_port.h"
#include "master/api/flow_ports.h"
#include "master/api/group_port.h"
#include "master/api/ports.h"
#include "master/api/watch_port.h"
#include "net/http_server.h"

namespace baton::webapi {

// The ports of the master that the web API calls; all outlive the server and every callback given
// to them.
struct Ports {
  master::api::TaskPort& tasks;
  master::api::HeartbeatPort& heartbeats;
  master::api::HostPort& hosts;
  master::api::ClusterPort& cluster;
  master::api::CallbackPort& callbacks;
  master::api::GroupPort& groups;
  master::api::FlowPort& flows;
  master::api::RunPort& runs;
  master::api::EventPort& events;
  master::api::CalendarPort& calendars;
  master::api::ParamPort& params;
  master::api::AuditPort& audit;
  master::api::WatchPort& watch;
};

// The REST API of a master, active or standby: router, tokens, handlers over net::HttpServer.
//
// Thread: start, drain and stop are the owner's; port() is safe from any thread.
class WebServer final : public Service {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 0;  // 0: a free one, see port().
    std::string client_token;
    std::string worker_token;
    std::string version;
    size_t pool_threads = 8;
    size_t connections_max = 16'000;
    size_t body_bytes_max = 16 * 1024 * 1024;
    Micros drain_patience{5'000'000};  // For requests in flight at stop().
    Micros worker_timeout{5'000'000};  // For one read of a worker's log.
    size_t watchers_max = 256;         // Streams of changes; past it 503.
    Millis watch_heartbeat{15'000};    // A comment in streams that are silent for so long.
  };

  WebServer(Ports ports, Options options);
  ~WebServer() override;

  uint16_t port() const;

  // Frees the port and takes no new connection; those that are open go on until stop(). Only
  // after start(). Any number of times.
  void drain();

 protected:
  // Errors: InvalidArgument (a token is missing or unfit: the API never serves without), Conflict
  // (the port is taken), Unavailable.
  Status onStart() override;
  void onStop() noexcept override;

 private:
  struct Parts;

  const Ports ports_;
  const Options options_;
  std::atomic<uint16_t> port_{0};
  std::unique_ptr<Parts> parts_;
};

}  // namespace baton::webapi
