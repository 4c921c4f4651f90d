#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace baton::cli {

struct FlowApplyOptions {
  std::vector<std::string> files;  // "-": standard input.
  bool online = false;
  bool offline = false;
  bool dry_run = false;
};

// Checks all definitions with the master, then stores them; if one is wrong, none is. Prints what
// became of each. Returns the exit code: 2 if something is wrong.
int flowApply(Surroundings& surroundings, Session& session, const FlowApplyOptions& options);

// Says in words what a file would change. Returns 0 (nothing), 1 (something) or 255.
int flowDiffStored(Surroundings& surroundings, Session& session, const std::string& file);

}  // namespace baton::cli
