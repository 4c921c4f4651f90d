#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

template <typename Number>
Json numberOrNull(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Result<Json> storedObject(std::string_view what, TaskId id, const std::string& text) {
  if (text.empty()) return Json(Json::object());
  Result<Json> json = parseJson(text);
  if (json.ok() && json->is_object()) return json;
  return Error::make(ErrorCode::Corrupt, "stored {} of task {} is not a JSON object", what, id);
}

// What does not apply is null, so that every documented name is there. Lists have nothing of the
// part that a runner needs.
void addAbsent(const TaskRecord& record, Json& json) {
  for (const char* name : {"timeout", "dispatch_timeout", "callback", "run_as", "limits"}) {
    json.emplace(name, nullptr);
  }
  if (record.spec.empty()) return;
  for (const char* name :
       {"command", "script", "interpreter", "http", "with", "env", "dir", "params"}) {
    json.emplace(name, nullptr);
  }
}

void addState(const TaskState& state, Json& json) {
  json["id"] = std::to_string(state.id);
  json["status"] = toString(state.status);
  json["reason"] = textOrNull(toString(state.reason));
  json["reason_text"] = textOrNull(state.reason_text);
  json["priority"] = toString(state.priority);
  json["attempt"] = state.attempt;
  json["retries_used"] = state.retries_used;
  json["runner_id"] = textOrNull(state.runner_id);
  json["return_code"] = numberOrNull(state.return_code);
  json["signal"] = state.signal == 0 ? Json(nullptr) : Json(state.signal);
  json["stop_cause"] = textOrNull(toString(state.cause));
  json["queued_at"] = timeToJson(state.queued_at);
  json["not_before"] = timeToJson(state.not_before);
  json["started_at"] = timeToJson(state.started_at);
  json["finished_at"] = timeToJson(state.finished_at);
  json["hold"] = state.hold;
  json["forced"] = state.forced;
  json["ignored"] = state.ignored;
  json["unproven"] = state.unproven;
}

}  // namespace

Json timeToJson(WallTime time) {
  return toMicros(time) == 0 ? Json(nullptr) : Json(formatRfc3339(time));
}

Json idOrNull(uint64_t id) { return id == 0 ? Json(nullptr) : Json(std::to_string(id)); }

Json textOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Result<Json> taskToJson(const master::api::TaskView& view) {
  const TaskRecord& record = view.record;
  const TaskId id = record.state.id;
  ASSIGN_OR_RETURN(Json json, storedObject("specification", id, record.spec));
  const auto policy = policyFromText(record.policy);
  if (!policy.ok()) {
    return Error::make(ErrorCode::Corrupt, "stored policy of task {}: {}", id,
                       policy.error().text());
  }
  ASSIGN_OR_RETURN(Json outputs, storedObject("outputs", id, record.outputs));
  addPolicyFields(*policy, json);
  addAbsent(record, json);
  addState(record.state, json);
  json["name"] = record.name;
  json["group"] = textOrNull(policy->scope.group);
  json["kind"] = record.kind;
  json["tags"] = record.tags;
  json["created_at"] = timeToJson(record.created_at);
  json["outputs"] = std::move(outputs);
  json["on_disconnect"] = "keep";
  json["run_id"] = idOrNull(record.run_id);
  json["flow"] = textOrNull(record.flow);
  json["stuck"] = view.stuck;
  json["waiting_for"] = nullptr;
  if (view.waiting_for != WaitingCode::None) {
    json["waiting_for"] = {{"code", toString(view.waiting_for)}, {"text", view.waiting_text}};
  }
  return json;
}

Json attemptToJson(const AttemptRecord& attempt) {
  Json late(nullptr);
  if (!attempt.late_report.empty()) {
    auto parsed = parseJson(attempt.late_report);
    late = parsed.ok() ? std::move(*parsed) : Json(attempt.late_report);
  }
  return {{"attempt", attempt.number},
          {"runner_id", textOrNull(attempt.runner_id)},
          {"epoch", attempt.epoch},
          {"status", toString(attempt.status)},
          {"reason", textOrNull(toString(attempt.reason))},
          {"reason_text", textOrNull(attempt.reason_text)},
          {"return_code", numberOrNull(attempt.return_code)},
          {"signal", attempt.signal == 0 ? Json(nullptr) : Json(attempt.signal)},
          {"dispatched_at", timeToJson(attempt.dispatched_at)},
          {"started_at", timeToJson(attempt.started_at)},
          {"finished_at", timeToJson(attempt.finished_at)},
          {"stdout_bytes", attempt.stdout_bytes},
          {"stderr_bytes", attempt.stderr_bytes},
          {"late_report", std::move(late)}};
}

}  // namespace baton::webapi
