#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/model/task_lifecycle.h"
#include "master/state/operation.h"
#include "master/term_context.h"

namespace baton::master {

// Keeps the outbox: told of every status that somebody may want to be called about.
class OutcomeListener {
 public:
  virtual ~OutcomeListener() = default;
  // The task has just become terminal, or reached CALLBACK with an awaited callback. Adds outbox
  // rows to the operation. Returns true if the task must wait in CALLBACK.
  virtual bool onOutcome(Operation& operation, const LiveTask& task, TaskStatus outcome) = 0;
  // The awaited callback of this task is not wanted any more.
  virtual void onCallbackDropped(Operation& operation, const LiveTask& task) = 0;
};

// A task of a run that has become terminal.
struct NodeEnd {
  TaskId task = 0;
  RunId run = 0;
  NodeIndex node = 0;
  TaskStatus status = TaskStatus::Finished;
  FailureReason reason = FailureReason::None;
  std::map<std::string, std::string> outputs = {};
  int32_t attempt = 0;    // The last one.
  bool unproven = false;  // Nobody proved that its process is gone.
  // Of a sub-flow that failed: of what. Of a task that ended well: which outputs are not there.
  std::string text = {};
};

// The runs that tasks are a part of. Calls come in the middle of a change of another task: what
// they change goes into the same operation.
class RunListener {
 public:
  virtual ~RunListener() = default;
  // The task has left the live state.
  virtual void onNodeEnded(Operation& operation, NodeEnd end) = 0;
  // A task that takes no runner may begin: its run has let it go, and it is neither held nor early.
  virtual void onNodeFree(Operation& operation, LiveTask& task) = 0;
  // A task without a runner that is under way is to end (TERMINATING).
  virtual void onNodeStopAsked(Operation& operation, LiveTask& task) = 0;
  // The live run that a task without a runner is; 0: none, it is no sub-flow.
  virtual RunId subRunOf(TaskId task) const = 0;
  // Name of the flow of a live run.
  virtual std::string flowOf(RunId run) const = 0;
  // Why one that its run holds back, or that is under way without a runner, waits; for people.
  struct Waiting {
    WaitingCode code = WaitingCode::None;
    std::string text;
  };
  virtual Waiting whyNodeWaits(const LiveTask& task) const = 0;
  // How many of all such tasks wait for what, added to `counts`. Costs a look at each run, and at
  // the tasks of those that are paused or wait.
  virtual void countWaiting(std::map<WaitingCode, uint64_t>& counts) const = 0;
  // A number that is the same for the same node in all runs of its flow, and that no task has.
  virtual uint64_t workOf(const LiveTask& task) const = 0;
  // The outputs that its definition says it writes.
  virtual const std::vector<std::string>& declaredOutputs(const LiveTask& task) const = 0;
};

// Moves tasks through their life cycle: every change of a status, attempt or queue position of a
// live task goes through here, by the one transition table, and is put into the caller's operation.
// A task that becomes terminal leaves the live state: its reference is dead after the call (said at
// each function). Dispatcher thread only.
class TaskEngine {
 public:
  TaskEngine(TermContext& context, OutcomeListener& outcomes);

  // --- entry -------------------------------------------------------------------------------
  // Takes a new task in (CREATED, or QUEUED if nothing is to be waited for).
  LiveTask& submit(Operation& operation, const TaskSpec& spec);
  // Takes back a task that recovery read: indexes and timers, no change of state.
  void adopt(LiveTask task);
  // A new run of a terminal task, whose row was read at `read_at` (boot time). One of a run comes
  // back with its part of it, never without. What nobody released stays held; `hold`: held anew.
  // Errors: Conflict (it is live, unproven without force, or changed since: Busy).
  Result<LiveTask*> rerun(Operation& operation, const TaskRecord& record, bool force,
                          BootTime read_at, std::unique_ptr<NodePart> part = nullptr,
                          bool hold = false);
  // Whether rerun would do it.
  Status checkRerun(const TaskRecord& record, bool force, BootTime read_at) const;
  Status forceSuccess(Operation& operation, const TaskRecord& record, BootTime read_at);

  // --- tasks of runs (task_nodes.cc) ---------------------------------------------------------
  void setRunListener(RunListener& runs) { runs_ = &runs; }
  struct NodeTask {
    RunId run = 0;
    std::string flow;
    NodeIndex node = 0;
    std::string name;
    std::string kind;
    TaskPolicy policy;
    Priority priority = Priority::Normal;
    std::vector<std::string> tags;
    bool hold = false;
    bool no_runner = false;
    bool ignore_failure = false;
  };
  // A new task that waits for its run to let it go.
  LiveTask& addNode(Operation& operation, const NodeTask& node);
  // What recovery found out about a task that was adopted already.
  void adoptPart(LiveTask& task, std::unique_ptr<NodePart> part);
  // A task that was held back while it was under way is not any more.
  static void releaseGate(LiveTask& task) { task.part->gated = false; }
  // Its run lets it go, with its specification (JSON of runPartToJson; "": takes no runner). It
  // waits on while it is held or early. The task may be gone afterwards.
  void letGo(Operation& operation, LiveTask& task, const std::string& spec);
  // Its run holds it back: what is QUEUED waits again; what is under way goes on, but a retry of it
  // will wait.
  void holdBack(Operation& operation, LiveTask& task);
  // A kind without a runner is under way from now on.
  // `counts`: it is an attempt more, as with countPass.
  void begin(Operation& operation, LiveTask& task, bool counts = true);
  void countPass(Operation& operation, LiveTask& task);
  // The end of one: well, or for a reason. The task is gone afterwards.
  void done(Operation& operation, LiveTask& task, FailureReason reason, const std::string& text,
            const std::map<std::string, std::string>& outputs = {});
  // A TERMINATING one has ended as it was told. The task is gone afterwards.
  void stopped(Operation& operation, LiveTask& task);
  // Its run skips it. The task is gone afterwards.
  void skipNode(Operation& operation, LiveTask& task, FailureReason why, const std::string& text);
  // Its specification does not resolve. The task is gone afterwards.
  void failSpec(Operation& operation, LiveTask& task, const std::string& text);
  void setPriority(Operation& operation, LiveTask& task, Priority priority);

  // --- attempts ----------------------------------------------------------------------------
  // Gives a QUEUED task with a specification in memory to a free runner.
  void dispatch(Operation& operation, LiveTask& task, Runner& runner, const HeartbeatPair& pair);
  // The same order goes out again for a newer heartbeat.
  void repeatOrder(Operation& operation, LiveTask& task, const HeartbeatPair& pair);
  void started(Operation& operation, LiveTask& task);
  // The task is gone from the live state after these, unless it is retried or awaits a callback.
  void endedWell(Operation& operation, LiveTask& task, const AttemptResult& result);
  // The open attempt failed (or, while TERMINATING, is proved gone). `result` may be null.
  void endedBadly(Operation& operation, LiveTask& task, FailureReason reason,
                  const std::string& text, const AttemptResult* result);
  // Nobody can prove anything about the attempt any more.
  void runnerLost(Operation& operation, LiveTask& task);
  // The order provably never arrived and the runner can't take it any more.
  void undelivered(Operation& operation, LiveTask& task);

  // --- commands ----------------------------------------------------------------------------
  // Who is to tell the runner of a task that has just become TERMINATING, by hand or by its
  // timeout.
  void setOnStopAsked(std::function<void(Operation&, const LiveTask&)> told) {
    on_stop_asked_ = std::move(told);
  }
  // Errors: Conflict with the reason. The task may be gone after success. `why` is stored for
  // people ("stopped by ann"); empty: nothing is to be said.
  Status stop(Operation& operation, LiveTask& task, StopCause cause, const std::string& why = {});
  Status skip(Operation& operation, LiveTask& task, const std::string& why = {});
  Status hold(Operation& operation, LiveTask& task);
  Status release(Operation& operation, LiveTask& task);
  // An awaited callback was delivered, or is given up. The task is gone afterwards.
  void callbackDone(Operation& operation, LiveTask& task, bool delivered);

  // Why a live task waits, for people.
  using Waiting = RunListener::Waiting;
  Waiting whyWaiting(const LiveTask& task) const;
  // How many live tasks wait for what, every reason that can be named included. Costs a look at
  // each lane of the queue, not at each task.
  std::map<WaitingCode, uint64_t> waitingByReason() const;

  // Flags tasks that have been DISPATCHED, TERMINATING (beyond their kill_grace) or in CALLBACK
  // for longer than watchdog.stuck_after: each is logged once. To be called now and then.
  void findStuck();
  bool isStuck(const LiveTask& task) const;
  // How many are flagged, for each of these statuses.
  std::map<TaskStatus, uint64_t> stuckByStatus() const;

  // The wall clock was set: what waits for a wall time is looked at again.
  void onWallClockStep();

  AttemptKey openKey(const LiveTask& task) const;

 private:
  // Which outputs of a task that ended well are not there and why; empty: none.
  std::string lostOutputs(const LiveTask& task, const AttemptResult& result) const;
  void move(Operation& operation, LiveTask& task, TaskEvent event);
  void publish(Operation& operation, StateChange::Kind kind, const LiveTask& task);
  void store(Operation& operation, const LiveTask& task);
  // Notes the run of a task that changes.
  void place(Operation& operation, const LiveTask& task) const;
  void enterStatus(LiveTask& task);
  void leaveStatus(LiveTask& task);
  // If the task is terminal: stores it, calls back (unless the callback was the awaited one) and
  // drops it.
  void settle(Operation& operation, LiveTask& task, bool notify = true);
  // When the attempt ended: receipt of the result less how long ago the runner saw the end.
  WallTime closeAttempt(Operation& operation, LiveTask& task, AttemptStatus status,
                        FailureReason reason, const std::string& text, const AttemptResult* result);
  // An attempt of the task was opened, or is about to be closed: its runner, worker, host and
  // limits count it.
  void occupy(const LiveTask& task);
  void release(const LiveTask& task);
  void retryOrFail(Operation& operation, LiveTask& task, FailureReason reason,
                   const std::string& text, WallTime ended_at);
  void makeReady(Operation& operation, LiveTask& task);
  // Behind a move to QUEUED: a task that its run holds back does not stay there.
  void keepGate(Operation& operation, LiveTask& task);
  struct QueueLook;
  Waiting whyQueued(QueueLook& look, LaneId lane, QueuePlace place, bool with_text) const;
  // Which hosts fit and hold back, for people.
  std::string withheldText(LabelClasses::Signature signature) const;
  void armTimer(LiveTask& task);
  void onTimer(TaskId id, uint32_t generation);
  // Whether a task that is RUNNING may be skipped: only a wait for an event.
  Status checkSkipRunning(const LiveTask& task) const;
  Status checkReread(const TaskRecord& record, BootTime read_at) const;
  LiveTask& insertLive(LiveTask task);
  static std::string policyTextOf(const std::string& kind, const TaskPolicy& policy);

  TermContext& context_;
  LiveState& live_;
  OutcomeListener& outcomes_;
  RunListener* runs_ = nullptr;
  std::function<void(Operation&, const LiveTask&)> on_stop_asked_;
  std::string last_kind_;  // Of the newest submission, its policy and their text.
  TaskPolicy last_policy_;
  std::string last_policy_text_;
};

}  // namespace baton::master
