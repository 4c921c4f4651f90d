#include "dao/row_encoder.h"

#include <algorithm>

#include "common/base/json.h"
#include "dao/fenced_txn.h"
#include "dao/text_fit.h"

namespace baton::dao {

RowEncoder& RowEncoder::number(int64_t value) {
  batch_.integer(value);
  return *this;
}

RowEncoder& RowEncoder::natural(uint64_t value) {
  batch_.natural(value);
  return *this;
}

RowEncoder& RowEncoder::optional(const std::optional<int32_t>& value) {
  return value ? number(*value) : null();
}

RowEncoder& RowEncoder::null() {
  batch_.null();
  return *this;
}

RowEncoder& RowEncoder::name(std::string_view column, std::string_view value, size_t chars_max) {
  if (unfit_.empty()) unfit_ = whyUnfit(column, value, chars_max);
  batch_.text(unfit_.empty() ? value : std::string_view());
  return *this;
}

RowEncoder& RowEncoder::document(std::string_view column, std::string_view value,
                                 size_t bytes_max) {
  if (value.empty()) return null();
  if (unfit_.empty()) unfit_ = whyUnfitBytes(column, value, bytes_max);
  batch_.text(unfit_.empty() ? value : std::string_view());
  return *this;
}

RowEncoder& RowEncoder::prose(std::string_view value) {
  if (value.empty()) return null();
  batch_.text(fitText(value, kProseBytesMax, scratch_));
  return *this;
}

RowEncoder& RowEncoder::mark() { return natural(mark_.epoch).natural(mark_.batch); }

Status RowEncoder::endRow(const RowKey& key) {
  if (!unfit_.empty()) {
    return Error::make(ErrorCode::Corrupt, "{}: {}", rowLabel(noun_, key), unfit_);
  }
  return batch_.endRow(key);
}

int64_t phaseOf(TaskStatus status) { return isTerminal(status) ? static_cast<int64_t>(status) : 0; }

namespace {

void putStateValues(RowEncoder& row, const TaskState& s) {
  row.number(phaseOf(s.status)).enumeration(s.status).enumeration(s.reason);
  row.enumeration(s.priority).enumeration(s.cause);
  row.number(s.hold).number(s.forced).number(s.ignored).number(s.unproven);
  row.number(s.attempt).number(s.retries_used).optional(s.return_code).number(s.signal);
  row.time(s.queued_at).time(s.not_before).time(s.started_at).time(s.finished_at);
  row.mark().name("runner_id", s.runner_id, 128).prose(s.reason_text);
}

}  // namespace

const BatchForm& taskStateForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Update,
      .noun = "task",
      .table = "task",
      .columns = {"task_id",    "phase",        "status",      "reason",    "priority",
                  "cause",      "hold",         "forced",      "ignored",   "unproven",
                  "attempt",    "retries_used", "return_code", "signal_no", "queued_at",
                  "not_before", "started_at",   "finished_at", "epoch",     "batch_id",
                  "runner_id",  "reason_text"},
      .keys = 1,
      .born_column = "name"};
  return form;
}

Status putTaskState(RowEncoder& row, const TaskState& state) {
  row.natural(state.id);
  putStateValues(row, state);
  return row.endRow({.id = state.id});
}

const BatchForm& taskInsertForm() {
  static const BatchForm form = [] {
    BatchForm made = taskStateForm();
    made.kind = BatchForm::Kind::Insert;
    made.born_column = {};
    for (const std::string_view column :
         {"created_at", "name", "kind", "policy", "tags", "outputs"}) {
      made.columns.push_back(column);
    }
    return made;
  }();
  return form;
}

Status putTask(RowEncoder& row, const TaskRecord& task) {
  const RowKey key{.id = task.state.id};
  if (task.state.id == 0 || task.name.empty()) {
    return Error::make(ErrorCode::Corrupt, "{}: a task needs an id above 0 and a name",
                       rowLabel("task", key));
  }
  row.natural(task.state.id);
  putStateValues(row, task.state);
  row.time(task.created_at).name("name", task.name, 128).name("kind", task.kind, 32);
  row.document("policy", task.policy, kTextBytesMax);
  row.document("tags", task.tags.empty() ? std::string() : dumpJson(Json(task.tags)),
               kTextBytesMax);
  row.document("outputs", task.outputs, kMediumTextBytesMax);
  return row.endRow(key);
}

const BatchForm& specInsertForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "specification of task",
                              .table = "task_spec",
                              .columns = {"task_id", "epoch", "batch_id", "spec"}};
  return form;
}

Status checkSpecFits(std::string_view spec, size_t row_bytes_max) {
  constexpr size_t kRestBytesMax = 1'024;  // Table, columns, numbers, what is done on a repeat.
  if (spec.size() > kMediumTextBytesMax) {
    return Error::make(ErrorCode::TooLarge, "the task has {} bytes, at most {} are stored",
                       spec.size(), kMediumTextBytesMax);
  }
  // Each of these may become two bytes in a quoted literal.
  const auto escaped = std::count_if(spec.begin(), spec.end(), [](char c) {
    return c == '"' || c == '\\' || c == '\'' || static_cast<unsigned char>(c) < 0x20;
  });
  const size_t bytes = spec.size() + static_cast<size_t>(escaped);
  if (row_bytes_max == SIZE_MAX || bytes + kRestBytesMax <= row_bytes_max) return {};
  return Error::make(ErrorCode::TooLarge,
                     "the task has {} bytes as the database gets it, its max_allowed_packet "
                     "leaves room for {}",
                     bytes, row_bytes_max - kRestBytesMax);
}

Status putSpec(RowEncoder& row, const TaskRecord& task) {
  return putSpecText(row, task.state.id, task.spec);
}

const BatchForm& specStoreForm() {
  static const BatchForm form = [] {
    BatchForm made = specInsertForm();
    made.kind = BatchForm::Kind::Upsert;
    return made;
  }();
  return form;
}

Status putSpecText(RowEncoder& row, TaskId id, std::string_view spec) {
  row.natural(id).mark().document("spec", spec, kMediumTextBytesMax);
  return row.endRow({.id = id});
}

const BatchForm& tagInsertForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Ignore,
                              .noun = "tag of task",
                              .table = "task_tag",
                              .columns = {"tag", "task_id"},
                              .keys = 2};
  return form;
}

Status putTag(RowEncoder& row, TaskId id, std::string_view tag) {
  row.name("tag", tag, 128).natural(id);
  return row.endRow({.id = id});
}

std::string flowMark(std::string_view flow_key) { return fmt::format("@flow:{}", flow_key); }

std::string groupTag(std::string_view group) { return "@" + std::string(group); }

const BatchForm& outputsForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Update,
                              .noun = "task",
                              .table = "task",
                              .columns = {"task_id", "epoch", "batch_id", "outputs"},
                              .keys = 1,
                              .born_column = "name"};
  return form;
}

Status putOutputs(RowEncoder& row, TaskId id, std::string_view outputs) {
  row.natural(id).mark().document("outputs", outputs, kMediumTextBytesMax);
  return row.endRow({.id = id});
}

const BatchForm& attemptForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Upsert,
      .noun = "attempt",
      .table = "attempt",
      .columns = {"task_id",       "number",     "open_flag",   "status",       "reason",
                  "return_code",   "signal_no",  "incarnation", "seq",          "dispatch_epoch",
                  "dispatched_at", "started_at", "finished_at", "stdout_bytes", "stderr_bytes",
                  "epoch",         "batch_id",   "runner_id",   "nonce",        "worker_address",
                  "reason_text",   "late_report"},
      .keys = 2};
  return form;
}

Status putAttempt(RowEncoder& row, const AttemptRecord& a) {
  row.natural(a.task_id).number(a.number);
  if (isOpen(a.status)) {
    row.number(1);
  } else {
    row.null();
  }
  row.enumeration(a.status).enumeration(a.reason).optional(a.return_code).number(a.signal);
  row.natural(a.incarnation).natural(a.seq).natural(a.epoch);
  row.time(a.dispatched_at).time(a.started_at).time(a.finished_at);
  row.number(a.stdout_bytes).number(a.stderr_bytes).mark();
  row.name("runner_id", a.runner_id, 128).name("nonce", a.nonce, 64);
  row.name("worker_address", a.worker_address, 255).prose(a.reason_text);
  row.document("late_report", a.late_report, kMediumTextBytesMax);
  return row.endRow({.id = a.task_id, .number = a.number});
}

const BatchForm& runnerForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "runner",
                              .table = "runner",
                              .columns = {"runner_id", "worker_id", "host", "boot_id", "version",
                                          "worker_address", "journal_id", "incarnation", "plain",
                                          "conflict", "last_seen", "epoch", "batch_id", "labels"}};
  return form;
}

Status putRunner(RowEncoder& row, const RunnerRecord& r) {
  row.name("runner_id", r.runner_id, 128).name("worker_id", r.worker_id, 128);
  row.name("host", r.host, 255).name("boot_id", r.boot_id, 64).name("version", r.version, 64);
  row.name("worker_address", r.worker_address, 255).name("journal_id", r.journal_id, 64);
  row.natural(r.incarnation).number(r.plain).number(r.conflict).time(r.last_seen).mark();
  row.document("labels", r.labels, kTextBytesMax);
  return row.endRow({.name = r.runner_id});
}

const BatchForm& hostForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "host",
                              .table = "host",
                              .columns = {"name", "word", "changed_at", "quarantined_until",
                                          "epoch", "batch_id", "labels", "reason"}};
  return form;
}

Status putHost(RowEncoder& row, const HostRecord& host) {
  row.name("name", host.name, 255).enumeration(host.word).time(host.changed_at);
  row.time(host.quarantined_until).mark();
  row.document("labels", host.labels.empty() ? std::string() : dumpJson(Json(host.labels)),
               kTextBytesMax);
  row.prose(host.reason);
  return row.endRow({.name = host.name});
}

const BatchForm& settingForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "setting",
                              .table = "setting",
                              .columns = {"name", "epoch", "batch_id", "value"}};
  return form;
}

Status putSetting(RowEncoder& row, const SettingRecord& setting) {
  row.name("name", setting.name, 64).mark().document("value", setting.value, kTextBytesMax);
  return row.endRow({.name = setting.name});
}

const BatchForm& outboxForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Upsert,
      .noun = "callback",
      .table = "outbox",
      .columns = {"id", "state", "task_id", "attempt", "awaited", "tries", "next_at", "created_at",
                  "epoch", "batch_id", "event", "url", "payload", "last_error"}};
  return form;
}

Status putOutbox(RowEncoder& row, const OutboxRecord& r) {
  row.natural(r.id).enumeration(r.state).natural(r.task_id).number(r.attempt).number(r.awaited);
  row.number(r.tries).time(r.next_at).time(r.created_at).mark();
  row.name("event", r.event, 32).document("url", r.url, kTextBytesMax);
  row.document("payload", r.payload, kMediumTextBytesMax).prose(r.last_error);
  return row.endRow({.id = r.id});
}

const BatchForm& limitForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Upsert,
      .noun = "limit",
      .table = "run_limit",
      .columns = {"kind", "name", "max_units", "min_priority", "window_text", "time_zone",
                  "changed_at", "epoch", "batch_id", "description"},
      .keys = 2};
  return form;
}

Status putLimit(RowEncoder& row, const LimitRecord& r) {
  row.enumeration(r.kind).name("name", r.name, 255);
  r.max ? row.number(*r.max) : row.null();
  r.min_priority ? row.enumeration(*r.min_priority) : row.null();
  row.name("window_text", r.window, 32).name("time_zone", r.time_zone, 64).time(r.changed_at);
  row.mark().document("description", r.description, kTextBytesMax);
  return row.endRow({.name = r.name});
}

const BatchForm& idempotencyForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "idempotency key",
                              .table = "idempotency",
                              .columns = {"principal", "key_text", "request_hash", "created_at",
                                          "epoch", "batch_id", "answer"},
                              .keys = 2};
  return form;
}

Status putIdempotency(RowEncoder& row, const IdempotencyRecord& r) {
  row.name("principal", r.principal, 128).name("key", r.key, 255);
  row.name("request_hash", r.request_hash, 64).time(r.created_at).mark();
  row.document("answer", r.answer, kMediumTextBytesMax);
  return row.endRow({.name = r.key});
}

}  // namespace baton::dao
