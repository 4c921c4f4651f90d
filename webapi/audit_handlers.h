#pragma once

#include "master/api/audit_port.h"
#include "webapi/router.h"

namespace baton::webapi {

// The address of the audit log.
class AuditHandlers {
 public:
  explicit AuditHandlers(master::api::AuditPort& audit) : audit_(audit) {}

  void bindTo(Router& router);

 private:
  void list(const Call& call);

  master::api::AuditPort& audit_;
};

}  // namespace baton::webapi
