#include "webapi/flow_requests.h"

#include <algorithm>

#include "webapi/body_reader.h"
#include "webapi/definition_batch.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_key.h"

namespace baton::webapi {
namespace {

using master::api::FlowApply;
using master::api::FlowBackfill;
using master::api::FlowListQuery;
using master::api::FlowTrigger;

constexpr size_t kPlanTimesMax = 10'000;
constexpr std::string_view kFlowCursorMark = "f-";
constexpr std::string_view kVersionCursorMark = "v-";

void readPlanTimes(JsonReader& reader, std::vector<WallTime>& out) {
  std::vector<std::string> texts;
  reader.strings("plan_times", texts, kPlanTimesMax);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto time = parseRfc3339(texts[i]);
    if (!time.ok()) {
      return reader.fail(Error(ErrorCode::InvalidArgument, time.error().message(),
                               fmt::format("plan_times[{}]", i)));
    }
    out.push_back(*time);
  }
}

void checkInstants(JsonReader& reader, const FlowBackfill& backfill) {
  const bool range = reader.has("from") || reader.has("to");
  if (range == reader.has("plan_times")) {
    reader.fail(Error(ErrorCode::InvalidArgument,
                      range ? "contradicts from and to: give one of them"
                            : "is missing; expected it, or from and to",
                      "plan_times"));
  } else if (!range && backfill.plan_times.empty()) {
    reader.fail("plan_times", "is empty; expected at least one time");
  } else if (range && !backfill.from) {
    reader.fail("from", "is missing");
  } else if (range && !backfill.to) {
    reader.fail("to", "is missing");
  } else if (range && *backfill.to < *backfill.from) {
    reader.fail("to", fmt::format("is {}, expected {} or later", formatRfc3339(*backfill.to),
                                  formatRfc3339(*backfill.from)));
  }
}

}  // namespace

Status readPreconditions(const net::HttpRequest& request, std::optional<uint32_t>& if_version) {
  const std::string* match = request.headers.find("If-Match");
  const std::string* none = request.headers.find("If-None-Match");
  const auto wrong = [](const char* name, const std::string& value, const char* expected) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is {}, expected {}", truncateUtf8(value, 40), expected), name);
  };
  if (match != nullptr && none != nullptr) {
    return Error(ErrorCode::InvalidArgument, "contradicts If-None-Match: give one of them",
                 "If-Match");
  }
  if (none != nullptr) {
    if (*none != "*") return wrong("If-None-Match", *none, "*");
    if_version = 0;
  }
  if (match == nullptr) return {};
  constexpr const char* kExpected = "the ETag of one version, such as \"v3\"";
  std::string_view tag = *match;
  if (request.headers.count("If-Match") > 1 || !tag.starts_with("\"v") || !tag.ends_with('"') ||
      tag.size() < 4) {
    return wrong("If-Match", *match, kExpected);
  }
  const auto version = parseDecimal(tag.substr(2, tag.size() - 3), 1, UINT32_MAX);
  if (!version.ok()) return wrong("If-Match", *match, kExpected);
  if_version = static_cast<uint32_t>(*version);
  return {};
}

Result<std::string> flowNameOf(const Call& call) {
  const std::string& name = call.pathParam("name");
  if (isValidName(name)) return name;
  return Error::notFound("there is no flow \"{}\"", truncateUtf8(name, 80));
}

std::string flowCursorAfter(const FlowRecord& flow) {
  return nameCursorOf(kFlowCursorMark, flow.key());
}

std::string versionCursorAfter(const FlowVersionRecord& version) {
  return cursorOf(kVersionCursorMark, version.version);
}

Result<std::string> definitionNameOf(const Call& call) {
  const std::string& name = call.pathParam("name");
  if (isValidName(name)) return name;
  return Error(ErrorCode::InvalidArgument,
               fmt::format("is \"{}\", expected {}", truncateUtf8(name, 80), kNameRule), "name");
}

Result<FlowApply> readFlowApply(const Call& call) {
  const net::HttpRequest& request = call.request();
  FlowApply apply;
  ASSIGN_OR_RETURN(apply.name, definitionNameOf(call));
  QueryReader reader(request);
  bool online = false;
  reader.boolean("online", online).boolean("dry_run", apply.dry_run);
  RETURN_IF_ERROR(reader.finish());
  if (reader.has("online")) apply.online = online;
  RETURN_IF_ERROR(readPreconditions(request, apply.if_version));
  ASSIGN_OR_RETURN(apply.request, readRequest(call));
  return apply;
}

Result<FlowBatch> readFlowBatch(const Call& call) {
  ASSIGN_OR_RETURN(const master::api::Request request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  FlowBatch batch;
  bool online = false;
  reader.boolean("online", online).boolean("dry_run", batch.dry_run);
  auto flows = readDefinitions<FlowApply>(reader, "flows", "a definition");
  if (!flows.ok()) return flows.error();
  for (FlowApply& apply : *flows) {
    if (reader.has("online")) apply.online = online;
    apply.dry_run = batch.dry_run;
    apply.request = request;
  }
  batch.flows = std::move(*flows);
  return batch;
}

Result<FlowListQuery> readFlowListQuery(const net::HttpRequest& request) {
  FlowListQuery query;
  QueryReader reader(request);
  bool online = false;
  reader.boolean("online", online)
      .text("q", query.text)
      .text("owner", query.owner)
      .text("tag", query.tag)
      .boolean("total", query.total);
  readPageLimit(reader, query.limit);
  readNameCursor(reader, kFlowCursorMark, query.after);
  if (reader.has("online")) query.online = online;
  RETURN_IF_ERROR(reader.finish());
  return query;
}

Result<VersionListQuery> readVersionListQuery(const net::HttpRequest& request) {
  VersionListQuery query;
  QueryReader reader(request);
  uint64_t before = 0;
  readPageLimit(reader, query.limit);
  readCursor(reader, kVersionCursorMark, UINT32_MAX, before);
  query.before = static_cast<uint32_t>(before);
  RETURN_IF_ERROR(reader.finish());
  return query;
}

Result<FlowTrigger> readFlowTrigger(const Call& call) {
  FlowTrigger trigger;
  ASSIGN_OR_RETURN(trigger.request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  WallTime plan_time{};
  Priority priority = Priority::Normal;
  if (readTime(reader, "plan_time", plan_time)) trigger.plan_time = plan_time;
  if (readPriority(reader, "priority", priority)) trigger.priority = priority;
  readParams(reader, "params", trigger.params);
  RETURN_IF_ERROR(reader.finish());
  return trigger;
}

Result<FlowBackfill> readFlowBackfill(const Call& call) {
  FlowBackfill backfill;
  ASSIGN_OR_RETURN(backfill.request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  WallTime time{};
  if (readTime(reader, "from", time)) backfill.from = time;
  if (readTime(reader, "to", time)) backfill.to = time;
  readPlanTimes(reader, backfill.plan_times);
  int64_t parallel = backfill.parallel;
  bool keep_going = false;
  reader.integer("parallel", parallel, 1, 100)
      .boolean("newest_first", backfill.newest_first)
      .boolean("keep_going", keep_going)
      .boolean("dry_run", backfill.dry_run);
  backfill.parallel = static_cast<int32_t>(parallel);
  backfill.stop_on_failure = !keep_going;
  readParams(reader, "params", backfill.params);
  checkInstants(reader, backfill);
  RETURN_IF_ERROR(reader.finish());
  return backfill;
}

Result<PreviewRequest> readPreview(const net::HttpRequest& request, WallTime now) {
  PreviewRequest preview;
  preview.after = now;
  QueryReader reader(request);
  int64_t limit = preview.count;
  for (const std::string_view name : {"cron", "timezone"}) {
    if (!reader.has(name)) reader.fail(name, "is missing");
  }
  reader.text("cron", preview.cron)
      .text("timezone", preview.timezone)
      .text("dialect", preview.dialect)
      .text("gap", preview.gap)
      .text("overlap", preview.overlap)
      .text("name", preview.hash_key)
      .time("after", preview.after)
      .integer("limit", limit, 1, 1'000);
  preview.count = static_cast<uint32_t>(limit);
  RETURN_IF_ERROR(reader.finish());
  return preview;
}

}  // namespace baton::webapi
