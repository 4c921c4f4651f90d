#pragma once

#include <deque>
#include <functional>
#include <string>

#include "master/host/heartbeat_desk.h"
#include "master/host/runner_registry.h"
#include "master/state/read_worker.h"
#include "master/task/picker.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Answers the runners: finds out what a heartbeat proves (heartbeat_rules), changes tasks
// accordingly, and says what to do next. Heartbeats that come before the gate is open are kept and
// answered then. Dispatcher thread only.
class HeartbeatHandler {
 public:
  // `on_higher_epoch` is told when a runner has seen a later term than this one.
  HeartbeatHandler(TermContext& context, TaskEngine& engine, RunnerRegistry& registry,
                   HeartbeatDesk& desk, Picker& picker, ReadWorker& reads,
                   std::function<void(Epoch)> on_higher_epoch);

  void handle(HeartbeatRequest request, api::HeartbeatReplyFn reply);
  void gone(const std::string& runner_id, const HeartbeatPair& pair);
  // Recovery is whole: answers what has waited.
  void openGate();
  // The term ends: what is held or waits is answered.
  void close();

  // Sends RESET to the runner of a task that is now TERMINATING, if its heartbeat is held.
  void resetRunnerOf(Operation& operation, const LiveTask& task);

 private:
  using Ticket = HeartbeatDesk::Ticket;
  struct Context {
    const HeartbeatRequest& request;
    const RunnerRegistry::Arrival& arrival;
    Operation& operation;
    Runner& runner() const { return *arrival.runner; }
  };

  void process(HeartbeatRequest request, api::HeartbeatReplyFn reply, const AttemptRecord* named,
               bool looked_up);
  void apply(Context context, Ticket ticket, bool late);
  void idle(Context& context, Ticket ticket);
  void afterResult(Context& context, Ticket ticket, bool may_run_new);
  void repeatOrder(Context& context, Ticket ticket, LiveTask& task, bool new_pair);
  void lookUpNamed(HeartbeatRequest request, api::HeartbeatReplyFn reply);
  // Stores a result for an attempt that is not open; false: it is recorded already as it is.
  bool keepLate(Context& context, const AttemptRecord* named);
  bool belongsToAnother(const HeartbeatRequest& request) const;
  bool isOpenInMemory(const AttemptRecord& attempt) const;
  LiveTask* openTask(const Runner& runner) const;
  Millis holdTime(const HeartbeatRequest& request) const;

  TermContext& context_;
  LiveState& live_;
  TaskEngine& engine_;
  RunnerRegistry& registry_;
  HeartbeatDesk& desk_;
  Picker& picker_;
  ReadWorker& reads_;
  const std::function<void(Epoch)> on_higher_epoch_;
  bool open_ = false;
  bool closed_ = false;
  std::deque<std::pair<HeartbeatRequest, api::HeartbeatReplyFn>> waiting_;
};

}  // namespace baton::master
