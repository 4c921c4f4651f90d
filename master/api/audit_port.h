#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/model/audit_record.h"
#include "master/api/flow_ports.h"

namespace baton::master::api {

// Which rows of the audit log a list shows; empty members do not filter.
struct AuditListQuery {
  std::string principal;
  std::string action;  // "task.stop"
  std::string kind;    // "task"
  std::string object;
  std::string request_id;
  std::optional<bool> refused;
  WallTime from{};      // Inclusive; zero: open.
  WallTime until{};     // Exclusive; zero: open.
  uint64_t before = 0;  // Cursor: the last id of the page before; 0: first page.
  uint32_t limit = 50;  // 1 to 1,000.
  bool total = false;
};

class AuditPort {
 public:
  virtual ~AuditPort() = default;
  // Newest first. Query: pool threads.
  virtual Result<ListOf<AuditRecord>> audit(const AuditListQuery& query) = 0;
};

}  // namespace baton::master::api
