#include "dao/flow_row_decoder.h"

#include "dao/row_decoder.h"

namespace baton::dao {
namespace {

uint32_t readVersion(SqlRow& row, int column) { return static_cast<uint32_t>(row.natural(column)); }

}  // namespace

FlowVersionRecord readFlowVersion(SqlRow& row, int c) {
  FlowVersionRecord out;
  out.flow = row.text(c);
  out.version = readVersion(row, c + 1);
  out.author = row.text(c + 2);
  out.created_at = readTime(row, c + 3);
  return out;
}

FlowRow readFlow(SqlRow& row) {
  constexpr int kVersionColumn = 13;
  FlowRow out;
  FlowRecord& flow = out.record;
  flow.name = row.text(0);
  flow.version = readVersion(row, 1);
  flow.online = row.integer(2) != 0;
  flow.deleted = row.integer(3) != 0;
  flow.online_since = readTime(row, 4);
  flow.next_at = readTime(row, 5);
  flow.last_instant = readTime(row, 6);
  flow.missed_after = readTime(row, 7);
  flow.missed_until = readTime(row, 8);
  flow.fired = row.integer(9);
  flow.last_success = readTime(row, 10);
  flow.created_at = readTime(row, 11);
  flow.updated_at = readTime(row, 12);
  if (!row.isNull(kVersionColumn)) out.version = readFlowVersion(row, kVersionColumn);
  return out;
}

CalendarRecord readCalendar(SqlRow& row) {
  CalendarRecord out;
  out.name = row.text(0);
  out.version = readVersion(row, 1);
  out.deleted = row.integer(2) != 0;
  out.author = row.text(3);
  out.created_at = readTime(row, 4);
  out.updated_at = readTime(row, 5);
  out.text = row.text(6);
  return out;
}

ParamRecord readParam(SqlRow& row) {
  ParamRecord out;
  out.name = row.text(0);
  out.version = readVersion(row, 1);
  out.deleted = row.integer(2) != 0;
  out.author = row.text(3);
  out.updated_at = readTime(row, 4);
  out.value = row.text(5);
  return out;
}

Status readRun(SqlRow& row, RunRecord& out) {
  RunState& state = out.state;
  state.id = row.natural(0);
  const bool known = readEnum(row, 1, kRunStatusCount, state.status) &&
                     readEnum(row, 2, kRunReasonCount, state.reason) &&
                     readEnum(row, 3, kPriorityCount, state.priority) &&
                     readEnum(row, 12, kRunTriggerCount, out.trigger);
  if (!known) return badEnum("run", {.id = state.id});
  state.late = row.integer(4) != 0;
  state.reruns = readInt(row, 5);
  state.started_at = readTime(row, 6);
  state.finished_at = readTime(row, 7);
  state.due_at = readTime(row, 8);
  state.reason_text = row.text(9);
  out.flow = row.text(10);
  out.version = readVersion(row, 11);
  out.trigger_key = row.text(13);
  out.compensates = row.integer(14) != 0;
  out.plan_time = readTime(row, 15);
  state.prev_success = readTime(row, 16);
  out.created_at = readTime(row, 17);
  out.parent_run = row.natural(18);
  out.parent_task = row.natural(19);
  out.backfill = row.natural(20);
  out.principal = row.text(21);
  return {};
}

MissedRecord readMissed(SqlRow& row) {
  MissedRecord out;
  out.flow = row.text(0);
  out.plan_time = readTime(row, 1);
  out.reason = row.text(2);
  out.recorded_at = readTime(row, 3);
  out.run_id = row.natural(4);
  return out;
}

EventRecord readEvent(SqlRow& row) {
  EventRecord out;
  out.id = row.natural(0);
  out.name = row.text(1);
  out.key = row.text(2);
  out.data = row.text(3);
  out.happened_at = readTime(row, 4);
  out.principal = row.text(5);
  out.created_at = readTime(row, 6);
  return out;
}

BackfillRecord readBackfill(SqlRow& row) {
  BackfillRecord out;
  out.id = row.natural(0);
  out.flow = row.text(1);
  out.parallel = readInt(row, 2);
  out.stop_on_failure = row.integer(3) != 0;
  out.total = readInt(row, 4);
  out.principal = row.text(5);
  out.created_at = readTime(row, 6);
  return out;
}

}  // namespace baton::dao
