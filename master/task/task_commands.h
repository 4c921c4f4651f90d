#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/api/ports.h"
#include "master/state/audit.h"
#include "master/task/recent_keys.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Carries out what clients ask: submissions and commands on tasks. Dispatcher thread only.
class TaskCommands {
 public:
  TaskCommands(TermContext& context, TaskEngine& engine);

  // `looked_up_at` is when the idempotency key was looked for in the database and not found.
  void submit(api::Submission submission, BootTime looked_up_at,
              api::Callback<api::SubmitAnswer> done);
  // `record` is the row of a task that was not live when it was read at `read_at`, or null. An
  // answer of Busy means: read again.
  void command(TaskId id, api::TaskCommand command, bool force, const api::Request& request,
               const TaskRecord* record, BootTime read_at, api::Callback<TaskState> done);

  // Orders on ended tasks of runs (rerun, force-success) are the run's to carry out: it alone knows
  // what is behind them. Answers behind the commit, with an audit row of its own.
  using OrderOfRun =
      std::function<void(const TaskRecord& task, api::TaskCommand command, bool force,
                         const api::Request& request, api::Callback<TaskState> done)>;
  void setOrderOfRun(OrderOfRun order) { order_of_run_ = std::move(order); }

  // Of all requests that make something.
  RecentKeys& recentKeys() { return recent_keys_; }

  // Until opened nothing is accepted.
  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  Status admissible(const api::Submission& submission, BootTime looked_up_at) const;
  // Errors: InvalidArgument (a weight that its group's limit can never take; names the task).
  Status checkGroups(const api::Submission& submission) const;
  std::string answerBody(const api::Submission& submission,
                         const std::vector<const LiveTask*>& tasks) const;
  Audit auditOf(const api::Submission& submission, const std::vector<const LiveTask*>& tasks) const;
  Status runLive(Operation& operation, LiveTask& task, api::TaskCommand command,
                 const api::Request& request);
  void refillIds();

  TermContext& context_;
  TaskEngine& engine_;
  OrderOfRun order_of_run_;
  bool open_ = false;
  RecentKeys recent_keys_;
};

}  // namespace baton::master
