#include <algorithm>

#include "common/model/event_rules.h"
#include "common/model/missed_text.h"
#include "common/model/task_spec.h"
#include "webapi/body_reader.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_key.h"

// The part of flow_requests.h about runs, missed instants and events.
namespace baton::webapi {
namespace {

using master::api::EventListQuery;
using master::api::EventSend;
using master::api::MissedListQuery;
using master::api::RerunScope;
using master::api::RunCommand;
using master::api::RunListQuery;
using master::api::RunOrder;

constexpr std::string_view kRunCursorMark = "r-";
constexpr std::string_view kMissedCursorMark = "m-";
constexpr std::string_view kEventCursorMark = "e-";
constexpr size_t kEventDataCountMax = 1'000;
constexpr size_t kEventDataBytesMax = 64 * 1024;

void readRerun(JsonReader& reader, RunOrder& order) {
  constexpr std::pair<std::string_view, RerunScope> kScopes[] = {{"all", RerunScope::All},
                                                                 {"failed", RerunScope::Failed},
                                                                 {"from", RerunScope::From},
                                                                 {"one", RerunScope::One}};
  std::string word = "failed";
  reader.string("scope", word).boolean("force", order.force);
  const auto* known = std::find_if(std::begin(kScopes), std::end(kScopes),
                                   [&](const auto& scope) { return scope.first == word; });
  if (known == std::end(kScopes)) {
    return reader.fail("scope", fmt::format("is \"{}\", expected all, failed, from or one",
                                            truncateUtf8(word, 40)));
  }
  order.scope = known->second;
  const bool of_task = order.scope == RerunScope::From || order.scope == RerunScope::One;
  const bool named = readName(reader, "task", order.task);
  if (of_task) {
    require(reader, "task");
  } else if (named) {
    reader.fail("task", fmt::format("has no meaning with scope {}; expected from or one", word));
  }
}

void readEventData(JsonReader& reader, std::map<std::string, std::string>& data) {
  reader.stringMap("data", data, kEventDataCountMax);
  size_t bytes = 0;
  for (const auto& [key, value] : data) bytes += key.size() + value.size();
  if (bytes <= kEventDataBytesMax) return;
  reader.fail(Error(ErrorCode::TooLarge,
                    fmt::format("has {} bytes, at most {} are accepted", bytes, kEventDataBytesMax),
                    "data"));
}

}  // namespace

Result<RunId> runIdOf(const Call& call) {
  const std::string& text = call.pathParam("id");
  if (const auto id = parseTaskId(text)) return *id;
  return Error::notFound("there is no run \"{}\"", truncateUtf8(text, 40));
}

std::string runCursorAfter(RunId id) { return cursorOf(kRunCursorMark, id); }
std::string eventCursorAfter(uint64_t id) { return cursorOf(kEventCursorMark, id); }
std::string missedCursorAfter(const MissedRecord& missed) {
  const auto micros = static_cast<uint64_t>(toMicros(missed.plan_time));
  return fmt::format("{}.{}", cursorOf(kMissedCursorMark, micros), nameKey(missed.flow));
}

Result<RunListQuery> readRunListQuery(const net::HttpRequest& request) {
  RunListQuery query;
  QueryReader reader(request);
  reader.choices("status", namesOf<RunStatus>(kRunStatusCount), parseRunStatus, query.statuses)
      .choices("trigger", namesOf<RunTrigger>(kRunTriggerCount), parseRunTrigger, query.triggers)
      .choices("reason", namesOf<RunReason>(kRunReasonCount), parseRunReason, query.reasons);
  std::string backfill;
  reader.text("flow", query.flow)
      .text("backfill", backfill)
      .time("plan_from", query.plan_from)
      .time("plan_before", query.plan_before)
      .boolean("late", query.late)
      .text("q", query.text)
      .text("principal", query.principal)
      .time("created_from", query.created_from)
      .time("created_before", query.created_before)
      .boolean("total", query.total);
  if (!backfill.empty()) {
    const auto id = parseTaskId(backfill);
    if (!id) {
      reader.fail("backfill", fmt::format("is \"{}\", expected the id of a backfill",
                                          truncateUtf8(backfill, 40)));
    }
    query.backfill = id.value_or(0);
  }
  if (reader.has("late") && !query.late) reader.fail("late", "is false, expected true or nothing");
  readPageLimit(reader, query.limit);
  readCursor(reader, kRunCursorMark, UINT64_MAX, query.before);
  RETURN_IF_ERROR(reader.finish());
  return query;
}

Result<RunOrder> readRunOrder(const Call& call, RunCommand command) {
  RunOrder order;
  order.command = command;
  ASSIGN_OR_RETURN(order.id, runIdOf(call));
  ASSIGN_OR_RETURN(order.request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  switch (command) {
    case RunCommand::Rerun:
      readRerun(reader, order);
      break;
    case RunCommand::Skip:
      readName(reader, "task", order.task);
      break;
    case RunCommand::ForceSuccess:
      require(reader, "task");
      readName(reader, "task", order.task);
      break;
    case RunCommand::SetPriority:
      require(reader, "priority");
      readPriority(reader, "priority", order.priority);
      break;
    case RunCommand::Stop:
    case RunCommand::Pause:
    case RunCommand::Resume:
      break;
  }
  RETURN_IF_ERROR(reader.finish());
  return order;
}

Result<MissedListQuery> readMissedListQuery(const net::HttpRequest& request) {
  MissedListQuery query;
  QueryReader reader(request);
  std::string cursor;
  reader.text("flow", query.flow)
      .text("q", query.text)
      .knownWords("reason", missedReasons(), query.reasons)
      .time("plan_from", query.plan_from)
      .time("plan_before", query.plan_before)
      .boolean("total", query.total)
      .text("cursor", cursor);
  readPageLimit(reader, query.limit);
  if (!cursor.empty()) {
    const std::string_view text = cursor;
    const size_t dot = text.find('.');
    const bool marked = text.starts_with(kMissedCursorMark) && dot != text.npos;
    const auto micros =
        marked
            ? parseCursorNumber(
                  text.substr(kMissedCursorMark.size(), dot - kMissedCursorMark.size()), INT64_MAX)
            : Result<uint64_t>(Error::invalidArgument("no mark"));
    if (micros.ok() && isValidName(text.substr(dot + 1))) {
      query.before = wallFromMicros(static_cast<int64_t>(*micros));
      query.before_key = text.substr(dot + 1);
    } else {
      failCursor(reader);
    }
  }
  RETURN_IF_ERROR(reader.finish());
  return query;
}

Result<MissedRun> readMissedRun(const Call& call) {
  MissedRun run;
  ASSIGN_OR_RETURN(run.request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  require(reader, "flow");
  readName(reader, "flow", run.flow);
  require(reader, "plan_time");
  readTime(reader, "plan_time", run.plan_time);
  RETURN_IF_ERROR(reader.finish());
  return run;
}

Result<MissedRun> readInstant(const net::HttpRequest& request) {
  MissedRun instant;
  QueryReader reader(request);
  reader.text("flow", instant.flow).time("plan_time", instant.plan_time);
  for (const char* name : {"flow", "plan_time"}) {
    if (!reader.has(name)) reader.fail(name, "is missing");
  }
  RETURN_IF_ERROR(reader.finish());
  return instant;
}

Result<EventSend> readEventSend(const Call& call) {
  EventSend event;
  ASSIGN_OR_RETURN(event.request, readRequest(call));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  require(reader, "name");
  readName(reader, "name", event.name);
  require(reader, "key");
  reader.string("key", event.key);
  if (reader.has("key") && !isEventKey(event.key)) {
    reader.fail("key", eventKeyFault(event.key));
  }
  readEventData(reader, event.data);
  WallTime happened{};
  if (readTime(reader, "happened_at", happened)) event.happened_at = happened;
  RETURN_IF_ERROR(reader.finish());
  return event;
}

Result<EventListQuery> readEventListQuery(const net::HttpRequest& request) {
  EventListQuery query;
  QueryReader reader(request);
  reader.text("name", query.name)
      .text("q", query.text)
      .text("key", query.key)
      .time("happened_from", query.happened_from)
      .time("happened_before", query.happened_before)
      .boolean("total", query.total);
  readPageLimit(reader, query.limit);
  readCursor(reader, kEventCursorMark, UINT64_MAX, query.before);
  RETURN_IF_ERROR(reader.finish());
  return query;
}

}  // namespace baton::webapi
