#include "dao/flow_row_encoder.h"

namespace baton::dao {
namespace {

constexpr size_t kNameCharsMax = 128;

Status checkFlowName(std::string_view noun, std::string_view name) {
  if (!name.empty()) return {};
  return Error::make(ErrorCode::Corrupt, "{} without the name of its flow", noun);
}

}  // namespace

int64_t phaseOf(RunStatus status) { return isTerminal(status) ? static_cast<int64_t>(status) : 0; }

const BatchForm& flowForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Upsert,
      .noun = "flow",
      .table = "flow",
      .columns = {"flow_key", "name", "version", "online", "deleted", "online_since", "next_at",
                  "last_instant", "missed_after", "missed_until", "fired", "last_success",
                  "created_at", "updated_at", "epoch", "batch_id"}};
  return form;
}

Status putFlow(RowEncoder& row, const FlowRecord& f) {
  RETURN_IF_ERROR(checkFlowName("a flow", f.name));
  row.name("name", f.key(), kNameCharsMax).name("name", f.name, kNameCharsMax);
  row.natural(f.version).number(f.online).number(f.deleted);
  row.time(f.online_since).time(f.next_at).time(f.last_instant);
  row.time(f.missed_after).time(f.missed_until).number(f.fired);
  row.time(f.last_success).time(f.created_at).time(f.updated_at).mark();
  return row.endRow({.name = f.name});
}

const BatchForm& flowVersionForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "version of flow",
                              .table = "flow_version",
                              .columns = {"flow_key", "version", "name", "author", "created_at",
                                          "epoch", "batch_id", "text_body"},
                              .keys = 2};
  return form;
}

Status putFlowVersion(RowEncoder& row, const FlowVersionRecord& v) {
  RETURN_IF_ERROR(checkFlowName("a version", v.flow));
  row.name("flow", nameKey(v.flow), kNameCharsMax).natural(v.version);
  row.name("flow", v.flow, kNameCharsMax).name("author", v.author, kNameCharsMax);
  row.time(v.created_at).mark().document("text", v.text, kMediumTextBytesMax);
  return row.endRow({.name = fmt::format("{}: {}", v.flow, v.version)});
}

namespace {

void putRunStateValues(RowEncoder& row, const RunState& s) {
  row.number(phaseOf(s.status)).enumeration(s.status).enumeration(s.reason);
  row.enumeration(s.priority).number(s.late).number(s.reruns);
  row.time(s.started_at).time(s.finished_at).time(s.due_at).time(s.prev_success);
  row.mark().prose(s.reason_text);
}

}  // namespace

const BatchForm& runStateForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Update,
      .noun = "run",
      .table = "run",
      .columns = {"run_id", "phase", "status", "reason", "priority", "late", "reruns", "started_at",
                  "finished_at", "due_at", "prev_success", "epoch", "batch_id", "reason_text"},
      .keys = 1,
      .born_column = "flow"};
  return form;
}

Status putRunState(RowEncoder& row, const RunState& state) {
  row.natural(state.id);
  putRunStateValues(row, state);
  return row.endRow({.id = state.id});
}

const BatchForm& runInsertForm() {
  static const BatchForm form = [] {
    BatchForm made = runStateForm();
    made.kind = BatchForm::Kind::Insert;
    made.born_column = {};
    for (const std::string_view column :
         {"flow_key", "flow", "version", "trigger_kind", "trigger_key", "compensates", "plan_time",
          "created_at", "parent_run", "parent_task", "backfill", "principal", "params"}) {
      made.columns.push_back(column);
    }
    return made;
  }();
  return form;
}

Status putRun(RowEncoder& row, const RunRecord& r) {
  if (r.state.id == 0 || r.flow.empty()) {
    return Error::make(ErrorCode::Corrupt, "run {}: a run needs an id above 0 and a flow",
                       r.state.id);
  }
  row.natural(r.state.id);
  putRunStateValues(row, r.state);
  row.name("flow", nameKey(r.flow), kNameCharsMax).name("flow", r.flow, kNameCharsMax);
  row.natural(r.version).enumeration(r.trigger).name("trigger_key", r.trigger_key, 255);
  row.number(r.compensates).time(r.plan_time).time(r.created_at);
  row.natural(r.parent_run).natural(r.parent_task).natural(r.backfill);
  row.name("principal", r.principal, kNameCharsMax);
  row.document("params", r.params, kMediumTextBytesMax);
  // Names what must be unique, for the error if it is not.
  return row.endRow({.name = fmt::format("{} of flow {} ({} {})", r.state.id, r.flow,
                                         toString(r.trigger), r.trigger_key)});
}

const BatchForm& runParamForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "parameters of run",
                              .table = "run_project_param",
                              .columns = {"run_id", "epoch", "batch_id", "params"}};
  return form;
}

Status putRunParams(RowEncoder& row, const RunRecord& r) {
  row.natural(r.state.id).mark().document("params", r.project_params, kMediumTextBytesMax);
  return row.endRow({.id = r.state.id});
}

const BatchForm& runTaskForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "run of task",
                              .table = "run_task",
                              .columns = {"run_id", "task_id", "epoch", "batch_id"},
                              .keys = 2};
  return form;
}

Status putRunTask(RowEncoder& row, RunId run, TaskId task) {
  row.natural(run).natural(task).mark();
  return row.endRow({.id = task});
}

const BatchForm& missedForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "missed instant of flow",
                              .table = "missed",
                              .columns = {"flow_key", "plan_time", "flow", "reason", "recorded_at",
                                          "run_id", "epoch", "batch_id"},
                              .keys = 2};
  return form;
}

Status putMissed(RowEncoder& row, const MissedRecord& m) {
  RETURN_IF_ERROR(checkFlowName("a missed instant", m.flow));
  row.name("flow", nameKey(m.flow), kNameCharsMax).time(m.plan_time);
  row.name("flow", m.flow, kNameCharsMax).name("reason", m.reason, 32);
  row.time(m.recorded_at).natural(m.run_id).mark();
  return row.endRow({.name = m.flow});
}

const BatchForm& calendarForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Upsert,
      .noun = "calendar",
      .table = "calendar",
      .columns = {"calendar_key", "name", "version", "deleted", "author", "created_at",
                  "updated_at", "epoch", "batch_id", "text_body"}};
  return form;
}

Status putCalendar(RowEncoder& row, const CalendarRecord& c) {
  if (c.name.empty()) return Error::make(ErrorCode::Corrupt, "a calendar without a name");
  row.name("name", c.key(), kNameCharsMax).name("name", c.name, kNameCharsMax);
  row.natural(c.version).number(c.deleted).name("author", c.author, kNameCharsMax);
  row.time(c.created_at).time(c.updated_at).mark();
  row.document("text", c.text, kMediumTextBytesMax);
  return row.endRow({.name = c.name});
}

const BatchForm& paramForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Upsert,
                              .noun = "parameter",
                              .table = "project_param",
                              .columns = {"name", "version", "deleted", "author", "updated_at",
                                          "epoch", "batch_id", "value_text"}};
  return form;
}

Status putParam(RowEncoder& row, const ParamRecord& p) {
  if (p.name.empty()) return Error::make(ErrorCode::Corrupt, "a parameter without a name");
  row.name("name", p.name, kNameCharsMax).natural(p.version).number(p.deleted);
  row.name("author", p.author, kNameCharsMax).time(p.updated_at).mark();
  row.document("value", p.value, kMediumTextBytesMax);
  return row.endRow({.name = p.name});
}

const BatchForm& eventForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "event",
                              .table = "event",
                              .columns = {"id", "name", "key_text", "happened_at", "created_at",
                                          "epoch", "batch_id", "principal", "data"}};
  return form;
}

Status putEvent(RowEncoder& row, const EventRecord& e) {
  row.natural(e.id).name("name", e.name, kNameCharsMax).name("key", e.key, kNameCharsMax);
  row.time(e.happened_at).time(e.created_at).mark();
  row.name("principal", e.principal, kNameCharsMax);
  row.document("data", e.data, kMediumTextBytesMax);
  return row.endRow({.name = fmt::format("{} ({}, {})", e.id, e.name, e.key)});
}

const BatchForm& backfillForm() {
  static const BatchForm form{.kind = BatchForm::Kind::Insert,
                              .noun = "backfill",
                              .table = "backfill",
                              .columns = {"id", "flow_key", "flow", "parallel", "stop_on_failure",
                                          "total", "created_at", "epoch", "batch_id", "principal"}};
  return form;
}

Status putBackfill(RowEncoder& row, const BackfillRecord& b) {
  RETURN_IF_ERROR(checkFlowName("a backfill", b.flow));
  row.natural(b.id).name("flow", nameKey(b.flow), kNameCharsMax);
  row.name("flow", b.flow, kNameCharsMax).number(b.parallel).number(b.stop_on_failure);
  row.number(b.total).time(b.created_at).mark().name("principal", b.principal, kNameCharsMax);
  return row.endRow({.id = b.id});
}

}  // namespace baton::dao
