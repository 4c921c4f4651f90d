#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

struct RunListOptions {
  std::string flow;
  std::vector<std::string> statuses;
  std::vector<std::string> triggers;
  std::string backfill;
  std::string since;   // Plan time: RFC 3339, or "1h" before now.
  std::string before;  // The same.
  std::string text;    // Part of the flow's name.
  std::vector<std::string> reasons;
  std::string principal;
  std::string created_since;
  std::string created_before;
  bool late = false;
  PageOptions pages;
};

struct RunRerunOptions {
  std::string id;
  bool all = false;
  bool failed = false;
  std::string from;  // Task.
  std::string task;
  bool force = false;
};

// Each prints and returns the exit code.
int runGet(Session& session, const std::string& id);
int runList(Session& session, const RunListOptions& options);
int runTasks(Session& session, const std::string& id);
// Stops all runs of a backfill that have not ended, those that wait first.
int backfillStop(Session& session, const std::string& backfill);
// `action`: stop, pause, resume, skip, force-success or priority; `body`: as the API takes it.
int runAction(Session& session, const std::string& id, const std::string& action, const Json& body);
int runRerun(Session& session, const RunRerunOptions& options);

}  // namespace baton::cli
