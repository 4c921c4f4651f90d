#pragma once

#include <set>
#include <string>
#include <utility>

#include "master/flow/flow_state.h"
#include "master/flow/run_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Begins runs when their schedules are due. The next instant of every online flow stands in its row
// and in one ordered set here; the run's row and the next instant are written by one operation, so
// that no instant has two runs and none is passed over, whoever dies when. Instants that passed while
// nobody looked are dealt with by the schedule's misfire policy, each as a run or a missed row, after
// what is due now. Dispatcher thread only.
class Planner {
 public:
  Planner(TermContext& context, FlowState& flows, RunEngine& runs, IdAllocator& run_ids);

  // The flow was changed, went online or offline, or was deleted: its record already says so, but
  // for next_at, which this sets (strictly later than now and than record.last_instant) and the
  // caller stores.
  void plan(LiveFlow& flow);

  // From now on what is due is begun: first what is due now, then what was missed.
  void open();
  void close();
  // The wall clock was set: looks again at once. Instants that lie behind a forward step are treated
  // as missed; after a backward step nothing that has fired fires again.
  void onWallClockStep();

 private:
  void arm();
  void onDue();

  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  IdAllocator& run_ids_;
  std::set<std::pair<WallTime, std::string>> due_;  // Next instant and key of each online flow.
  bool open_ = false;
  uint64_t timer_ = 0;
};

}  // namespace baton::master
