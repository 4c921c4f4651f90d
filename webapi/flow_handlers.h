#pragma once

#include "master/api/flow_ports.h"
#include "webapi/router.h"

namespace baton::webapi {

// The addresses under /api/v1/flows, and the preview of schedules. Any thread; queries block.
class FlowHandlers {
 public:
  explicit FlowHandlers(master::api::FlowPort& flows) : flows_(flows) {}
  void bindTo(Router& router);

 private:
  void list(const Call& call);
  void get(const Call& call);
  void apply(const Call& call);
  void validate(const Call& call);
  void applyTo(const Call& call, master::api::FlowApply apply);
  void applyAll(const Call& call);
  void remove(const Call& call);
  void versions(const Call& call);
  void setOnline(const Call& call, bool online);
  void trigger(const Call& call);
  void backfill(const Call& call);

  master::api::FlowPort& flows_;
};

}  // namespace baton::webapi
