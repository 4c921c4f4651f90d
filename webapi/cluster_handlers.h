#pragma once

#include <string>

#include "master/api/ports.h"
#include "net/http_server.h"
#include "webapi/router.h"
#include "webapi/watch_handlers.h"

namespace baton::webapi {

// Cluster, statistics, health, metrics and dead callbacks.
class ClusterHandlers {
 public:
  // References outlive this.
  ClusterHandlers(master::api::ClusterPort& cluster, master::api::CallbackPort& callbacks,
                  const net::HttpCounters& counters, const WatchHandlers& watch)
      : cluster_(cluster), callbacks_(callbacks), counters_(counters), watch_(watch) {}
  void bindTo(Router& router);

 private:
  void history(const Call& call);
  void verify(const Call& call);
  void sync(const Call& call);
  void stats(const Call& call);
  void internals(const Call& call);
  void deadCallbacks(const Call& call);
  void resendCallback(const Call& call);
  void readiness(const Call& call);

  master::api::ClusterPort& cluster_;
  master::api::CallbackPort& callbacks_;
  const net::HttpCounters& counters_;
  const WatchHandlers& watch_;
};

// The front's counters as Prometheus text.
std::string httpMetrics(const net::HttpCounters& counters);

}  // namespace baton::webapi
