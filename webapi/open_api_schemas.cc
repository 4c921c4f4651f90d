#include "webapi/open_api.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kTaskSchemas = R"json({
"Empty": {"type": "object", "additionalProperties": false},
"Retry": {"type": "object", "additionalProperties": false, "properties": {
  "max": {"type": "integer", "minimum": 0, "maximum": 1000, "description": "Extra attempts."},
  "delay": {"$ref": "#/components/schemas/Duration"},
  "backoff": {"type": "number", "minimum": 1, "maximum": 100},
  "max_delay": {"$ref": "#/components/schemas/Duration"},
  "on_lost": {"type": "boolean", "description": "Also when a runner is lost."}}},
"Callback": {"type": "object", "additionalProperties": false, "required": ["url"], "properties": {
  "url": {"type": "string", "format": "uri"},
  "on": {"type": "array", "items": {"enum": ["finished", "failed", "terminated", "skipped"]}},
  "wait": {"type": "boolean"},
  "on_failure": {"enum": ["finish", "fail"]}}},
"Duration": {"type": "string", "examples": ["250ms", "90s", "1h30m"]},
"StringMap": {"type": "object", "additionalProperties": {"type": "string"}},
"Http": {"type": "object", "additionalProperties": false, "required": ["url"], "properties": {
  "url": {"type": "string", "maxLength": 2000, "description": "http://"},
  "method": {"enum": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"], "default": "GET"},
  "headers": {"$ref": "#/components/schemas/StringMap"},
  "body": {"type": "string", "maxLength": 65536},
  "expect": {"type": ["string", "integer", "array"], "default": "2xx", "maxItems": 20,
    "items": {"type": ["string", "integer"]}, "description": "200, 2xx, 200-204, or a list."},
  "capture": {"type": "string", "maxLength": 64, "description": "Output that takes the body."}}},
"TaskSubmission": {"type": "object", "additionalProperties": false, "properties": {
  "name": {"type": "string", "minLength": 1, "maxLength": 128},
  "kind": {"type": "string", "maxLength": 32, "default": "command",
    "description": "command, script, http, or the name of a plug-in."},
  "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
  "script": {"type": "string"},
  "interpreter": {"type": "array", "items": {"type": "string"}},
  "http": {"$ref": "#/components/schemas/Http"},
  "with": {"type": "object", "description": "A plug-in's own keys."},
  "env": {"$ref": "#/components/schemas/StringMap"},
  "params": {"$ref": "#/components/schemas/StringMap"},
  "dir": {"type": "string", "description": "Absolute."},
  "priority": {"$ref": "#/components/schemas/Priority"},
  "labels": {"$ref": "#/components/schemas/StringMap"},
  "group": {"type": "string", "maxLength": 64, "description": "Shared limit it counts against."},
  "weight": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
  "timeout": {"$ref": "#/components/schemas/Duration"},
  "dispatch_timeout": {"$ref": "#/components/schemas/Duration"},
  "kill_grace": {"$ref": "#/components/schemas/Duration"},
  "not_before": {"type": "string", "format": "date-time"},
  "hold": {"type": "boolean"},
  "retry": {"$ref": "#/components/schemas/Retry"},
  "on_disconnect": {"enum": ["keep"]},
  "callback": {"$ref": "#/components/schemas/Callback"},
  "tags": {"type": "array", "maxItems": 32, "items": {"type": "string", "maxLength": 64}}}},
"BulkSubmission": {"type": "object", "additionalProperties": false, "required": ["tasks"],
  "properties": {"tasks": {"type": "array", "minItems": 1, "maxItems": 10000,
    "items": {"$ref": "#/components/schemas/TaskSubmission"}}}},
"Submitted": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
"SubmittedMany": {"type": "object", "required": ["ids"], "properties": {
  "ids": {"type": "array", "items": {"type": "string"}, "description": "In order."}}},
"Rerun": {"type": "object", "additionalProperties": false, "properties": {
  "force": {"type": "boolean", "description": "Also when its last stop was never proved."}}},
"Priority": {"enum": ["low", "normal", "high", "critical"]},
"TaskStatus": {"enum": ["CREATED", "QUEUED", "DISPATCHED", "RUNNING", "CALLBACK", "FINISHED",
  "FAILED", "SKIPPED", "TERMINATING", "TERMINATED", "RETRYING"]},
"FailureReason": {"enum": ["exit_code", "signal", "timeout", "oom", "start_failed", "bad_spec",
  "resource_failed", "runner_reset", "runner_lost", "disconnected", "dispatch_timeout",
  "callback_failed", null]},
"Time": {"type": ["string", "null"], "format": "date-time"},
"WaitingFor": {"type": ["object", "null"], "properties": {
  "code": {"type": "string"}, "text": {"type": "string"}}},
"Task": {"type": "object", "required": ["id", "name", "status"], "properties": {
  "id": {"type": "string"},
  "name": {"type": "string"},
  "kind": {"type": "string"},
  "command": {"type": ["array", "null"], "items": {"type": "string"}},
  "script": {"type": ["string", "null"]},
  "interpreter": {"type": ["array", "null"], "items": {"type": "string"}},
  "http": {"anyOf": [{"$ref": "#/components/schemas/Http"}, {"type": "null"}]},
  "with": {"type": ["object", "null"], "description": "A plug-in's own keys."},
  "env": {"anyOf": [{"$ref": "#/components/schemas/StringMap"}, {"type": "null"}]},
  "params": {"anyOf": [{"$ref": "#/components/schemas/StringMap"}, {"type": "null"}]},
  "dir": {"type": ["string", "null"]},
  "priority": {"$ref": "#/components/schemas/Priority"},
  "labels": {"$ref": "#/components/schemas/StringMap"},
  "group": {"type": ["string", "null"]},
  "weight": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
  "timeout": {"anyOf": [{"$ref": "#/components/schemas/Duration"}, {"type": "null"}]},
  "dispatch_timeout": {"anyOf": [{"$ref": "#/components/schemas/Duration"}, {"type": "null"}]},
  "kill_grace": {"$ref": "#/components/schemas/Duration"},
  "not_before": {"$ref": "#/components/schemas/Time"},
  "hold": {"type": "boolean"},
  "retry": {"$ref": "#/components/schemas/Retry"},
  "on_disconnect": {"enum": ["keep"]},
  "callback": {"anyOf": [{"$ref": "#/components/schemas/Callback"}, {"type": "null"}]},
  "run_as": {"type": "null"},
  "limits": {"type": "null"},
  "tags": {"type": "array", "items": {"type": "string"}},
  "status": {"$ref": "#/components/schemas/TaskStatus"},
  "reason": {"$ref": "#/components/schemas/FailureReason"},
  "reason_text": {"type": ["string", "null"]},
  "waiting_for": {"$ref": "#/components/schemas/WaitingFor"},
  "attempt": {"type": "integer", "description": "Number of the newest; 0: none yet."},
  "retries_used": {"type": "integer"},
  "runner_id": {"type": ["string", "null"]},
  "return_code": {"type": ["integer", "null"]},
  "signal": {"type": ["integer", "null"]},
  "stop_cause": {"enum": ["stop", "run", "timeout", null]},
  "created_at": {"$ref": "#/components/schemas/Time"},
  "queued_at": {"$ref": "#/components/schemas/Time"},
  "started_at": {"$ref": "#/components/schemas/Time"},
  "finished_at": {"$ref": "#/components/schemas/Time"},
  "run_id": {"type": ["string", "null"], "description": "Run of a flow that it is a part of."},
  "flow": {"type": ["string", "null"], "description": "Flow of that run."},
  "outputs": {"$ref": "#/components/schemas/StringMap"},
  "forced": {"type": "boolean"},
  "ignored": {"type": "boolean"},
  "unproven": {"type": "boolean"},
  "stuck": {"type": "boolean", "description": "Too long in a status that should pass soon."}}},
"Attempt": {"type": "object", "properties": {
  "attempt": {"type": "integer"},
  "runner_id": {"type": ["string", "null"]},
  "epoch": {"type": "integer"},
  "status": {"enum": ["DISPATCHED", "RUNNING", "FINISHED", "FAILED", "TERMINATED",
    "UNDELIVERED"]},
  "reason": {"$ref": "#/components/schemas/FailureReason"},
  "reason_text": {"type": ["string", "null"]},
  "return_code": {"type": ["integer", "null"]},
  "signal": {"type": ["integer", "null"]},
  "dispatched_at": {"$ref": "#/components/schemas/Time"},
  "started_at": {"$ref": "#/components/schemas/Time"},
  "finished_at": {"$ref": "#/components/schemas/Time"},
  "stdout_bytes": {"type": "integer"},
  "stderr_bytes": {"type": "integer"},
  "late_report": {"description": "A result that came after the attempt was closed, or null."}}}
})json";

constexpr std::string_view kRunnerSchemas = R"json({
"Heartbeat": {"type": "object", "required": ["status"], "properties": {
  "runner_id": {"type": "string"}, "worker_id": {"type": "string"}, "host": {"type": "string"},
  "boot_id": {"type": "string"}, "version": {"type": "string"},
  "worker_address": {"type": "string"}, "cluster_guid": {"type": "string"},
  "journal_id": {"type": "string"}, "incarnation": {"type": "integer"},
  "seq": {"type": "integer"}, "last_order": {"$ref": "#/components/schemas/AttemptKey"},
  "epoch": {"type": "integer"},
  "status": {"enum": ["IDLE", "RUNNING", "FINISHED", "FAILED"]},
  "current_task": {"type": "string"}, "attempt": {"type": "integer"},
  "nonce": {"type": "string"}, "return_code": {"type": "integer"},
  "signal": {"type": "integer"}, "reason": {"$ref": "#/components/schemas/FailureReason"},
  "reason_text": {"type": "string"}, "run_ms": {"type": "integer"},
  "ended_ms": {"type": "integer"}, "leaving_ms": {"type": "integer"},
  "stdout": {"type": "object"}, "stderr": {"type": "object"},
  "outputs": {"$ref": "#/components/schemas/StringMap"}, "runner_config": {"type": "object"},
  "final_args": {"type": "string"}, "wait_ms": {"type": "integer", "maximum": 600000},
  "figures": {"$ref": "#/components/schemas/Figures"}}},
"AttemptKey": {"type": "object", "properties": {
  "task": {"type": "string"}, "attempt": {"type": "integer"}, "nonce": {"type": "string"}}},
"HeartbeatReply": {"type": "object", "required": ["command"], "properties": {
  "cluster_guid": {"type": "string"}, "epoch": {"type": "integer"},
  "incarnation": {"type": "integer"}, "seq": {"type": "integer"},
  "command": {"enum": ["GO_ON", "RESET", "RUN_NEW"]}, "interval_ms": {"type": "integer"},
  "heartbeat_ms": {"type": "integer"},
  "task": {"type": "object", "properties": {
    "task": {"type": "string"}, "attempt": {"type": "integer"}, "nonce": {"type": "string"},
    "timeout_ms": {"type": "integer"}, "kill_grace_ms": {"type": "integer"},
    "run": {"type": "object"}}}}},
"Figures": {"type": ["object", "null"], "properties": {
  "load1": {"type": "number"}, "cpu_count": {"type": "integer"},
  "memory_total_bytes": {"type": "integer"}, "memory_free_bytes": {"type": "integer"},
  "disk_free_bytes": {"type": "integer"}}},
"Runner": {"type": "object", "properties": {
  "runner_id": {"type": "string"}, "worker_id": {"type": ["string", "null"]},
  "host": {"type": ["string", "null"]}, "address": {"type": ["string", "null"]},
  "version": {"type": ["string", "null"]},
  "state": {"enum": ["idle", "busy", "lost", "leaving", "conflict", "unknown"]},
  "task_id": {"type": ["string", "null"]},
  "labels": {"$ref": "#/components/schemas/StringMap"}, "plain": {"type": "boolean"},
  "conflict": {"type": "boolean"}, "held": {"type": "boolean"},
  "silent_ms": {"type": ["integer", "null"]},
  "last_seen": {"$ref": "#/components/schemas/Time"}}},
"Host": {"type": "object", "properties": {
  "worker_id": {"type": ["string", "null"]}, "host": {"type": ["string", "null"]},
  "address": {"type": ["string", "null"]}, "version": {"type": ["string", "null"]},
  "labels": {"$ref": "#/components/schemas/StringMap"}, "runners": {"type": "integer"},
  "busy": {"type": "integer"}, "plain": {"type": "boolean"},
  "health": {"enum": ["healthy", "suspect", "dead", "quarantined", "unknown"]},
  "score": {"type": "integer", "minimum": 0, "maximum": 100},
  "findings": {"type": ["string", "null"], "description": "What took points of the score."},
  "state": {"enum": ["active", "draining", "drained", "excluded", "unapproved", "outdated"]},
  "takes_tasks": {"type": "boolean"},
  "held_back": {"type": ["string", "null"], "description": "Why it takes no tasks."},
  "reason": {"type": ["string", "null"], "description": "What the operator said."},
  "operator_labels": {"$ref": "#/components/schemas/StringMap"},
  "silent_ms": {"type": ["integer", "null"]},
  "last_seen": {"$ref": "#/components/schemas/Time"},
  "figures": {"$ref": "#/components/schemas/Figures"}}},
"HostReason": {"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string", "maxLength": 256}}},
"HostLabels": {"type": "object", "additionalProperties": false, "required": ["labels"],
  "properties": {"labels": {"type": "object",
    "additionalProperties": {"type": ["string", "null"]}, "description": "null removes one."}}},
"HostPolicy": {"type": "object", "properties": {
  "white_list": {"type": "boolean"}, "min_version": {"type": ["string", "null"]},
  "unapproved": {"type": "integer"}, "outdated": {"type": "integer"}}},
"HostPolicyChange": {"type": "object", "additionalProperties": false, "properties": {
  "white_list": {"type": "boolean"},
  "min_version": {"type": ["string", "null"], "description": "null: any."}}}
})json";

constexpr std::string_view kClusterSchemas = R"json({
"Cluster": {"type": "object", "properties": {
  "cluster": {"type": "string"}, "guid": {"type": "string"}, "node_id": {"type": "string"},
  "role": {"enum": ["active", "standby"]}, "state": {"type": "string"},
  "epoch": {"type": "integer"},
  "active": {"type": ["object", "null"], "properties": {
    "node_id": {"type": "string"}, "address": {"type": "string"},
    "since": {"$ref": "#/components/schemas/Time"}}},
  "masters": {"type": "array", "items": {"type": "object", "properties": {
    "node_id": {"type": "string"}, "role": {"enum": ["active", "standby"]},
    "state": {"type": "string"}, "address": {"type": "string"}, "version": {"type": "string"},
    "health": {"enum": ["ok", "database_unreachable", "unknown"],
      "description": "unknown: as it was when ZooKeeper last answered."}}}},
  "alarm": {"type": ["string", "null"], "description": "What needs a person."},
  "min_priority": {"type": ["string", "null"],
    "description": "Degraded, of the active one: the lowest priority that is started."}}},
"Takeover": {"type": "object", "properties": {
  "epoch": {"type": "integer"}, "node_id": {"type": "string"}, "reason": {"type": "string"},
  "at": {"$ref": "#/components/schemas/Time"},
  "released_at": {"$ref": "#/components/schemas/Time"},
  "detect_ms": {"type": "integer"}, "lock_ms": {"type": "integer"},
  "bump_ms": {"type": "integer"}, "load_ms": {"type": "integer"},
  "active_ms": {"type": "integer"}, "tasks_loaded": {"type": "integer"},
  "attempts_in_doubt": {"type": "integer"}}},
"Counts": {"type": "object", "additionalProperties": {"type": "integer"}},
"Stats": {"type": "object", "properties": {
  "by_status": {"$ref": "#/components/schemas/Counts"},
  "live_by_priority": {"$ref": "#/components/schemas/Counts"},
  "waiting_by_reason": {"$ref": "#/components/schemas/Counts"},
  "groups": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Counts"}},
  "workers": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Counts"}},
  "runs_by_status": {"$ref": "#/components/schemas/Counts"},
  "planner": {"type": "object", "properties": {
    "schedules": {"type": "integer", "description": "Online, with a next instant."},
    "behind": {"type": "integer",
      "description": "Flows with missed instants that are still to be dealt with."},
    "lag_ms": {"type": "integer",
      "description": "For how long the oldest instant that is due has not been begun."}}},
  "missed_by_reason": {"$ref": "#/components/schemas/Counts"}}},
"Verify": {"type": "object", "properties": {
  "tasks_compared": {"type": "integer"}, "runs_compared": {"type": "integer"},
  "differences": {"type": "array", "maxItems": 100, "items": {"type": "string"}},
  "differences_total": {"type": "integer"}}},
"Sync": {"type": "object", "properties": {
  "epoch": {"type": "integer",
    "description": "Of the term that ends for it: from a higher one on everything has been read again."}}},
"GroupRow": {"type": "object", "additionalProperties": false, "properties": {
  "limit": {"type": ["integer", "null"], "minimum": 0, "description": "Units of weight; 0: nothing runs; null: unlimited."},
  "window": {"type": ["string", "null"], "examples": ["22:00-06:00"],
    "description": "When tasks may start."},
  "time_zone": {"type": ["string", "null"], "description": "IANA name; with a window."},
  "min_priority": {"type": ["string", "null"], "enum": ["low", "normal", "high", "critical", null]},
  "description": {"type": ["string", "null"], "maxLength": 1000}}},
"Group": {"type": "object", "properties": {
  "name": {"type": "string"}, "limit": {"type": ["integer", "null"]},
  "window": {"type": ["string", "null"]}, "time_zone": {"type": ["string", "null"]},
  "min_priority": {"type": ["string", "null"]}, "description": {"type": ["string", "null"]},
  "set": {"type": "boolean", "description": "False: it is here for its tasks, nobody limits it."},
  "weight_in_use": {"type": "integer"}, "running": {"type": "integer"},
  "queued": {"type": "integer"}, "open": {"type": "boolean", "description": "Its window."},
  "next_change": {"$ref": "#/components/schemas/Time"},
  "changed_at": {"$ref": "#/components/schemas/Time"}}},
"LimitRow": {"type": "object", "additionalProperties": false, "required": ["limit"],
  "properties": {"limit": {"type": "integer", "minimum": 0},
  "description": {"type": ["string", "null"], "maxLength": 1000}}},
"Limit": {"type": "object", "properties": {
  "kind": {"enum": ["flow", "user", "host"]}, "name": {"type": "string"},
  "limit": {"type": ["integer", "null"]}, "description": {"type": ["string", "null"]},
  "running": {"type": "integer"}, "queued": {"type": "integer", "description": "Not of hosts."},
  "changed_at": {"$ref": "#/components/schemas/Time"}}},
"ClusterLimit": {"type": "object", "additionalProperties": false, "required": ["running_max"],
  "properties": {"running_max": {"type": ["integer", "null"], "minimum": 0,
    "description": "0: no limit; null: as configured."}}},
"ClusterLimits": {"type": "object", "properties": {
  "running_max": {"type": "integer", "description": "0: no limit."},
  "configured_running_max": {"type": "integer"}, "min_priority": {"type": ["string", "null"]},
  "running": {"type": "integer"}, "queued": {"type": "integer"},
  "changed_at": {"$ref": "#/components/schemas/Time"}}},
"Degrade": {"type": "object", "additionalProperties": false, "required": ["min_priority"],
  "properties": {
  "min_priority": {"type": ["string", "null"], "enum": ["low", "normal", "high", "critical", null],
    "description": "null: everything is started again."},
  "group": {"type": "string", "description": "Left out: the cluster."}}},
"Degraded": {"anyOf": [{"$ref": "#/components/schemas/ClusterLimits"},
  {"$ref": "#/components/schemas/Group"}]},
"Internals": {"type": "object", "description": "For people; its members may change."},
"DeadCallback": {"type": "object", "properties": {
  "id": {"type": "string"}, "task_id": {"type": ["string", "null"]},
  "run_id": {"type": ["string", "null"]}, "attempt": {"type": "integer"},
  "event": {"type": "string"}, "url": {"type": "string"}, "awaited": {"type": "boolean"},
  "state": {"type": "string"}, "tries": {"type": "integer"},
  "created_at": {"$ref": "#/components/schemas/Time"},
  "last_error": {"type": ["string", "null"]}}},
"Health": {"type": "object", "properties": {
  "status": {"type": "string"}, "role": {"type": "string"}, "state": {"type": "string"}}},
"OpenApi": {"type": "object"},
"Problem": {"type": "object", "required": ["type", "title", "status", "detail", "code"],
  "properties": {
  "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
  "detail": {"type": "string"}, "code": {"type": "string"},
  "field": {"type": "string", "description": "What is wrong, e.g. tasks[3].command."},
  "errors": {"type": "array", "description": "With code invalid_definition: all that is wrong.",
    "items": {"$ref": "#/components/schemas/DefinitionIssue"}},
  "warnings": {"type": "array", "description": "Beside errors: what is odd.",
    "items": {"$ref": "#/components/schemas/DefinitionIssue"}},
  "active": {"type": "object", "description": "With code not_active: who leads.",
    "properties": {"node_id": {"type": "string"}, "address": {"type": "string"}}}}}
})json";

Json listOf(std::string_view item) {
  return {
      {"type", "object"},
      {"required", Json::array({"items", "next_cursor"})},
      {"properties",
       {{"items",
         {{"type", "array"}, {"items", {{"$ref", fmt::format("#/components/schemas/{}", item)}}}}},
        {"next_cursor", {{"type", Json::array({"string", "null"})}}},
        {"total", {{"type", "integer"}}}}}};
}

}  // namespace

Json openApiSchemas() {
  Json schemas = Json::object();
  for (const std::string_view text : {kTaskSchemas, kRunnerSchemas, kClusterSchemas,
                                      openApiFlowSchemas(), openApiActivitySchemas()}) {
    const auto parsed = parseJson(text);
    CHECK(parsed.ok());
    schemas.update(*parsed);
  }
  for (const std::string_view item :
       {"Task", "Attempt", "Runner", "Host", "Takeover", "DeadCallback", "Group", "Limit", "Flow",
        "FlowVersion", "Run", "RunTask", "Missed", "Event", "Calendar", "Param", "Audit"}) {
    schemas[fmt::format("{}List", item)] = listOf(item);
  }
  return schemas;
}

}  // namespace baton::webapi
