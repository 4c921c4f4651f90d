#pragma once

#include "common/model/flow_records.h"
#include "dao/row_encoder.h"

// Records of flows, runs and events as rows of a SqlBatch, as row_encoder.h has those of tasks.
namespace baton::dao {

const BatchForm& flowForm();
Status putFlow(RowEncoder& row, const FlowRecord& flow);
const BatchForm& flowVersionForm();
Status putFlowVersion(RowEncoder& row, const FlowVersionRecord& version);
const BatchForm& runInsertForm();
Status putRun(RowEncoder& row, const RunRecord& run);
// Of a run that has some.
const BatchForm& runParamForm();
Status putRunParams(RowEncoder& row, const RunRecord& run);
const BatchForm& runStateForm();
Status putRunState(RowEncoder& row, const RunState& state);
const BatchForm& runTaskForm();
Status putRunTask(RowEncoder& row, RunId run, TaskId task);
const BatchForm& missedForm();
Status putMissed(RowEncoder& row, const MissedRecord& missed);
const BatchForm& eventForm();
Status putEvent(RowEncoder& row, const EventRecord& event);
const BatchForm& backfillForm();
Status putBackfill(RowEncoder& row, const BackfillRecord& backfill);
const BatchForm& calendarForm();
Status putCalendar(RowEncoder& row, const CalendarRecord& calendar);
const BatchForm& paramForm();
Status putParam(RowEncoder& row, const ParamRecord& param);

// 0 for a live run, else its terminal status: column run.phase.
int64_t phaseOf(RunStatus status);

}  // namespace baton::dao
