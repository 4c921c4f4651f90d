#pragma once

#include <string>

#include "cli/list_pages.h"

namespace baton::cli {

struct AuditListOptions {
  std::string kind;
  std::string action;
  std::string object;
  std::string principal;
  std::string request_id;
  bool refused = false;  // Only those.
  std::string since;
  std::string before;
  PageOptions pages = {};
};

// Lists the audit log. Returns the exit code.
int auditList(Session& session, const AuditListOptions& options);

}  // namespace baton::cli
