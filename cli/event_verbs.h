#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

struct EventSendOptions {
  std::string name;
  std::string key;
  std::vector<std::string> data;  // K=V
  std::string at;
  std::string idempotency_key;
};

// Each prints and returns the exit code.
int eventSend(Session& session, const EventSendOptions& options);
int eventList(Session& session, const std::string& name, const PageOptions& options);
int missedList(Session& session, const std::string& flow, const PageOptions& options);
// Prints the id of the run.
int missedExplain(Session& session, const std::string& flow, const std::string& plan_time);
int missedRun(Session& session, const std::string& flow, const std::string& plan_time);

}  // namespace baton::cli
