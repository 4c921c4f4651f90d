#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/flow_records.h"
#include "common/model/records.h"

namespace baton::dao {

// Which runs a list shows; empty members do not filter.
struct RunFilter {
  std::string flow = {};  // Key (nameKey).
  std::vector<RunStatus> statuses = {};
  std::vector<RunTrigger> triggers = {};
  uint64_t backfill = 0;
  RunId parent_run = 0;
  std::string trigger_key = {};  // Exact.
  WallTime plan_from{};          // Inclusive; zero: open.
  WallTime plan_before{};        // Exclusive; zero: open.
  bool late = false;             // Only those that missed their deadline.
  std::vector<RunReason> reasons = {};
  std::string text = {};  // Part of the flow's name, without case.
  std::string principal = {};
  WallTime created_from{};
  WallTime created_before{};
};

// One page, newest first, by keyset.
template <typename Row>
struct PageOf {
  std::vector<Row> items;
  bool more = false;
};

// A flow as lists show it.
struct FlowRow {
  FlowRecord record;
  std::optional<FlowVersionRecord> version;  // Its newest; without text where not asked for.
};

struct FlowFilter {
  std::optional<bool> online = {};
  std::string text = {};  // Part of the name, without case.
};

// Which missed instants a list shows; empty members do not filter.
struct MissedFilter {
  std::string flow = {};  // Key.
  std::string text = {};  // Part of the flow's name, without case.
  std::vector<std::string> reasons = {};
  WallTime plan_from{};    // Inclusive; zero: open.
  WallTime plan_before{};  // Exclusive; zero: open.
};

// The same of events.
struct EventFilter {
  std::string name = {};  // Exact.
  std::string text = {};  // Part of the name.
  std::string key = {};   // Exact.
  WallTime happened_from{};
  WallTime happened_before{};
};

// Questions about flows, runs and events; the flow part of Reader, whose rules hold. Flows are
// named by their keys (nameKey).
class FlowReader {
 public:
  virtual ~FlowReader() = default;

  virtual Result<std::optional<FlowRow>> flow(std::string_view key) = 0;  // With text; not deleted.
  // By key in rising order, `after` exclusive ("": from the first); without texts and deleted ones.
  virtual Result<PageOf<FlowRow>> flows(const FlowFilter& filter, std::string_view after,
                                        uint32_t limit) = 0;
  virtual Result<uint64_t> countFlows(const FlowFilter& filter) = 0;
  virtual Result<std::optional<FlowVersionRecord>> flowVersion(std::string_view key,
                                                               uint32_t version) = 0;
  // Newest first, `before` exclusive (0: from the newest), without texts.
  virtual Result<PageOf<FlowVersionRecord>> flowVersions(std::string_view key, uint32_t before,
                                                         uint32_t limit) = 0;

  virtual Result<std::optional<RunRecord>> run(RunId id) = 0;
  virtual Result<PageOf<RunRecord>> runs(const RunFilter& filter, RunId before,
                                         uint32_t limit) = 0;     // Without params.
  virtual Result<std::map<RunStatus, uint64_t>> runCounts() = 0;  // All runs.
  virtual Result<uint64_t> countRuns(const RunFilter& filter) = 0;
  // All tasks of a run in rising id order, with outputs, without specifications.
  virtual Result<std::vector<TaskRecord>> tasksOfRun(RunId id) = 0;
  // Runs of a flow whose plan time lies in [from, before), by plan time and then id, without
  // params. At most `limit`, the newest of them.
  virtual Result<std::vector<RunRecord>> runsPlanned(std::string_view key, WallTime from,
                                                     WallTime before, uint32_t limit) = 0;
  // Greatest plan time below `before` of a run of the flow that is FINISHED; zero: none.
  virtual Result<WallTime> lastSuccess(std::string_view key, WallTime before) = 0;
  // Of those runs' tasks the ones of that name, in the order of the runs, without outputs.
  virtual Result<std::vector<TaskRecord>> tasksPlanned(std::string_view key, std::string_view task,
                                                       WallTime from, WallTime before,
                                                       uint32_t limit) = 0;

  // Newest first by plan time and then flow, (`before`, `before_key`) exclusive. Of one flow
  // `before` alone counts.
  virtual Result<PageOf<MissedRecord>> missed(const MissedFilter& filter,
                                              WallTime before,  // Zero: from the newest.
                                              std::string_view before_key, uint32_t limit) = 0;
  virtual Result<uint64_t> countMissed(const MissedFilter& filter) = 0;
  virtual Result<std::optional<MissedRecord>> missedInstant(std::string_view key,
                                                            WallTime plan_time) = 0;

  virtual Result<std::optional<EventRecord>> event(std::string_view name, std::string_view key) = 0;
  // Newest first by id, `before` exclusive (0: from the newest).
  virtual Result<PageOf<EventRecord>> events(const EventFilter& filter, uint64_t before,
                                             uint32_t limit) = 0;
  virtual Result<uint64_t> countEvents(const EventFilter& filter) = 0;
  // Those that happened in [from, before), by that time and then id. At most `limit`, the newest.
  virtual Result<std::vector<EventRecord>> eventsBetween(std::string_view name, WallTime from,
                                                         WallTime before, uint32_t limit) = 0;
  virtual Result<std::optional<BackfillRecord>> backfill(uint64_t id) = 0;

  virtual Result<std::optional<CalendarRecord>> calendar(std::string_view key) = 0;  // Not deleted.
  // By key in rising order, `after` exclusive ("": from the first), with texts.
  virtual Result<PageOf<CalendarRecord>> calendars(bool deleted_too, std::string_view after,
                                                   uint32_t limit) = 0;
  // Parameters of the project by name, all of them: they are few and small.
  virtual Result<std::vector<ParamRecord>> params(bool deleted_too) = 0;

  // Recovery. Rows come in no order; `take` returns false to stop early (Cancelled).
  // Every flow, deleted ones included, with the text of its newest version unless deleted.
  virtual Status allFlows(const std::function<bool(FlowRow)>& take) = 0;
  virtual Status liveRuns(const std::function<bool(const RunRecord&)>& take) = 0;
  // The tasks of live runs, ended ones included, in rising order of runs and then ids; with name,
  // run id, state and outputs alone.
  virtual Status tasksOfLiveRuns(const std::function<bool(const TaskRecord&)>& take) = 0;
  // Backfills that have live runs.
  virtual Result<std::vector<BackfillRecord>> liveBackfills() = 0;
};

}  // namespace baton::dao
