#pragma once

#include "master/api/group_port.h"
#include "webapi/router.h"

namespace baton::webapi {

// Groups, limits of flows, users and hosts, and those of the cluster. Any thread; queries block.
class LimitHandlers {
 public:
  // The port outlives this.
  explicit LimitHandlers(master::api::GroupPort& groups) : groups_(groups) {}
  void bindTo(Router& router);

 private:
  void listGroups(const Call& call);
  void putGroup(const Call& call);
  void listLimits(const Call& call);
  void putLimit(const Call& call);
  void get(const Call& call, LimitKind kind, const std::string& name);
  void remove(const Call& call, LimitKind kind, const std::string& name);
  void clusterLimit(const Call& call);
  void degrade(const Call& call);
  void change(const Call& call, master::api::LimitChange change);

  master::api::GroupPort& groups_;
};

}  // namespace baton::webapi
