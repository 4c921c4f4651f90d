#pragma once

#include <string>
#include <vector>

#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {

// Records with every member set to something of its own; names of flows are in both cases.
FlowRecord sampleFlow(const std::string& name);
FlowVersionRecord sampleVersion(const std::string& flow, uint32_t version);
// A manual run with the id as its key; live.
RunRecord sampleRun(RunId id, const std::string& flow);
MissedRecord sampleMissed(const std::string& flow, int64_t plan_micros);
EventRecord sampleEvent(uint64_t id, const std::string& name, const std::string& key);
BackfillRecord sampleBackfill(uint64_t id, const std::string& flow);
CalendarRecord sampleCalendar(const std::string& name, uint32_t version);
// A task that is a part of a run.
TaskRecord sampleRunTask(TaskId id, RunId run, const std::string& name);

// Every member that the database keeps, as text, for comparisons.
std::string dumpFlow(const FlowRecord& flow);
std::string dumpVersion(const FlowVersionRecord& version);
std::string dumpRun(const RunRecord& run);
std::string dumpMissed(const MissedRecord& missed);
std::string dumpEvent(const EventRecord& event);
std::string dumpBackfill(const BackfillRecord& backfill);
std::string dumpCalendar(const CalendarRecord& calendar);

// Rows of one transaction, parents first.
struct FlowRows {
  std::vector<FlowRecord> flows = {};
  std::vector<FlowVersionRecord> versions = {};
  std::vector<BackfillRecord> backfills = {};
  std::vector<RunRecord> runs = {};
  std::vector<MissedRecord> missed = {};
  std::vector<EventRecord> events = {};
  std::vector<TaskRecord> tasks = {};
  std::vector<CalendarRecord> calendars = {};
};
// Without commit. The first error.
Status storeRows(FencedTxn& txn, const FlowRows& rows);

}  // namespace baton::dao
