#pragma once

#include "master/api/ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// What operators say of hosts. Pool threads.
class HostHandlers {
 public:
  explicit HostHandlers(master::api::HostPort& hosts) : hosts_(hosts) {}
  void bindTo(Router& router);

 private:
  void change(const Call& call, master::api::HostChange::Verb verb);
  void getPolicy(const Call& call);
  void setPolicy(const Call& call);

  master::api::HostPort& hosts_;
};

}  // namespace baton::webapi
