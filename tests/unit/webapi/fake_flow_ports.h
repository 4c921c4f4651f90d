#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "master/api/flow_ports.h"

// Ports of flows, runs and events that only remember what they were asked and answer what the test
// has set. Set before a request, read after its answer.
namespace baton::webapi::test {

class FakeFlows final : public master::api::FlowPort {
 public:
  void apply(master::api::FlowApply request,
             master::api::Callback<master::api::FlowApplied> done) override {
    applies.push_back(std::move(request));
    fail ? done(*fail) : done(applied);
  }
  void applyAll(std::vector<master::api::FlowApply> all,
                master::api::Callback<master::api::FlowsApplied> done) override {
    applies = std::move(all);
    fail ? done(*fail) : done(all_applied);
  }
  void setOnline(std::string name, bool online, master::api::Request request,
                 master::api::Callback<master::api::FlowView> done) override {
    onlines.emplace_back(std::move(name), online);
    requests.push_back(std::move(request));
    fail ? done(*fail) : done(view);
  }
  void remove(std::string name, master::api::Request request,
              master::api::Callback<master::api::FlowView> done) override {
    removed.push_back(std::move(name));
    requests.push_back(std::move(request));
    fail ? done(*fail) : done(view);
  }
  void trigger(master::api::FlowTrigger request,
               master::api::Callback<master::api::MadeRun> done) override {
    triggers.push_back(std::move(request));
    fail ? done(*fail) : done(master::api::MadeRun{run, replayed});
  }
  void backfill(master::api::FlowBackfill request,
                master::api::Callback<master::api::BackfillView> done) override {
    backfills.push_back(std::move(request));
    fail ? done(*fail) : done(backfill_view);
  }
  Result<master::api::FlowView> flow(const std::string& name,
                                     std::optional<uint32_t> version) override {
    asked = {name, version};
    if (fail) return *fail;
    return view;
  }
  Result<master::api::ListOf<master::api::FlowView>> flows(
      const master::api::FlowListQuery& query) override {
    last_query = query;
    if (fail) return *fail;
    return list;
  }
  Result<master::api::ListOf<FlowVersionRecord>> versions(const std::string& name, uint32_t before,
                                                          uint32_t limit) override {
    versions_asked = {name, before, limit};
    if (fail) return *fail;
    return version_list;
  }

  bool replayed = false;
  std::optional<Error> fail;
  master::api::FlowApplied applied;
  master::api::FlowsApplied all_applied;
  master::api::FlowView view;
  RunRecord run;
  master::api::BackfillView backfill_view;
  master::api::ListOf<master::api::FlowView> list;
  master::api::ListOf<FlowVersionRecord> version_list;

  std::vector<master::api::FlowApply> applies;
  std::vector<std::pair<std::string, bool>> onlines;
  std::vector<std::string> removed;
  std::vector<master::api::Request> requests;  // Of onlines and removed.
  std::vector<master::api::FlowTrigger> triggers;
  std::vector<master::api::FlowBackfill> backfills;
  std::pair<std::string, std::optional<uint32_t>> asked;
  master::api::FlowListQuery last_query;
  std::tuple<std::string, uint32_t, uint32_t> versions_asked;
};

class FakeCalendars final : public master::api::CalendarPort {
 public:
  void apply(master::api::CalendarApply request,
             master::api::Callback<master::api::CalendarApplied> done) override {
    applies.push_back(std::move(request));
    fail ? done(*fail) : done(applied);
  }
  void applyAll(std::vector<master::api::CalendarApply> requests,
                master::api::Callback<master::api::CalendarsApplied> done) override {
    applies = std::move(requests);
    fail ? done(*fail) : done(all_applied);
  }
  void remove(std::string name, master::api::Request request,
              master::api::Callback<master::api::CalendarView> done) override {
    removed.emplace_back(std::move(name), std::move(request));
    fail ? done(*fail) : done(view);
  }
  Result<master::api::CalendarView> calendar(const std::string& name) override {
    asked = name;
    if (fail) return *fail;
    return view;
  }
  Result<master::api::ListOf<master::api::CalendarView>> calendars(const std::string& after,
                                                                   uint32_t limit) override {
    list_asked = {after, limit};
    if (fail) return *fail;
    return list;
  }

  std::optional<Error> fail;
  master::api::CalendarApplied applied;
  master::api::CalendarsApplied all_applied;
  master::api::CalendarView view;
  master::api::ListOf<master::api::CalendarView> list;
  std::vector<master::api::CalendarApply> applies;
  std::vector<std::pair<std::string, master::api::Request>> removed;
  std::string asked;
  std::pair<std::string, uint32_t> list_asked;
};

class FakeParams final : public master::api::ParamPort {
 public:
  void set(master::api::ParamSet request,
           master::api::Callback<master::api::ParamIsSet> done) override {
    sets.push_back(std::move(request));
    fail ? done(*fail) : done(is_set);
  }
  void remove(std::string name, master::api::Request request,
              master::api::Callback<ParamRecord> done) override {
    removed.emplace_back(std::move(name), std::move(request));
    fail ? done(*fail) : done(is_set.param);
  }
  Result<ParamRecord> param(const std::string& name) override {
    asked = name;
    if (fail) return *fail;
    return is_set.param;
  }
  Result<std::vector<ParamRecord>> params() override {
    if (fail) return *fail;
    return std::vector<ParamRecord>{is_set.param};
  }

  std::optional<Error> fail;
  master::api::ParamIsSet is_set;
  std::vector<master::api::ParamSet> sets;
  std::vector<std::pair<std::string, master::api::Request>> removed;
  std::string asked;
};

class FakeRuns final : public master::api::RunPort {
 public:
  void order(master::api::RunOrder order, master::api::Callback<RunRecord> done) override {
    orders.push_back(std::move(order));
    fail ? done(*fail) : done(view.record);
  }
  Result<master::api::RunView> run(RunId id) override {
    if (id != view.record.state.id) return Error::notFound("there is no run {}", id);
    if (fail) return *fail;
    return view;
  }
  Result<std::vector<master::api::NodeView>> nodes(RunId id) override {
    if (id != view.record.state.id) return Error::notFound("there is no run {}", id);
    if (fail) return *fail;
    return node_list;
  }
  Result<master::api::ListOf<master::api::RunView>> runs(
      const master::api::RunListQuery& query) override {
    last_query = query;
    if (fail) return *fail;
    return list;
  }
  Result<master::api::Explanation> explainRun(RunId id) override { return explain("run", id); }
  Result<master::api::Explanation> explainTask(TaskId id) override { return explain("task", id); }
  Result<master::api::Explanation> explainMissed(const std::string& flow,
                                                 WallTime plan_time) override {
    if (fail) return *fail;
    return master::api::Explanation{.status = flow + " " + formatRfc3339(plan_time),
                                    .reasons = reasons};
  }
  Result<master::api::ListOf<MissedRecord>> missed(
      const master::api::MissedListQuery& query) override {
    missed_asked = query;
    if (fail) return *fail;
    return missed_list;
  }
  void runMissed(std::string flow, WallTime plan_time, master::api::Request request,
                 master::api::Callback<master::api::MadeRun> done) override {
    missed_runs.emplace_back(std::move(flow), plan_time, std::move(request));
    fail ? done(*fail) : done(master::api::MadeRun{view.record, replayed});
  }

  bool replayed = false;
  std::optional<Error> fail;
  master::api::RunView view;
  std::vector<master::api::NodeView> node_list;
  master::api::ListOf<master::api::RunView> list;
  master::api::ListOf<MissedRecord> missed_list;
  std::vector<std::string> reasons;

  std::vector<master::api::RunOrder> orders;
  master::api::RunListQuery last_query;
  master::api::MissedListQuery missed_asked;
  std::vector<std::tuple<std::string, WallTime, master::api::Request>> missed_runs;

 private:
  Result<master::api::Explanation> explain(const char* what, uint64_t id) {
    if (fail) return *fail;
    return master::api::Explanation{.status = fmt::format("{} {}", what, id), .reasons = reasons};
  }
};

class FakeEvents final : public master::api::EventPort {
 public:
  void send(master::api::EventSend event,
            master::api::Callback<master::api::EventSent> done) override {
    sent.push_back(std::move(event));
    fail ? done(*fail) : done(answer);
  }
  Result<master::api::ListOf<EventRecord>> events(
      const master::api::EventListQuery& query) override {
    asked = query;
    if (fail) return *fail;
    return list;
  }

  std::optional<Error> fail;
  master::api::EventSent answer;
  master::api::ListOf<EventRecord> list;
  std::vector<master::api::EventSend> sent;
  master::api::EventListQuery asked;
};

}  // namespace baton::webapi::test
