#pragma once

#include <string>
#include <vector>

#include "flow/definition/flow_parser.h"
#include "master/api/flow_ports.h"
#include "master/cause_chain.h"
#include "master/master_ports.h"

namespace baton::master {

// What was found in a definition, as the web API tells it.
std::vector<api::DefinitionIssue> issuesOf(const std::vector<flow::FlowIssue>& issues);

// Flows, runs and events as the web API sees them; the rules of MasterPorts hold.
class FlowPorts final : public api::FlowPort, public api::RunPort, public api::EventPort {
 public:
  // All outlive this.
  FlowPorts(Clock& clock, dao::Database& database, MasterPorts& master);

  void apply(api::FlowApply request, api::Callback<api::FlowApplied> done) override;
  void applyAll(std::vector<api::FlowApply> requests,
                api::Callback<api::FlowsApplied> done) override;
  void setOnline(std::string name, bool online, api::Request request,
                 api::Callback<api::FlowView> done) override;
  void remove(std::string name, api::Request request, api::Callback<api::FlowView> done) override;
  void trigger(api::FlowTrigger request, api::Callback<api::MadeRun> done) override;
  void backfill(api::FlowBackfill request, api::Callback<api::BackfillView> done) override;
  Result<api::FlowView> flow(const std::string& name, std::optional<uint32_t> version) override;
  Result<api::ListOf<api::FlowView>> flows(const api::FlowListQuery& query) override;
  Result<api::ListOf<FlowVersionRecord>> versions(const std::string& name, uint32_t before,
                                                  uint32_t limit) override;

  void order(api::RunOrder order, api::Callback<RunRecord> done) override;
  Result<api::RunView> run(RunId id) override;
  Result<std::vector<api::NodeView>> nodes(RunId id) override;
  Result<api::ListOf<api::RunView>> runs(const api::RunListQuery& query) override;
  Result<api::Explanation> explainRun(RunId id) override;
  Result<api::Explanation> explainTask(TaskId id) override;
  Result<api::ListOf<MissedRecord>> missed(const api::MissedListQuery& query) override;
  Result<api::Explanation> explainMissed(const std::string& flow, WallTime plan_time) override;
  void runMissed(std::string flow, WallTime plan_time, api::Request request,
                 api::Callback<api::MadeRun> done) override;

  void send(api::EventSend event, api::Callback<api::EventSent> done) override;
  Result<api::ListOf<EventRecord>> events(const api::EventListQuery& query) override;

 private:
  struct FlowPage;
  Result<FlowPage> flowPage(ActiveTerm& term, const dao::FlowFilter& filter,
                            const std::string& after, uint32_t limit);
  // By what only definitions say.
  Result<api::ListOf<api::FlowView>> flowsByDefinition(ActiveTerm& term,
                                                       const dao::FlowFilter& filter,
                                                       const api::FlowListQuery& query);
  // Why live runs wait, put into the views.
  void explainWaiting(ActiveTerm& term, std::vector<api::RunView*> views) const;
  Result<RunRecord> runRow(RunId id);
  // The event that began the run, in words; empty: none did.
  Result<std::string> begunBy(const RunRecord& run);
  CauseSource causes(const std::shared_ptr<ActiveTerm>& term);

  Clock& clock_;
  MasterPorts& master_;
  ReaderPool readers_;
};

}  // namespace baton::master
