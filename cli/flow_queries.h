#pragma once

#include <string>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

// The path of a flow, with the name escaped.
std::string flowPath(const std::string& name);

struct FlowListOptions {
  std::string text;  // Part of the name.
  std::string owner;
  std::string tag;
  bool online = false;
  bool offline = false;
  PageOptions pages;
};

// Each prints and returns the exit code. As YAML, `get` prints the definition as it was stored.
int flowGet(Session& session, const std::string& name, const std::string& version);
int flowList(Session& session, const FlowListOptions& options);
int flowVersions(Session& session, const std::string& name, const PageOptions& options);

}  // namespace baton::cli
