#include "webapi/calendar_handlers.h"

#include "webapi/body_reader.h"
#include "webapi/definition_answers.h"
#include "webapi/definition_batch.h"
#include "webapi/flow_json.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_key.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::CalendarApplied;
using master::api::CalendarApply;
using master::api::CalendarsApplied;
using master::api::CalendarView;

constexpr std::string_view kCalendarCursorMark = "c-";

Json calendarToJson(const CalendarView& view, bool whole) {
  const CalendarRecord& record = view.record;
  Json json = {{"name", record.name},
               {"version", record.version},
               {"description", view.description},
               {"workdays", view.workdays},
               {"holiday_count", view.holiday_count},
               {"adjusted_workday_count", view.adjusted_count},
               {"last_day", textOrNull(view.last_day)},
               {"author", textOrNull(record.author)},
               {"created_at", timeToJson(record.created_at)},
               {"updated_at", timeToJson(record.updated_at)}};
  if (!whole) return json;
  json["holidays"] = view.holidays;
  json["adjusted_workdays"] = view.adjusted_workdays;
  json["text"] = record.text;
  return json;
}

Json calendarAppliedToJson(const CalendarApplied& applied, bool dry_run) {
  Json json = calendarToJson(applied.calendar, false);
  json["created"] = applied.created;
  json["changed"] = applied.changed;
  json["changes"] = applied.changes;
  json["flows"] = applied.flows;
  json["warnings"] = issuesToJson(applied.warnings).at("warnings");
  json["dry_run"] = dry_run;
  return json;
}

Result<std::string> calendarNameOf(const Call& call) {
  const std::string& name = call.pathParam("name");
  if (isValidName(name)) return name;
  return Error::notFound("there is no calendar \"{}\"", truncateUtf8(name, 80));
}

Result<CalendarApply> readCalendarApply(const Call& call) {
  CalendarApply apply;
  ASSIGN_OR_RETURN(apply.name, definitionNameOf(call));
  QueryReader reader(call.request());
  reader.boolean("dry_run", apply.dry_run);
  RETURN_IF_ERROR(reader.finish());
  RETURN_IF_ERROR(readPreconditions(call.request(), apply.if_version));
  apply.request = requesterOf(call);
  return apply;
}

// At least one, all with the same dry_run.
Result<std::vector<CalendarApply>> readCalendarBatch(const Call& call) {
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  bool dry_run = false;
  reader.boolean("dry_run", dry_run);
  auto batch = readDefinitions<CalendarApply>(reader, "calendars", "a calendar");
  if (!batch.ok()) return batch;
  for (CalendarApply& apply : *batch) {
    apply.dry_run = dry_run;
    apply.request = requesterOf(call);
  }
  return batch;
}

}  // namespace

void CalendarHandlers::bindTo(Router& router) {
  router.bind("listCalendars", [this](const Call& call) { list(call); });
  router.bind("getCalendar", [this](const Call& call) { get(call); });
  router.bind("applyCalendar", [this](const Call& call) { apply(call); });
  router.bind("applyCalendars", [this](const Call& call) { applyAll(call); });
  router.bind("deleteCalendar", [this](const Call& call) { remove(call); });
}

void CalendarHandlers::list(const Call& call) {
  QueryReader reader(call.request());
  std::string after;
  uint32_t limit = 50;
  readPageLimit(reader, limit);
  readNameCursor(reader, kCalendarCursorMark, after);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  const auto view = calendars_.calendars(after, limit);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(
      *view, [](const CalendarView& calendar) { return calendarToJson(calendar, false); },
      [](const CalendarView& calendar) {
        return nameCursorOf(kCalendarCursorMark, calendar.record.key());
      }));
}

void CalendarHandlers::get(const Call& call) {
  const auto name = calendarNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  const auto view = calendars_.calendar(*name);
  if (!view.ok()) return call.fail(view.error());
  net::HttpResponse response;
  if (wantsYaml(call.request())) {
    response = net::HttpResponse::text(200, view->record.text);
    response.content_type = "application/yaml";
  } else {
    response = net::HttpResponse::json(200, dumpJson(calendarToJson(*view, true)));
  }
  response.headers.add("ETag", etagOf(view->record.version));
  response.headers.add("Vary", "Accept");
  call.reply(std::move(response));
}

void CalendarHandlers::apply(const Call& call) {
  auto apply = readCalendarApply(call);
  if (!apply.ok()) return call.fail(apply.error());
  // What is read from the body is as large, so it counts until the answer.
  const auto lease = call.request().body_lease;
  const bool dry_run = apply->dry_run;
  apply->text = call.takeBody();
  calendars_.apply(std::move(*apply), [call, dry_run, lease](Result<CalendarApplied> applied) {
    if (!applied.ok()) return failDefinition(call, applied.error());
    if (!applied->errors.empty()) return call.reply(wrongDefinition(applied->errors));
    const bool created = applied->created && !dry_run;
    net::HttpResponse response = net::HttpResponse::json(
        created ? 201 : 200, dumpJson(calendarAppliedToJson(*applied, dry_run)));
    const CalendarRecord& record = applied->calendar.record;
    if (created) {
      response.headers.add("Location", fmt::format("/api/v1/calendars/{}", record.name));
    }
    if (!dry_run) response.headers.add("ETag", etagOf(record.version));
    call.reply(std::move(response));
  });
}

void CalendarHandlers::applyAll(const Call& call) {
  auto batch = readCalendarBatch(call);
  if (!batch.ok()) return call.fail(batch.error());
  const auto lease = call.request().body_lease;
  const bool dry_run = batch->front().dry_run;
  calendars_.applyAll(std::move(*batch), [call, dry_run, lease](Result<CalendarsApplied> applied) {
    if (!applied.ok()) return failDefinition(call, applied.error());
    if (!applied->errors.empty()) return call.reply(wrongDefinition(applied->errors, true));
    Json items = Json::array();
    for (const CalendarApplied& one : applied->calendars) {
      items.push_back(calendarAppliedToJson(one, dry_run));
    }
    call.replyJson({{"items", std::move(items)}});
  });
}

void CalendarHandlers::remove(const Call& call) {
  auto name = calendarNameOf(call);
  if (!name.ok()) return call.fail(name.error());
  calendars_.remove(std::move(*name), requesterOf(call), [call](Result<CalendarView> view) {
    if (!view.ok()) return call.fail(view.error());
    call.replyJson(calendarToJson(*view, false));
  });
}

}  // namespace baton::webapi
