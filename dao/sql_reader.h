#pragma once

#include <memory>

#include "dao/conditions.h"
#include "dao/reader.h"
#include "dao/sql_session.h"

namespace baton::dao {

// Reader over any backend.
class SqlReader final : public Reader {
 public:
  explicit SqlReader(std::shared_ptr<SqlBackend> backend) : backend_(std::move(backend)) {}

  Result<std::optional<TaskRecord>> task(TaskId id) override;
  Result<TaskPage> tasks(const TaskFilter& filter, TaskId before, uint32_t limit) override;
  Result<uint64_t> countTasks(const TaskFilter& filter) override;
  Result<TaskCounts> taskCounts() override;
  Result<std::vector<AttemptRecord>> attempts(TaskId id) override;
  Result<std::optional<IdempotencyRecord>> idempotency(std::string_view principal,
                                                       std::string_view key) override;
  // In audit_rows.cc.
  Result<PageOf<AuditRecord>> audit(const AuditFilter& filter, uint64_t before,
                                    uint32_t limit) override;
  Result<uint64_t> countAudit(const AuditFilter& filter) override;
  Result<std::vector<std::pair<TaskId, std::string>>> specs(std::span<const TaskId> ids) override;

  Result<std::vector<LiveRange>> liveRanges(uint32_t count) override;
  Status liveTasks(const LiveRange& range,
                   const std::function<bool(const LiveTask&)>& take) override;
  Result<std::vector<RunnerRecord>> runners() override;
  Result<std::vector<HostRecord>> hosts() override;
  Result<std::vector<SettingRecord>> settings() override;
  Result<std::vector<LimitRecord>> limits() override;
  Result<std::vector<OutboxRecord>> pendingOutbox(uint64_t after_id, uint32_t limit) override;
  Result<std::vector<OutboxRecord>> deadOutbox(uint64_t before, uint32_t limit) override;
  Result<std::optional<OutboxRecord>> outboxRow(uint64_t id) override;

  // In sql_flow_reader.cc.
  Result<std::optional<FlowRow>> flow(std::string_view key) override;
  Result<PageOf<FlowRow>> flows(const FlowFilter& filter, std::string_view after,
                                uint32_t limit) override;
  Result<uint64_t> countFlows(const FlowFilter& filter) override;
  Result<std::optional<FlowVersionRecord>> flowVersion(std::string_view key,
                                                       uint32_t version) override;
  Result<PageOf<FlowVersionRecord>> flowVersions(std::string_view key, uint32_t before,
                                                 uint32_t limit) override;
  Result<std::optional<RunRecord>> run(RunId id) override;
  Result<PageOf<RunRecord>> runs(const RunFilter& filter, RunId before, uint32_t limit) override;
  Result<std::map<RunStatus, uint64_t>> runCounts() override;
  Result<uint64_t> countRuns(const RunFilter& filter) override;
  Result<std::vector<TaskRecord>> tasksOfRun(RunId id) override;
  Result<std::vector<RunRecord>> runsPlanned(std::string_view key, WallTime from, WallTime before,
                                             uint32_t limit) override;
  Result<std::vector<TaskRecord>> tasksPlanned(std::string_view key, std::string_view task,
                                               WallTime from, WallTime before,
                                               uint32_t limit) override;
  Result<PageOf<MissedRecord>> missed(const MissedFilter& filter, WallTime before,
                                      std::string_view before_key, uint32_t limit) override;
  Result<uint64_t> countMissed(const MissedFilter& filter) override;
  Result<WallTime> lastSuccess(std::string_view key, WallTime before) override;
  Result<std::optional<MissedRecord>> missedInstant(std::string_view key,
                                                    WallTime plan_time) override;
  Result<std::optional<EventRecord>> event(std::string_view name, std::string_view key) override;
  Result<PageOf<EventRecord>> events(const EventFilter& filter, uint64_t before,
                                     uint32_t limit) override;
  Result<uint64_t> countEvents(const EventFilter& filter) override;
  Result<std::vector<EventRecord>> eventsBetween(std::string_view name, WallTime from,
                                                 WallTime before, uint32_t limit) override;
  Result<std::optional<BackfillRecord>> backfill(uint64_t id) override;
  Result<std::optional<CalendarRecord>> calendar(std::string_view key) override;
  Result<PageOf<CalendarRecord>> calendars(bool deleted_too, std::string_view after,
                                           uint32_t limit) override;
  Result<std::vector<ParamRecord>> params(bool deleted_too) override;
  Status allFlows(const std::function<bool(FlowRow)>& take) override;
  Status liveRuns(const std::function<bool(const RunRecord&)>& take) override;
  Status tasksOfLiveRuns(const std::function<bool(const TaskRecord&)>& take) override;
  Result<std::vector<BackfillRecord>> liveBackfills() override;

 private:
  // Runs a step on a working session. A connection that turns out to be lost before the step got
  // a row is made anew once.
  using Step = std::function<Status(SqlSession&, bool& got_rows)>;
  Status withSession(const Step& step);
  // A query whose rows are collected by `take`, which returns an error to stop.
  Status collect(std::string_view sql, const SqlValues& values,
                 const std::function<Status(SqlRow&)>& take);
  // The same for many rows, which are not held in memory.
  Status scan(std::string_view sql, const std::function<Status(SqlRow&)>& take);
  // How many rows a query has, given from FROM on.
  Result<uint64_t> countRows(const QueryPart& query);
  // The same for several queries of one snapshot.
  Status inSnapshot(const Step& step);
  Status streamLive(SqlSession& session, const LiveRange& range,
                    const std::function<bool(const LiveTask&)>& take, bool& got_rows);
  Status streamTasks(SqlSession& session, std::span<const RunId> runs,
                     const std::function<bool(const TaskRecord&)>& take, bool& got_rows);
  Result<std::vector<OutboxRecord>> outbox(std::string_view sql, const SqlValues& values);

  const std::shared_ptr<SqlBackend> backend_;
  std::unique_ptr<SqlSession> session_;
};

}  // namespace baton::dao
