#include "master/flow/run_rows.h"

namespace baton::master {

std::map<NodeIndex, TaskRecord> RunRows::endedOf(const FlowVersion& of) const {
  std::map<NodeIndex, TaskRecord> ended;
  for (const TaskRecord& task : tasks) {
    const auto node = of.find(task.name);
    if (node && isTerminal(task.state.status)) ended.emplace(*node, task);
  }
  return ended;
}

Result<std::optional<RunRows>> readRunRows(dao::Reader& reader, RunId id, BootTime now,
                                           bool whole) {
  RunRows rows;
  rows.read_at = now;
  ASSIGN_OR_RETURN(auto row, reader.run(id));
  if (!row) return std::optional<RunRows>();
  rows.run = std::move(*row);
  if (!whole) return std::optional<RunRows>(std::move(rows));
  ASSIGN_OR_RETURN(rows.tasks, reader.tasksOfRun(id));
  ASSIGN_OR_RETURN(const auto version,
                   reader.flowVersion(nameKey(rows.run.flow), rows.run.version));
  if (version) rows.version = readFlowVersion(rows.run.flow, rows.run.version, version->text);
  return std::optional<RunRows>(std::move(rows));
}

}  // namespace baton::master
