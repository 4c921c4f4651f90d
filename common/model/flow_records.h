#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/model/ids.h"
#include "common/model/run_status.h"
#include "common/model/task_status.h"

// Rows of flows, runs and events, as records.h has those of tasks.
namespace baton {

// A flow as it stands; its definition is in FlowVersionRecord.
struct FlowRecord {
  std::string name;         // As last written.
  uint32_t version = 0;     // The newest; rises by one with each change, never given twice.
  bool online = false;      // Only an online flow fires.
  WallTime online_since{};  // Anchor of `every` without start; zero: never online.
  WallTime next_at{};       // Next instant of its schedule; zero: none.
  WallTime last_instant{};  // What its schedule has dealt with, up to here: no instant at or before
                            // it is ever begun, but for the next two. Set back with the clock.
  WallTime missed_after{};  // Instants later than this and not later than missed_until passed while
  WallTime missed_until{};  // nobody looked, and are still to be dealt with. Zero: none.
  int64_t fired = 0;        // Instants that have passed since it went online or got this schedule,
                            // run or missed; right only where schedule.count asks for it.
  WallTime last_success{};  // Newest plan time of a run that finished; zero: none.
  WallTime created_at{};
  WallTime updated_at{};
  bool deleted = false;  // Name and version stay, so that a new flow of the name goes on
                         // counting.

  std::string key() const { return nameKey(name); }
};

// One version of a definition; never changed.
struct FlowVersionRecord {
  std::string flow;  // Name as written in it.
  uint32_t version = 0;
  std::string text;    // As given: YAML or JSON.
  std::string author;  // Principal.
  WallTime created_at{};
};

// The part of a run that changes. Absolute values.
struct RunState {
  RunId id = 0;
  RunStatus status = RunStatus::Waiting;
  RunReason reason = RunReason::None;
  std::string reason_text;  // For people; at most 4,096 bytes, cut with a mark.
  Priority priority = Priority::Normal;
  WallTime started_at{};   // Zero: has not begun.
  WallTime finished_at{};  // Zero while not terminal.
  WallTime due_at{};       // Deadline that warns; zero: none.
  bool late = false;       // Was not done at due_at.
  int32_t reruns = 0;      // How often it was begun again.
  // Greatest plan time below its own of a run of the flow that had ended well when it began; zero:
  // none.
  WallTime prev_success{};
};

struct RunRecord {
  std::string flow;  // Name as of its version.
  uint32_t version = 0;
  RunTrigger trigger = RunTrigger::Manual;
  std::string trigger_key;  // With flow and trigger unique, see RunTrigger.
  WallTime plan_time{};
  std::string params;  // JSON object of strings and nulls: of the start; empty: none.
  // The same of the project: what its definition needs of them, as it was when the run was made.
  std::string project_params;
  RunId parent_run = 0;  // Run that it is a part of; 0: none.
  TaskId parent_task = 0;
  uint64_t backfill = 0;     // 0: of none.
  bool compensates = false;  // Runs later than planned because nobody could begin it in time.
  std::string principal;     // Who asked; empty: the planner or an event.
  WallTime created_at{};
  RunState state;
};

// An instant of a schedule that was not run, and why.
struct MissedRecord {
  std::string flow;
  WallTime plan_time{};
  std::string reason;  // policy_none, not_the_latest, over_max, too_old, offline, …
  WallTime recorded_at{};
  RunId run_id = 0;  // Run that was asked for by hand afterwards; 0: none.
};

// Something that happened, by (name, key) stored once.
struct EventRecord {
  uint64_t id = 0;  // Order of arrival.
  std::string name;
  std::string key;
  std::string data;        // JSON object of strings; empty: none.
  WallTime happened_at{};  // What windows look at: said by the sender, else when it came.
  std::string principal;
  WallTime created_at{};
};

// Runs for a list of plan times of the past.
struct BackfillRecord {
  uint64_t id = 0;
  std::string flow;
  int32_t parallel = 1;         // At once.
  bool stop_on_failure = true;  // Those behind a failed one become SKIPPED.
  int32_t total = 0;
  std::string principal;
  WallTime created_at{};
};

// A calendar of workdays that schedules follow.
struct CalendarRecord {
  std::string name;      // As last written.
  uint32_t version = 0;  // Rises by one with each change, never given twice.
  std::string text;      // As given: YAML or JSON; empty once it is deleted.
  std::string author;    // Principal of the newest version.
  WallTime created_at{};
  WallTime updated_at{};
  bool deleted = false;  // Name and version stay.

  std::string key() const { return nameKey(name); }
};

// A parameter of the project: a value that all flows can use.
struct ParamRecord {
  std::string name;      // Of a variable; case counts.
  uint32_t version = 0;  // Rises by one with each change, never given twice.
  std::string value;     // Taken as it is; empty once it is deleted.
  std::string author;    // Principal of the newest version.
  WallTime updated_at{};
  bool deleted = false;  // Name and version stay.
};

}  // namespace baton
