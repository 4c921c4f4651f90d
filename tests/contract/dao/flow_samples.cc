#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {

FlowRecord sampleFlow(const std::string& name) {
  return {.name = name,
          .version = 3,
          .online = true,
          .online_since = wallFromMicros(11),
          .next_at = wallFromMicros(1'700'000'000'000'012),
          .last_instant = wallFromMicros(13),
          .missed_after = wallFromMicros(17),
          .missed_until = wallFromMicros(18),
          .fired = 0x1'0000'0001,
          .last_success = wallFromMicros(14),
          .created_at = wallFromMicros(15),
          .updated_at = wallFromMicros(16),
          .deleted = false};
}

FlowVersionRecord sampleVersion(const std::string& flow, uint32_t version) {
  return {.flow = flow,
          .version = version,
          .text = "flow: " + flow + "\ntasks: {a: {command: [\"it's ? \\\\ 🚀\"]}}\n",
          .author = "author-" + std::to_string(version),
          .created_at = wallFromMicros(20 + version)};
}

RunRecord sampleRun(RunId id, const std::string& flow) {
  RunRecord run;
  run.flow = flow;
  run.version = 3;
  run.trigger = RunTrigger::Manual;
  run.trigger_key = std::to_string(id);
  run.plan_time = wallFromMicros(1'700'000'000'000'000 + static_cast<int64_t>(id));
  run.params = R"({"bizdate":"20260101","none":null})";
  run.project_params = R"({"region":"it's ? 🚀"})";
  run.parent_run = 32;
  run.parent_task = 33;
  run.backfill = 34;
  run.compensates = true;
  run.principal = "ann";
  run.created_at = wallFromMicros(35);
  run.state = {.id = id,
               .status = RunStatus::Paused,
               .reason = RunReason::BackfillStopped,
               .reason_text = "it's 🚀",
               .priority = Priority::Critical,
               .started_at = wallFromMicros(36),
               .finished_at = wallFromMicros(37),
               .due_at = wallFromMicros(38),
               .late = true,
               .reruns = 2,
               .prev_success = wallFromMicros(31)};
  return run;
}

MissedRecord sampleMissed(const std::string& flow, int64_t plan_micros) {
  return {.flow = flow,
          .plan_time = wallFromMicros(plan_micros),
          .reason = "not_the_latest",
          .recorded_at = wallFromMicros(plan_micros + 1),
          .run_id = 41};
}

EventRecord sampleEvent(uint64_t id, const std::string& name, const std::string& key) {
  return {.id = id,
          .name = name,
          .key = key,
          .data = R"({"rows":"12"})",
          .happened_at = wallFromMicros(50 + static_cast<int64_t>(id)),
          .principal = "bob",
          .created_at = wallFromMicros(60 + static_cast<int64_t>(id))};
}

BackfillRecord sampleBackfill(uint64_t id, const std::string& flow) {
  return {.id = id,
          .flow = flow,
          .parallel = 7,
          .stop_on_failure = false,
          .total = 365,
          .principal = "cid",
          .created_at = wallFromMicros(71)};
}

CalendarRecord sampleCalendar(const std::string& name, uint32_t version) {
  return {.name = name,
          .version = version,
          .text = "calendar: " + name + "\ndescription: \"it's ? \\\\ 🚀\"\n",
          .author = "dan",
          .created_at = wallFromMicros(81),
          .updated_at = wallFromMicros(82 + version),
          .deleted = false};
}

TaskRecord sampleRunTask(TaskId id, RunId run, const std::string& name) {
  TaskRecord task = sampleTask(id);
  task.name = name;
  task.run_id = run;
  task.outputs = R"({"rows":")" + std::to_string(id) + R"("})";
  return task;
}

std::string dumpFlow(const FlowRecord& f) {
  return fmt::format(
      "flow '{}' version {} online {} since {} next {} last {} missed {} to {} fired {} success {} "
      "created {} updated {} deleted {}",
      f.name, f.version, f.online, toMicros(f.online_since), toMicros(f.next_at),
      toMicros(f.last_instant), toMicros(f.missed_after), toMicros(f.missed_until), f.fired,
      toMicros(f.last_success), toMicros(f.created_at), toMicros(f.updated_at), f.deleted);
}

std::string dumpVersion(const FlowVersionRecord& v) {
  return fmt::format("flow '{}' version {} author '{}' created {} text {}", v.flow, v.version,
                     v.author, toMicros(v.created_at), v.text);
}

std::string dumpRun(const RunRecord& r) {
  const RunState& s = r.state;
  return fmt::format(
      "id {} status {} reason {} '{}' priority {} started {} finished {} due {} late {} reruns {} "
      "flow '{}' version {} trigger {} '{}' plan {} prev {} params {} project {} parent {}/{} "
      "backfill {} "
      "compensates {} principal '{}' created {}",
      s.id, toString(s.status), toString(s.reason), s.reason_text, toString(s.priority),
      toMicros(s.started_at), toMicros(s.finished_at), toMicros(s.due_at), s.late, s.reruns, r.flow,
      r.version, toString(r.trigger), r.trigger_key, toMicros(r.plan_time),
      toMicros(s.prev_success), r.params, r.project_params, r.parent_run, r.parent_task, r.backfill,
      r.compensates, r.principal, toMicros(r.created_at));
}

std::string dumpMissed(const MissedRecord& m) {
  return fmt::format("flow '{}' plan {} reason '{}' recorded {} run {}", m.flow,
                     toMicros(m.plan_time), m.reason, toMicros(m.recorded_at), m.run_id);
}

std::string dumpEvent(const EventRecord& e) {
  return fmt::format("id {} ({}, {}) data {} happened {} principal '{}' created {}", e.id, e.name,
                     e.key, e.data, toMicros(e.happened_at), e.principal, toMicros(e.created_at));
}

std::string dumpBackfill(const BackfillRecord& b) {
  return fmt::format("id {} flow '{}' parallel {} stop {} total {} principal '{}' created {}", b.id,
                     b.flow, b.parallel, b.stop_on_failure, b.total, b.principal,
                     toMicros(b.created_at));
}

std::string dumpCalendar(const CalendarRecord& c) {
  return fmt::format(
      "calendar '{}' version {} deleted {} author '{}' created {} updated {} text {}", c.name,
      c.version, c.deleted, c.author, toMicros(c.created_at), toMicros(c.updated_at), c.text);
}

Status storeRows(FencedTxn& txn, const FlowRows& rows) {
  RETURN_IF_ERROR(txn.storeFlows(rows.flows));
  RETURN_IF_ERROR(txn.insertFlowVersions(rows.versions));
  RETURN_IF_ERROR(txn.insertBackfills(rows.backfills));
  RETURN_IF_ERROR(txn.insertRuns(rows.runs));
  RETURN_IF_ERROR(txn.storeMissed(rows.missed));
  RETURN_IF_ERROR(txn.insertEvents(rows.events));
  RETURN_IF_ERROR(txn.storeCalendars(rows.calendars));
  return txn.insertTasks(rows.tasks);
}

}  // namespace baton::dao
