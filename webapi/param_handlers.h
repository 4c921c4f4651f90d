#pragma once

#include "master/api/flow_ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/params: parameters of the project. Any thread; queries block.
class ParamHandlers {
 public:
  explicit ParamHandlers(master::api::ParamPort& params) : params_(params) {}
  void bindTo(Router& router);

 private:
  void list(const Call& call);
  void get(const Call& call);
  void set(const Call& call);
  void remove(const Call& call);

  master::api::ParamPort& params_;
};

}  // namespace baton::webapi
