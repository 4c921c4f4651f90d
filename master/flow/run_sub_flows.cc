// Runs that are tasks of other runs: they begin for a task, end it, are stopped with it, and form
// trees.
#include "common/base/log.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

constexpr int kSubFlowDepthMax = 10;

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
