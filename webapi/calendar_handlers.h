#pragma once

#include "master/api/flow_ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/calendars. Any thread; queries block.
class CalendarHandlers {
 public:
  explicit CalendarHandlers(master::api::CalendarPort& calendars) : calendars_(calendars) {}
  void bindTo(Router& router);

 private:
  void list(const Call& call);
  void get(const Call& call);
  void apply(const Call& call);
  void applyAll(const Call& call);
  void remove(const Call& call);

  master::api::CalendarPort& calendars_;
};

}  // namespace baton::webapi
