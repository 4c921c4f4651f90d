#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace baton::cli {

// Each prints and returns the exit code.
int hostList(Session& session, bool runners);
// `action`: drain, exclude, include or unregister. `reason` may be empty, and is for the first
// three. `wait` (drain alone): until nothing runs there any more.
int hostAction(Session& session, const std::string& host, const std::string& action,
               const std::string& reason, bool wait = false);
// `changes`: name=value sets a label, name- removes one that an operator set.
int hostLabel(Session& session, const std::string& host, const std::vector<std::string>& changes);
// Shows the policy, or changes one part of it. `word`: on or off.
int hostPolicy(Session& session);
int hostWhiteList(Session& session, const std::string& word);
// `version`: such as 1.2.0, or "none" for any.
int hostMinVersion(Session& session, const std::string& version);

}  // namespace baton::cli
