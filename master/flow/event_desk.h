#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/flow_state.h"
#include "master/state/read_worker.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Brings together what happened and who waits for it: ends of runs and tasks, and events from
// outside, with event tasks and with flows that an event begins. What happened is a committed row
// before anybody is told of it, so that whoever comes later finds it there; a wait is looked up in
// the database when it begins and again behind each commit that may have met it. Dispatcher thread
// only.
class EventDesk {
 public:
  // A flow's `trigger` is met. `trigger_key` is unique to what happened.
  using Trigger = std::function<void(Operation& operation, const std::string& flow_key,
                                     const std::string& trigger_key, WallTime plan_time,
                                     const flow::ParamMap& params)>;

  EventDesk(TermContext& context, FlowState& flows, ReadWorker& reads, IdAllocator& event_ids);
  void setEngine(TaskEngine& tasks) { tasks_ = &tasks; }
  void setTrigger(Trigger trigger) { trigger_ = std::move(trigger); }

  // --- waits -------------------------------------------------------------------------------
  // The task (RUNNING, of kind event) waits for what `wait` says, its placeholders resolved, for a
  // run of this plan time in this zone. It ends well (TaskEngine::done) once that is met; event data
  // become its outputs. Behind the operation, never within it.
  void wait(Operation& operation, const LiveTask& task, const flow::EventWait& wait,
            WallTime plan_time, const TimeZone& zone);
  void forget(TaskId task);
  // For people: "waits for flow fx-rates, task rates, plan times from … to …: the newest is FAILED".
  std::string whyWaiting(TaskId task) const;

  // --- what happened -----------------------------------------------------------------------
  // A run, or a task of a run, has become terminal.
  void onRunEnded(Operation& operation, const LiveRun& run);
  void onNodeEnded(Operation& operation, const LiveRun& run, const NodeEnd& end);
  // An event from outside. Stored once by (name, key).
  void send(api::EventSend event, api::Callback<api::EventSent> done);

  // The flow's definition or state changed: which events begin it.
  void onFlowChanged(const LiveFlow& flow);

  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  TermContext& context_;
  FlowState& flows_;
  ReadWorker& reads_;
  IdAllocator& event_ids_;
  TaskEngine* tasks_ = nullptr;
  Trigger trigger_;
  bool open_ = false;
};

}  // namespace baton::master
