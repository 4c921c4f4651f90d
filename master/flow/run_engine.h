#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/flow/event_desk.h"
#include "master/flow/flow_state.h"
#include "master/flow/run_rows.h"
#include "master/state/read_worker.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// What a new run is made of.
struct RunStart {
  std::string flow = {};  // Key.
  RunTrigger trigger = RunTrigger::Manual;
  std::string trigger_key = {};  // Empty: the run's id.
  WallTime plan_time{};
  flow::ParamMap params = {};
  std::optional<Priority> priority = {};  // None: the flow's.
  RunId parent_run = 0;
  TaskId parent_task = 0;
  uint64_t backfill = 0;  // LiveBackfill of that id exists.
  bool compensates = false;
  std::string principal = {};
};

// Told of every run that has become terminal, in the operation that ends it.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void onRunEnded(Operation& operation, const LiveRun& run) = 0;
};

// Moves runs through their life: a place beside other runs of the flow, the tasks by the counters
// of RunProgress, the end. All that follows from a change goes into the caller's operation, so that
// one commit takes a run from the end of a task to the order of the next. What is too much for one
// event of the dispatcher goes on in later ones, with operations of their own (run_backlog.cc).
// A run that becomes terminal leaves the live state: its reference is dead once a public function
// has returned. Dispatcher thread only.
class RunEngine final : public RunListener {
 public:
  // `watcher` is told first.
  RunEngine(TermContext& context, FlowState& flows, TaskEngine& tasks, EventDesk& events,
            ReadWorker& reads, IdAllocator& run_ids, RunWatcher& watcher);

  // --- entry -------------------------------------------------------------------------------
  // Makes the run and begins it if it has a place. Returns its row as it then is (it may be
  // terminal). The flow exists and its newest version can be read.
  RunRecord start(Operation& operation, const RunStart& what);
  // The same for several: what follows from any of them does so when all are there.
  std::vector<RunRecord> startAll(Operation& operation, const std::vector<RunStart>& all);
  // Takes back what recovery read: first runs, then their tasks of any status, which are in the
  // live state by then unless they have ended. Errors: Corrupt (the row is named).
  Status adopt(const RunRecord& record, std::shared_ptr<const FlowVersion> version);
  Status adoptTask(const TaskRecord& task);
  // When all of them are there: counts what is to be counted.
  void endAdoption();
  // From when the gates open on: does what the last master left, a part in each turn and each run
  // in an operation of its own; a run that somebody asks for before comes first.
  void carryOn();
  // Nothing that was left for a later turn is done any more.
  void close() { open_ = false; }
  // Deadlines are times of day.
  void onWallClockStep();

  // --- commands ----------------------------------------------------------------------------
  // Errors of all: Conflict (the state; named). `why` is stored: the next master ends it too;
  // `text` says more to people.
  Status stop(Operation& operation, LiveRun& run, RunReason why, const std::string& text = {});
  Status pause(Operation& operation, LiveRun& run);
  Status resume(Operation& operation, LiveRun& run);
  // Only a run that has its first turn before it. `text` says who asked.
  Status skip(Operation& operation, LiveRun& run, const std::string& text);
  Status setPriority(Operation& operation, LiveRun& run, Priority priority);
  // Runs the marked nodes again; `ended` has the rows (read at `read_at`) of those tasks. Of a run
  // that has ended: revive() first. One that never began does so if all nodes are marked.
  // Errors: Conflict (a marked task has not ended, or its end was never proved and no force; all
  // would be skipped again), Busy (changed since it was read). `go_on`: sub-flows that did not end
  // well go on in the runs that they had; else, and behind what runs again, each begins a new one.
  Status rerun(Operation& operation, LiveRun& run, const std::vector<bool>& again,
               const std::map<NodeIndex, TaskRecord>& ended, bool force, BootTime read_at,
               bool go_on);
  // What did not end well and all behind it; everything if none of it ever began.
  static std::vector<bool> unwellOf(const LiveRun& run);
  // A failed task counts as a success; what was skipped behind it runs. As rerun().
  Status forceSuccess(Operation& operation, LiveRun& run, NodeIndex node,
                      const std::map<NodeIndex, TaskRecord>& ended, BootTime read_at);
  // Whether the rows show the last end of a run. Errors: Busy (it is live, or has ended since).
  Status checkEnded(const RunRows& rows) const;
  // An ended run (see checkEnded), as read with all its tasks, comes back into the live state;
  // changes nothing durable. drop() takes it out again if nothing came of it. Errors: Corrupt.
  Result<LiveRun*> revive(const RunRecord& record, std::shared_ptr<const FlowVersion> version,
                          const std::vector<TaskRecord>& tasks);
  void drop(RunId id);
  // The operation ends the run, or amends its end: rows read before it is durable are stale.
  void noteEnd(Operation& operation, RunId id);
  // All runs of a flow end; what waits at once.
  void stopAll(Operation& operation, const std::string& flow_key, RunReason why);

  // Its newest definition may give the flow more places.
  void onDefined(Operation& operation, const std::string& flow_key);

  // What a run waits for; for people. Empty: for nothing.
  std::string whyWaiting(const LiveRun& run) const;

  // RunListener
  void onNodeEnded(Operation& operation, NodeEnd end) override;
  void onNodeFree(Operation& operation, LiveTask& task) override;
  void onNodeStopAsked(Operation& operation, LiveTask& task) override;
  RunId subRunOf(TaskId task) const override;
  std::string flowOf(RunId run) const override;
  Waiting whyNodeWaits(const LiveTask& task) const override;
  void countWaiting(std::map<WaitingCode, uint64_t>& counts) const override;
  uint64_t workOf(const LiveTask& task) const override;
  const std::vector<std::string>& declaredOutputs(const LiveTask& task) const override;

 private:
  // While one stands, ends of nodes gather; the outermost one deals with all that follows.
  class Turn;
  friend class Turn;
  void finishTurn(Operation& operation);
  void take(Operation& operation, NodeEnd& end);

  // --- more than one turn takes (run_backlog.cc) ---
  // A step that was left for later. It stands in what is stored as well, so that the next master
  // does it: a run that waits and has a place, a node whose turn has come and that has not begun, a
  // run that is TERMINATING and has tasks that nobody told, a run as it was found.
  struct Step {
    enum class What : uint8_t { Begin, LetGo, Carry, EndTasks, CarryOn };
    What what = What::Begin;
    RunId run = 0;
    NodeIndex node = 0;
  };
  // Whether this event may do one step more; what it does is to be counted by spend(), a unit for
  // each row or so.
  bool hasRoom();
  void spend(size_t units);
  // Texts that are read, resolved or written cost a turn as much as a row for each so many bytes.
  static constexpr size_t kBytesPerUnit = 256;
  // What it costs to resolve the texts of a node, most of all the parameters.
  static size_t resolvingCost(const LiveRun& run, NodeIndex node);
  void leaveForLater(const Step& step);
  void workOff();
  void doStep(Operation& operation, const Step& step);
  // --- sub-flows (run_sub_flows.cc) ---
  // Empty: the tree of `parent` has room for such a part; else the limit, in words.
  std::string whyNoRoomInTree(const LiveRun& parent, const flow::FlowSpec& part,
                              size_t param_bytes) const;
  void enterTree(LiveRun& run);
  void leaveTree(const LiveRun& run);
  // Trigger key of the run that a task is, in the pass in which it now is.
  static std::string subRunKey(const TaskState& task);
  void linkToParent(const LiveRun& run);  // Of a run that recovery read, if it is the task's.
  void startSubFlow(Operation& operation, LiveRun& run, LiveTask& task,
                    const flow::TaskNode& resolved);
  // A task that had a run before may go on in it: looked up behind the operation, by what is stored
  // of both alone, so that the next master looks it up too.
  struct PartLook {
    RunId run = 0;
    TaskId task = 0;
    std::string flow = {};  // Key.
    std::string key = {};   // Trigger key of the run that is looked for.
  };
  void lookUpPart(Operation& operation, const LiveRun& run, const LiveTask& task);
  void readPart(const PartLook& look);
  void onPartRead(const PartLook& look, const Result<std::optional<RunRows>>& read);
  // Errors: Busy (changed since it was read).
  Status goOnIn(Operation& operation, LiveRun& run, LiveTask& task,
                const std::optional<RunRows>& rows);
  Status goOnIn(Operation& operation, LiveRun& run, LiveTask& task, const RunRows& rows);
  // `unproven`: a process of a task of it may still be there.
  void tellParent(Operation& operation, const RunRecord& record, bool unproven);

  RunRecord add(Operation& operation, const RunStart& what);
  void refill(IdAllocator& ids);

  // --- places (run_places.cc) ---
  void admit(Operation& operation, LiveRun& run);
  size_t placesOf(LiveFlow& flow) const;
  bool hasPlaceFor(LiveFlow& flow, const LiveRun& run) const;
  bool onlyWaitsForItsFlow(const LiveRun& run) const;
  static WaitingRank rankOf(const RunRecord& record);
  // Whether so many wait that are of that class or go before it.
  static bool waitAhead(const LiveFlow& flow, RunClass of, size_t count);
  RunId currentRunOf(const LiveFlow& flow) const;  // That runs or waits; 0: none.
  void enqueue(LiveRun& run);
  void leavePlace(const LiveRun& run);
  void offer(LiveBackfill& backfill);
  void leaveBackfill(Operation& operation, const LiveRun& run, RunStatus status);
  void fillPlaces(Operation& operation, const std::string& flow_key);
  void takePlace(Operation& operation, LiveRun& run);
  // Whether it is known which run before this one ended well. If not, it is read behind the
  // operation, and the run begins then.
  bool looksBack(Operation& operation, LiveRun& run);
  void onLookedBack(RunId id, const Result<WallTime>& previous);
  // One that waits gives its turn up: it never began and is skipped, or is a rerun and stopped.
  void giveUp(Operation& operation, LiveRun& run, RunReason why, const std::string& text);
  // An ended run takes its place anew, in the order of plan times.
  void waitAgain(Operation& operation, LiveRun& run);
  void retryLater();
  void retry();

  // --- progress ---
  bool canBegin(const LiveRun& run) const;
  void begin(Operation& operation, LiveRun& run);
  void apply(Operation& operation, LiveRun& run, const RunEffects& effects);
  void letReadyGo(Operation& operation, LiveRun& run);
  void letGo(Operation& operation, LiveRun& run, NodeIndex node);
  // Whether the specification of a node may be stored: its row, and flow::kRunBytesMax of the run.
  Status takeRoom(LiveRun& run, NodeIndex node, const std::string& text) const;
  static Status roomOf(const LiveRun& run);  // Whether all that is stored so far had room.
  // A kind without a runner begins, or is taken up again after a takeover.
  void carry(Operation& operation, LiveRun& run, LiveTask& task, bool again);
  void endTasks(Operation& operation, LiveRun& run);
  // What recovery found is owed to the run; nothing if that is done.
  void carryOn(Operation& operation, LiveRun& run);
  void carryAgain(Operation& operation, LiveRun& run, LiveTask& task);
  void settle(Operation& operation, LiveRun& run);
  // The run is terminal: its row, its place, who waits for it. It is gone afterwards.
  void finish(Operation& operation, LiveRun& run, RunStatus status);
  // The marked nodes that have ended begin a new pass (their definition may hold them), or go on in
  // the one that a failure cut short. Failed: a new pass in which sub-flows go on.
  enum class Again : uint8_t { NewPass, Failed, GoOn };
  // With `again` what has not begun though its turn had come: what its needs say may be otherwise
  // now. The next master, who knows of a task only whether it has begun, would say the same.
  std::vector<bool> withUnbegun(const LiveRun& run, std::vector<bool> again) const;
  RunEffects recount(Operation& operation, LiveRun& run, const std::vector<bool>& again);
  // Whether a sub-flow that runs again is to have a new run: its pass gets a number of its own.
  static bool beginsPartAnew(const LiveRun& run, NodeIndex node, const std::vector<bool>& again,
                             Again how);
  void runAgain(Operation& operation, LiveRun& run, const std::vector<bool>& again,
                const std::map<NodeIndex, TaskRecord>& ended, bool force, BootTime read_at,
                Again how);
  // Of an ended run whose tasks were declared to have ended otherwise.
  void amendEnd(Operation& operation, LiveRun& run);
  // Whether somebody asked for a plan time of the past, for that run or the one that it is a part
  // of.
  bool isOfThePast(const RunRecord& record) const;
  void armTimers(LiveRun& run);
  void armDeadline(LiveRun& run);
  void onTimeout(RunId id, uint32_t generation);
  void onDeadline(RunId id, uint32_t generation);

  LiveTask* taskOf(const LiveRun& run, NodeIndex node) const;
  LiveFlow& flowOf(const LiveRun& run);
  // What the texts of a node are resolved with. `upstream` is filled, and outlives it as the run
  // does.
  flow::PlaceholderContext contextOf(const LiveRun& run, const flow::TaskNode& node,
                                     flow::ParamMap& upstream) const;

  TermContext& context_;
  FlowState& flows_;
  TaskEngine& tasks_;
  EventDesk& events_;
  ReadWorker& reads_;
  IdAllocator& run_ids_;
  RunWatcher& watcher_;
  int turns_ = 0;
  std::deque<Step> backlog_;
  bool working_off_ = false;  // A look at the backlog is under way.
  bool open_ = false;
  size_t spent_ = 0;             // By this event of the dispatcher.
  uint64_t spent_at_ = 0;        // Its number.
  std::vector<NodeEnd> ended_;   // Not taken yet.
  std::set<std::string> freed_;  // Flows with a place that may have become free.
  std::vector<RunId> unbegun_;   // Have a place; wait for task numbers.
  bool retrying_ = false;
};

}  // namespace baton::master
