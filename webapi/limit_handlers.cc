#include "webapi/limit_handlers.h"

#include <algorithm>
#include <iterator>

#include "common/base/json.h"
#include "webapi/list_cursor.h"
#include "webapi/request_key.h"
#include "webapi/task_handlers.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::LimitChange;
using master::api::LimitView;
using What = master::api::LimitChange::What;

template <typename T>
Json valueOrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json priorityOrNull(const std::optional<Priority>& priority) {
  return priority ? Json(toString(*priority)) : Json(nullptr);
}

Json limitToJson(const LimitView& view) {
  const LimitRecord& record = view.record;
  if (record.kind == LimitKind::Cluster) {
    return {{"running_max", record.max ? *record.max : view.configured},
            {"configured_running_max", view.configured},
            {"min_priority", priorityOrNull(record.min_priority)},
            {"running", view.running},
            {"queued", view.queued},
            {"changed_at", timeToJson(record.changed_at)}};
  }
  Json json = {{"name", record.name},
               {"limit", valueOrNull(record.max)},
               {"description", textOrNull(record.description)},
               {"running", view.running},
               {"changed_at", timeToJson(record.changed_at)}};
  if (record.kind != LimitKind::Host) json["queued"] = view.queued;
  if (record.kind != LimitKind::Group) {
    json["kind"] = toString(record.kind);
    return json;
  }
  json["weight_in_use"] = view.in_use;
  json["window"] = textOrNull(record.window);
  json["time_zone"] = textOrNull(record.time_zone);
  json["min_priority"] = priorityOrNull(record.min_priority);
  json["open"] = view.open;
  json["next_change"] = timeToJson(view.next_change);
  json["set"] = view.has_row;
  return json;
}

bool isNull(JsonReader& reader, std::string_view name) {
  const Json* value = reader.any(name);
  return value == nullptr || value->is_null();
}

void readMax(JsonReader& reader, std::string_view name, std::optional<int64_t>& out) {
  if (isNull(reader, name)) return;
  int64_t value = 0;
  reader.integer(name, value, 0, kLimitMax);
  out = value;
}

void readMinPriority(JsonReader& reader, std::optional<Priority>& out) {
  if (isNull(reader, "min_priority")) return;
  std::string word;
  reader.string("min_priority", word);
  out = parsePriority(word);
  if (!out) {
    reader.fail("min_priority",
                fmt::format("is \"{}\", expected low, normal, high, critical or null",
                            truncateUtf8(word, 40)));
  }
}

Result<LimitRecord> readGroup(const Call& call) {
  ASSIGN_OR_RETURN(const Json json, parseJson(call.request().body));
  LimitRecord record{.kind = LimitKind::Group, .name = call.pathParam("name")};
  JsonReader reader(json);
  readMax(reader, "limit", record.max);
  readMinPriority(reader, record.min_priority);
  if (!isNull(reader, "window")) reader.string("window", record.window, 32);
  if (!isNull(reader, "time_zone")) reader.string("time_zone", record.time_zone, 64);
  if (!isNull(reader, "description")) {
    reader.string("description", record.description, kLimitTextCharsMax);
  }
  RETURN_IF_ERROR(reader.finish());
  return record;
}

// Errors: NotFound (no limits of that kind are set by name).
Result<LimitKind> kindOf(const Call& call) {
  const std::string& word = call.pathParam("kind");
  for (const LimitKind kind : {LimitKind::Flow, LimitKind::User, LimitKind::Host}) {
    if (word == toString(kind)) return kind;
  }
  return Error::notFound("there are limits of kind flow, user and host, not \"{}\"",
                         truncateUtf8(word, 40));
}

Result<LimitRecord> readLimitBody(const Call& call, LimitKind kind) {
  ASSIGN_OR_RETURN(const Json json, parseJson(call.request().body));
  LimitRecord record{.kind = kind, .name = call.pathParam("name")};
  JsonReader reader(json);
  int64_t max = 0;
  if (!reader.has("limit")) reader.fail("limit", "is missing; expected how many tasks may run");
  reader.integer("limit", max, 0, kLimitMax);
  record.max = max;
  if (!isNull(reader, "description")) {
    reader.string("description", record.description, kLimitTextCharsMax);
  }
  RETURN_IF_ERROR(reader.finish());
  return record;
}

// A member that says what to change can't be left out by mistake.
void require(JsonReader& reader, std::string_view name) {
  if (!reader.has(name)) reader.fail(name, "is missing; null ends it");
}

Result<LimitChange> readClusterLimit(const Call& call) {
  ASSIGN_OR_RETURN(const Json json, parseJson(call.request().body));
  LimitChange change{.what = What::Max, .record = {.kind = LimitKind::Cluster}};
  JsonReader reader(json);
  require(reader, "running_max");
  readMax(reader, "running_max", change.record.max);
  RETURN_IF_ERROR(reader.finish());
  return change;
}

Result<LimitChange> readDegrade(const Call& call) {
  ASSIGN_OR_RETURN(const Json json, parseJson(call.request().body));
  LimitChange change{.what = What::MinPriority, .record = {.kind = LimitKind::Cluster}};
  JsonReader reader(json);
  require(reader, "min_priority");
  readMinPriority(reader, change.record.min_priority);
  if (reader.has("group")) {
    change.record.kind = LimitKind::Group;
    reader.string("group", change.record.name, kLimitNameCharsMax);
  }
  RETURN_IF_ERROR(reader.finish());
  return change;
}

constexpr std::string_view kGroupCursorMark = "g-";
constexpr std::string_view kLimitCursorMark = "l-";

std::string limitKeyOf(const LimitView& view) {
  return fmt::format("{}/{}", toString(view.record.kind), view.record.name);
}

bool isSo(bool value, const std::optional<bool>& wanted) { return !wanted || value == *wanted; }

void readFlag(QueryReader& reader, std::string_view name, std::optional<bool>& out) {
  bool flag = false;
  reader.boolean(name, flag);
  if (reader.has(name)) out = flag;
}

}  // namespace

void LimitHandlers::bindTo(Router& router) {
  router.bind("listGroups", [this](const Call& call) { listGroups(call); });
  router.bind("putGroup", [this](const Call& call) { putGroup(call); });
  router.bind("getGroup",
              [this](const Call& call) { get(call, LimitKind::Group, call.pathParam("name")); });
  router.bind("deleteGroup",
              [this](const Call& call) { remove(call, LimitKind::Group, call.pathParam("name")); });
  router.bind("listLimits", [this](const Call& call) { listLimits(call); });
  router.bind("putLimit", [this](const Call& call) { putLimit(call); });
  router.bind("getLimit", [this](const Call& call) {
    const auto kind = kindOf(call);
    kind.ok() ? get(call, *kind, call.pathParam("name")) : call.fail(kind.error());
  });
  router.bind("deleteLimit", [this](const Call& call) {
    const auto kind = kindOf(call);
    kind.ok() ? remove(call, *kind, call.pathParam("name")) : call.fail(kind.error());
  });
  router.bind("getClusterLimits", [this](const Call& call) { get(call, LimitKind::Cluster, {}); });
  router.bind("setClusterLimit", [this](const Call& call) { clusterLimit(call); });
  router.bind("degrade", [this](const Call& call) { degrade(call); });
}

void LimitHandlers::listGroups(const Call& call) {
  QueryReader reader(call.request());
  NamePage page;
  std::string name;
  std::string text;
  std::optional<bool> set;
  std::optional<bool> open;
  reader.text("name", name).text("q", text);
  readFlag(reader, "set", set);
  readFlag(reader, "open", open);
  readNamePage(reader, kGroupCursorMark, page);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  auto views = groups_.limits(LimitKind::Group);
  if (!views.ok()) return call.fail(views.error());
  const auto wanted = [&](const LimitView& view) {
    return isOrAny(view.record.name, name) && hasPart(view.record.name, text) &&
           isSo(view.has_row, set) && isSo(view.open, open);
  };
  const auto name_of = [](const LimitView& view) { return view.record.name; };
  call.finish(listToJson(
      pageOf(std::move(*views), page, wanted, name_of), limitToJson,
      [&](const LimitView& view) { return nameCursorOf(kGroupCursorMark, name_of(view)); }));
}

void LimitHandlers::listLimits(const Call& call) {
  QueryReader reader(call.request());
  NamePage page;
  std::vector<std::string> kinds;
  std::string name;
  std::string text;
  reader.knownWords("kind", {"flow", "user", "host"}, kinds).text("name", name).text("q", text);
  readNamePage(reader, kLimitCursorMark, page);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  std::vector<LimitView> all;
  for (const LimitKind kind : {LimitKind::Flow, LimitKind::User, LimitKind::Host}) {
    if (!isOneOf(std::string(toString(kind)), kinds)) continue;
    auto views = groups_.limits(kind);
    if (!views.ok()) return call.fail(views.error());
    std::move(views->begin(), views->end(), std::back_inserter(all));
  }
  const auto wanted = [&](const LimitView& view) {
    return isOrAny(view.record.name, name) && hasPart(view.record.name, text);
  };
  call.finish(listToJson(
      pageOf(std::move(all), page, wanted, limitKeyOf), limitToJson,
      [](const LimitView& view) { return nameCursorOf(kLimitCursorMark, limitKeyOf(view)); }));
}

void LimitHandlers::get(const Call& call, LimitKind kind, const std::string& name) {
  const auto view = groups_.limit(kind, name);
  if (!view.ok()) return call.fail(view.error());
  call.replyJson(limitToJson(*view));
}

void LimitHandlers::putGroup(const Call& call) {
  auto record = readGroup(call);
  if (!record.ok()) return call.fail(record.error());
  change(call, {.what = What::Replace, .record = std::move(*record)});
}

void LimitHandlers::putLimit(const Call& call) {
  const auto kind = kindOf(call);
  if (!kind.ok()) return call.fail(kind.error());
  auto record = readLimitBody(call, *kind);
  if (!record.ok()) return call.fail(record.error());
  change(call, {.what = What::Replace, .record = std::move(*record)});
}

void LimitHandlers::remove(const Call& call, LimitKind kind, const std::string& name) {
  change(call, {.what = What::Remove, .record = {.kind = kind, .name = name}});
}

void LimitHandlers::clusterLimit(const Call& call) {
  auto read = readClusterLimit(call);
  if (!read.ok()) return call.fail(read.error());
  change(call, std::move(*read));
}

void LimitHandlers::degrade(const Call& call) {
  auto read = readDegrade(call);
  if (!read.ok()) return call.fail(read.error());
  change(call, std::move(*read));
}

void LimitHandlers::change(const Call& call, LimitChange change) {
  change.request = requesterOf(call);
  groups_.changeLimit(std::move(change), [call](const Result<LimitView>& view) {
    if (!view.ok()) return call.fail(view.error());
    call.replyJson(limitToJson(*view));
  });
}

}  // namespace baton::webapi
