#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

// The path of a run, with the id escaped.
std::string runPath(const std::string& id);

struct RunWaitOptions {
  std::string id;
  std::string timeout;  // Empty: without end.
};

// Waits until the run has ended, over failovers, and prints how; on a terminal also how far it is.
// Returns 0 for FINISHED, 1 for any other end, 124 when the time was over first.
int runWait(Session& session, const RunWaitOptions& options);

}  // namespace baton::cli
