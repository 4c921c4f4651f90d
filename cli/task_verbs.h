#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

struct TaskListOptions {
  std::vector<std::string> statuses;
  std::vector<std::string> priorities;
  std::string reason;
  bool ignored = false;
  std::string name;
  std::string text;
  std::string tag;
  std::string group;
  std::string host;
  std::string runner;
  std::string since;   // RFC 3339, or "1h" before now.
  std::string before;  // The same.
  std::string run;
  std::string flow;
  PageOptions pages;
};

// Why a task that does not run waits, or why it failed.
std::string whyText(const Json& task);

// Each prints and returns the exit code.
int taskGet(Session& session, const std::string& id, bool attempts);
int taskList(Session& session, const TaskListOptions& options);
// `action`: stop, hold, release, skip, rerun or force-success. `force` is for rerun alone.
int taskAction(Session& session, const std::string& id, const std::string& action, bool force);

}  // namespace baton::cli
