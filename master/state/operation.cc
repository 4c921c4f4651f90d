#include "master/state/operation.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace baton::master {
namespace {

// Appends `row`, or replaces the row of the same key that is there already.
template <typename Row, typename Index>
void putRow(std::vector<Row>& rows, Index& index, typename Index::key_type key, Row&& row) {
  const auto [it, inserted] = index.try_emplace(std::move(key), rows.size());
  if (inserted) {
    rows.push_back(std::move(row));
  } else {
    rows[it->second] = std::move(row);
  }
}

uint64_t attemptKey(const AttemptRecord& attempt) {
  // Ids stay far below 2^44 and attempts below 2^20: the pair is one number.
  return (attempt.task_id << 20) ^ static_cast<uint64_t>(attempt.number);
}

template <typename Row>
void putNamed(std::vector<Row>& rows, const Row& row) {
  std::erase_if(rows, [&](const Row& older) { return older.name == row.name; });
  rows.push_back(row);
}

// Changes of hosts are rare and few: a look at each is quicker than an index.
void mergeHosts(HostChanges& merged, const HostChanges& later) {
  for (const std::string& name : later.gone_hosts) {
    std::erase_if(merged.hosts, [&](const HostRecord& host) { return host.name == name; });
    merged.gone_hosts.push_back(name);
  }
  for (const HostRecord& host : later.hosts) putNamed(merged.hosts, host);
  for (const SettingRecord& setting : later.settings) putNamed(merged.settings, setting);
  merged.gone_runners.insert(merged.gone_runners.end(), later.gone_runners.begin(),
                             later.gone_runners.end());
}

// Hosts and settings are few, and ordered among themselves: one key for all of them.
// Below the bits that tell runners, runs and flows apart, above every task.
constexpr uint64_t kHostsKey = uint64_t{1} << 60;

}  // namespace

bool HostChanges::empty() const {
  return hosts.empty() && settings.empty() && gone_hosts.empty() && gone_runners.empty();
}

bool ChangeSet::empty() const {
  return new_tasks.empty() && task_states.empty() && outputs.empty() && attempts.empty() &&
         runners.empty() && outbox.empty() && idempotency.empty() && specs.empty() &&
         host.empty() && flows.empty() && flow_versions.empty() && new_runs.empty() &&
         run_states.empty() && missed.empty() && events.empty() && backfills.empty() &&
         calendars.empty() && params.empty() && audit.empty();
}

// The highest set bit tells the kinds apart.
uint64_t taskKey(TaskId id) { return id; }

uint64_t runKey(RunId id) { return id | (uint64_t{1} << 62); }

uint64_t runnerKey(std::string_view runner_id) {
  return std::hash<std::string_view>{}(runner_id) | (uint64_t{1} << 63);
}

uint64_t flowKey(std::string_view name) {
  constexpr uint64_t kBit = uint64_t{1} << 61;
  return (std::hash<std::string>{}(nameKey(name)) & (kBit - 1)) | kBit;
}

void Operation::takeNumber(const std::string& counter, uint64_t number) {
  uint64_t& highest = numbers[counter];
  highest = std::max(highest, number);
}

std::map<std::string, uint64_t> mergeNumbers(std::span<const Operation> operations) {
  std::map<std::string, uint64_t> highest;
  for (const Operation& operation : operations) {
    for (const auto& [counter, number] : operation.numbers) {
      highest[counter] = std::max(highest[counter], number);
    }
  }
  return highest;
}

void Operation::touchTask(TaskId id) { keys.push_back(taskKey(id)); }
void Operation::touchRunner(std::string_view runner_id) { keys.push_back(runnerKey(runner_id)); }

void Operation::touchRun(RunId id) { keys.push_back(runKey(id)); }
void Operation::touchFlow(std::string_view name) { keys.push_back(flowKey(name)); }

void Operation::store(const TaskState& state) {
  if (!changes.task_states.empty() && changes.task_states.back().id == state.id) {
    changes.task_states.back() = state;
    return;
  }
  touchTask(state.id);
  changes.task_states.push_back(state);
}

const TaskState* Operation::stateOf(TaskId id) const {
  const auto& states = changes.task_states;
  const auto newest = std::find_if(states.rbegin(), states.rend(),
                                   [id](const TaskState& state) { return state.id == id; });
  return newest == states.rend() ? nullptr : &*newest;
}

void Operation::store(const AttemptRecord& attempt) {
  touchTask(attempt.task_id);
  touchRunner(attempt.runner_id);
  changes.attempts.push_back(attempt);
}

void Operation::store(const RunnerRecord& runner) {
  touchRunner(runner.runner_id);
  changes.runners.push_back(runner);
}

void Operation::store(const RunState& state, std::string_view flow) {
  const auto& places = changes.places;
  const bool placed = !places.empty() && places.back().task == 0 && places.back().run == state.id;
  if (!flow.empty() && !placed) changes.places.push_back({0, state.id, std::string(flow)});
  if (!changes.run_states.empty() && changes.run_states.back().id == state.id) {
    changes.run_states.back() = state;
    return;
  }
  touchRun(state.id);
  changes.run_states.push_back(state);
}

void Operation::store(const FlowRecord& flow) {
  touchFlow(flow.name);
  changes.flows.push_back(flow);
}

namespace {

// What mergeChanges knows about the flow rows that it has gathered.
struct FlowIndex {
  std::unordered_map<std::string, size_t> flows;
  std::unordered_map<RunId, size_t> new_runs;
  std::unordered_map<RunId, size_t> states;
  std::map<std::pair<std::string, WallTime>, size_t> missed;
  std::unordered_map<std::string, size_t> calendars;
  std::unordered_map<std::string, size_t> params;
};

template <typename Row>
void append(std::vector<Row>& rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

void mergeFlowChanges(ChangeSet& merged, FlowIndex& index, const ChangeSet& changes) {
  for (const FlowRecord& row : changes.flows) {
    putRow(merged.flows, index.flows, row.key(), FlowRecord(row));
  }
  for (const RunRecord& row : changes.new_runs) {
    index.new_runs.emplace(row.state.id, merged.new_runs.size());
    merged.new_runs.push_back(row);
  }
  for (const RunState& row : changes.run_states) {
    if (const auto it = index.new_runs.find(row.id); it != index.new_runs.end()) {
      merged.new_runs[it->second].state = row;
    } else {
      putRow(merged.run_states, index.states, row.id, RunState(row));
    }
  }
  for (const MissedRecord& row : changes.missed) {
    putRow(merged.missed, index.missed, std::pair(nameKey(row.flow), row.plan_time),
           MissedRecord(row));
  }
  append(merged.flow_versions, changes.flow_versions);
  append(merged.events, changes.events);
  append(merged.backfills, changes.backfills);
  for (const CalendarRecord& row : changes.calendars) {
    putRow(merged.calendars, index.calendars, row.key(), CalendarRecord(row));
  }
  for (const ParamRecord& row : changes.params) {
    putRow(merged.params, index.params, row.name, ParamRecord(row));
  }
  append(merged.audit, changes.audit);
  append(merged.places, changes.places);
}

}  // namespace

void Operation::store(const HostRecord& host) {
  keys.push_back(kHostsKey);
  changes.host.hosts.push_back(host);
}

void Operation::store(const SettingRecord& setting) {
  keys.push_back(kHostsKey);
  changes.host.settings.push_back(setting);
}

void Operation::forgetHost(const std::string& name) {
  keys.push_back(kHostsKey);
  changes.host.gone_hosts.push_back(name);
}

void Operation::forgetRunner(const std::string& runner_id) {
  touchRunner(runner_id);
  changes.host.gone_runners.push_back(runner_id);
}

ChangeSet mergeChanges(std::span<Operation> operations) {
  ChangeSet merged;
  std::unordered_map<TaskId, size_t> new_tasks;
  std::unordered_map<TaskId, size_t> states;
  std::unordered_map<TaskId, size_t> outputs;
  std::unordered_map<TaskId, size_t> specs;
  std::unordered_map<uint64_t, size_t> attempts;
  std::unordered_map<std::string, size_t> runners;
  std::unordered_map<uint64_t, size_t> outbox;
  FlowIndex flow_index;
  for (Operation& operation : operations) {
    ChangeSet& changes = operation.changes;
    for (const TaskRecord& task : changes.new_tasks) {
      new_tasks.emplace(task.state.id, merged.new_tasks.size());
      merged.new_tasks.push_back(task);
    }
    for (const TaskState& state : changes.task_states) {
      if (const auto it = new_tasks.find(state.id); it != new_tasks.end()) {
        merged.new_tasks[it->second].state = state;
      } else {
        putRow(merged.task_states, states, state.id, TaskState(state));
      }
    }
    for (const auto& row : changes.outputs) {
      if (const auto it = new_tasks.find(row.task_id); it != new_tasks.end()) {
        merged.new_tasks[it->second].outputs = row.outputs;
      } else {
        putRow(merged.outputs, outputs, row.task_id, dao::FencedTxn::TaskOutputs(row));
      }
    }
    for (const auto& row : changes.specs) {
      if (const auto it = new_tasks.find(row.task_id); it != new_tasks.end()) {
        merged.new_tasks[it->second].spec = row.spec;
      } else {
        putRow(merged.specs, specs, row.task_id, dao::FencedTxn::TaskSpecText(row));
      }
    }
    for (const AttemptRecord& row : changes.attempts) {
      putRow(merged.attempts, attempts, attemptKey(row), AttemptRecord(row));
    }
    if (!changes.host.gone_runners.empty()) {
      // What was stored of them before must not come back behind the deletion.
      const auto& gone = changes.host.gone_runners;
      std::erase_if(merged.runners, [&](const RunnerRecord& row) {
        return std::find(gone.begin(), gone.end(), row.runner_id) != gone.end();
      });
      runners.clear();
      for (size_t i = 0; i < merged.runners.size(); ++i) {
        runners.emplace(merged.runners[i].runner_id, i);
      }
    }
    for (const RunnerRecord& row : changes.runners) {
      putRow(merged.runners, runners, row.runner_id, RunnerRecord(row));
    }
    for (const OutboxRecord& row : changes.outbox) {
      putRow(merged.outbox, outbox, row.id, OutboxRecord(row));
    }
    append(merged.idempotency, changes.idempotency);
    mergeFlowChanges(merged, flow_index, changes);
    mergeHosts(merged.host, changes.host);
  }
  return merged;
}

}  // namespace baton::master
