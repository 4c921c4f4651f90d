#pragma once

#include <functional>
#include <memory>
#include <string>

#include "master/api/flow_ports.h"
#include "master/flow/event_desk.h"
#include "master/flow/flow_state.h"
#include "master/flow/planner.h"
#include "master/flow/run_engine.h"
#include "master/term_context.h"

namespace baton::master {

// What people ask of flows, decided on the dispatcher thread; answers leave behind the commit.
// Definitions are read and checked by the caller's thread before (FlowPort::apply).
class FlowCommands {
 public:
  FlowCommands(TermContext& context, FlowState& flows, RunEngine& runs, Planner& planner,
               EventDesk& events, IdAllocator& run_ids);

  // `version` was made of request.text and has no number yet.
  void apply(const api::FlowApply& request, std::shared_ptr<const FlowVersion> version,
             api::Callback<api::FlowApplied> done);
  void setOnline(const std::string& name, bool online, api::Callback<api::FlowView> done);
  void remove(const std::string& name, api::Callback<api::FlowView> done);
  void trigger(const api::FlowTrigger& request, api::Callback<RunRecord> done);
  void backfill(const api::FlowBackfill& request, api::Callback<api::BackfillView> done);
  void runMissed(const MissedRecord& missed, const api::Request& request,
                 api::Callback<RunRecord> done);

  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  TermContext& context_;
  FlowState& flows_;
  RunEngine& runs_;
  Planner& planner_;
  EventDesk& events_;
  IdAllocator& run_ids_;
  bool open_ = false;
};

}  // namespace baton::master
