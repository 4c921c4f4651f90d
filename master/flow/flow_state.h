#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/calendar/misfire.h"
#include "common/model/flow_records.h"
#include "master/flow/calendar_book.h"
#include "master/flow/flow_version.h"
#include "master/flow/run_progress.h"

namespace baton::master {

// A run that is not terminal. Dispatcher thread.
struct LiveRun {
  RunRecord record;
  std::shared_ptr<const FlowVersion> version;
  // From here on empty while the run has not begun.
  std::optional<RunProgress> progress;
  bool looked_back = false;                   // Its prev_success is known.
  std::vector<TaskId> tasks;                  // By node; 0: none.
  flow::ParamMap params;                      // Of the start.
  flow::OutputMap outputs;                    // Of tasks that ended well.
  uint32_t timer_generation = 0;              // Timers of older generations are void.
  std::vector<RunProgress::Reached> reached;  // By node; between recovery and carrying on.
};

// What is due now goes before what makes up for missed instants, and that before backfills.
enum class RunClass : uint8_t { Current, Compensation, Backfill };
// By what is stored of the run, so that every master says the same. A rerun was asked for now.
RunClass classOf(const RunRecord& record);

// Which waiting run of a flow comes first: its class, then the most important, then the oldest.
using WaitingRank = std::tuple<RunClass, int, int64_t, RunId>;

// A flow as the active master knows it. Deleted ones are kept for their version numbers.
struct LiveFlow {
  FlowRecord record;
  std::shared_ptr<const FlowVersion>
      newest;  // Null: deleted, or not needed yet (FlowState::newestOf).
  std::shared_ptr<const std::string>
      text;                              // Of the newest version, until it was needed; else null.
  std::optional<Recurrence> recurrence;  // If it has a schedule and its calendar is known; set
                                         // with `newest`.
  bool planned = false;                  // next_at was found in this term.
  WallTime set_back_from{};              // last_instant before the clock went back, until counted.
  std::set<RunId> running;               // Runs that take a place.
  std::map<WaitingRank, RunId> waiting;  // Runs that wait for a place.
};

// A backfill with live runs.
struct LiveBackfill {
  BackfillRecord record;
  std::set<RunId> offered;  // Of its runs, those that wait for a place or run.
  std::deque<RunId> rest;   // The others, in order.
};

// All of flows and runs that the active master holds in memory. Passive, as LiveState.
struct FlowState {
  std::unordered_map<std::string, LiveFlow> flows;  // By key (nameKey).
  std::unordered_map<RunId, LiveRun> runs;
  std::unordered_map<uint64_t, LiveBackfill> backfills;

  std::unordered_map<TaskId, RunId> sub_runs;  // By the task that they are.

  // The newest version of a flow, read at the first need: a takeover with 100,000 flows must not
  // wait for that. Null: deleted, or it can't be read any more (told in the log once).
  std::shared_ptr<const FlowVersion> newestOf(LiveFlow& flow);
  CalendarBook calendars;  // For recurrences.
  // A clock that was ahead has begun or passed over instants up to here; the database knows which.
  // In the past: of no meaning.
  WallTime dealt_until{};
  // The same in two steps, so that another thread can read it: what to read (the text is null if
  // there is nothing to be read), and what came of it. Dropped if the flow has changed meanwhile.
  struct Unread {
    std::string flow;
    uint32_t number = 0;
    std::shared_ptr<const std::string> text;
  };
  static Unread unreadOf(const LiveFlow& flow) {
    return {flow.record.name, flow.record.version, flow.text};
  }
  void learn(const std::string& key, std::shared_ptr<const FlowVersion> version);

  LiveFlow* findFlow(const std::string& key) {
    const auto it = flows.find(key);
    return it == flows.end() ? nullptr : &it->second;
  }
  LiveRun* findRun(RunId id) {
    const auto it = runs.find(id);
    return it == runs.end() ? nullptr : &it->second;
  }
};

}  // namespace baton::master
