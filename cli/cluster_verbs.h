#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// Each prints and returns the exit code.
// Asks every master what it knows, for three seconds at most: who leads, all alarms, and which
// can't be reached. Exit code 5 when none that answers leads, or knows a leader that answers.
int clusterStatus(Session& session);
int clusterHistory(Session& session, const std::string& limit);
int clusterStats(Session& session);
// Exit code 1 when memory and database differ.
int clusterVerify(Session& session);
// Has the active master read everything again, and returns when whoever leads then has done so.
int clusterSync(Session& session);

}  // namespace baton::cli
