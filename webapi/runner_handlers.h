#pragma once

#include "master/api/ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// Heartbeats (I/O thread) and the lists of runners and hosts (pool).
class RunnerHandlers {
 public:
  RunnerHandlers(master::api::HeartbeatPort& heartbeats, master::api::HostPort& hosts)
      : heartbeats_(heartbeats), hosts_(hosts) {}
  void bindTo(Router& router);

 private:
  void heartbeat(const Call& call);
  void listRunners(const Call& call);
  void listHosts(const Call& call);

  master::api::HeartbeatPort& heartbeats_;
  master::api::HostPort& hosts_;
};

}  // namespace baton::webapi
