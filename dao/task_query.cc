#include "dao/task_query.h"

namespace baton::dao {

QueryPart makeTaskQuery(const TaskFilter& filter, TaskId before, bool with_run) {
  QueryPart query;
  query.sql = " FROM task t";
  if (!filter.tag.empty()) query.sql += " JOIN task_tag g ON g.task_id=t.task_id";
  if (!filter.group.empty()) query.sql += " JOIN task_tag w ON w.task_id=t.task_id";
  if (!filter.host.empty()) query.sql += " JOIN runner r ON r.runner_id=t.runner_id";
  if (!filter.flow.empty()) query.sql += " JOIN task_tag f ON f.task_id=t.task_id";
  const bool by_run = filter.run_id != 0;
  if (by_run) query.sql += " JOIN run_task x ON x.task_id=t.task_id";
  if (with_run && !by_run) query.sql += " LEFT JOIN run_task x ON x.task_id=t.task_id";
  if (with_run) query.sql += " LEFT JOIN run u ON u.run_id=x.run_id";
  Conditions where(query);
  if (before != 0) where.add("t.task_id<?", static_cast<uint64_t>(before));
  where.addStatuses("t.phase", "t.status", filter.statuses);
  where.addOneOf("t.priority", filter.priorities);
  if (filter.reason != FailureReason::None) {
    where.add("t.reason=?", static_cast<int64_t>(filter.reason));
  }
  if (filter.ignored) where.add("t.ignored=?", static_cast<int64_t>(*filter.ignored));
  if (!filter.name.empty()) where.add("t.name=?", std::string_view(filter.name));
  where.addPart("t.name", filter.text);
  if (!filter.tag.empty()) where.add("g.tag=?", std::string_view(filter.tag));
  if (!filter.group.empty()) where.add("w.tag=?", query.keep(groupTag(filter.group)));
  if (!filter.host.empty()) where.add("r.host=?", std::string_view(filter.host));
  if (!filter.runner_id.empty()) {
    // The newest attempt's runner; the runner's attempts are an index range.
    where.add("t.runner_id=?", std::string_view(filter.runner_id));
    where.add("t.task_id IN (SELECT a.task_id FROM attempt a WHERE a.runner_id=?)",
              std::string_view(filter.runner_id));
  }
  if (filter.run_id != 0) where.add("x.run_id=?", static_cast<uint64_t>(filter.run_id));
  if (!filter.flow.empty()) where.add("f.tag=?", query.keep(flowMark(filter.flow)));
  where.addTimes("t.created_at", filter.created_from, filter.created_before);
  return query;
}

}  // namespace baton::dao
