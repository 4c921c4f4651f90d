#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

struct HostListOptions {
  bool runners = false;  // Those instead of hosts.
  std::vector<std::string> states = {};
  std::vector<std::string> health = {};  // Of hosts.
  std::string name = {};
  std::string text = {};    // Part of it.
  std::string worker = {};  // Of runners.
  std::string host = {};    // The same.
  PageOptions pages = {};
};

// Each prints and returns the exit code.
int hostList(Session& session, const HostListOptions& options);
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
