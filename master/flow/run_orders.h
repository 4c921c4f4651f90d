#pragma once

#include <memory>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/flow_state.h"
#include "master/flow/run_engine.h"
#include "master/flow/run_rows.h"
#include "master/state/audit.h"
#include "master/state/read_worker.h"
#include "master/term_context.h"

namespace baton::master {

// What people order a run to do: finds the run, in memory or in the database, lets the engine
// decide on the dispatcher thread, and answers behind the commit.
class RunOrders {
 public:
  RunOrders(TermContext& context, FlowState& flows, RunEngine& runs, TaskEngine& tasks,
            ReadWorker& reads);

  // Any thread. Errors: as api::RunPort::order.
  void order(api::RunOrder order, api::Callback<RunRecord> done);
  // The same order (Rerun of that task alone, or ForceSuccess) asked of an ended task of a run: its
  // answer and its audit row are about the task. Any thread. Errors: as api::TaskPort::command.
  void orderTask(const TaskRecord& task, api::TaskCommand command, bool force,
                 const api::Request& request, api::Callback<TaskState> done);

  // Dispatcher thread.
  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  // What an order leaves: the run, and the task that was asked.
  struct Outcome {
    RunRecord run = {};
    TaskState task = {};
  };
  struct Asked {
    api::RunOrder order;
    TaskId task = 0;  // That was asked; 0: the run itself.
    api::Callback<Outcome> done;
  };
  void read(Asked asked, int tries);
  void decide(const Asked& asked, const RunRows& rows, int tries);
  Outcome outcomeOf(const Asked& asked, const RunRows& rows, const Operation& operation) const;
  Audit auditOf(const Asked& asked) const;
  Status run(Operation& operation, const api::RunOrder& order, const RunRows& rows, LiveRun& run);
  Result<LiveRun*> find(const api::RunOrder& order, const RunRows& rows, bool& revived);
  Result<std::vector<bool>> nodesOf(const api::RunOrder& order, const LiveRun& run) const;

  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  TaskEngine& tasks_;
  ReadWorker& reads_;
  bool open_ = false;
};

}  // namespace baton::master
