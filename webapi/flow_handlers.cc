#include "webapi/flow_handlers.h"

#include "webapi/definition_answers.h"
#include "webapi/flow_json.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_gate.h"
#include "webapi/request_key.h"
#include "webapi/run_handlers.h"
#include "webapi/task_handlers.h"

namespace baton::webapi {
namespace {

using master::api::BackfillView;
using master::api::FlowApplied;
using master::api::FlowApply;
using master::api::FlowsApplied;
using master::api::FlowView;

}  // namespace

void FlowHandlers::bindTo(Router& router) {
  router.bind("listFlows", [this](const Call& call) { list(call); });
  router.bind("getFlow", [this](const Call& call) { get(call); });
  router.bind("applyFlow", [this](const Call& call) { apply(call); });
  router.bind("applyFlows", [this](const Call& call) { applyAll(call); });
  router.bind("validateFlow", [this](const Call& call) { validate(call); });
  router.bind("deleteFlow", [this](const Call& call) { remove(call); });
  router.bind("listFlowVersions", [this](const Call& call) { versions(call); });
  router.bind("onlineFlow", [this](const Call& call) { setOnline(call, true); });
  router.bind("offlineFlow", [this](const Call& call) { setOnline(call, false); });
  router.bind("triggerFlow", [this](const Call& call) { trigger(call); });
  router.bind("backfillFlow", [this](const Call& call) { backfill(call); });
  router.bind("previewSchedule", [](const Call& call) {
    const auto preview = readPreview(call.request(), SystemClock().wallNow());
    if (!preview.ok()) return call.fail(preview.error());
    call.finish(previewSchedule(*preview));
  });
}

void FlowHandlers::list(const Call& call) {
  const auto query = readFlowListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = flows_.flows(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(
      *view, [](const FlowView& flow) { return flowToJson(flow, false); },
      [](const FlowView& flow) { return flowCursorAfter(flow.record); }));
}

void FlowHandlers::get(const Call& call) {
  const auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  QueryReader reader(call.request());
  int64_t version = 0;
  reader.integer("version", version, 1, UINT32_MAX);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  const auto view = flows_.flow(
      *name, version == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(version)));
  if (!view.ok()) return call.fail(view.error());
  net::HttpResponse response;
  if (wantsYaml(call.request())) {
    response = net::HttpResponse::text(200, view->version.text);
    response.content_type = "application/yaml";
  } else {
    response = net::HttpResponse::json(200, dumpJson(flowToJson(*view, true)));
  }
  response.headers.add("ETag", etagOf(view->version.version));
  response.headers.add("Vary", "Accept");
  call.reply(std::move(response));
}

void FlowHandlers::apply(const Call& call) {
  auto apply = readFlowApply(call);
  if (!apply.ok()) return call.fail(apply.error());
  applyTo(call, std::move(*apply));
}

void FlowHandlers::validate(const Call& call) {
  FlowApply apply;
  apply.dry_run = true;
  apply.request = requesterOf(call);
  applyTo(call, std::move(apply));
}

void FlowHandlers::applyTo(const Call& call, FlowApply apply) {
  // What is read from the body is as large, so it counts until the answer.
  const auto lease = call.request().body_lease;
  const bool dry_run = apply.dry_run;
  apply.text = call.takeBody();
  flows_.apply(std::move(apply), [call, dry_run, lease](Result<FlowApplied> applied) {
    if (!applied.ok()) return failDefinition(call, applied.error());
    if (!applied->errors.empty()) return call.reply(wrongDefinition(applied->errors));
    const bool created = applied->created && !dry_run;
    net::HttpResponse response =
        net::HttpResponse::json(created ? 201 : 200, dumpJson(appliedToJson(*applied, dry_run)));
    const FlowRecord& record = applied->flow.record;
    if (created) {
      response.headers.add("Location", fmt::format("/api/v1/flows/{}", record.name));
    }
    if (!dry_run) response.headers.add("ETag", etagOf(record.version));
    markReplayed(response, applied->replayed);
    call.reply(std::move(response));
  });
}

void FlowHandlers::applyAll(const Call& call) {
  auto batch = readFlowBatch(call);
  if (!batch.ok()) return call.fail(batch.error());
  const auto lease = call.request().body_lease;
  const bool dry_run = batch->dry_run;
  flows_.applyAll(std::move(batch->flows), [call, dry_run, lease](Result<FlowsApplied> applied) {
    if (!applied.ok()) return failDefinition(call, applied.error());
    if (!applied->errors.empty()) return call.reply(wrongDefinition(applied->errors, true));
    Json items = Json::array();
    bool replayed = false;
    for (const FlowApplied& one : applied->flows) {
      items.push_back(appliedToJson(one, dry_run));
      replayed = one.replayed;
    }
    net::HttpResponse response =
        net::HttpResponse::json(200, dumpJson({{"items", std::move(items)}}));
    markReplayed(response, replayed);
    call.reply(std::move(response));
  });
}

void FlowHandlers::remove(const Call& call) {
  auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  flows_.remove(std::move(*name), requesterOf(call), [call](Result<FlowView> view) {
    if (!view.ok()) return call.fail(view.error());
    Json json = flowToJson(*view, false);
    json["named_by"] = view->named_by;
    call.replyJson(json);
  });
}

void FlowHandlers::versions(const Call& call) {
  const auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  const auto query = readVersionListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = flows_.versions(*name, query->before, query->limit);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(*view, flowVersionToJson, versionCursorAfter));
}

void FlowHandlers::setOnline(const Call& call, bool online) {
  auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  if (const Status read = readEmptyBody(call.request()); !read.ok()) {
    return call.fail(read.error());
  }
  flows_.setOnline(std::move(*name), online, requesterOf(call), [call](Result<FlowView> view) {
    if (!view.ok()) return call.fail(view.error());
    call.replyJson(flowToJson(*view, false));
  });
}

void FlowHandlers::trigger(const Call& call) {
  auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  auto trigger = readFlowTrigger(call);
  if (!trigger.ok()) return call.fail(trigger.error());
  trigger->flow = std::move(*name);
  flows_.trigger(std::move(*trigger),
                 [call](const Result<master::api::MadeRun>& run) { replyNewRun(call, run); });
}

void FlowHandlers::backfill(const Call& call) {
  auto name = flowNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  auto backfill = readFlowBackfill(call);
  if (!backfill.ok()) return call.fail(backfill.error());
  backfill->flow = std::move(*name);
  const bool dry_run = backfill->dry_run;
  flows_.backfill(std::move(*backfill), [call, dry_run](Result<BackfillView> view) {
    if (!view.ok()) return call.fail(view.error());
    net::HttpResponse response =
        net::HttpResponse::json(dry_run ? 200 : 201, dumpJson(backfillToJson(*view)));
    markReplayed(response, view->replayed);
    call.reply(std::move(response));
  });
}

}  // namespace baton::webapi
