#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calendar/misfire.h"
#include "common/calendar/recurrence.h"
#include "common/model/task_spec.h"
#include "flow/definition/placeholder.h"

// A flow as defined, checked and with its defaults worked in. What each key means: docs/flows.md.
namespace baton::flow {

inline constexpr size_t kTasksMax = 10'000;

struct ScheduleSpec {
  enum class Kind : uint8_t { Cron, Every, At };
  Kind kind = Kind::Cron;
  std::string cron;  // Checked.
  CronDialect dialect = CronDialect::Auto;
  GapPolicy gap = GapPolicy::RunAfter;
  OverlapPolicy clock_overlap = OverlapPolicy::First;
  Seconds every{0};  // 1 s to 366 d; counts from `start`, else from going online.
  WallTime at{};
  std::optional<WallTime> start;  // No instant before.
  std::optional<WallTime> end;    // No instant at or after.
  int64_t count = 0;              // Fires at most so often; 0: no limit.
  std::string calendar;           // Empty: every day is a work day.
  OffDayPolicy off_day = OffDayPolicy::Skip;
  std::optional<MisfirePolicy> misfire;  // None: by frequency (defaultMisfirePolicy).
};

// Whose end, or which event from outside, is meant: `name` alone, or `flow` with or without `task`.
struct EventSource {
  std::string name;
  std::string flow;
  std::string task;
};

// Which plan times of the source count for the plan time of the waiting run, in its zone.
struct EventWindow {
  std::string name = "same_day";  // As written: same_hour, last_day, last_24_hours, …
  bool all = false;               // Every one in the window; else the newest.
};

struct EventWait {
  EventSource source;
  bool by_key = false;  // Else by window.
  std::string key;      // Of an event by name; may hold placeholders.
  EventWindow window;
};

// From when to when in a day tasks start, in minutes from midnight; over midnight if from > to.
struct DayWindow {
  int from_minute = 0;
  int to_minute = 0;
};

enum class NeedOn : uint8_t { Success, Failure, Done };

struct TaskNode {
  std::string name;
  std::string description;
  std::string kind = "command";  // command, script, http, flow, event, noop, or a plug-in's.
  // By kind:
  std::vector<std::string> command;
  std::string script;
  std::vector<std::string> interpreter;  // Script; empty: /bin/sh -e.
  HttpSpec http;
  std::string flow;  // Sub-flow.
  EventWait event;
  Json with;  // A plug-in's own keys: objects, arrays, strings (as written) and null.

  std::map<std::string, NeedOn> needs;
  std::string when;  // Checked condition; empty: always.
  bool ignore_failure = false;
  bool hold = false;      // Waits until it is released.
  bool disabled = false;  // Passed over as if it had succeeded.
  ParamMap params;
  std::vector<std::string> outputs;  // Keys that it says it writes; empty: not said.
  // Names in its texts that an upstream task declares as its output, each with the name of that
  // task. Found by the check, no part of what is written.
  std::map<std::string, std::string> upstream;
  std::map<std::string, std::string> env;
  std::string dir;
  std::optional<Priority> priority;  // None: that of its run.
  std::string group;
  int64_t weight = 1;
  std::optional<DayWindow> window;
  // Of a definition that an earlier version stored: a key that asks for what this one can't do.
  // Such a task must not run as if the key were not there; it fails.
  std::string unsupported;
  std::vector<std::string> tags;
  TaskPolicy policy;

  // True for kinds that a worker runs; the others take no runner and are not retried.
  bool hasRunner() const { return kind != "flow" && kind != "event" && kind != "noop"; }
};

struct OverlapSpec {
  enum class Policy : uint8_t { Queue, Skip, CancelRunning, Parallel };
  Policy policy = Policy::Queue;
  int64_t max_runs = 16;     // Parallel: at once.
  int64_t max_queued = 100;  // Queue, Parallel: waiting; what comes on top is SKIPPED.
};

struct FlowSpec {
  std::string name;
  std::string description;
  std::string owner;
  std::vector<std::string> tags;
  std::string timezone = "UTC";
  std::optional<ScheduleSpec> schedule;
  std::optional<EventSource> trigger;
  ParamMap params;
  OverlapSpec overlap;
  Priority priority = Priority::Normal;
  bool stop_on_failure = false;  // Kill the rest; else independent branches go on.
  Millis timeout{0};             // Of a run; 0: none.
  std::string finish_by;         // "06:30", local; empty: none. The next such time warns.
  std::optional<DayWindow> window;
  std::vector<CallbackSpec> callbacks;
  std::vector<TaskNode> tasks;  // In the order written.
  // Names in its texts that a parameter of the project gives the value of; true: nothing else can
  // (false: an output does, unless its task did not write it). Found by the check, no part of what
  // is written.
  std::map<std::string, bool> project_params;

  const TaskNode* find(std::string_view task) const;
};

// The instants of a flow with a schedule. `anchor`: where the grid of `every` begins if the
// schedule has no start (when it went online); `calendar`: that of the schedule's name, null: none.
Recurrence recurrenceOf(const FlowSpec& flow, WallTime anchor,
                        std::shared_ptr<const WorkCalendar> calendar);

// Equal definitions have equal texts: JSON with sorted keys and without what is default. It is
// itself a definition, which reads back as the same.
std::string canonicalText(const FlowSpec& flow);
Json canonicalJson(const FlowSpec& flow);

// When the flow is due, in the words of its definition: "cron 0 2 * * * Europe/Berlin",
// "every 90s", "at 2026-12-24T17:00:00Z"; empty: it has no schedule.
std::string scheduleText(const FlowSpec& flow);

std::string_view toString(MisfireKind kind);
std::string_view toString(OffDayPolicy off_day);
std::string_view toString(OverlapSpec::Policy policy);
std::string_view toString(NeedOn need);
std::string_view toString(GapPolicy gap);
std::string_view toString(OverlapPolicy overlap);
std::string formatDayWindow(const DayWindow& window);

}  // namespace baton::flow
