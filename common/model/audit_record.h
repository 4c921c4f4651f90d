#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/clock.h"

namespace baton {

// One order of a person or program: who asked for what, and what came of it. Written with the
// change itself, and never changed afterwards. Holds no values that may be secret: parameters and
// data are named, not told.
struct AuditRecord {
  uint64_t id = 0;        // Order in which they became durable; given by the database.
  WallTime at{};          // When it was decided.
  std::string principal;  // Name of the token.
  std::string remote;     // Address of the other end.
  std::string request_id;
  std::string action;    // "task.stop": what it is about, and the verb.
  std::string object;    // Id or name.
  bool refused = false;  // The state did not allow it; nothing was changed.
  std::string detail;    // Refused: why, for people.
  std::string params;    // What was asked beside the action: JSON object; empty: nothing.
  std::string before;    // What it was about, as it was: JSON object; empty: it was not there.
  std::string after;     // The same afterwards; empty: refused.
};

// Every action, by what it is about.
inline constexpr auto kAuditActions = std::to_array<std::string_view>(
    {"task.submit", "task.stop",          "task.skip",         "task.hold",       "task.release",
     "task.rerun",  "task.force-success", "run.stop",          "run.pause",       "run.resume",
     "run.rerun",   "run.skip",           "run.force-success", "run.priority",    "flow.apply",
     "flow.online", "flow.offline",       "flow.delete",       "flow.trigger",    "flow.backfill",
     "missed.run",  "event.send",         "calendar.apply",    "calendar.delete", "callback.resend",
     "host.drain",  "host.exclude",       "host.include",      "host.label",      "host.unregister",
     "host.policy", "limit.set",          "limit.remove",      "param.set",       "param.delete",
     "cluster.sync"});

}  // namespace baton
