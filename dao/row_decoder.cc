#include "dao/row_decoder.h"

#include "common/base/json.h"

namespace baton::dao {
namespace {

std::optional<int32_t> readOptional(SqlRow& row, int column) {
  if (row.isNull(column)) return std::nullopt;
  return readInt(row, column);
}

}  // namespace

Error badEnum(std::string_view noun, const RowKey& key) {
  return Error::make(ErrorCode::Corrupt, "{}: a stored enumeration is out of range",
                     rowLabel(noun, key));
}

Status readTaskState(SqlRow& row, int c, TaskState& out) {
  out.id = row.natural(c);
  const bool known = readEnum(row, c + 1, kTaskStatusCount, out.status) &&
                     readEnum(row, c + 2, kFailureReasonCount, out.reason) &&
                     readEnum(row, c + 3, kPriorityCount, out.priority) &&
                     readEnum(row, c + 4, 4, out.cause);
  if (!known) return badEnum("task", {.id = out.id});
  out.hold = row.integer(c + 5) != 0;
  out.forced = row.integer(c + 6) != 0;
  out.ignored = row.integer(c + 7) != 0;
  out.unproven = row.integer(c + 8) != 0;
  out.attempt = readInt(row, c + 9);
  out.retries_used = readInt(row, c + 10);
  out.return_code = readOptional(row, c + 11);
  out.signal = readInt(row, c + 12);
  out.queued_at = readTime(row, c + 13);
  out.not_before = readTime(row, c + 14);
  out.started_at = readTime(row, c + 15);
  out.finished_at = readTime(row, c + 16);
  out.runner_id = row.text(c + 17);
  out.reason_text = row.text(c + 18);
  return {};
}

Status readTaskRest(SqlRow& row, int c, TaskRecord& out) {
  out.created_at = readTime(row, c);
  out.name = row.text(c + 1);
  out.kind = row.text(c + 2);
  out.policy = row.text(c + 3);
  out.run_id = row.natural(c + 4);
  out.flow = row.text(c + 5);
  if (row.isNull(c + 6)) return {};
  const auto tags = parseJson(row.text(c + 6));
  if (!tags.ok() || !tags->is_array()) {
    return Error::make(ErrorCode::Corrupt, "task {}: tags are not a JSON array", out.state.id);
  }
  for (const Json& tag : *tags) {
    if (tag.is_string()) out.tags.push_back(tag.get<std::string>());
  }
  return {};
}

Status readTask(SqlRow& row, TaskRecord& out) {
  RETURN_IF_ERROR(readTaskState(row, 0, out.state));
  return readTaskRest(row, kTaskStateColumnCount, out);
}

Status readAttempt(SqlRow& row, int c, AttemptRecord& out) {
  out.task_id = row.natural(c);
  out.number = readInt(row, c + 1);
  if (!readEnum(row, c + 2, 6, out.status) ||
      !readEnum(row, c + 3, kFailureReasonCount, out.reason)) {
    return badEnum("attempt", {.id = out.task_id, .number = out.number});
  }
  out.return_code = readOptional(row, c + 4);
  out.signal = readInt(row, c + 5);
  out.incarnation = row.natural(c + 6);
  out.seq = row.natural(c + 7);
  out.epoch = row.natural(c + 8);
  out.dispatched_at = readTime(row, c + 9);
  out.started_at = readTime(row, c + 10);
  out.finished_at = readTime(row, c + 11);
  out.stdout_bytes = row.integer(c + 12);
  out.stderr_bytes = row.integer(c + 13);
  out.runner_id = row.text(c + 14);
  out.nonce = row.text(c + 15);
  out.worker_address = row.text(c + 16);
  out.reason_text = row.text(c + 17);
  out.late_report = row.text(c + 18);
  return {};
}

RunnerRecord readRunner(SqlRow& row) {
  RunnerRecord out;
  out.runner_id = row.text(0);
  out.worker_id = row.text(1);
  out.host = row.text(2);
  out.boot_id = row.text(3);
  out.version = row.text(4);
  out.worker_address = row.text(5);
  out.journal_id = row.text(6);
  out.incarnation = row.natural(7);
  out.plain = row.integer(8) != 0;
  out.conflict = row.integer(9) != 0;
  out.last_seen = readTime(row, 10);
  out.labels = row.text(11);
  return out;
}

Status readHost(SqlRow& row, HostRecord& out) {
  out.name = row.text(0);
  if (!readEnum(row, 1, kHostWordCount, out.word)) return badEnum("host", {.name = out.name});
  out.changed_at = readTime(row, 2);
  out.quarantined_until = readTime(row, 3);
  out.reason = row.text(5);
  if (row.isNull(4)) return {};
  const auto labels = parseJson(row.text(4));
  if (!labels.ok() || !labels->is_object()) {
    return Error::make(ErrorCode::Corrupt, "host {}: labels are not a JSON object", out.name);
  }
  for (const auto& [label, value] : labels->items()) {
    if (value.is_string()) out.labels.emplace(label, value.get<std::string>());
  }
  return {};
}

Status readLimit(SqlRow& row, LimitRecord& out) {
  out.name = row.text(1);
  Priority min_priority{};
  if (!readEnum(row, 0, kLimitKindCount, out.kind) ||
      !readEnum(row, 3, kPriorityCount, min_priority)) {
    return badEnum("limit", {.name = out.name});
  }
  if (!row.isNull(2)) out.max = row.integer(2);
  if (!row.isNull(3)) out.min_priority = min_priority;
  out.window = row.text(4);
  out.time_zone = row.text(5);
  out.changed_at = readTime(row, 6);
  out.description = row.text(7);
  return {};
}

Status readOutbox(SqlRow& row, OutboxRecord& out) {
  out.id = row.natural(0);
  if (!readEnum(row, 1, 4, out.state)) return badEnum("callback", {.id = out.id});
  out.task_id = row.natural(2);
  out.attempt = readInt(row, 3);
  out.awaited = row.integer(4) != 0;
  out.tries = readInt(row, 5);
  out.next_at = readTime(row, 6);
  out.created_at = readTime(row, 7);
  out.event = row.text(8);
  out.url = row.text(9);
  out.payload = row.text(10);
  out.last_error = row.text(11);
  return {};
}

}  // namespace baton::dao
