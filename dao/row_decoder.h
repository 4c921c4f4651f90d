#pragma once

#include <string>
#include <string_view>

#include "common/model/host_records.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"
#include "dao/sql_session.h"

// Rows of queries as records. Each reader takes the columns named by its constant, in that order,
// starting at `first`. Errors: Corrupt (a number that no enumerator has; the row is named).
namespace baton::dao {

// Reads an enumerator; false if the stored number is not one of `count`.
template <typename E>
bool readEnum(SqlRow& row, int column, size_t count, E& out) {
  const int64_t value = row.integer(column);
  if (value < 0 || value >= static_cast<int64_t>(count)) return false;
  out = static_cast<E>(value);
  return true;
}
Error badEnum(std::string_view noun, const RowKey& key);
inline WallTime readTime(SqlRow& row, int column) { return wallFromMicros(row.integer(column)); }
inline int32_t readInt(SqlRow& row, int column) {
  return static_cast<int32_t>(row.integer(column));
}

inline constexpr std::string_view kTaskStateColumns =
    "t.task_id,t.status,t.reason,t.priority,t.cause,t.hold,t.forced,t.ignored,t.unproven,"
    "t.attempt,t.retries_used,t.return_code,t.signal_no,t.queued_at,t.not_before,t.started_at,"
    "t.finished_at,t.runner_id,t.reason_text";
inline constexpr int kTaskStateColumnCount = 19;
Status readTaskState(SqlRow& row, int first, TaskState& out);

// Behind the state's columns; of run_task as x and run as u.
inline constexpr std::string_view kTaskRestColumns =
    "t.created_at,t.name,t.kind,t.policy,x.run_id,u.flow,t.tags";
inline constexpr int kTaskColumnCount = kTaskStateColumnCount + 7;
Status readTaskRest(SqlRow& row, int first, TaskRecord& out);
// State and rest, the first kTaskColumnCount columns.
Status readTask(SqlRow& row, TaskRecord& out);

inline constexpr std::string_view kAttemptColumns =
    "a.task_id,a.number,a.status,a.reason,a.return_code,a.signal_no,a.incarnation,a.seq,"
    "a.dispatch_epoch,a.dispatched_at,a.started_at,a.finished_at,a.stdout_bytes,a.stderr_bytes,"
    "a.runner_id,a.nonce,a.worker_address,a.reason_text,a.late_report";
Status readAttempt(SqlRow& row, int first, AttemptRecord& out);

inline constexpr std::string_view kRunnerColumns =
    "runner_id,worker_id,host,boot_id,version,worker_address,journal_id,incarnation,plain,"
    "conflict,last_seen,labels";
RunnerRecord readRunner(SqlRow& row);

inline constexpr std::string_view kHostColumns =
    "name,word,changed_at,quarantined_until,labels,reason";
Status readHost(SqlRow& row, HostRecord& out);

inline constexpr std::string_view kLimitColumns =
    "kind,name,max_units,min_priority,window_text,time_zone,changed_at,description";
Status readLimit(SqlRow& row, LimitRecord& out);

inline constexpr std::string_view kOutboxColumns =
    "id,state,task_id,attempt,awaited,tries,next_at,created_at,event,url,payload,last_error";
Status readOutbox(SqlRow& row, OutboxRecord& out);

}  // namespace baton::dao
