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

struct EventListOptions {
  std::string name;
  std::string text;  // Part of the name.
  std::string key;
  std::string since;   // Happened: RFC 3339, or "1h" before now.
  std::string before;  // The same.
  PageOptions pages;
};

struct MissedListOptions {
  std::string flow;
  std::string text;  // Part of its name.
  std::vector<std::string> reasons;
  std::string since;   // Plan time: RFC 3339, or "1h" before now.
  std::string before;  // The same.
  PageOptions pages;
};

// Each prints and returns the exit code.
int eventSend(Session& session, const EventSendOptions& options);
int eventList(Session& session, const EventListOptions& options);
int missedList(Session& session, const MissedListOptions& options);
// Prints the id of the run.
int missedExplain(Session& session, const std::string& flow, const std::string& plan_time);
int missedRun(Session& session, const std::string& flow, const std::string& plan_time);

}  // namespace baton::cli
