#pragma once

#include <string>

#include "cli/session.h"

namespace baton::cli {

struct LogsOptions {
  std::string id;
  std::string stream;   // stdout | stderr | both (default).
  std::string attempt;  // Empty: the newest.
  std::string tail;     // Last lines; empty: all.
  bool follow = false;
};

// Copies a task's output, byte for byte: its standard output to ours, its standard error to ours.
// With `follow` until the task has ended. Returns the exit code.
int taskLogs(Session& session, const LogsOptions& options);

// Follows the output of a task to its end, over retries and failovers; returns the task's own exit
// code.
int followTask(Session& session, const std::string& id);

}  // namespace baton::cli
