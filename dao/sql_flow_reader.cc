#include <algorithm>
#include <limits>

#include "dao/conditions.h"
#include "dao/flow_row_decoder.h"
#include "dao/row_decoder.h"
#include "dao/sql_reader.h"

// What SqlReader tells of flows, runs and events.
namespace baton::dao {
namespace {

constexpr std::string_view kJoinVersion =
    " LEFT JOIN flow_version v ON v.flow_key=f.flow_key AND v.version=f.version";

// Appends a row to the page, unless that is full: then there is one more than asked for.
template <typename Row>
bool fits(PageOf<Row>& page, uint32_t limit) {
  page.more = page.items.size() == limit;
  return !page.more;
}

// Behind kRunColumns: the rest of a run.
constexpr std::string_view kRunParams =
    ",u.params,q.params FROM run u LEFT JOIN run_project_param q ON q.run_id=u.run_id";

Status readRunWithParams(SqlRow& row, RunRecord& out) {
  RETURN_IF_ERROR(readRun(row, out));
  out.params = row.text(kRunColumnCount);
  out.project_params = row.text(kRunColumnCount + 1);
  return {};
}

QueryPart makeRunQuery(const RunFilter& filter, RunId before) {
  QueryPart query{.sql = " FROM run u", .values = {}};
  Conditions where(query);
  if (before != 0) where.add("u.run_id<?", static_cast<uint64_t>(before));
  if (!filter.flow.empty()) where.add("u.flow_key=?", std::string_view(filter.flow));
  where.addStatuses("u.phase", "u.status", filter.statuses);
  where.addOneOf("u.trigger_kind", filter.triggers);
  if (filter.backfill != 0) where.add("u.backfill=?", filter.backfill);
  if (filter.parent_run != 0) where.add("u.parent_run=?", static_cast<uint64_t>(filter.parent_run));
  if (!filter.trigger_key.empty())
    where.add("u.trigger_key=?", std::string_view(filter.trigger_key));
  where.addTimes("u.plan_time", filter.plan_from, filter.plan_before);
  if (filter.late) where.add("u.late=1");
  where.addOneOf("u.reason", filter.reasons);
  where.addPart("u.flow_key", query.keep(nameKey(filter.text)));
  if (!filter.principal.empty()) where.add("u.principal=?", std::string_view(filter.principal));
  where.addTimes("u.created_at", filter.created_from, filter.created_before);
  return query;
}

QueryPart makeFlowQuery(const FlowFilter& filter, std::string_view after, bool with_version) {
  QueryPart query{.sql = " FROM flow f", .values = {}};
  if (with_version) query.sql += kJoinVersion;
  Conditions where(query);
  where.add("f.deleted=0");
  if (!after.empty()) where.add("f.flow_key>?", after);
  if (filter.online) where.add("f.online=?", int64_t{*filter.online});
  where.addPart("f.flow_key", query.keep(nameKey(filter.text)));
  return query;
}

// Names may be used again: what a deleted flow missed is none of the one that is made anew.
constexpr std::string_view kMissedByThisFlow =
    "NOT EXISTS (SELECT 1 FROM flow f WHERE f.flow_key=m.flow_key AND f.created_at>m.recorded_at)";

QueryPart makeMissedQuery(const MissedFilter& filter, WallTime before,
                          std::string_view before_key) {
  QueryPart query{.sql = " FROM missed m", .values = {}};
  Conditions where(query);
  if (!filter.flow.empty()) where.add("m.flow_key=?", std::string_view(filter.flow));
  if (before != WallTime{}) {
    if (filter.flow.empty()) {
      where.add("m.plan_time<=?", toMicros(before));
      where.add("(m.plan_time<? OR m.flow_key<?)", toMicros(before));
      query.values.push_back(before_key);
    } else {
      where.add("m.plan_time<?", toMicros(before));
    }
  }
  where.addTimes("m.plan_time", filter.plan_from, filter.plan_before);
  where.addPart("m.flow_key", query.keep(nameKey(filter.text)));
  where.addOneOf("m.reason", filter.reasons);
  where.add(kMissedByThisFlow);
  return query;
}

QueryPart makeEventQuery(const EventFilter& filter, uint64_t before) {
  QueryPart query{.sql = " FROM event e", .values = {}};
  Conditions where(query);
  if (before != 0) where.add("e.id<?", before);
  if (!filter.name.empty()) where.add("e.name=?", std::string_view(filter.name));
  if (!filter.key.empty()) where.add("e.key_text=?", std::string_view(filter.key));
  where.addPart("e.name", filter.text);
  where.addTimes("e.happened_at", filter.happened_from, filter.happened_before);
  return query;
}

Status goOn(bool wanted, std::string_view what) {
  if (wanted) return {};
  return Error::make(ErrorCode::Cancelled, "the scan of {} was stopped", what);
}

}  // namespace

// --- flows ---

Result<std::optional<FlowRow>> SqlReader::flow(std::string_view key) {
  std::optional<FlowRow> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {},v.text_body FROM flow f{} WHERE f.flow_key=? AND f.deleted=0",
                          kFlowColumns, kJoinVersion),
              {key}, [&](SqlRow& row) -> Status {
                found = readFlow(row);
                if (found->version) found->version->text = row.text(kFlowColumnCount);
                return {};
              }));
  return found;
}

Result<PageOf<FlowRow>> SqlReader::flows(const FlowFilter& filter, std::string_view after,
                                         uint32_t limit) {
  QueryPart query = makeFlowQuery(filter, after, true);
  query.values.push_back(int64_t{limit} + 1);
  PageOf<FlowRow> page;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {}{} ORDER BY f.flow_key LIMIT ?", kFlowColumns, query.sql),
              query.values, [&](SqlRow& row) -> Status {
                if (fits(page, limit)) page.items.push_back(readFlow(row));
                return {};
              }));
  return page;
}

Result<uint64_t> SqlReader::countFlows(const FlowFilter& filter) {
  return countRows(makeFlowQuery(filter, {}, false));
}

Result<std::optional<FlowVersionRecord>> SqlReader::flowVersion(std::string_view key,
                                                                uint32_t version) {
  std::optional<FlowVersionRecord> found;
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {},v.text_body FROM flow_version v WHERE v.flow_key=? AND v.version=?",
                  kFlowVersionColumns),
      {key, int64_t{version}}, [&](SqlRow& row) -> Status {
        found = readFlowVersion(row, 0);
        found->text = row.text(kFlowVersionColumnCount);
        return {};
      }));
  return found;
}

Result<PageOf<FlowVersionRecord>> SqlReader::flowVersions(std::string_view key, uint32_t before,
                                                          uint32_t limit) {
  PageOf<FlowVersionRecord> page;
  const int64_t below = before == 0 ? std::numeric_limits<int64_t>::max() : int64_t{before};
  RETURN_IF_ERROR(collect(fmt::format("SELECT {} FROM flow_version v WHERE v.flow_key=? AND "
                                      "v.version<? ORDER BY v.version DESC LIMIT ?",
                                      kFlowVersionColumns),
                          {key, below, int64_t{limit} + 1}, [&](SqlRow& row) -> Status {
                            if (fits(page, limit)) page.items.push_back(readFlowVersion(row, 0));
                            return {};
                          }));
  return page;
}

Result<std::optional<CalendarRecord>> SqlReader::calendar(std::string_view key) {
  std::optional<CalendarRecord> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {} FROM calendar c WHERE c.calendar_key=? AND c.deleted=0",
                          kCalendarColumns),
              {key}, [&](SqlRow& row) -> Status {
                found = readCalendar(row);
                return {};
              }));
  return found;
}

Result<PageOf<CalendarRecord>> SqlReader::calendars(bool deleted_too, std::string_view after,
                                                    uint32_t limit) {
  QueryPart query{.sql = fmt::format("SELECT {} FROM calendar c", kCalendarColumns), .values = {}};
  Conditions where(query);
  if (!deleted_too) where.add("c.deleted=0");
  where.add("c.calendar_key>?", after);
  query.sql += " ORDER BY c.calendar_key LIMIT ?";
  query.values.push_back(int64_t{limit} + 1);
  PageOf<CalendarRecord> page;
  RETURN_IF_ERROR(collect(query.sql, query.values, [&](SqlRow& row) -> Status {
    if (fits(page, limit)) page.items.push_back(readCalendar(row));
    return {};
  }));
  return page;
}

Result<std::vector<ParamRecord>> SqlReader::params(bool deleted_too) {
  std::vector<ParamRecord> found;
  RETURN_IF_ERROR(collect(fmt::format("SELECT {} FROM project_param p{} ORDER BY p.name",
                                      kParamColumns, deleted_too ? "" : " WHERE p.deleted=0"),
                          {}, [&](SqlRow& row) -> Status {
                            found.push_back(readParam(row));
                            return {};
                          }));
  return found;
}

// --- runs ---

Result<std::optional<RunRecord>> SqlReader::run(RunId id) {
  std::optional<RunRecord> found;
  RETURN_IF_ERROR(collect(fmt::format("SELECT {}{} WHERE u.run_id=?", kRunColumns, kRunParams),
                          {static_cast<uint64_t>(id)}, [&](SqlRow& row) -> Status {
                            return readRunWithParams(row, found.emplace());
                          }));
  return found;
}

Result<PageOf<RunRecord>> SqlReader::runs(const RunFilter& filter, RunId before, uint32_t limit) {
  QueryPart query = makeRunQuery(filter, before);
  query.values.push_back(int64_t{limit} + 1);
  PageOf<RunRecord> page;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {}{} ORDER BY u.run_id DESC LIMIT ?", kRunColumns, query.sql),
              query.values, [&](SqlRow& row) -> Status {
                if (!fits(page, limit)) return {};
                return readRun(row, page.items.emplace_back());
              }));
  return page;
}

Result<std::map<RunStatus, uint64_t>> SqlReader::runCounts() {
  std::map<RunStatus, uint64_t> counts;
  const auto take = [&](SqlRow& row) -> Status {
    const uint64_t status = row.natural(0);
    if (status >= kRunStatusCount) {
      return Error::make(ErrorCode::Corrupt, "runs with the unknown status {}", status);
    }
    counts[static_cast<RunStatus>(status)] = row.natural(1);
    return {};
  };
  // Ended runs are counted in the index alone.
  RETURN_IF_ERROR(collect("SELECT phase,COUNT(*) FROM run WHERE phase>0 GROUP BY phase", {}, take));
  RETURN_IF_ERROR(
      collect("SELECT status,COUNT(*) FROM run WHERE phase=0 GROUP BY status", {}, take));
  return counts;
}

Result<uint64_t> SqlReader::countRuns(const RunFilter& filter) {
  return countRows(makeRunQuery(filter, 0));
}

Result<std::vector<TaskRecord>> SqlReader::tasksOfRun(RunId id) {
  std::vector<TaskRecord> found;
  const std::string_view join = backend_->joinInOrder();
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {},{},t.outputs FROM run_task x{}task t ON t.task_id=x.task_id LEFT JOIN "
                  "run u ON u.run_id=x.run_id WHERE x.run_id=? ORDER BY x.task_id",
                  kTaskStateColumns, kTaskRestColumns, join),
      {static_cast<uint64_t>(id)}, [&](SqlRow& row) -> Status {
        TaskRecord& task = found.emplace_back();
        task.outputs = row.text(kTaskColumnCount);
        return readTask(row, task);
      }));
  return found;
}

Result<std::vector<RunRecord>> SqlReader::runsPlanned(std::string_view key, WallTime from,
                                                      WallTime before, uint32_t limit) {
  std::vector<RunRecord> found;
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {} FROM run u WHERE u.flow_key=? AND u.plan_time>=? AND u.plan_time<? "
                  "ORDER BY u.plan_time DESC,u.run_id DESC LIMIT ?",
                  kRunColumns),
      {key, toMicros(from), toMicros(before), int64_t{limit}},
      [&](SqlRow& row) -> Status { return readRun(row, found.emplace_back()); }));
  std::reverse(found.begin(), found.end());
  return found;
}

Result<std::vector<TaskRecord>> SqlReader::tasksPlanned(std::string_view key, std::string_view task,
                                                        WallTime from, WallTime before,
                                                        uint32_t limit) {
  std::vector<TaskRecord> found;
  const std::string_view join = backend_->joinInOrder();
  RETURN_IF_ERROR(collect(
      fmt::format(
          "SELECT {0},{1} FROM (SELECT run_id,plan_time,flow FROM run WHERE flow_key=? AND "
          "plan_time>=? AND plan_time<? ORDER BY plan_time DESC,run_id DESC LIMIT ?) u{2}"
          "run_task x ON x.run_id=u.run_id{2}task t ON t.task_id=x.task_id WHERE t.name=? ORDER BY "
          "u.plan_time,u.run_id,x.task_id",
          kTaskStateColumns, kTaskRestColumns, join),
      {key, toMicros(from), toMicros(before), int64_t{limit}, task},
      [&](SqlRow& row) -> Status { return readTask(row, found.emplace_back()); }));
  return found;
}

// --- missed instants, events, backfills ---

Result<PageOf<MissedRecord>> SqlReader::missed(const MissedFilter& filter, WallTime before,
                                               std::string_view before_key, uint32_t limit) {
  QueryPart query = makeMissedQuery(filter, before, before_key);
  query.values.push_back(int64_t{limit} + 1);
  PageOf<MissedRecord> page;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {}{} ORDER BY m.plan_time DESC,m.flow_key DESC LIMIT ?",
                          kMissedColumns, query.sql),
              query.values, [&](SqlRow& row) -> Status {
                if (fits(page, limit)) page.items.push_back(readMissed(row));
                return {};
              }));
  return page;
}

Result<uint64_t> SqlReader::countMissed(const MissedFilter& filter) {
  return countRows(makeMissedQuery(filter, {}, {}));
}

Result<WallTime> SqlReader::lastSuccess(std::string_view key, WallTime before) {
  WallTime found{};
  RETURN_IF_ERROR(
      collect("SELECT u.plan_time FROM run u WHERE u.flow_key=? AND u.plan_time<? AND u.status=? "
              "ORDER BY u.plan_time DESC LIMIT 1",
              {key, toMicros(before), static_cast<int64_t>(RunStatus::Finished)},
              [&](SqlRow& row) -> Status {
                found = wallFromMicros(row.integer(0));
                return {};
              }));
  return found;
}

Result<std::optional<MissedRecord>> SqlReader::missedInstant(std::string_view key,
                                                             WallTime plan_time) {
  std::optional<MissedRecord> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {} FROM missed m WHERE m.flow_key=? AND m.plan_time=? AND {}",
                          kMissedColumns, kMissedByThisFlow),
              {key, toMicros(plan_time)}, [&](SqlRow& row) -> Status {
                found = readMissed(row);
                return {};
              }));
  return found;
}

Result<std::optional<EventRecord>> SqlReader::event(std::string_view name, std::string_view key) {
  std::optional<EventRecord> found;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {} FROM event e WHERE e.name=? AND e.key_text=?", kEventColumns),
              {name, key}, [&](SqlRow& row) -> Status {
                found = readEvent(row);
                return {};
              }));
  return found;
}

Result<PageOf<EventRecord>> SqlReader::events(const EventFilter& filter, uint64_t before,
                                              uint32_t limit) {
  QueryPart query = makeEventQuery(filter, before);
  query.values.push_back(int64_t{limit} + 1);
  PageOf<EventRecord> page;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {}{} ORDER BY e.id DESC LIMIT ?", kEventColumns, query.sql),
              query.values, [&](SqlRow& row) -> Status {
                if (fits(page, limit)) page.items.push_back(readEvent(row));
                return {};
              }));
  return page;
}

Result<uint64_t> SqlReader::countEvents(const EventFilter& filter) {
  return countRows(makeEventQuery(filter, 0));
}

Result<std::vector<EventRecord>> SqlReader::eventsBetween(std::string_view name, WallTime from,
                                                          WallTime before, uint32_t limit) {
  std::vector<EventRecord> found;
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {} FROM event e WHERE e.name=? AND e.happened_at>=? AND e.happened_at<? "
                  "ORDER BY e.happened_at DESC,e.id DESC LIMIT ?",
                  kEventColumns),
      {name, toMicros(from), toMicros(before), int64_t{limit}}, [&](SqlRow& row) -> Status {
        found.push_back(readEvent(row));
        return {};
      }));
  std::reverse(found.begin(), found.end());
  return found;
}

Result<std::optional<BackfillRecord>> SqlReader::backfill(uint64_t id) {
  std::optional<BackfillRecord> found;
  RETURN_IF_ERROR(collect(fmt::format("SELECT {} FROM backfill b WHERE b.id=?", kBackfillColumns),
                          {id}, [&](SqlRow& row) -> Status {
                            found = readBackfill(row);
                            return {};
                          }));
  return found;
}

// --- recovery ---

Status SqlReader::allFlows(const std::function<bool(FlowRow)>& take) {
  return scan(fmt::format("SELECT {},v.text_body FROM flow f{} AND f.deleted=0", kFlowColumns,
                          kJoinVersion),
              [&](SqlRow& row) {
                FlowRow flow = readFlow(row);
                if (flow.version) flow.version->text = row.text(kFlowColumnCount);
                return goOn(take(std::move(flow)), "flows");
              });
}

Status SqlReader::liveRuns(const std::function<bool(const RunRecord&)>& take) {
  return scan(fmt::format("SELECT {}{} WHERE u.phase=0", kRunColumns, kRunParams),
              [&](SqlRow& row) -> Status {
                RunRecord run;
                RETURN_IF_ERROR(readRunWithParams(row, run));
                return goOn(take(run), "live runs");
              });
}

Status SqlReader::streamTasks(SqlSession& session, std::span<const RunId> runs,
                              const std::function<bool(const TaskRecord&)>& take, bool& got_rows) {
  std::string marks;
  SqlValues values;
  for (const RunId run : runs) {
    marks += marks.empty() ? "?" : ",?";
    values.push_back(static_cast<uint64_t>(run));
  }
  Status taken;
  const Status status = session.stream(
      fmt::format("SELECT {},t.name,t.outputs,x.run_id FROM run_task x{}task t ON "
                  "t.task_id=x.task_id WHERE x.run_id IN ({}) ORDER BY x.run_id,x.task_id",
                  kTaskStateColumns, backend_->joinInOrder(), marks),
      values, [&](SqlRow& row) {
        got_rows = true;
        TaskRecord task;
        taken = readTaskState(row, 0, task.state);
        if (!taken.ok()) return false;
        task.name = row.text(kTaskStateColumnCount);
        task.outputs = row.text(kTaskStateColumnCount + 1);
        task.run_id = row.natural(kTaskStateColumnCount + 2);
        taken = goOn(take(task), "tasks of live runs");
        return taken.ok();
      });
  return status.ok() ? taken : status;
}

Status SqlReader::tasksOfLiveRuns(const std::function<bool(const TaskRecord&)>& take) {
  // A join of all live runs would be sorted as a whole; those of some runs come in the order of an
  // index.
  constexpr size_t kRunsPerQuery = 500;
  return inSnapshot([&](SqlSession& session, bool& got_rows) -> Status {
    std::vector<RunId> live;
    RETURN_IF_ERROR(
        session.query("SELECT run_id FROM run WHERE phase=0 ORDER BY run_id", {}, [&](SqlRow& row) {
          live.push_back(row.natural(0));
          return true;
        }));
    for (std::span<const RunId> left(live); !left.empty();) {
      const auto runs = left.first(std::min(kRunsPerQuery, left.size()));
      left = left.subspan(runs.size());
      RETURN_IF_ERROR(streamTasks(session, runs, take, got_rows));
    }
    return {};
  });
}

Result<std::vector<BackfillRecord>> SqlReader::liveBackfills() {
  std::vector<BackfillRecord> found;
  RETURN_IF_ERROR(collect(
      fmt::format("SELECT {} FROM backfill b WHERE b.id IN (SELECT u.backfill FROM run u WHERE "
                  "u.phase=0 AND u.backfill>0) ORDER BY b.id",
                  kBackfillColumns),
      {}, [&](SqlRow& row) -> Status {
        found.push_back(readBackfill(row));
        return {};
      }));
  return found;
}

}  // namespace baton::dao
