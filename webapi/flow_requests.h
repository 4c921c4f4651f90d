#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calendar/schedule_preview.h"
#include "master/api/flow_ports.h"
#include "webapi/call.h"

// What requests about flows, runs and events say, read strictly. Errors, but where it is said:
// InvalidArgument, and TooLarge for what is above a cap; each names the field.
namespace baton::webapi {

// The {name} of the path. Errors: NotFound (no flow can be called that).
Result<std::string> flowNameOf(const Call& call);
// The {id} of the path. Errors: NotFound (no run can have that id).
Result<RunId> runIdOf(const Call& call);

// The {name} of the path of a PUT. Errors: InvalidArgument.
Result<std::string> definitionNameOf(const Call& call);
// If-Match and If-None-Match as a version; 0: there must be none.
Status readPreconditions(const net::HttpRequest& request, std::optional<uint32_t>& if_version);
// PUT of a definition: everything but the text.
Result<master::api::FlowApply> readFlowApply(const Call& call);
// POST of several definitions, with their texts.
struct FlowBatch {
  std::vector<master::api::FlowApply> flows;
  bool dry_run = false;
};
Result<FlowBatch> readFlowBatch(const Call& call);
Result<master::api::FlowListQuery> readFlowListQuery(const net::HttpRequest& request);
Result<master::api::FlowTrigger> readFlowTrigger(const Call& call);
Result<master::api::FlowBackfill> readFlowBackfill(const Call& call);
struct VersionListQuery {
  uint32_t before = 0;
  uint32_t limit = 50;
};
Result<VersionListQuery> readVersionListQuery(const net::HttpRequest& request);
// `now`: what `after` is by default.
Result<PreviewRequest> readPreview(const net::HttpRequest& request, WallTime now);

Result<master::api::RunListQuery> readRunListQuery(const net::HttpRequest& request);
// The body that fits the command.
Result<master::api::RunOrder> readRunOrder(const Call& call, master::api::RunCommand command);
Result<master::api::MissedListQuery> readMissedListQuery(const net::HttpRequest& request);
struct MissedRun {
  std::string flow;
  WallTime plan_time{};
  master::api::Request request;
};
Result<MissedRun> readMissedRun(const Call& call);
// `flow` and `plan_time` as parameters.
Result<MissedRun> readInstant(const net::HttpRequest& request);

Result<master::api::EventSend> readEventSend(const Call& call);
Result<master::api::EventListQuery> readEventListQuery(const net::HttpRequest& request);

// Opaque cursors that stand behind the last item of a page.
std::string flowCursorAfter(const FlowRecord& flow);
std::string versionCursorAfter(const FlowVersionRecord& version);
std::string runCursorAfter(RunId id);
std::string missedCursorAfter(const MissedRecord& missed);
std::string eventCursorAfter(uint64_t id);

}  // namespace baton::webapi
