#pragma once

#include <string>
#include <vector>

#include "cli/list_pages.h"
#include "cli/session.h"

namespace baton::cli {

// `group set` as typed; empty means that it stays as it is, "none" that it ends.
struct GroupSetOptions {
  std::string name;
  std::string limit;
  std::string window;
  std::string time_zone;
  std::string min_priority;
  std::string description;
};

// Lists of groups and of limits.
struct LimitListOptions {
  std::string name;
  std::string text;                // Part of it.
  std::vector<std::string> kinds;  // Of limits.
  bool set = false;                // From here on of groups.
  bool unset = false;
  bool open = false;
  bool closed = false;
  PageOptions pages;
};

// Each prints and returns the exit code.
int groupSet(Session& session, const GroupSetOptions& options);
int groupList(Session& session, const LimitListOptions& options);
int groupGet(Session& session, const std::string& name);
int groupDelete(Session& session, const std::string& name);

// Limits of flows, users and hosts.
int limitSet(Session& session, const std::string& kind, const std::string& name,
             const std::string& limit, const std::string& description);
int limitList(Session& session, const LimitListOptions& options);
int limitDelete(Session& session, const std::string& kind, const std::string& name);

// `limit`: a number, "default", or empty to show what holds.
int clusterLimit(Session& session, const std::string& limit);

struct DegradeOptions {
  std::string min_priority;
  std::string group;
  bool off = false;
};
int clusterDegrade(Session& session, const DegradeOptions& options);

}  // namespace baton::cli
