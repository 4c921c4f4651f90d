// Tasks as parts of runs: the side of TaskEngine that a run's progress moves.
#include <algorithm>
#include <utility>

#include "master/task/task_engine.h"

namespace baton::master {
namespace {

constexpr size_t kNodeTextBytesMax = 4'096;

}  // namespace

LiveTask& TaskEngine::addNode(Operation& operation, const NodeTask& node) {
  const std::string policy =
      node.no_runner ? policyToText(node.policy) : policyTextOf(node.kind, node.policy);
  TaskRecord record;
  record.name = node.name;
  record.kind = node.kind;
  record.policy = policy;
  record.tags = node.tags;
  record.group = node.policy.scope.group;
  record.created_at = context_.clock.wallNow();
  record.run_id = node.run;
  record.flow = node.flow;
  record.state.id = context_.task_ids.take();
  record.state.priority = node.priority;
  record.state.hold = node.hold;

  LiveTask task;
  task.state = record.state;
  task.policy = *live_.policies.intern(policy);
  task.created_at = record.created_at;
  task.part = std::make_unique<NodePart>();
  task.part->run = node.run;
  task.part->node = node.node;
  task.part->no_runner = node.no_runner;
  task.part->ignore_failure = node.ignore_failure;
  operation.touchTask(record.state.id);
  operation.changes.new_tasks.push_back(std::move(record));
  LiveTask& live = insertLive(std::move(task));
  enterStatus(live);
  place(operation, live);
  publish(operation, StateChange::Kind::Submitted, live);
  return live;
}

void TaskEngine::letGo(Operation& operation, LiveTask& task, const std::string& spec) {
  CHECK(task.part && task.state.status == TaskStatus::Created);
  if (!spec.empty()) {
    task.spec = std::make_shared<const std::string>(spec);
    operation.touchTask(task.state.id);
    operation.changes.specs.push_back({task.state.id, spec});
  }
  leaveStatus(task);
  task.part->gated = false;
  enterStatus(task);
  makeReady(operation, task);
}

void TaskEngine::holdBack(Operation& operation, LiveTask& task) {
  if (!task.part || task.part->gated) return;
  const bool waits =
      task.state.status == TaskStatus::Created || task.state.status == TaskStatus::Queued;
  if (waits) leaveStatus(task);
  task.part->gated = true;
  if (waits) enterStatus(task);
  keepGate(operation, task);
}

void TaskEngine::adoptPart(LiveTask& task, std::unique_ptr<NodePart> part) {
  leaveStatus(task);
  task.part = std::move(part);
  enterStatus(task);
}

void TaskEngine::keepGate(Operation& operation, LiveTask& task) {
  if (task.part && task.part->gated && task.state.status == TaskStatus::Queued) {
    move(operation, task, TaskEvent::Hold);
  }
}

void TaskEngine::begin(Operation& operation, LiveTask& task, bool counts) {
  task.state.attempt += counts ? 1 : 0;
  task.state.started_at = std::max(context_.clock.wallNow(), task.created_at);
  move(operation, task, TaskEvent::Begin);
}

void TaskEngine::countPass(Operation& operation, LiveTask& task) {
  ++task.state.attempt;
  store(operation, task);
}

void TaskEngine::done(Operation& operation, LiveTask& task, FailureReason reason,
                      const std::string& text, const std::map<std::string, std::string>& outputs) {
  const bool late =
      task.state.status == TaskStatus::Terminating && task.state.cause == StopCause::Timeout;
  if (late && reason != FailureReason::None) {
    reason = FailureReason::Timeout;  // Its text was set when the time was over.
  } else {
    task.state.reason_text = truncateUtf8(text, kNodeTextBytesMax);
  }
  task.state.cause = StopCause::None;
  task.state.reason = reason;
  if (!outputs.empty()) {
    operation.changes.outputs.push_back({task.state.id, dumpJson(Json(outputs))});
    task.part->outputs = outputs;
  }
  move(operation, task,
       reason == FailureReason::None ? TaskEvent::DoneWell : TaskEvent::DoneFailed);
  settle(operation, task);
}

void TaskEngine::stopped(Operation& operation, LiveTask& task) {
  if (task.state.cause == StopCause::Timeout) {
    return done(operation, task, FailureReason::Timeout, task.state.reason_text);
  }
  move(operation, task, TaskEvent::StopProved);
  settle(operation, task);
}

void TaskEngine::skipNode(Operation& operation, LiveTask& task, FailureReason why,
                          const std::string& text) {
  task.state.reason = why;
  task.state.reason_text = truncateUtf8(text, kNodeTextBytesMax);
  move(operation, task, TaskEvent::Skip);
  settle(operation, task);
}

Status TaskEngine::checkSkipRunning(const LiveTask& task) const {
  const TaskId id = task.state.id;
  if (!task.part || !task.part->no_runner) {
    return Error::conflict("task {} is RUNNING: only what has not begun is skipped; stop it", id);
  }
  const RunId sub_run = runs_->subRunOf(id);
  if (sub_run == 0) return {};  // It waits for an event.
  return Error::conflict("task {} is run {}, which is under way: stop that one", id, sub_run);
}

void TaskEngine::failSpec(Operation& operation, LiveTask& task, const std::string& text) {
  task.state.reason = FailureReason::BadSpec;
  task.state.reason_text = truncateUtf8(text, kNodeTextBytesMax);
  move(operation, task, TaskEvent::BadSpec);
  settle(operation, task);
}

void TaskEngine::setPriority(Operation& operation, LiveTask& task, Priority priority) {
  if (task.state.priority == priority) return;
  // Its place in the queue changes and nothing else: its timers go on as they were set.
  const bool queued = task.state.status == TaskStatus::Queued;
  if (queued) live_.ready.remove(task.lane, task.place_at, task.state.id);
  --live_.by_priority[static_cast<size_t>(task.state.priority)];
  task.state.priority = priority;
  ++live_.by_priority[static_cast<size_t>(priority)];
  // Both lanes have the same gates, which count what runs.
  const LaneId lane = live_.ready.laneOf(*task.policy, priority);
  live_.ready.dropLane(std::exchange(task.lane, lane));
  if (queued) live_.ready.add(task.lane, task.place_at, task.state.id);
  store(operation, task);
}

}  // namespace baton::master
