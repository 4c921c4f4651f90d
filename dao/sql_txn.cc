#include "dao/sql_txn.h"

#include "common/base/mutant.h"
#include "dao/audit_rows.h"
#include "dao/flow_row_encoder.h"

namespace baton::dao {

SqlTxn::~SqlTxn() { rollback(); }

void SqlTxn::rollback() {
  if (open_ == nullptr) return;
  open_.reset();
  // Over a lost link it needs no words: the server rolls back by itself.
  if (!session_->broken()) (void)session_->execute("ROLLBACK");
}

Status SqlTxn::kept(Status status) {
  if (status.ok() || !dead_.ok()) return status;
  dead_ = status;
  rollback();
  return status;
}

template <typename Row, typename Put>
Status SqlTxn::store(const BatchForm& form, std::span<const Row> rows, const Put& put) {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  if (rows.empty()) return {};
  const auto batch = session_->batch(form);
  RowEncoder encoder(*batch, form.noun, mark_);
  for (const Row& row : rows) {
    if (Status status = put(encoder, row); !status.ok()) return kept(std::move(status));
  }
  return kept(batch->finish());
}

Status SqlTxn::insertTasks(std::span<const TaskRecord> rows) {
  RETURN_IF_ERROR(store(taskInsertForm(), rows, putTask));
  // A specification that is not known yet has no row.
  RETURN_IF_ERROR(
      store(specInsertForm(), rows, [](RowEncoder& encoder, const TaskRecord& task) -> Status {
        return task.spec.empty() ? Status() : putSpec(encoder, task);
      }));
  RETURN_IF_ERROR(
      store(runTaskForm(), rows, [](RowEncoder& encoder, const TaskRecord& task) -> Status {
        return task.run_id == 0 ? Status() : putRunTask(encoder, task.run_id, task.state.id);
      }));
  return store(tagInsertForm(), rows, [](RowEncoder& encoder, const TaskRecord& task) -> Status {
    if (!task.group.empty()) {
      RETURN_IF_ERROR(putTag(encoder, task.state.id, groupTag(task.group)));
    }
    for (const std::string& tag : task.tags) {
      RETURN_IF_ERROR(putTag(encoder, task.state.id, tag));
    }
    if (task.flow.empty()) return {};
    return putTag(encoder, task.state.id, flowMark(nameKey(task.flow)));
  });
}

Status SqlTxn::storeTaskStates(std::span<const TaskState> rows) {
  return store(taskStateForm(), rows, putTaskState);
}

Status SqlTxn::storeTaskOutputs(std::span<const TaskOutputs> rows) {
  return store(outputsForm(), rows, [](RowEncoder& encoder, const TaskOutputs& row) {
    return putOutputs(encoder, row.task_id, row.outputs);
  });
}

Status SqlTxn::storeTaskSpecs(std::span<const TaskSpecText> rows) {
  return store(specStoreForm(), rows, [](RowEncoder& encoder, const TaskSpecText& row) {
    return putSpecText(encoder, row.task_id, row.spec);
  });
}

Status SqlTxn::storeAttempts(std::span<const AttemptRecord> rows) {
  const bool open_first = mutant("dao_open_before_close");
  for (const bool open : {open_first, !open_first}) {
    RETURN_IF_ERROR(
        store(attemptForm(), rows, [open](RowEncoder& encoder, const AttemptRecord& row) -> Status {
          if (isOpen(row.status) != open) return {};
          return putAttempt(encoder, row);
        }));
  }
  return {};
}

Status SqlTxn::storeRunners(std::span<const RunnerRecord> rows) {
  return store(runnerForm(), rows, putRunner);
}

Status SqlTxn::storeOutbox(std::span<const OutboxRecord> rows) {
  return store(outboxForm(), rows, putOutbox);
}

Status SqlTxn::storeIdempotency(std::span<const IdempotencyRecord> rows) {
  return store(idempotencyForm(), rows, putIdempotency);
}

Status SqlTxn::storeFlows(std::span<const FlowRecord> rows) {
  return store(flowForm(), rows, putFlow);
}

Status SqlTxn::insertFlowVersions(std::span<const FlowVersionRecord> rows) {
  return store(flowVersionForm(), rows, putFlowVersion);
}

Status SqlTxn::insertRuns(std::span<const RunRecord> rows) {
  RETURN_IF_ERROR(store(runInsertForm(), rows, putRun));
  return store(runParamForm(), rows, [](RowEncoder& encoder, const RunRecord& run) -> Status {
    return run.project_params.empty() ? Status() : putRunParams(encoder, run);
  });
}

Status SqlTxn::storeRunStates(std::span<const RunState> rows) {
  return store(runStateForm(), rows, putRunState);
}

Status SqlTxn::storeMissed(std::span<const MissedRecord> rows) {
  return store(missedForm(), rows, putMissed);
}

Status SqlTxn::insertEvents(std::span<const EventRecord> rows) {
  return store(eventForm(), rows, putEvent);
}

Status SqlTxn::insertBackfills(std::span<const BackfillRecord> rows) {
  return store(backfillForm(), rows, putBackfill);
}

Status SqlTxn::storeCalendars(std::span<const CalendarRecord> rows) {
  return store(calendarForm(), rows, putCalendar);
}

Status SqlTxn::storeParams(std::span<const ParamRecord> rows) {
  return store(paramForm(), rows, putParam);
}

Status SqlTxn::storeHosts(std::span<const HostRecord> rows) {
  return store(hostForm(), rows, putHost);
}

Status SqlTxn::storeSettings(std::span<const SettingRecord> rows) {
  return store(settingForm(), rows, putSetting);
}

Status SqlTxn::forget(std::string_view sql, std::span<const std::string> keys) {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  for (const std::string& key : keys) {
    RETURN_IF_ERROR(kept(session_->execute(sql, {std::string_view(key)}).status()));
  }
  return {};
}

Status SqlTxn::forgetHosts(std::span<const std::string> names) {
  return forget("DELETE FROM host WHERE name=?", names);
}

Status SqlTxn::forgetRunners(std::span<const std::string> runner_ids) {
  return forget("DELETE FROM runner WHERE runner_id=?", runner_ids);
}

Status SqlTxn::insertAudit(std::span<const AuditRecord> rows) {
  return store(auditForm(), rows, putAudit);
}

Result<uint64_t> SqlTxn::purge(std::string_view sql, WallTime before, uint32_t limit) {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  const auto purged = session_->execute(sql, {toMicros(before), int64_t{limit}});
  RETURN_IF_ERROR(kept(purged.status()));
  return *purged;
}

Result<uint64_t> SqlTxn::purgeIdempotency(WallTime before, uint32_t limit) {
  return purge("DELETE FROM idempotency WHERE created_at<? ORDER BY created_at LIMIT ?", before,
               limit);
}

Result<uint64_t> SqlTxn::purgeAudit(WallTime before, uint32_t limit) {
  return purge("DELETE FROM audit WHERE at<? ORDER BY at LIMIT ?", before, limit);
}

Status SqlTxn::storeLimits(std::span<const LimitRecord> rows) {
  return store(limitForm(), rows, putLimit);
}

Status SqlTxn::removeLimit(LimitKind kind, std::string_view name) {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  return kept(session_
                  ->execute("DELETE FROM run_limit WHERE kind=? AND name=?",
                            {static_cast<int64_t>(kind), name})
                  .status());
}

Result<uint64_t> SqlTxn::reserveIds(std::string_view counter, uint64_t count) {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  CHECK(count > 0);
  uint64_t first = 1;
  std::string select = "SELECT next_id FROM counter WHERE name=?";
  select += write_lock_;
  RETURN_IF_ERROR(kept(session_->query(select, {counter}, [&](SqlRow& row) {
    first = row.natural(0);
    return true;
  })));
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "counter",
                              .table = "counter",
                              .columns = {"name", "next_id", "epoch", "batch_id"}};
  const auto batch = session_->batch(form);
  RowEncoder encoder(*batch, form.noun, mark_);
  encoder.name("name", counter, 64).natural(first + count).mark();
  RETURN_IF_ERROR(kept(encoder.endRow({.name = counter})));
  RETURN_IF_ERROR(kept(batch->finish()));
  return first;
}

Status SqlTxn::commit() {
  if (!dead_.ok()) return dead_;
  CHECK(open_ != nullptr);
  const Status status = session_->execute("COMMIT").status();
  if (!status.ok() && !mutant("dao_commit_never_fails")) return kept(status);
  open_.reset();
  return {};
}

}  // namespace baton::dao
