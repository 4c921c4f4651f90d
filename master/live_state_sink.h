#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/flow/definition_reader.h"
#include "master/flow/flow_state.h"
#include "master/flow/run_engine.h"
#include "master/host/runner_registry.h"
#include "master/state/live_state.h"
#include "master/task/callbacker.h"
#include "master/task/limit_commands.h"
#include "master/task/task_engine.h"
#include "recover/recover_service.h"

namespace baton::master {

// Puts what recovery reads into the live state. Before the dispatcher runs: promoter's thread.
class LiveStateSink final : public recover::RecoverySink {
 public:
  LiveStateSink(LiveState& live, FlowState& flows, TaskEngine& engine, RunEngine& runs,
                RunnerRegistry& registry, Callbacker& callbacker, LimitCommands& limits)
      : live_(live),
        flows_(flows),
        engine_(engine),
        runs_(runs),
        registry_(registry),
        callbacker_(callbacker),
        limits_(limits) {}

  void expect(size_t tasks) override { live_.tasks.reserve(tasks + tasks / 4); }
  void expectFlows(size_t flows) override { flows_.flows.reserve(flows); }
  void addSetting(const SettingRecord& setting) override;
  void addHost(const HostRecord& host) override { registry_.adopt(host); }
  void addLimit(const LimitRecord& limit) override { limits_.adopt(limit); }
  void addRunner(const RunnerRecord& runner) override { registry_.adopt(runner); }
  Status addTask(recover::RecoveredTask recovered) override;
  void addCallback(const OutboxRecord& callback) override { callbacker_.adopt(callback); }
  void addCalendar(const CalendarRecord& calendar) override { flows_.calendars.adopt(calendar); }
  void addParam(const ParamRecord& param) override { flows_.params.put(param); }
  Status addFlow(dao::FlowRow row) override;
  Status addVersion(const FlowVersionRecord& version) override;
  void addBackfill(const BackfillRecord& backfill) override {
    flows_.backfills[backfill.id].record = backfill;
  }
  Status readDefinitions(std::span<const RunRecord> runs, uint32_t threads,
                         std::stop_token stop) override;
  Status addRun(const RunRecord& run) override;
  Status addRunTask(const TaskRecord& task) override { return runs_.adoptTask(task); }
  Status finish() override;

 private:
  LiveState& live_;
  FlowState& flows_;
  TaskEngine& engine_;
  RunEngine& runs_;
  RunnerRegistry& registry_;
  Callbacker& callbacker_;
  LimitCommands& limits_;
  std::vector<FoundDefinition> unread_;  // Versions of live runs that are not the newest.
  std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const FlowVersion>> older_;
  std::vector<TaskId> unattempted_;  // Under way without an attempt: of a kind without a runner.
};

}  // namespace baton::master
