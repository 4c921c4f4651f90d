#pragma once

#include <memory>

#include "dao/fenced_txn.h"
#include "dao/row_encoder.h"
#include "dao/sql_session.h"

namespace baton::dao {

// FencedTxn over a session whose transaction is open and fenced. Rolls back at the first error, or
// in the destructor unless committed; after an error every call gives that error again.
class SqlTxn final : public FencedTxn {
 public:
  // `open` lives as long as the transaction is open on the session.
  SqlTxn(std::shared_ptr<SqlSession> session, std::string_view write_lock, WriteMark mark,
         std::shared_ptr<void> open)
      : session_(std::move(session)),
        write_lock_(write_lock),
        mark_(mark),
        open_(std::move(open)) {}
  ~SqlTxn() override;
  SqlTxn(const SqlTxn&) = delete;
  SqlTxn& operator=(const SqlTxn&) = delete;

  Status insertTasks(std::span<const TaskRecord> rows) override;
  Status storeTaskStates(std::span<const TaskState> rows) override;
  Status storeTaskOutputs(std::span<const TaskOutputs> rows) override;
  Status storeTaskSpecs(std::span<const TaskSpecText> rows) override;
  Status storeAttempts(std::span<const AttemptRecord> rows) override;
  Status storeRunners(std::span<const RunnerRecord> rows) override;
  Status storeOutbox(std::span<const OutboxRecord> rows) override;
  Status storeIdempotency(std::span<const IdempotencyRecord> rows) override;
  Status storeFlows(std::span<const FlowRecord> rows) override;
  Status insertFlowVersions(std::span<const FlowVersionRecord> rows) override;
  Status insertRuns(std::span<const RunRecord> rows) override;
  Status storeRunStates(std::span<const RunState> rows) override;
  Status storeMissed(std::span<const MissedRecord> rows) override;
  Status insertEvents(std::span<const EventRecord> rows) override;
  Status insertBackfills(std::span<const BackfillRecord> rows) override;
  Status storeCalendars(std::span<const CalendarRecord> rows) override;
  Status storeParams(std::span<const ParamRecord> rows) override;
  Status storeHosts(std::span<const HostRecord> rows) override;
  Status storeSettings(std::span<const SettingRecord> rows) override;
  Status forgetHosts(std::span<const std::string> names) override;
  Status forgetRunners(std::span<const std::string> runner_ids) override;
  Status insertAudit(std::span<const AuditRecord> rows) override;
  Result<uint64_t> purgeAudit(WallTime before, uint32_t limit) override;
  Result<uint64_t> purgeIdempotency(WallTime before, uint32_t limit) override;
  Status storeLimits(std::span<const LimitRecord> rows) override;
  Status removeLimit(LimitKind kind, std::string_view name) override;
  Result<uint64_t> reserveIds(std::string_view counter, uint64_t count) override;
  Status commit() override;

 private:
  // Puts the rows that `put` takes through one batch.
  template <typename Row, typename Put>
  Status store(const BatchForm& form, std::span<const Row> rows, const Put& put);
  // Runs `sql`, which takes one key, for each of the keys.
  Status forget(std::string_view sql, std::span<const std::string> keys);
  // Keeps an error and rolls back, so that the transaction is dead from then on.
  Status kept(Status status);
  void rollback();
  Result<uint64_t> purge(std::string_view sql, WallTime before, uint32_t limit);

  const std::shared_ptr<SqlSession> session_;
  const std::string_view write_lock_;
  const WriteMark mark_;
  std::shared_ptr<void> open_;  // Null once it was committed or rolled back.
  Status dead_;
};

}  // namespace baton::dao
