#include "dao/sql_reader.h"

#include <algorithm>
#include <limits>

#include "dao/row_decoder.h"
#include "dao/task_query.h"

namespace baton::dao {
namespace {

std::string selectTasks(std::string_view more) {
  return fmt::format("SELECT {},{}{}", kTaskStateColumns, kTaskRestColumns, more);
}

Status readWholeTask(SqlRow& row, std::optional<TaskRecord>& out) {
  TaskRecord& task = out.emplace();
  task.outputs = row.text(kTaskColumnCount);
  task.spec = row.text(kTaskColumnCount + 1);
  return readTask(row, task);
}

// A row that is read in key order and left out costs about a fifth of one that is looked up by the
// index of phases (MariaDB, measured with tests/bench/dao).
constexpr uint64_t kDenseFactor = 4;

// Ids are stored as signed numbers in SQLite.
uint64_t clampId(TaskId id) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return id == 0 || id > kMax ? kMax : id;
}

}  // namespace

Status SqlReader::withSession(const Step& step) {
  for (int round = 0;; ++round) {
    const bool reused = session_ != nullptr && !session_->broken();
    if (!reused) {
      session_.reset();
      ASSIGN_OR_RETURN(session_, backend_->connect(SessionKind::Reader));
    }
    bool got_rows = false;
    Status status = step(*session_, got_rows);
    if (status.ok() || !session_->broken()) return status;
    session_.reset();
    if (!reused || got_rows || round > 0) return status;
  }
}

Status SqlReader::collect(std::string_view sql, const SqlValues& values,
                          const std::function<Status(SqlRow&)>& take) {
  return withSession([&](SqlSession& session, bool& got_rows) {
    Status taken;
    const Status status = session.query(sql, values, [&](SqlRow& row) {
      got_rows = true;
      taken = take(row);
      return taken.ok();
    });
    return status.ok() ? taken : status;
  });
}

Status SqlReader::scan(std::string_view sql, const std::function<Status(SqlRow&)>& take) {
  return withSession([&](SqlSession& session, bool& got_rows) {
    Status taken;
    const Status status = session.stream(sql, {}, [&](SqlRow& row) {
      got_rows = true;
      taken = take(row);
      return taken.ok();
    });
    return status.ok() ? taken : status;
  });
}

Result<uint64_t> SqlReader::countRows(const QueryPart& query) {
  uint64_t rows = 0;
  RETURN_IF_ERROR(collect("SELECT COUNT(*)" + query.sql, query.values, [&](SqlRow& row) -> Status {
    rows = row.natural(0);
    return {};
  }));
  return rows;
}

Status SqlReader::inSnapshot(const Step& step) {
  return withSession([&](SqlSession& session, bool& got_rows) -> Status {
    RETURN_IF_ERROR(session.execute(backend_->beginSnapshot()).status());
    const Status status = step(session, got_rows);
    if (session.broken()) return status;
    const Status ended = session.execute("ROLLBACK").status();
    return status.ok() ? ended : status;
  });
}

Result<std::optional<TaskRecord>> SqlReader::task(TaskId id) {
  std::optional<TaskRecord> found;
  const std::string sql = selectTasks(
      ",t.outputs,s.spec FROM task t LEFT JOIN task_spec s ON s.task_id=t.task_id "
      "LEFT JOIN run_task x ON x.task_id=t.task_id LEFT JOIN run u ON u.run_id=x.run_id WHERE "
      "t.task_id=?");
  RETURN_IF_ERROR(collect(sql, {static_cast<uint64_t>(id)},
                          [&](SqlRow& row) { return readWholeTask(row, found); }));
  return found;
}

Result<TaskPage> SqlReader::tasks(const TaskFilter& filter, TaskId before, uint32_t limit) {
  QueryPart query = makeTaskQuery(filter, before, true);
  query.values.push_back(int64_t{limit} + 1);
  TaskPage page;
  const std::string sql = selectTasks(query.sql + " ORDER BY t.task_id DESC LIMIT ?");
  RETURN_IF_ERROR(collect(sql, query.values, [&](SqlRow& row) -> Status {
    page.more = page.items.size() == limit;
    if (page.more) return {};
    return readTask(row, page.items.emplace_back());
  }));
  return page;
}

Result<uint64_t> SqlReader::countTasks(const TaskFilter& filter) {
  return countRows(makeTaskQuery(filter, 0, false));
}

Result<TaskCounts> SqlReader::taskCounts() {
  TaskCounts counts;
  const auto take = [&](SqlRow& row) -> Status {
    const int64_t status = row.integer(0);
    if (status < 0 || status >= static_cast<int64_t>(kTaskStatusCount)) {
      return Error::make(ErrorCode::Corrupt, "tasks with the unknown status {}", status);
    }
    counts.by_status[static_cast<TaskStatus>(status)] = row.natural(1);
    return {};
  };
  // Ended tasks are counted in the index alone.
  RETURN_IF_ERROR(
      collect("SELECT phase,COUNT(*) FROM task WHERE phase>0 GROUP BY phase", {}, take));
  RETURN_IF_ERROR(
      collect("SELECT status,COUNT(*) FROM task WHERE phase=0 GROUP BY status", {}, take));
  return counts;
}

Result<std::vector<AttemptRecord>> SqlReader::attempts(TaskId id) {
  std::vector<AttemptRecord> found;
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {} FROM attempt a WHERE a.task_id=? ORDER BY a.number", kAttemptColumns),
      {static_cast<uint64_t>(id)},
      [&](SqlRow& row) -> Status { return readAttempt(row, 0, found.emplace_back()); }));
  return found;
}

Result<std::optional<IdempotencyRecord>> SqlReader::idempotency(std::string_view principal,
                                                                std::string_view key) {
  std::optional<IdempotencyRecord> found;
  RETURN_IF_ERROR(collect(
      "SELECT request_hash,answer,created_at FROM idempotency WHERE principal=? AND key_text=?",
      {principal, key}, [&](SqlRow& row) -> Status {
        found = IdempotencyRecord{.principal = std::string(principal),
                                  .key = std::string(key),
                                  .request_hash = std::string(row.text(0)),
                                  .answer = std::string(row.text(1)),
                                  .created_at = wallFromMicros(row.integer(2))};
        return {};
      }));
  return found;
}

Result<std::vector<std::pair<TaskId, std::string>>> SqlReader::specs(std::span<const TaskId> ids) {
  constexpr size_t kIdsPerQuery = 500;
  std::vector<std::pair<TaskId, std::string>> found;
  for (size_t at = 0; at < ids.size(); at += kIdsPerQuery) {
    std::string sql = "SELECT task_id,spec FROM task_spec WHERE task_id IN (";
    SqlValues values;
    for (const TaskId id : ids.subspan(at, std::min(kIdsPerQuery, ids.size() - at))) {
      sql += values.empty() ? "?" : ",?";
      values.push_back(static_cast<uint64_t>(id));
    }
    RETURN_IF_ERROR(collect(sql + ")", values, [&](SqlRow& row) -> Status {
      found.emplace_back(row.natural(0), std::string(row.text(1)));
      return {};
    }));
  }
  return found;
}

Result<std::vector<LiveRange>> SqlReader::liveRanges(uint32_t count) {
  uint64_t live = 0;
  TaskId last = 0;
  RETURN_IF_ERROR(collect("SELECT COUNT(*),MAX(task_id) FROM task WHERE phase=0", {},
                          [&](SqlRow& row) -> Status {
                            live = row.natural(0);
                            last = row.natural(1);
                            return {};
                          }));
  std::vector<LiveRange> ranges;
  const uint64_t parts = std::min<uint64_t>(std::max<uint32_t>(count, 1), live);
  for (uint64_t part = 0; part < parts; ++part) {
    const uint64_t offset = live * part / parts;
    // From the nearer end of the index.
    const bool ascending = offset <= live / 2;
    const uint64_t skip = ascending ? offset : live - 1 - offset;
    RETURN_IF_ERROR(collect(
        ascending ? "SELECT task_id FROM task WHERE phase=0 ORDER BY task_id LIMIT 1 OFFSET ?"
                  : "SELECT task_id FROM task WHERE phase=0 ORDER BY task_id DESC LIMIT 1 "
                    "OFFSET ?",
        {skip}, [&](SqlRow& row) -> Status {
          // Tasks that ended between the queries may shift a bound below its neighbour.
          const TaskId id = row.natural(0);
          if (ranges.empty() || id > ranges.back().from) ranges.push_back({.from = id});
          return {};
        }));
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const bool at_end = i + 1 == ranges.size();
    if (!at_end) ranges[i].before = ranges[i + 1].from;
    const uint64_t width = (at_end ? last + 1 : ranges[i].before) - ranges[i].from;
    ranges[i].dense = width <= kDenseFactor * (live / parts);
  }
  return ranges;
}

Status SqlReader::streamLive(SqlSession& session, const LiveRange& range,
                             const std::function<bool(const LiveTask&)>& take, bool& got_rows) {
  const SqlValues limits{static_cast<uint64_t>(range.from), clampId(range.before)};
  // Open attempts are few (one a runner) and an index range; joining them row by row would cost
  // an index look-up for each task.
  std::vector<AttemptRecord> open;
  Status taken;
  RETURN_IF_ERROR(
      session.query(fmt::format("SELECT {} FROM attempt a WHERE a.open_flag=1 AND a.task_id>=? "
                                "AND a.task_id<? ORDER BY a.task_id",
                                kAttemptColumns),
                    limits, [&](SqlRow& row) {
                      taken = readAttempt(row, 0, open.emplace_back());
                      return taken.ok();
                    }));
  RETURN_IF_ERROR(taken);
  auto next_open = open.begin();
  LiveTask live;
  const Status status = session.stream(
      fmt::format("SELECT {},t.policy,t.created_at FROM task t{} WHERE t.phase=0 AND t.task_id>=? "
                  "AND t.task_id<? ORDER BY t.task_id",
                  kTaskStateColumns, range.dense ? backend_->inKeyOrder() : ""),
      limits, [&](SqlRow& row) {
        got_rows = true;
        taken = readTaskState(row, 0, live.state);
        if (!taken.ok()) return false;
        live.policy = row.text(kTaskStateColumnCount);
        live.created_at = wallFromMicros(row.integer(kTaskStateColumnCount + 1));
        live.open_attempt.reset();
        while (next_open != open.end() && next_open->task_id < live.state.id) ++next_open;
        if (next_open != open.end() && next_open->task_id == live.state.id) {
          live.open_attempt = std::move(*next_open);
          ++next_open;
        }
        if (take(live)) return true;
        taken = Error::make(ErrorCode::Cancelled, "the scan of live tasks was stopped");
        return false;
      });
  return status.ok() ? taken : status;
}

Status SqlReader::liveTasks(const LiveRange& range,
                            const std::function<bool(const LiveTask&)>& take) {
  return inSnapshot([&](SqlSession& session, bool& got_rows) {
    return streamLive(session, range, take, got_rows);
  });
}

Result<std::vector<RunnerRecord>> SqlReader::runners() {
  std::vector<RunnerRecord> found;
  RETURN_IF_ERROR(collect(fmt::format("SELECT {} FROM runner ORDER BY runner_id", kRunnerColumns),
                          {}, [&](SqlRow& row) -> Status {
                            found.push_back(readRunner(row));
                            return {};
                          }));
  return found;
}

Result<std::vector<HostRecord>> SqlReader::hosts() {
  std::vector<HostRecord> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {} FROM host ORDER BY name", kHostColumns), {},
              [&](SqlRow& row) -> Status { return readHost(row, found.emplace_back()); }));
  return found;
}

Result<std::vector<SettingRecord>> SqlReader::settings() {
  std::vector<SettingRecord> found;
  RETURN_IF_ERROR(
      collect("SELECT name,value FROM setting ORDER BY name", {}, [&](SqlRow& row) -> Status {
        found.push_back({std::string(row.text(0)), std::string(row.text(1))});
        return {};
      }));
  return found;
}

Result<std::vector<LimitRecord>> SqlReader::limits() {
  std::vector<LimitRecord> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {} FROM run_limit ORDER BY kind,name", kLimitColumns), {},
              [&](SqlRow& row) -> Status { return readLimit(row, found.emplace_back()); }));
  return found;
}

Result<std::vector<OutboxRecord>> SqlReader::outbox(std::string_view sql, const SqlValues& values) {
  std::vector<OutboxRecord> found;
  RETURN_IF_ERROR(collect(
      sql, values, [&](SqlRow& row) -> Status { return readOutbox(row, found.emplace_back()); }));
  return found;
}

Result<std::vector<OutboxRecord>> SqlReader::pendingOutbox(uint64_t after_id, uint32_t limit) {
  return outbox(fmt::format("SELECT {} FROM outbox WHERE state=0 AND id>? ORDER BY id LIMIT ?",
                            kOutboxColumns),
                {after_id, int64_t{limit}});
}

Result<std::vector<OutboxRecord>> SqlReader::deadOutbox(uint64_t before, uint32_t limit) {
  constexpr uint64_t kBeyondAll = INT64_MAX;
  return outbox(fmt::format("SELECT {} FROM outbox WHERE state=2 AND id<? ORDER BY id DESC LIMIT ?",
                            kOutboxColumns),
                {before == 0 ? kBeyondAll : before, int64_t{limit}});
}

Result<std::optional<OutboxRecord>> SqlReader::outboxRow(uint64_t id) {
  ASSIGN_OR_RETURN(auto rows,
                   outbox(fmt::format("SELECT {} FROM outbox WHERE id=?", kOutboxColumns), {id}));
  if (rows.empty()) return std::optional<OutboxRecord>();
  return std::optional(std::move(rows.front()));
}

}  // namespace baton::dao
