#pragma once

#include <memory>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/flow_state.h"
#include "master/flow/run_engine.h"
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

  // Dispatcher thread.
  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  // The rows of a run, read at one moment.
  struct Rows;
  void read(api::RunOrder order, int tries, api::Callback<RunRecord> done);
  void decide(const api::RunOrder& order, const Rows& rows, int tries,
              const api::Callback<RunRecord>& done);
  Audit auditOf(const api::RunOrder& order) const;
  Status run(Operation& operation, const api::RunOrder& order, const Rows& rows, LiveRun& run);
  Result<LiveRun*> find(const api::RunOrder& order, const Rows& rows, bool& revived);
  Result<std::vector<bool>> nodesOf(const api::RunOrder& order, const LiveRun& run) const;

  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  TaskEngine& tasks_;
  ReadWorker& reads_;
  bool open_ = false;
};

}  // namespace baton::master
