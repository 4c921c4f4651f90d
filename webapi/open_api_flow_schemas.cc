#include "webapi/open_api.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kFlowSchemas = R"json({
"FlowName": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$",
  "description": "Case is kept, and without meaning."},
"FlowDefinition": {"type": "object", "required": ["flow", "tasks"],
  "description": "As docs/flows.md has it; every key is checked.", "properties": {
  "flow": {"$ref": "#/components/schemas/FlowName"},
  "tasks": {"type": "object", "description": "By name.",
    "additionalProperties": {"type": "object"}}}},
"DefinitionIssue": {"type": "object", "properties": {
  "file": {"type": "string"},
  "line": {"type": "integer", "description": "From 1; 0: nowhere."},
  "column": {"type": "integer", "description": "In characters, from 1; 0: nowhere."},
  "key": {"type": "string", "description": "tasks.load.timeout; empty: the whole."},
  "message": {"type": "string"}}},
"Flow": {"type": "object", "required": ["name", "version", "online"], "properties": {
  "name": {"$ref": "#/components/schemas/FlowName"},
  "version": {"type": "integer", "description": "That which is shown."},
  "newest_version": {"type": "integer"},
  "author": {"type": ["string", "null"], "description": "Who made the version."},
  "changed_at": {"$ref": "#/components/schemas/Time"},
  "online": {"type": "boolean", "description": "Only an online flow fires."},
  "online_since": {"$ref": "#/components/schemas/Time"},
  "schedule": {"type": ["string", "null"], "description": "In the words of the definition."},
  "next_at": {"$ref": "#/components/schemas/Time"},
  "last_instant": {"$ref": "#/components/schemas/Time"},
  "last_success": {"$ref": "#/components/schemas/Time"},
  "created_at": {"$ref": "#/components/schemas/Time"},
  "updated_at": {"$ref": "#/components/schemas/Time"},
  "text": {"type": "string", "description": "The definition as it was given; not in lists."},
  "live_runs": {"type": "integer", "description": "Not in lists."},
  "next_instants": {"type": "array", "maxItems": 5, "description": "Not in lists.",
    "items": {"type": "string", "format": "date-time"}}}},
"FlowVersion": {"type": "object", "properties": {
  "flow": {"$ref": "#/components/schemas/FlowName"},
  "version": {"type": "integer"},
  "author": {"type": ["string", "null"]},
  "created_at": {"$ref": "#/components/schemas/Time"}}},
"FlowApplied": {"type": "object", "properties": {
  "name": {"$ref": "#/components/schemas/FlowName"},
  "version": {"type": "integer"},
  "online": {"type": "boolean"},
  "next_at": {"$ref": "#/components/schemas/Time"},
  "created": {"type": "boolean", "description": "There was none of that name."},
  "changed": {"type": "boolean", "description": "false: it means what the newest version does."},
  "changes": {"type": "array", "items": {"type": "string"}, "description": "In words."},
  "warnings": {"type": "array", "items": {"$ref": "#/components/schemas/DefinitionIssue"}},
  "dry_run": {"type": "boolean", "description": "true: nothing was stored."}}},
"Params": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
"FlowTrigger": {"type": "object", "additionalProperties": false, "properties": {
  "plan_time": {"type": "string", "format": "date-time", "description": "Default: now."},
  "params": {"$ref": "#/components/schemas/Params"},
  "priority": {"$ref": "#/components/schemas/Priority"}}},
"FlowBackfill": {"type": "object", "additionalProperties": false,
  "description": "Either from and to, or plan_times.", "properties": {
  "from": {"type": "string", "format": "date-time",
    "description": "First instant of its schedule, included."},
  "to": {"type": "string", "format": "date-time", "description": "Last one, included."},
  "plan_times": {"type": "array", "minItems": 1, "maxItems": 10000,
    "items": {"type": "string", "format": "date-time"}},
  "parallel": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
  "newest_first": {"type": "boolean", "default": false},
  "keep_going": {"type": "boolean", "default": false,
    "description": "Also behind a run that failed; else those become SKIPPED."},
  "dry_run": {"type": "boolean", "default": false},
  "params": {"$ref": "#/components/schemas/Params"}}},
"Backfill": {"type": "object", "properties": {
  "id": {"type": ["string", "null"], "description": "null: a dry run."},
  "items": {"type": "array", "description": "In the order in which they run.",
    "items": {"type": "object", "properties": {
      "plan_time": {"type": "string", "format": "date-time"},
      "run_id": {"type": ["string", "null"]}}}}}},
"SchedulePreview": {"type": "object", "properties": {
  "cron": {"type": "string"},
  "timezone": {"type": "string"},
  "items": {"type": "array", "description": "Fewer than asked for: it never fires again.",
    "items": {"type": "object", "properties": {
      "utc": {"type": "string", "format": "date-time"},
      "local": {"type": "string", "format": "date-time"},
      "weekday": {"type": "string"}}}},
  "next_clock_change": {"type": ["object", "null"], "properties": {
    "utc": {"type": "string", "format": "date-time"},
    "local": {"type": "string", "format": "date-time"},
    "shift": {"type": "string", "examples": ["forward by 1h"]}}}}},
"RunStatus": {"enum": ["WAITING", "RUNNING", "PAUSED", "TERMINATING", "FINISHED", "FAILED",
  "TERMINATED", "SKIPPED"]},
"RunTrigger": {"enum": ["schedule", "manual", "backfill", "event", "sub_flow"]},
"RunReason": {"enum": ["task_failed", "timeout", "stop_asked", "overlap_skip", "queue_full",
  "overlap_cancel", "bad_spec", "flow_deleted", "backfill_stopped", null]},
"Run": {"type": "object", "required": ["id", "flow", "status"], "properties": {
  "id": {"type": "string"},
  "flow": {"$ref": "#/components/schemas/FlowName"},
  "version": {"type": "integer", "description": "Of the definition; a run keeps it."},
  "status": {"$ref": "#/components/schemas/RunStatus"},
  "reason": {"$ref": "#/components/schemas/RunReason"},
  "reason_text": {"type": ["string", "null"]},
  "waiting_text": {"type": ["string", "null"], "description": "What it waits for."},
  "trigger": {"$ref": "#/components/schemas/RunTrigger"},
  "plan_time": {"$ref": "#/components/schemas/Time"},
  "prev_success": {"$ref": "#/components/schemas/Time"},
  "priority": {"$ref": "#/components/schemas/Priority"},
  "parent_run": {"type": ["string", "null"]},
  "parent_task": {"type": ["string", "null"]},
  "backfill": {"type": ["string", "null"]},
  "compensates": {"type": "boolean",
    "description": "Runs later than planned because nobody could begin it in time."},
  "reruns": {"type": "integer"},
  "late": {"type": "boolean", "description": "Was not done at due_at."},
  "due_at": {"$ref": "#/components/schemas/Time"},
  "principal": {"type": ["string", "null"], "description": "Who asked for it."},
  "created_at": {"$ref": "#/components/schemas/Time"},
  "started_at": {"$ref": "#/components/schemas/Time"},
  "finished_at": {"$ref": "#/components/schemas/Time"},
  "params": {"$ref": "#/components/schemas/Params"}}},
"RunTask": {"allOf": [{"$ref": "#/components/schemas/Task"}, {"type": "object", "properties": {
  "needs": {"type": "array", "items": {"type": "string"}, "examples": [["load (success)"]]},
  "sub_run": {"type": ["string", "null"], "description": "Run of a sub-flow."}}}]},
"RunRerun": {"type": "object", "additionalProperties": false, "properties": {
  "scope": {"enum": ["all", "failed", "from", "one"], "default": "failed"},
  "task": {"type": "string", "description": "With from and one."},
  "force": {"type": "boolean", "description": "Also when a task's end was never proved."}}},
"RunSkip": {"type": "object", "additionalProperties": false, "properties": {
  "task": {"type": "string", "description": "Default: the run itself, which waits."}}},
"RunTaskName": {"type": "object", "additionalProperties": false, "required": ["task"],
  "properties": {"task": {"type": "string"}}},
"RunPriority": {"type": "object", "additionalProperties": false, "required": ["priority"],
  "properties": {"priority": {"$ref": "#/components/schemas/Priority"}}},
"Explanation": {"type": "object", "properties": {
  "status": {"type": "string"},
  "reasons": {"type": "array", "items": {"type": "string"},
    "description": "From the outside in."}}},
"Missed": {"type": "object", "properties": {
  "flow": {"$ref": "#/components/schemas/FlowName"},
  "plan_time": {"$ref": "#/components/schemas/Time"},
  "reason": {"type": "string", "examples": ["policy_none", "over_max"]},
  "recorded_at": {"$ref": "#/components/schemas/Time"},
  "run_id": {"type": ["string", "null"], "description": "Run by hand afterwards."}}},
"MissedRun": {"type": "object", "additionalProperties": false, "required": ["flow", "plan_time"],
  "properties": {
  "flow": {"$ref": "#/components/schemas/FlowName"},
  "plan_time": {"type": "string", "format": "date-time"}}},
"EventSubmission": {"type": "object", "additionalProperties": false, "required": ["name", "key"],
  "properties": {
  "name": {"$ref": "#/components/schemas/FlowName"},
  "key": {"type": "string", "minLength": 1, "maxLength": 128},
  "data": {"$ref": "#/components/schemas/StringMap"},
  "happened_at": {"type": "string", "format": "date-time", "description": "Default: now."}}},
"Event": {"type": "object", "properties": {
  "id": {"type": "string"},
  "name": {"$ref": "#/components/schemas/FlowName"},
  "key": {"type": "string"},
  "data": {"$ref": "#/components/schemas/StringMap"},
  "happened_at": {"$ref": "#/components/schemas/Time"},
  "principal": {"type": ["string", "null"]},
  "created_at": {"$ref": "#/components/schemas/Time"}}},
"EventSent": {"allOf": [{"$ref": "#/components/schemas/Event"}, {"type": "object", "properties": {
  "known": {"type": "boolean", "description": "It was there already; nothing changed."}}}]}
})json";

}  // namespace

std::string_view openApiFlowSchemas() { return kFlowSchemas; }

}  // namespace baton::webapi
