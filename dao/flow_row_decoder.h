#pragma once

#include <string_view>

#include "common/model/flow_records.h"
#include "dao/flow_reader.h"
#include "dao/sql_session.h"

// Rows of queries about flows, runs and events as records; the rules of row_decoder.h hold.
namespace baton::dao {

// Of flow as f and flow_version as v, whose columns are NULL where it has no version to show.
inline constexpr std::string_view kFlowColumns =
    "f.name,f.version,f.online,f.deleted,f.online_since,f.next_at,f.last_instant,"
    "f.missed_after,f.missed_until,f.fired,f.last_success,f.created_at,f.updated_at,"
    "v.name,v.version,v.author,v.created_at";
inline constexpr int kFlowColumnCount = 17;
FlowRow readFlow(SqlRow& row);

inline constexpr std::string_view kFlowVersionColumns = "v.name,v.version,v.author,v.created_at";
inline constexpr int kFlowVersionColumnCount = 4;
FlowVersionRecord readFlowVersion(SqlRow& row, int first);

inline constexpr std::string_view kRunColumns =
    "u.run_id,u.status,u.reason,u.priority,u.late,u.reruns,u.started_at,u.finished_at,u.due_at,"
    "u.reason_text,u.flow,u.version,u.trigger_kind,u.trigger_key,u.compensates,u.plan_time,"
    "u.prev_success,u.created_at,u.parent_run,u.parent_task,u.backfill,u.principal";
inline constexpr int kRunColumnCount = 22;
Status readRun(SqlRow& row, RunRecord& out);

inline constexpr std::string_view kMissedColumns =
    "m.flow,m.plan_time,m.reason,m.recorded_at,m.run_id";
MissedRecord readMissed(SqlRow& row);

inline constexpr std::string_view kEventColumns =
    "e.id,e.name,e.key_text,e.data,e.happened_at,e.principal,e.created_at";
EventRecord readEvent(SqlRow& row);

inline constexpr std::string_view kBackfillColumns =
    "b.id,b.flow,b.parallel,b.stop_on_failure,b.total,b.principal,b.created_at";
BackfillRecord readBackfill(SqlRow& row);

inline constexpr std::string_view kCalendarColumns =
    "c.name,c.version,c.deleted,c.author,c.created_at,c.updated_at,c.text_body";
CalendarRecord readCalendar(SqlRow& row);

inline constexpr std::string_view kParamColumns =
    "p.name,p.version,p.deleted,p.author,p.updated_at,p.value_text";
ParamRecord readParam(SqlRow& row);

}  // namespace baton::dao
