// Runs that are tasks of other runs: they begin for a task, end it, are stopped with it, and form
// trees.
#include <algorithm>

#include "common/base/log.h"
#include "flow/definition/resolve_task.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

constexpr int kSubFlowDepthMax = 10;
constexpr Millis kPartRetry{200};  // After a look-up that failed, or was overtaken.

size_t bytesOf(const flow::ParamMap& params) {
  size_t bytes = 0;
  for (const auto& [name, value] : params) bytes += name.size() + (value ? value->size() : 0);
  return bytes;
}

}  // namespace

std::string RunEngine::subRunKey(const TaskState& task) {
  return fmt::format("{}/{}", task.id, task.attempt);
}

void RunEngine::startSubFlow(Operation& operation, LiveRun& run, LiveTask& task,
                             const flow::TaskNode& resolved) {
  const std::string key = nameKey(resolved.flow);
  LiveFlow* flow = flows_.findFlow(key);
  const size_t read_before = flows_.bytes_read;
  if (flow == nullptr || flows_.newestOf(*flow) == nullptr) {
    return tasks_.done(operation, task, FailureReason::SubFlowFailed,
                       fmt::format("there is no flow {}", resolved.flow));
  }
  const size_t param_bytes = bytesOf(resolved.params);
  spend((flows_.bytes_read - read_before + param_bytes) / kBytesPerUnit);
  int depth = 1;
  for (const LiveRun* above = &run; above != nullptr && depth <= kSubFlowDepthMax;
       above = flows_.findRun(above->record.parent_run)) {
    ++depth;
  }
  if (depth > kSubFlowDepthMax) {
    return tasks_.done(
        operation, task, FailureReason::SubFlowFailed,
        fmt::format("flows lie within each other more than {} deep", kSubFlowDepthMax));
  }
  const std::string no_room = whyNoRoomInTree(run, flow->newest->spec, param_bytes);
  if (!no_room.empty()) {
    return tasks_.done(operation, task, FailureReason::SubFlowFailed, no_room);
  }
  const TaskId id = task.state.id;
  // What nobody has given is not handed on as an empty text: the part has a value of its own.
  flow::ParamMap params = resolved.params;
  std::erase_if(params, [](const auto& param) { return !param.second; });
  add(operation, {.flow = key,
                  .trigger = RunTrigger::SubFlow,
                  .trigger_key = subRunKey(task.state),
                  .plan_time = run.record.plan_time,
                  .params = std::move(params),
                  .priority = task.state.priority,
                  .parent_run = run.record.state.id,
                  .parent_task = id,
                  .principal = run.record.principal});
}

void RunEngine::lookUpPart(Operation& operation, const LiveRun& run, const LiveTask& task) {
  const PartLook look{.run = run.record.state.id,
                      .task = task.state.id,
                      .flow = nameKey(run.version->spec.tasks[task.part->node].flow),
                      .key = subRunKey(task.state)};
  operation.then([this, look] { readPart(look); });
}

void RunEngine::readPart(const PartLook& look) {
  reads_.submit([this, look](dao::Reader& reader) {
    const auto read = [&]() -> Result<std::optional<RunRows>> {
      const BootTime now = context_.clock.bootNow();
      ASSIGN_OR_RETURN(const auto found, reader.runs({.flow = look.flow,
                                                      .triggers = {RunTrigger::SubFlow},
                                                      .trigger_key = look.key},
                                                     0, 1));
      if (found.items.empty()) return std::optional<RunRows>();
      return readRunRows(reader, found.items.front().state.id, now, true);
    };
    context_.dispatcher.post([this, look, rows = read()] { onPartRead(look, rows); });
  });
}

void RunEngine::onPartRead(const PartLook& look, const Result<std::optional<RunRows>>& read) {
  LiveRun* run = flows_.findRun(look.run);
  LiveTask* task = context_.live.findTask(look.task);
  const bool waits = run != nullptr && task != nullptr &&
                     task->state.status == TaskStatus::Running &&
                     subRunKey(task->state) == look.key && !flows_.sub_runs.contains(look.task);
  if (!waits || !open_) return;  // Ended by hand meanwhile.
  Operation operation;
  Status done;
  {
    const Turn turn(*this, operation);
    done = read.ok() ? goOnIn(operation, *run, *task, *read) : Status(read.error());
  }
  context_.writer.submit(std::move(operation));
  if (done.ok()) return;
  logWarn("sub_run_not_looked_up", field("task", look.task),
          field("error", done.error().message()));
  context_.dispatcher.callAt(context_.clock.bootNow() + kPartRetry,
                             [this, look] { readPart(look); });
}

Status RunEngine::goOnIn(Operation& operation, LiveRun& run, LiveTask& task,
                         const std::optional<RunRows>& rows) {
  if (rows) {
    const Status gone_on = goOnIn(operation, run, task, *rows);
    if (gone_on.ok() || gone_on.error().code() == ErrorCode::Busy) return gone_on;
    if (gone_on.error().code() != ErrorCode::NotFound) {
      tasks_.done(operation, task, FailureReason::SubFlowFailed, gone_on.error().message());
      return {};
    }
    tasks_.countPass(operation, task);  // Nothing of that run is left to be done.
  }
  flow::ParamMap upstream;
  const flow::TaskNode& spec = run.version->spec.tasks[task.part->node];
  const auto resolved = flow::resolveTask(spec, contextOf(run, spec, upstream));
  if (!resolved.ok()) {
    tasks_.done(operation, task, FailureReason::BadSpec, resolved.error().told());
    return {};
  }
  startSubFlow(operation, run, task, *resolved);
  return {};
}

Status RunEngine::goOnIn(Operation& operation, LiveRun& run, LiveTask& task, const RunRows& rows) {
  const RunRecord& record = rows.run;
  const RunId id = record.state.id;
  if (flows_.findRun(id) != nullptr) {  // Somebody runs it again: its end is that of the task.
    flows_.sub_runs[task.state.id] = id;
    return {};
  }
  RETURN_IF_ERROR(checkEnded(rows));
  if (record.state.status == RunStatus::Finished) {  // Somebody has mended it.
    tasks_.done(operation, task, FailureReason::None, {});
    return {};
  }
  const LiveFlow* flow = flows_.findFlow(nameKey(record.flow));
  if (flow == nullptr || flow->record.deleted) {
    return Error::conflict("there is no flow {}", record.flow);
  }
  if (!rows.version.ok()) return rows.version.error();
  const std::string no_room = whyNoRoomInTree(run, (*rows.version)->spec, record.params.size());
  if (!no_room.empty()) return Error::conflict("{}", no_room);
  ASSIGN_OR_RETURN(LiveRun * part, revive(record, *rows.version, rows.tasks));
  part->record.state.priority = task.state.priority;
  const std::vector<bool> again = unwellOf(*part);
  if (std::find(again.begin(), again.end(), true) == again.end()) {
    drop(id);
    return Error::notFound("nothing of run {} ended otherwise than well", id);
  }
  enterTree(*part);
  flows_.sub_runs[task.state.id] = id;
  // Whoever ordered the task to run again answered for what may still run of it.
  const Status reran =
      rerun(operation, *part, again, rows.endedOf(*part->version), true, rows.read_at, true);
  if (reran.ok()) return {};
  flows_.sub_runs.erase(task.state.id);
  leaveTree(*part);
  drop(id);
  return reran;
}

void RunEngine::linkToParent(const LiveRun& run) {
  const RunRecord& record = run.record;
  const LiveTask* task = context_.live.findTask(record.parent_task);
  if (record.parent_task == 0 || task == nullptr) return;
  const bool begun =
      task->state.status == TaskStatus::Running || task->state.status == TaskStatus::Terminating;
  // Else somebody ran an old run of the task again, of which the task hears nothing.
  if (begun && record.trigger_key == subRunKey(task->state)) {
    flows_.sub_runs[record.parent_task] = record.state.id;
  }
}

void RunEngine::tellParent(Operation& operation, const RunRecord& record, bool unproven) {
  if (record.parent_task == 0) return;
  const auto link = flows_.sub_runs.find(record.parent_task);
  if (link == flows_.sub_runs.end() || link->second != record.state.id) return;  // It ran again.
  flows_.sub_runs.erase(link);
  LiveTask* task = context_.live.findTask(record.parent_task);
  if (task == nullptr || task->attempt) return;
  task->state.unproven = unproven;
  if (record.state.status == RunStatus::Finished) {
    return tasks_.done(operation, *task, FailureReason::None, {});
  }
  if (task->state.status == TaskStatus::Terminating) return tasks_.stopped(operation, *task);
  tasks_.done(operation, *task, FailureReason::SubFlowFailed,
              fmt::format("run {} of {} ended {}{}{}", record.state.id, record.flow,
                          toString(record.state.status),
                          record.state.reason_text.empty() ? "" : ": ", record.state.reason_text));
}

void RunEngine::onNodeStopAsked(Operation& operation, LiveTask& task) {
  const Turn turn(*this, operation);
  const auto link = flows_.sub_runs.find(task.state.id);
  LiveRun* sub_run = link == flows_.sub_runs.end() ? nullptr : flows_.findRun(link->second);
  if (sub_run == nullptr) return tasks_.stopped(operation, task);
  const Status asked = stop(
      operation, *sub_run, RunReason::StopAsked,
      fmt::format("task {} of run {}, which it is, was stopped", task.state.id, task.part->run));
  if (!asked.ok()) logWarn("run_not_stopped", field("error", asked.error().message()));
}

std::string RunEngine::whyNoRoomInTree(const LiveRun& parent, const flow::FlowSpec& part,
                                       size_t param_bytes) const {
  const RunId root = parent.root != 0 ? parent.root : parent.record.state.id;
  const auto found = flows_.trees.find(root);
  const TreeSize size = found == flows_.trees.end() ? TreeSize{} : found->second;
  const size_t tasks_max = context_.options.tree_tasks_max;
  const size_t bytes_max = context_.options.tree_param_bytes_max;
  if (size.tasks + part.tasks.size() > tasks_max) {
    return fmt::format(
        "the sub-flows of run {} that have not ended have {} tasks, {} has {} more; "
        "all of a run together may have {}",
        root, size.tasks, part.name, part.tasks.size(), tasks_max);
  }
  if (size.param_bytes + param_bytes > bytes_max) {
    return fmt::format(
        "the sub-flows of run {} that have not ended have {} bytes of parameters, "
        "this one has {} more; all of a run together may have {}",
        root, size.param_bytes, param_bytes, bytes_max);
  }
  return {};
}

void RunEngine::enterTree(LiveRun& run) {
  const LiveRun* parent = flows_.findRun(run.record.parent_run);
  if (parent == nullptr) return;
  run.root = parent->root != 0 ? parent->root : parent->record.state.id;
  TreeSize& size = flows_.trees[run.root];
  size.tasks += run.version->spec.tasks.size();
  size.param_bytes += run.record.params.size() + run.record.project_params.size();
}

void RunEngine::leaveTree(const LiveRun& run) {
  if (run.root == 0) return;
  const auto tree = flows_.trees.find(run.root);
  CHECK(tree != flows_.trees.end());
  tree->second.tasks -= run.version->spec.tasks.size();
  tree->second.param_bytes -= run.record.params.size() + run.record.project_params.size();
  if (tree->second.tasks == 0) flows_.trees.erase(tree);
}

}  // namespace baton::master
