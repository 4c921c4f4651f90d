#include "dao/task_query.h"

#include <algorithm>

#include "dao/row_encoder.h"

namespace baton::dao {
namespace {

class Conditions {
 public:
  explicit Conditions(TaskQuery& query) : query_(query) {}

  void add(std::string_view condition) {
    query_.sql += first_ ? " WHERE " : " AND ";
    first_ = false;
    query_.sql += condition;
  }
  void add(std::string_view condition, SqlValue value) {
    add(condition);
    query_.values.push_back(value);
  }
  template <typename E>
  void addOneOf(std::string_view column, const std::vector<E>& values) {
    if (values.empty()) return;
    add(column);
    query_.sql += " IN (";
    for (size_t i = 0; i < values.size(); ++i) {
      query_.sql += i == 0 ? "?" : ",?";
      query_.values.push_back(static_cast<int64_t>(values[i]));
    }
    query_.sql += ')';
  }

 private:
  TaskQuery& query_;
  bool first_ = true;
};

// The phases in which a task of these statuses can be: narrows the list by the phase index.
std::vector<int64_t> phasesOf(const std::vector<TaskStatus>& statuses) {
  std::vector<int64_t> phases;
  for (const TaskStatus status : statuses) phases.push_back(phaseOf(status));
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  return phases;
}

}  // namespace

TaskQuery makeTaskQuery(const TaskFilter& filter, TaskId before) {
  TaskQuery query;
  query.sql = " FROM task t";
  if (!filter.tag.empty()) query.sql += " JOIN task_tag g ON g.task_id=t.task_id";
  if (!filter.host.empty()) query.sql += " JOIN runner r ON r.runner_id=t.runner_id";
  Conditions where(query);
  if (before != 0) where.add("t.task_id<?", static_cast<uint64_t>(before));
  where.addOneOf("t.phase", phasesOf(filter.statuses));
  where.addOneOf("t.status", filter.statuses);
  where.addOneOf("t.priority", filter.priorities);
  if (filter.reason != FailureReason::None) {
    where.add("t.reason=?", static_cast<int64_t>(filter.reason));
  }
  if (!filter.name.empty()) where.add("t.name=?", std::string_view(filter.name));
  if (!filter.text.empty()) where.add("instr(t.name,?)>0", std::string_view(filter.text));
  if (!filter.tag.empty()) where.add("g.tag=?", std::string_view(filter.tag));
  if (!filter.host.empty()) where.add("r.host=?", std::string_view(filter.host));
  if (!filter.runner_id.empty()) {
    // The newest attempt's runner; the runner's attempts are an index range.
    where.add("t.runner_id=?", std::string_view(filter.runner_id));
    where.add("t.task_id IN (SELECT a.task_id FROM attempt a WHERE a.runner_id=?)",
              std::string_view(filter.runner_id));
  }
  if (filter.created_from != WallTime{}) {
    where.add("t.created_at>=?", toMicros(filter.created_from));
  }
  if (filter.created_before != WallTime{}) {
    where.add("t.created_at<?", toMicros(filter.created_before));
  }
  return query;
}

}  // namespace baton::dao
