#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// Each prints and returns the exit code.
// Exit code 5 when no master leads.
int clusterStatus(Session& session);
int clusterHistory(Session& session, const std::string& limit);
int clusterStats(Session& session);
// Exit code 1 when memory and database differ.
int clusterVerify(Session& session);

}  // namespace baton::cli
