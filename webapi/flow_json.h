#pragma once

#include <string_view>

#include "common/base/json.h"
#include "common/base/status.h"
#include "master/api/flow_ports.h"

// How flows, runs and events are shown. Field names are the contract of docs/api.md.
namespace baton::webapi {

// With `whole` text and what only the query of one flow knows.
Json flowToJson(const master::api::FlowView& view, bool whole);
Json flowVersionToJson(const FlowVersionRecord& version);
// {"errors", "warnings"}: the issues apart.
Json issuesToJson(const std::vector<master::api::DefinitionIssue>& issues);
Json appliedToJson(const master::api::FlowApplied& applied, bool dry_run);
Json backfillToJson(const master::api::BackfillView& view);

// Without `whole` (lists) there are no parameters. Errors: Corrupt (stored text that is not ours).
Result<Json> runToJson(const master::api::RunView& view, bool whole);
// A task as task_json.h has it, and its place in the run. Errors: as taskToJson.
Result<Json> nodeToJson(const master::api::NodeView& node);
Json explanationToJson(const master::api::Explanation& explanation);
Json missedToJson(const MissedRecord& missed);
// Errors: Corrupt.
Result<Json> eventToJson(const EventRecord& event);

// The version as an ETag: "v3" in quotes.
std::string etagOf(uint32_t version);

}  // namespace baton::webapi
