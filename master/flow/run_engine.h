#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "master/flow/event_desk.h"
#include "master/flow/flow_state.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// What a new run is made of.
struct RunStart {
  std::string flow;  // Key.
  RunTrigger trigger = RunTrigger::Manual;
  std::string trigger_key;  // Empty: the run's id.
  WallTime plan_time{};
  flow::ParamMap params = {};
  std::optional<Priority> priority = {};  // None: the flow's.
  RunId parent_run = 0;
  TaskId parent_task = 0;
  uint64_t backfill = 0;
  bool compensates = false;
  std::string principal = {};
};

// Hears what became of runs, in the middle of the operation that changes them.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // The run has become terminal; it leaves the live state afterwards.
  virtual void onRunEnded(Operation& operation, const LiveRun& run) = 0;
};

// Moves runs through their life: a place beside other runs of the flow, the tasks by the counters of
// RunProgress, the end. All that follows from a change goes into the caller's operation, so that one
// commit takes a run from the end of a task to the order of the next. Dispatcher thread only.
class RunEngine final : public RunListener {
 public:
  RunEngine(TermContext& context, FlowState& flows, TaskEngine& tasks, EventDesk& events,
            IdAllocator& run_ids);
  void setWatcher(RunWatcher& watcher) { watcher_ = &watcher; }

  // --- entry -------------------------------------------------------------------------------
  // Makes the run and begins it if it has a place. Returns its row as it then is (it may be
  // terminal already). The flow exists and can be read; there is a number for it.
  // Errors: InvalidArgument (a parameter can't be stored).
  Result<RunRecord> start(Operation& operation, const RunStart& what);
  // Takes back a run that recovery read, with its tasks (of any status), in two steps: first all
  // runs and tasks, then carryOn() when the gates open, which does what its last master left.
  void adopt(LiveRun run);
  void adoptTask(const TaskRecord& task);
  void carryOn();

  // --- commands ----------------------------------------------------------------------------
  // Errors: Conflict (state; names it), InvalidArgument (no such task). The run may be gone.
  Status stop(Operation& operation, LiveRun& run, RunReason why);
  Status pause(Operation& operation, LiveRun& run);
  Status resume(Operation& operation, LiveRun& run);
  Status skipWaiting(Operation& operation, LiveRun& run);
  Status setPriority(Operation& operation, LiveRun& run, Priority priority);
  // Runs nodes of a run again. An ended run comes back to life: `run` is adopted with its tasks,
  // `rows` are those of its ended tasks. Errors: Conflict (a task's end was never proved, and no
  // force; it is under way).
  Status rerun(Operation& operation, LiveRun& run, const std::vector<bool>& again,
               const std::map<NodeIndex, TaskRecord>& rows, bool force, BootTime read_at);

  // All live runs of a flow end: what waits at once.
  void stopAll(Operation& operation, const std::string& flow_key, RunReason why);

  // Why a run, or a node that its run holds, waits; for people. Empty: it does not.
  std::string whyWaiting(const LiveRun& run) const;
  std::string whyWaiting(const LiveRun& run, NodeIndex node) const;

  // RunListener
  void onNodeEnded(Operation& operation, NodeEnd end) override;
  void onNodeFree(Operation& operation, LiveTask& task) override;
  void onNodeStopAsked(Operation& operation, LiveTask& task) override;

 private:
  struct Effects;  // Work that a change left.

  // --- places (run_places.cc) ---
  void admit(Operation& operation, LiveRun& run);
  size_t places(const LiveFlow& flow) const;
  void enqueue(LiveFlow& flow, const LiveRun& run);
  void dequeue(LiveFlow& flow, const LiveRun& run);
  void offerBackfill(uint64_t id);
  // Begins what waits while there are places.
  void fillPlaces(Operation& operation, const std::string& flow_key);
  void endUnbegun(Operation& operation, LiveRun& run, RunStatus status, RunReason reason,
                  const std::string& text);

  // --- progress ---
  void begin(Operation& operation, LiveRun& run);
  void apply(Operation& operation, RunId id, const RunEffects& effects);
  void letGo(Operation& operation, LiveRun& run, NodeIndex node);
  void startSubFlow(Operation& operation, LiveRun& run, LiveTask& task,
                    const flow::TaskNode& resolved);
  // Takes what nodes ended since, until nothing follows any more. Within itself it does nothing.
  void drain(Operation& operation);
  void take(Operation& operation, NodeEnd& end);
  void endTasks(Operation& operation, LiveRun& run);
  void settleIfDone(Operation& operation, RunId id);
  void settle(Operation& operation, LiveRun& run, RunStatus status);
  void store(Operation& operation, const LiveRun& run);
  void armTimers(LiveRun& run);
  void onTimer(RunId id, uint32_t generation);

  flow::PlaceholderContext contextOf(const LiveRun& run) const;

  TermContext& context_;
  FlowState& flows_;
  TaskEngine& tasks_;
  EventDesk& events_;
  IdAllocator& run_ids_;
  RunWatcher* watcher_ = nullptr;
  std::vector<NodeEnd> ended_;  // Not taken yet.
  bool draining_ = false;
};

}  // namespace baton::master
