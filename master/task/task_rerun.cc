// Ended tasks that come back: run again, or declared a success.
#include "common/base/log.h"
#include "master/task/task_engine.h"

namespace baton::master {

Status TaskEngine::checkReread(const TaskRecord& record, BootTime read_at) const {
  const auto ended = live_.recently_ended.find(record.state.id);
  const bool changed = ended != live_.recently_ended.end() && ended->second.mayBeMissingIn(read_at);
  if (live_.tasks.contains(record.state.id) || changed) {
    return Error::make(ErrorCode::Busy, "task {} changed while it was read", record.state.id);
  }
  return {};
}

Status TaskEngine::checkRerun(const TaskRecord& record, bool force, BootTime read_at) const {
  RETURN_IF_ERROR(checkReread(record, read_at));
  if (record.state.unproven && !force) {
    return Error::conflict(
        "task {} (or a task of the run that it was) ended on a lost runner, and nobody proved that "
        "the process is gone; rerun it with force to accept that two may run",
        record.state.id);
  }
  return nextTaskStatus(record.state.status, TaskEvent::Rerun).status();
}

Result<LiveTask*> TaskEngine::rerun(Operation& operation, const TaskRecord& record, bool force,
                                    BootTime read_at, std::unique_ptr<NodePart> part, bool hold) {
  RETURN_IF_ERROR(checkRerun(record, force, read_at));
  // Without its part it would be given to a runner, which may know nothing of its kind.
  if (record.run_id != 0 && part == nullptr) {
    return Error::conflict("task {} is a part of run {}: only the run can run it again",
                           record.state.id, record.run_id);
  }
  LiveTask task;
  task.state = record.state;
  task.part = std::move(part);
  ASSIGN_OR_RETURN(task.policy, live_.policies.intern(record.policy));
  task.created_at = record.created_at;
  task.spec = std::make_shared<const std::string>(record.spec);
  TaskState& state = task.state;
  ASSIGN_OR_RETURN(state.status, nextTaskStatus(state.status, TaskEvent::Rerun));
  state.reason = FailureReason::None;
  state.reason_text.clear();
  state.retries_used = 0;
  state.not_before = {};
  state.started_at = {};
  state.finished_at = {};
  state.return_code.reset();
  state.signal = 0;
  state.cause = StopCause::None;
  state.hold = state.hold || hold;
  state.forced = state.ignored = state.unproven = false;
  state.runner_id.clear();  // Of an attempt of this run of the task, see Callbacker.
  live_.recently_ended.erase(record.state.id);
  if (!record.outputs.empty()) operation.changes.outputs.push_back({record.state.id, {}});
  LiveTask& live = insertLive(std::move(task));
  enterStatus(live);
  makeReady(operation, live);
  logInfo("task_rerun", field("task", live.state.id), field("epoch", context_.epoch()));
  return &live;
}

Status TaskEngine::forceSuccess(Operation& operation, const TaskRecord& record, BootTime read_at) {
  RETURN_IF_ERROR(checkReread(record, read_at));
  LiveTask task;
  task.state = record.state;
  ASSIGN_OR_RETURN(task.policy, live_.policies.intern(record.policy));
  task.created_at = record.created_at;
  ASSIGN_OR_RETURN(task.state.status, nextTaskStatus(task.state.status, TaskEvent::ForceSuccess));
  task.state.forced = true;
  // Terminal before and after: it passes through the live state only to be settled.
  settle(operation, insertLive(std::move(task)));
  return {};
}

}  // namespace baton::master
