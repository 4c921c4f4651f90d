#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/audit_record.h"
#include "common/model/flow_records.h"
#include "common/model/host_records.h"
#include "common/model/records.h"
#include "dao/fenced_txn.h"

namespace baton::master {

// Row changes about hosts. Of a key that is forgotten and stored the later one counts.
struct HostChanges {
  std::vector<HostRecord> hosts;
  std::vector<SettingRecord> settings;
  std::vector<std::string> gone_hosts;
  std::vector<std::string> gone_runners;

  bool empty() const;
};

// Row changes, absolute values. Within one set a later row of the same key replaces the earlier.
struct ChangeSet {
  std::vector<TaskRecord> new_tasks;
  std::vector<TaskState> task_states;
  std::vector<dao::FencedTxn::TaskOutputs> outputs;
  std::vector<dao::FencedTxn::TaskSpecText> specs;
  std::vector<AttemptRecord> attempts;
  std::vector<RunnerRecord> runners;
  std::vector<OutboxRecord> outbox;
  std::vector<IdempotencyRecord> idempotency;
  std::vector<FlowRecord> flows;
  std::vector<FlowVersionRecord> flow_versions;
  std::vector<RunRecord> new_runs;
  std::vector<RunState> run_states;
  std::vector<MissedRecord> missed;
  std::vector<EventRecord> events;
  std::vector<BackfillRecord> backfills;
  std::vector<CalendarRecord> calendars;
  std::vector<ParamRecord> params;  // Of the project.
  HostChanges host;
  std::vector<AuditRecord> audit;  // See master/state/audit.h.

  // The runs and flows to which changed tasks and runs belong: for watchers, not stored.
  struct Place {
    TaskId task = 0;  // 0: the run itself.
    RunId run = 0;
    std::string flow = {};
  };
  std::vector<Place> places;

  bool empty() const;
};

// What one decision changes and what may leave once that is durable. Effects run on the writer
// thread behind the commit, in the order of the decisions; they touch no live state.
struct Operation {
  ChangeSet changes;
  std::vector<uint64_t> keys;  // What it is about, see taskKey and its likes.
  // The highest number that was taken without being reserved, by counter: they are reserved with
  // it.
  std::map<std::string, uint64_t> numbers;
  // Statements beyond row changes (id blocks, purges); may run again when the batch is repeated.
  std::vector<std::function<Status(dao::FencedTxn&)>> statements;
  std::vector<std::function<void()>> effects;
  uint64_t decided = 0;  // Rises from one decision to the next; set by the state writer.

  void takeNumber(const std::string& counter, uint64_t number);
  void touchTask(TaskId id);
  void touchRunner(std::string_view runner_id);
  void touchRun(RunId id);
  void touchFlow(std::string_view name);
  // Stores the task, run or flow as it now is.
  void store(const TaskState& state);
  void store(const AttemptRecord& attempt);
  void store(const RunnerRecord& runner);
  void store(const RunState& state, std::string_view flow = {});  // `flow`: its name.
  void store(const FlowRecord& flow);
  void store(const HostRecord& host);
  void store(const SettingRecord& setting);
  void forgetHost(const std::string& name);
  void forgetRunner(const std::string& runner_id);
  // The newest state of that task in it; null: it does not change.
  const TaskState* stateOf(TaskId id) const;
  bool writes() const { return !changes.empty() || !statements.empty() || !numbers.empty(); }
  void then(std::function<void()> effect) { effects.push_back(std::move(effect)); }
};

// Keys of different kinds differ; ids are below 2^61. Of the name of a flow case does not count.
uint64_t taskKey(TaskId id);
uint64_t runKey(RunId id);
uint64_t runnerKey(std::string_view runner_id);
uint64_t flowKey(std::string_view name);

// The numbers that operations of one batch have taken, the highest of each counter.
std::map<std::string, uint64_t> mergeNumbers(std::span<const Operation> operations);

// One set for the whole batch: one row per key, the newest, new tasks and runs with their newest
// state.
ChangeSet mergeChanges(std::span<Operation> operations);

}  // namespace baton::master
