#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

// Callbacks that were given up. Each returns the exit code.
namespace baton::cli {

int callbackList(Session& session, const PageOptions& options);
// Those ids, or all that are dead now; goes on behind one that can't be sent again.
int callbackResend(Session& session, std::vector<std::string> ids, bool all);

}  // namespace baton::cli
