#pragma once

#include "master/api/flow_ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/events. Any thread; queries block.
class EventHandlers {
 public:
  explicit EventHandlers(master::api::EventPort& events) : events_(events) {}
  void bindTo(Router& router);

 private:
  void send(const Call& call);
  void list(const Call& call);

  master::api::EventPort& events_;
};

}  // namespace baton::webapi
