#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace baton::cli {

struct FlowTriggerOptions {
  std::string flow;
  std::vector<std::string> params;  // K=V
  std::string plan_time;
  std::string priority;
  std::string idempotency_key;
  bool wait = false;
  std::string wait_timeout;
};

struct FlowBackfillOptions {
  std::string flow;
  std::string from;
  std::string to;
  std::vector<std::string> at;
  std::vector<std::string> params;  // K=V
  int64_t parallel = 1;
  bool newest_first = false;
  bool keep_going = false;
  bool dry_run = false;
  std::string idempotency_key;
};

// Each prints and returns the exit code.
int flowSetOnline(Session& session, const std::vector<std::string>& names, bool online);
// Without `yes` the person at the terminal is asked.
int flowDelete(Session& session, const std::string& name, bool yes);
// With `wait` the exit code is 0 only if the run ends FINISHED.
int flowTrigger(Session& session, const FlowTriggerOptions& options);
int flowBackfill(Session& session, const FlowBackfillOptions& options);

}  // namespace baton::cli
