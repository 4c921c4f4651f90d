#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/model/flow_records.h"
#include "master/api/ports.h"

// What the web API may ask of the master about flows, runs and events; the rules of ports.h hold:
// commands answer behind the commit, queries block (pool threads), a master that does not lead
// gives NotActive. Flows are named as people write them, in any case.
namespace baton::master::api {

// Something wrong or odd in a definition.
struct DefinitionIssue {
  std::string file;
  int line = 0;  // From 1; 0: nowhere.
  int column = 0;
  std::string key;
  std::string message;
  bool warning = false;
  std::string missing_flow = {};  // A flow that is named and is not there; empty: it is not that.
};

struct FlowView {
  FlowRecord record;
  FlowVersionRecord version;  // The newest, or the one that was asked for; lists: without text.
  std::string schedule;       // In words of its definition ("0 2 * * * Europe/Berlin"); "": none.
  std::string owner;          // The same.
  std::vector<std::string> tags;
  std::vector<DefinitionIssue> warnings;  // After apply.
  std::vector<std::string> named_by;      // After remove: flows that name it, by name.
  // Queries of one flow alone:
  uint64_t live_runs = 0;
  std::vector<WallTime> next_instants;  // Of its schedule, online or not; at most 5.
};

struct FlowApply {
  std::string name;                    // Of the path; empty: that of the definition.
  std::string file;                    // What issues call it; empty: its name.
  std::string text;                    // YAML or JSON.
  std::optional<uint32_t> if_version;  // Only if this is the newest; 0: only if there is none.
  std::optional<bool> online;          // Afterwards; none: as it was.
  bool dry_run = false;
  Request request;
};

struct FlowApplied {
  // Not empty: refused, and nothing else here is set. Then all that was found, warnings too.
  std::vector<DefinitionIssue> errors;
  FlowView flow;
  bool created = false;
  bool changed = false;              // False: equal to the newest version; none was made.
  std::vector<std::string> changes;  // In words, as `flow diff` has them.
  bool replayed = false;             // The key was used before: this is the answer of then.
};

struct FlowsApplied {
  // Not empty: one of them is wrong, and nothing was stored. All that was found in any of them.
  std::vector<DefinitionIssue> errors;
  std::vector<FlowApplied> flows;  // In the order of the request.
};

struct FlowTrigger {
  std::string flow;
  std::optional<WallTime> plan_time;  // None: now.
  std::map<std::string, std::optional<std::string>> params;
  std::optional<Priority> priority;  // None: the flow's.
  Request request;
};

// A run that a request made.
struct MadeRun {
  RunRecord run;          // As it now is.
  bool replayed = false;  // It was made before, by a request with the same key.
};

struct FlowBackfill {
  std::string flow;
  // Either the instants of its schedule in [from, to], or a list.
  std::optional<WallTime> from;
  std::optional<WallTime> to;
  std::vector<WallTime> plan_times;
  int32_t parallel = 1;  // 1 to 100; 1: one after the other.
  bool newest_first = false;
  bool stop_on_failure = true;
  bool dry_run = false;
  std::map<std::string, std::optional<std::string>> params;
  Request request;
};

struct BackfillView {
  uint64_t id = 0;                   // 0: dry run.
  std::vector<WallTime> plan_times;  // In the order in which they run; at most 10,000.
  std::vector<RunId> runs;           // Of the same order; empty: dry run.
  bool replayed = false;             // As MadeRun.
};

struct FlowListQuery {
  std::optional<bool> online;
  std::string text;   // Part of the name.
  std::string owner;  // Of the newest version.
  std::string tag;    // One that the newest version has.
  std::string after;  // Cursor: the last key of the page before.
  uint32_t limit = 50;
  bool total = false;
};

class FlowPort {
 public:
  virtual ~FlowPort() = default;
  // A definition that is wrong is no Error but FlowApplied::errors. Errors: Conflict (if_version:
  // its field is "version"; key used with another body), InvalidArgument (another name than that
  // of the path), TooLarge.
  virtual void apply(FlowApply request, Callback<FlowApplied> done) = 0;
  // Several at once, all or none, in one transaction: they are checked as they will stand beside
  // each other. At least one; dry_run and request are the same in all. Errors: as apply (the
  // message begins with `file`); a flow that stands in two of them is one of `errors`.
  virtual void applyAll(std::vector<FlowApply> requests, Callback<FlowsApplied> done) = 0;
  // Idempotent. Errors: NotFound.
  virtual void setOnline(std::string name, bool online, Request request,
                         Callback<FlowView> done) = 0;
  // What waits of it ends TERMINATED, what runs is stopped. Errors: NotFound.
  virtual void remove(std::string name, Request request, Callback<FlowView> done) = 0;
  // Errors: NotFound, InvalidArgument (params), Overloaded (queue).
  virtual void trigger(FlowTrigger request, Callback<MadeRun> done) = 0;
  virtual void backfill(FlowBackfill request, Callback<BackfillView> done) = 0;

  virtual Result<FlowView> flow(const std::string& name, std::optional<uint32_t> version) = 0;
  // Errors: Overloaded (by owner or tag, and too much was not read yet since the takeover).
  virtual Result<ListOf<FlowView>> flows(const FlowListQuery& query) = 0;
  virtual Result<ListOf<FlowVersionRecord>> versions(const std::string& name, uint32_t before,
                                                     uint32_t limit) = 0;
};

struct CalendarApply {
  std::string name;                    // Of the path; empty: that of the text.
  std::string file = {};               // What issues call it; empty: its name.
  std::string text;                    // YAML or JSON.
  std::optional<uint32_t> if_version;  // Only if this is the newest; 0: only if there is none.
  bool dry_run = false;
  Request request = {};
};

// A calendar as read: days as texts, ranges of days as "2026-10-01..2026-10-07".
struct CalendarView {
  CalendarRecord record;
  std::string description;
  std::vector<std::string> workdays;  // "mon", …
  std::vector<std::string> holidays;
  std::vector<std::string> adjusted_workdays;
  uint64_t holiday_count = 0;
  uint64_t adjusted_count = 0;
  std::string last_day;  // Behind it the week alone counts; empty: it has the week alone.
};

struct CalendarApplied {
  // Not empty: refused, and nothing else here is set. Then all that was found, warnings too.
  std::vector<DefinitionIssue> errors;
  std::vector<DefinitionIssue> warnings;
  CalendarView calendar;
  bool created = false;
  bool changed = false;
  std::vector<std::string> changes;  // In words.
  uint64_t flows = 0;                // That follow it, and were planned anew if it changed.
};

// Of several calendars that were stored together.
struct CalendarsApplied {
  // Not empty: none was stored. Then all that was found in any of them, warnings too.
  std::vector<DefinitionIssue> errors;
  std::vector<CalendarApplied> calendars;  // In the order of the requests, without errors.
};

class CalendarPort {
 public:
  virtual ~CalendarPort() = default;
  // As FlowPort::apply.
  virtual void apply(CalendarApply request, Callback<CalendarApplied> done) = 0;
  // Stores all or none. Errors: as apply; they name the file.
  virtual void applyAll(std::vector<CalendarApply> requests, Callback<CalendarsApplied> done) = 0;
  // Errors: NotFound, Conflict (flows follow it).
  virtual void remove(std::string name, Request request, Callback<CalendarView> done) = 0;
  virtual Result<CalendarView> calendar(const std::string& name) = 0;
  // By name, `after` is the last key of the page before.
  virtual Result<ListOf<CalendarView>> calendars(const std::string& after, uint32_t limit) = 0;
};

struct ParamSet {
  std::string name;
  std::string value;
  std::optional<uint32_t> if_version;  // Only if this is the newest; 0: only if there is none.
  Request request = {};
};

struct ParamIsSet {
  ParamRecord param;
  bool created = false;
  bool changed = false;  // false: it had that value.
};

// Parameters of the project.
class ParamPort {
 public:
  virtual ~ParamPort() = default;
  // Errors: InvalidArgument (name, value), TooLarge, Conflict (if_version; field "version").
  virtual void set(ParamSet request, Callback<ParamIsSet> done) = 0;
  // Errors: NotFound, Conflict (flows use it).
  virtual void remove(std::string name, Request request, Callback<ParamRecord> done) = 0;
  virtual Result<ParamRecord> param(const std::string& name) = 0;
  virtual Result<std::vector<ParamRecord>> params() = 0;  // By name.
};

// A run as read, and why it or its nodes wait.
struct RunView {
  RunRecord record;
  std::string waiting_text;   // While WAITING or PAUSED: for what.
  std::string begun_by = {};  // The event that began it, of one run that is asked for.
};

// A node of a run.
struct NodeView {
  TaskView task;
  std::vector<std::string> needs;  // "load (success)"
  RunId sub_run = 0;               // Of a sub-flow task; 0: none yet.
};

struct RunListQuery {
  std::string flow;
  std::vector<RunStatus> statuses;
  std::vector<RunTrigger> triggers;
  uint64_t backfill = 0;
  WallTime plan_from{};    // Inclusive; zero: open.
  WallTime plan_before{};  // Exclusive; zero: open.
  bool late = false;
  std::vector<RunReason> reasons;
  std::string text;  // Part of the flow's name.
  std::string principal;
  WallTime created_from{};
  WallTime created_before{};
  RunId before = 0;  // Cursor.
  uint32_t limit = 50;
  bool total = false;
};

struct MissedListQuery {
  std::string flow;
  std::string text;  // Part of the flow's name.
  std::vector<std::string> reasons;
  WallTime plan_from{};
  WallTime plan_before{};
  WallTime before{};       // Cursor: plan time of the last of the page before,
  std::string before_key;  // and key of its flow.
  uint32_t limit = 50;
  bool total = false;
};

enum class RunCommand : uint8_t {
  Stop,
  Pause,
  Resume,
  Rerun,         // See RerunScope.
  Skip,          // A run that waits; or one task of it.
  ForceSuccess,  // A task that failed; the run goes on behind it.
  SetPriority,
};
enum class RerunScope : uint8_t {
  All,
  Failed,  // What did not end well, and all behind it.
  From,    // One task and all behind it.
  One,     // One task alone.
};
struct RunOrder {
  RunId id = 0;
  RunCommand command = RunCommand::Stop;
  RerunScope scope = RerunScope::Failed;
  std::string task = {};  // Name; From, One, Skip and ForceSuccess of a task.
  Priority priority = Priority::Normal;
  bool force = false;  // Rerun although a task's end was never proved.
  Request request = {};
};

// Why a run or task is as it is: one line each, from the outside in.
struct Explanation {
  std::string status;
  std::vector<std::string> reasons;
};

class RunPort {
 public:
  virtual ~RunPort() = default;
  // Errors: NotFound (the run, or a task of it), Conflict (state; names it).
  virtual void order(RunOrder order, Callback<RunRecord> done) = 0;
  virtual Result<RunView> run(RunId id) = 0;
  virtual Result<std::vector<NodeView>> nodes(RunId id) = 0;  // In the order of the definition.
  virtual Result<ListOf<RunView>> runs(const RunListQuery& query) = 0;
  virtual Result<Explanation> explainRun(RunId id) = 0;
  virtual Result<Explanation> explainTask(TaskId id) = 0;  // Of any task, in a run or not.

  virtual Result<ListOf<MissedRecord>> missed(const MissedListQuery& query) = 0;
  // What became of an instant of a schedule. Errors: NotFound (the flow).
  virtual Result<Explanation> explainMissed(const std::string& flow, WallTime plan_time) = 0;
  // Runs a missed instant by hand. Errors: NotFound, Conflict (it was run already).
  virtual void runMissed(std::string flow, WallTime plan_time, Request request,
                         Callback<MadeRun> done) = 0;
};

struct EventSend {
  std::string name;  // As names of flows.
  std::string key;   // 1 to 128 characters, none of them a control character.
  std::map<std::string, std::string> data;
  std::optional<WallTime> happened_at;
  Request request;
};
struct EventListQuery {
  std::string name;
  std::string text;  // Part of the name.
  std::string key;
  WallTime happened_from{};
  WallTime happened_before{};
  uint64_t before = 0;  // Cursor.
  uint32_t limit = 50;
  bool total = false;
};
struct EventSent {
  EventRecord event;
  bool known = false;     // It was there already; nothing changed.
  bool replayed = false;  // The key was used before: this is the answer of then.
};

class EventPort {
 public:
  virtual ~EventPort() = default;
  virtual void send(EventSend event, Callback<EventSent> done) = 0;
  virtual Result<ListOf<EventRecord>> events(const EventListQuery& query) = 0;
};

}  // namespace baton::master::api
