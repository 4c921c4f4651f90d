#include "webapi/flow_json.h"

#include <algorithm>

#include "common/model/missed_text.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::DefinitionIssue;
using master::api::FlowView;

Json timesToJson(const std::vector<WallTime>& times) {
  Json list = Json::array();
  for (const WallTime time : times) list.push_back(formatRfc3339(time));
  return list;
}

Json issueToJson(const DefinitionIssue& issue) {
  return {{"file", issue.file},       {"line", issue.line},
          {"column", issue.column},   {"key", issue.key},
          {"message", issue.message}, {"missing_flow", textOrNull(issue.missing_flow)}};
}

Result<Json> objectOfRow(std::string_view what, uint64_t id, const std::string& text) {
  if (text.empty()) return Json(Json::object());
  Result<Json> json = parseJson(text);
  if (json.ok() && json->is_object()) return json;
  return Error::make(ErrorCode::Corrupt, "stored {} {} are no JSON object", what, id);
}

}  // namespace

std::string etagOf(uint32_t version) { return fmt::format("\"v{}\"", version); }

Json issuesToJson(const std::vector<DefinitionIssue>& issues) {
  Json errors = Json::array();
  Json warnings = Json::array();
  for (const DefinitionIssue& issue : issues) {
    (issue.warning ? warnings : errors).push_back(issueToJson(issue));
  }
  return {{"errors", std::move(errors)}, {"warnings", std::move(warnings)}};
}

Json flowToJson(const FlowView& view, bool whole) {
  const FlowRecord& record = view.record;
  const FlowVersionRecord& version = view.version;
  Json json = {{"name", record.name},
               {"version", version.version == 0 ? record.version : version.version},
               {"newest_version", record.version},
               {"author", textOrNull(version.author)},
               {"changed_at", timeToJson(version.created_at)},
               {"online", record.online},
               {"online_since", record.online ? timeToJson(record.online_since) : Json(nullptr)},
               {"schedule", textOrNull(view.schedule)},
               {"owner", textOrNull(view.owner)},
               {"tags", view.tags},
               {"next_at", timeToJson(record.next_at)},
               {"last_instant", timeToJson(record.last_instant)},
               {"last_success", timeToJson(record.last_success)},
               {"created_at", timeToJson(record.created_at)},
               {"updated_at", timeToJson(record.updated_at)}};
  if (!whole) return json;
  json["text"] = version.text;
  json["live_runs"] = view.live_runs;
  json["next_instants"] = timesToJson(view.next_instants);
  return json;
}

Json flowVersionToJson(const FlowVersionRecord& version) {
  return {{"flow", version.flow},
          {"version", version.version},
          {"author", textOrNull(version.author)},
          {"created_at", timeToJson(version.created_at)}};
}

Json appliedToJson(const master::api::FlowApplied& applied, bool dry_run) {
  const FlowRecord& record = applied.flow.record;
  return {{"name", record.name},
          {"version", record.version},
          {"online", record.online},
          {"next_at", timeToJson(record.next_at)},
          {"created", applied.created},
          {"changed", applied.changed},
          {"changes", applied.changes},
          {"warnings", issuesToJson(applied.flow.warnings).at("warnings")},
          {"dry_run", dry_run}};
}

Json backfillToJson(const master::api::BackfillView& view) {
  Json items = Json::array();
  for (size_t i = 0; i < view.plan_times.size(); ++i) {
    items.push_back({{"plan_time", formatRfc3339(view.plan_times[i])},
                     {"run_id", i < view.runs.size() ? idOrNull(view.runs[i]) : Json(nullptr)}});
  }
  return {{"id", idOrNull(view.id)}, {"items", std::move(items)}};
}

Result<Json> runToJson(const master::api::RunView& view, bool whole) {
  const RunRecord& record = view.record;
  const RunState& state = record.state;
  Json json = {{"id", std::to_string(state.id)},
               {"flow", record.flow},
               {"version", record.version},
               {"status", toString(state.status)},
               {"reason", textOrNull(toString(state.reason))},
               {"reason_text", textOrNull(state.reason_text)},
               {"waiting_text", textOrNull(view.waiting_text)},
               {"trigger", toString(record.trigger)},
               {"plan_time", timeToJson(record.plan_time)},
               {"prev_success", timeToJson(record.state.prev_success)},
               {"priority", toString(state.priority)},
               {"parent_run", idOrNull(record.parent_run)},
               {"parent_task", idOrNull(record.parent_task)},
               {"backfill", idOrNull(record.backfill)},
               {"compensates", record.compensates},
               {"reruns", state.reruns},
               {"late", state.late},
               {"due_at", timeToJson(state.due_at)},
               {"principal", textOrNull(record.principal)},
               {"created_at", timeToJson(record.created_at)},
               {"started_at", timeToJson(state.started_at)},
               {"finished_at", timeToJson(state.finished_at)}};
  if (!whole) return json;
  // Answers to orders do not look it up, and say nothing in place of null.
  if (record.trigger != RunTrigger::Event || !view.begun_by.empty()) {
    json["begun_by"] = textOrNull(view.begun_by);
  }
  ASSIGN_OR_RETURN(json["params"], objectOfRow("parameters of run", state.id, record.params));
  ASSIGN_OR_RETURN(json["project_params"],
                   objectOfRow("parameters of run", state.id, record.project_params));
  return json;
}

Result<Json> nodeToJson(const master::api::NodeView& node) {
  ASSIGN_OR_RETURN(Json json, taskToJson(node.task));
  json["needs"] = node.needs;
  json["sub_run"] = idOrNull(node.sub_run);
  return json;
}

Json explanationToJson(const master::api::Explanation& explanation) {
  return {{"status", explanation.status}, {"reasons", explanation.reasons}};
}

Json missedToJson(const MissedRecord& missed) {
  return {{"flow", missed.flow},
          {"plan_time", timeToJson(missed.plan_time)},
          {"reason", missed.reason},
          {"reason_text", missedText(missed)},
          {"recorded_at", timeToJson(missed.recorded_at)},
          {"run_id", idOrNull(missed.run_id)}};
}

Result<Json> eventToJson(const EventRecord& event) {
  ASSIGN_OR_RETURN(Json data, objectOfRow("data of event", event.id, event.data));
  return Json{{"id", std::to_string(event.id)},
              {"name", event.name},
              {"key", event.key},
              {"data", std::move(data)},
              {"happened_at", timeToJson(event.happened_at)},
              {"principal", textOrNull(event.principal)},
              {"created_at", timeToJson(event.created_at)}};
}

}  // namespace baton::webapi
