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
#include "master/flow/param_book.h"
#include "master/flow/run_progress.h"

namespace baton::master {

// A run that is not terminal. Dispatcher thread.
struct LiveRun {
  RunRecord record;
  std::shared_ptr<const FlowVersion> version;
  // From here on empty while the run has not begun.
  std::optional<RunProgress> progress;
  bool looked_back = false;          // Its prev_success is known.
  std::vector<TaskId> tasks;         // By node; 0: none.
  flow::ParamMap params;             // Of the start.
  flow::ParamMap project;            // Of the project, as they were when it was made.
  flow::OutputMap outputs;           // Of tasks that ended well.
  flow::OutputNotes output_notes;    // Which of theirs are not there, and why.
  std::set<NodeIndex> unproven;      // Ended, and their processes may not have.
  std::vector<uint32_t> spec_bytes;  // By node: of its specification, if made in this term.
  size_t spec_bytes_all = 0;         // Their sum.
  uint32_t timeout_generation = 0;   // Timers of older generations are void.
  uint32_t deadline_generation = 0;  // The same for those of the deadline.
  std::vector<RunProgress::Reached> reached;  // By node; while recovery reads.
  // Of a run that recovery read: what follows from how its tasks stood, still to be done.
  std::optional<RunEffects> owed;
  // The run at the top of the tree that it is a part of; 0: it is a part of none.
  RunId root = 0;

  // Room for what is kept by node.
  void makeNodes() {
    tasks.resize(version->spec.tasks.size());
    spec_bytes.resize(tasks.size());
  }
};

// What the runs of one tree that have not ended take up, its root left out.
struct TreeSize {
  size_t tasks = 0;
  size_t param_bytes = 0;
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
  bool names_calendar = true;            // False: the text, unread so far, names none.
  std::optional<Recurrence> recurrence;  // If it has a schedule and its calendar is known; set
                                         // with `newest`.
  bool planned = false;                  // next_at was found in this term.
  WallTime set_back_from{};              // last_instant before the clock went back, until counted.
  struct Counting {                      // Of instants, for more than one turn.
    WallTime after{};
    WallTime at{};  // The last one counted.
    int64_t found = 0;
  } counting = {};
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
  std::unordered_map<RunId, TreeSize> trees;   // By root; of those with parts.

  // The newest version of a flow, read at the first need: a takeover with 100,000 flows must not
  // wait for that. Null: deleted, or it can't be read any more (told in the log once).
  std::shared_ptr<const FlowVersion> newestOf(LiveFlow& flow);
  size_t bytes_read = 0;   // So far, by newestOf: a turn may only read so much.
  CalendarBook calendars;  // For recurrences.
  ParamBook params;        // Of the project, for new runs.
  // A clock that was ahead has begun or passed over instants up to here; the database knows which.
  // In the past: of no meaning.
  WallTime dealt_until{};
  // The same in two steps, so that another thread can read it: what to read (the text is null if
  // there is nothing to be read), and what came of it (an error is told in the log). Dropped if the
  // flow has changed meanwhile.
  struct Unread {
    std::string flow;
    uint32_t number = 0;
    std::shared_ptr<const std::string> text;
  };
  static Unread unreadOf(const LiveFlow& flow) {
    return {flow.record.name, flow.record.version, flow.text};
  }
  void learn(const std::string& key, uint32_t number,
             const Result<std::shared_ptr<const FlowVersion>>& read);

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
