#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/audit_record.h"
#include "common/model/flow_records.h"
#include "common/model/host_records.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"

namespace baton::dao {

// One write transaction of a master. Opened by Writer::begin, which has proved under a shared lock
// on the epoch row that `epoch` still rules; the lock is held until the transaction has ended, so
// a takeover orders itself strictly before or after it. It is the only way to write.
//
// Rows are absolute values and carry epoch and batch number, so a repeated batch does no harm.
// Large inputs are cut into statements of at most a quarter of max_allowed_packet.
// Errors of all: Unavailable (link lost: the outcome of the whole is resolved by
// Writer::wasCommitted), Busy (deadlock or lock wait of 1 s: nothing is kept, repeat the whole),
// StorageFull (disk full or read-only), Fenced, Corrupt (a row that the schema refuses or that
// ought to exist and does not: a bug; the message names the row).
// After any error the transaction is dead: destroy it (which rolls back).
// Thread: the owner's of the Writer.
class FencedTxn {
 public:
  virtual ~FencedTxn() = default;  // Rolls back unless committed.

  // New rows with all columns. A row that exists already with the same batch is left as it is.
  virtual Status insertTasks(std::span<const TaskRecord> rows) = 0;
  // The changing part of rows that exist.
  virtual Status storeTaskStates(std::span<const TaskState> rows) = 0;
  // Outputs (JSON text) of tasks that exist.
  struct TaskOutputs {
    TaskId task_id = 0;
    std::string outputs;
  };
  virtual Status storeTaskOutputs(std::span<const TaskOutputs> rows) = 0;
  // Specifications that became known after their task was stored. Inserts or overwrites.
  struct TaskSpecText {
    TaskId task_id = 0;
    std::string spec;  // JSON of runPartToJson.
  };
  virtual Status storeTaskSpecs(std::span<const TaskSpecText> rows) = 0;
  // Inserts or overwrites. Rows that close an attempt are written before rows that open one, so
  // that "one open attempt per task and per runner" (unique keys) holds at every moment.
  virtual Status storeAttempts(std::span<const AttemptRecord> rows) = 0;
  virtual Status storeRunners(std::span<const RunnerRecord> rows) = 0;
  virtual Status storeOutbox(std::span<const OutboxRecord> rows) = 0;
  virtual Status storeIdempotency(std::span<const IdempotencyRecord> rows) = 0;

  // --- flows ---
  virtual Status storeFlows(std::span<const FlowRecord> rows) = 0;  // Inserts or overwrites.
  virtual Status insertFlowVersions(std::span<const FlowVersionRecord> rows) = 0;
  // New runs, all columns. Unique by flow, trigger and key: another run of the same is Corrupt.
  virtual Status insertRuns(std::span<const RunRecord> rows) = 0;
  // The changing part of runs that exist.
  virtual Status storeRunStates(std::span<const RunState> rows) = 0;
  virtual Status storeMissed(std::span<const MissedRecord> rows) = 0;  // Inserts or overwrites.
  // New events; one that is there already (name, key) is Corrupt.
  virtual Status insertEvents(std::span<const EventRecord> rows) = 0;
  virtual Status insertBackfills(std::span<const BackfillRecord> rows) = 0;
  virtual Status storeCalendars(
      std::span<const CalendarRecord> rows) = 0;  // Inserts or overwrites.
  // Parameters of the project: inserts or overwrites.
  virtual Status storeParams(std::span<const ParamRecord> rows) = 0;

  // --- hosts ---
  virtual Status storeHosts(std::span<const HostRecord> rows) = 0;        // Inserts or overwrites.
  virtual Status storeSettings(std::span<const SettingRecord> rows) = 0;  // Inserts or overwrites.
  // Deletes rows; those that are not there do no harm.
  virtual Status forgetHosts(std::span<const std::string> names) = 0;
  virtual Status forgetRunners(std::span<const std::string> runner_ids) = 0;

  // Appends to the audit log, numbered in the order of the rows; their ids are not looked at. A
  // transaction that is repeated was not kept, so none is written twice.
  virtual Status insertAudit(std::span<const AuditRecord> rows) = 0;
  // Forgets audit rows older than `before`, at most `limit`; returns how many.
  virtual Result<uint64_t> purgeAudit(WallTime before, uint32_t limit) = 0;

  // Forgets idempotency keys older than `before`, at most `limit` rows; returns how many.
  virtual Result<uint64_t> purgeIdempotency(WallTime before, uint32_t limit) = 0;
  // Limits of groups, flows, users, hosts and the cluster: inserts or overwrites; takes one away.
  virtual Status storeLimits(std::span<const LimitRecord> rows) = 0;
  virtual Status removeLimit(LimitKind kind, std::string_view name) = 0;
  // Reserves `count` numbers of a counter ("task_id", "outbox_id"); returns the first.
  virtual Result<uint64_t> reserveIds(std::string_view counter, uint64_t count) = 0;

  // Durable when it returns ok. Unavailable: unknown, ask Writer::wasCommitted.
  virtual Status commit() = 0;
};

// The one write connection of an active master (read-write database user). Reconnects by itself
// at the next begin after a lost link. One thread at a time.
class Writer {
 public:
  virtual ~Writer() = default;
  // Errors: Fenced (the epoch row says otherwise), Unavailable, Busy, StorageFull.
  // `batch` rises from one transaction to the next within an epoch; a repeat keeps its number.
  virtual Result<std::unique_ptr<FencedTxn>> begin(Epoch epoch, uint64_t batch) = 0;
  // After an Unavailable out of commit: waits for an in-doubt transaction to end, then tells
  // whether that batch is in the database.
  virtual Result<bool> wasCommitted(Epoch epoch, uint64_t batch) = 0;
  // Ends a call that is blocked in another thread, for a quick demotion. Any thread.
  virtual void interrupt() noexcept = 0;
  // Most bytes of SQL text that the database takes for one row, as of the newest connection;
  // SIZE_MAX while there was none. Any thread.
  virtual size_t rowBytesMax() const = 0;
};

// Whether a task's specification can be stored where a row may have `row_bytes_max` bytes of SQL
// text. Errors: TooLarge (says how much fits).
Status checkSpecFits(std::string_view spec, size_t row_bytes_max);

}  // namespace baton::dao
