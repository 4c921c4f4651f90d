#include "master/state/operation.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace baton::master {
namespace {

// Appends `row`, or replaces the row of the same key that is there already.
template <typename Row, typename Key>
void putRow(std::vector<Row>& rows, std::unordered_map<Key, size_t>& index, Key key, Row&& row) {
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

}  // namespace

bool ChangeSet::empty() const {
  return new_tasks.empty() && task_states.empty() && outputs.empty() && attempts.empty() &&
         runners.empty() && outbox.empty() && idempotency.empty();
}

uint64_t taskKey(TaskId id) { return id; }

uint64_t runnerKey(std::string_view runner_id) {
  return std::hash<std::string_view>{}(runner_id) | (uint64_t{1} << 63);
}

void Operation::touchTask(TaskId id) { keys.push_back(taskKey(id)); }
void Operation::touchRunner(std::string_view runner_id) { keys.push_back(runnerKey(runner_id)); }

void Operation::store(const TaskState& state) {
  if (!changes.task_states.empty() && changes.task_states.back().id == state.id) {
    changes.task_states.back() = state;
    return;
  }
  touchTask(state.id);
  changes.task_states.push_back(state);
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

ChangeSet mergeChanges(std::span<Operation> operations) {
  ChangeSet merged;
  std::unordered_map<TaskId, size_t> new_tasks;
  std::unordered_map<TaskId, size_t> states;
  std::unordered_map<TaskId, size_t> outputs;
  std::unordered_map<uint64_t, size_t> attempts;
  std::unordered_map<std::string, size_t> runners;
  std::unordered_map<uint64_t, size_t> outbox;
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
    for (const AttemptRecord& row : changes.attempts) {
      putRow(merged.attempts, attempts, attemptKey(row), AttemptRecord(row));
    }
    for (const RunnerRecord& row : changes.runners) {
      putRow(merged.runners, runners, row.runner_id, RunnerRecord(row));
    }
    for (const OutboxRecord& row : changes.outbox) {
      putRow(merged.outbox, outbox, row.id, OutboxRecord(row));
    }
    merged.idempotency.insert(merged.idempotency.end(), changes.idempotency.begin(),
                              changes.idempotency.end());
  }
  return merged;
}

}  // namespace baton::master
