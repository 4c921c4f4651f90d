#include "cli/calendar_verbs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "cli/exit_code.h"
#include "cli/flow_verbs.h"
#include "cli/stored_definition.h"
#include "common/model/ids.h"
#include "flow/calendar/calendar_spec.h"
#include "flow/calendar/ical_import.h"

namespace baton::cli {
namespace {

constexpr int kImportTries = 5;

std::string calendarPath(const std::string& name) {
  return "/api/v1/calendars/" + webapi::pathSegment(name);
}

std::string listText(const Json& object, const char* member) {
  std::string text;
  const auto list = object.find(member);
  if (list == object.end() || !list->is_array()) return text;
  for (const Json& item : *list) {
    if (item.is_string()) text += (text.empty() ? "" : " ") + item.get<std::string>();
  }
  return text;
}

std::string weekText(const Json& calendar) { return listText(calendar, "workdays"); }

Facts calendarFacts(const Json& calendar) {
  std::string version = memberText(calendar, "version");
  const std::string author = memberText(calendar, "author");
  if (!author.empty()) version += " by " + author;
  version += " at " + memberText(calendar, "updated_at");
  Facts facts = {{"calendar", memberText(calendar, "name")},
                 {"description", memberText(calendar, "description")},
                 {"version", version},
                 {"workdays", weekText(calendar)}};
  for (const auto& [label, member] :
       {std::pair("holidays", "holidays"), std::pair("adjusted workdays", "adjusted_workdays")}) {
    const auto days = calendar.find(member);
    if (days == calendar.end() || !days->is_array()) continue;
    bool first = true;
    for (const Json& day : *days) {
      if (day.is_string()) facts.emplace_back(first ? label : "", day.get<std::string>());
      first = false;
    }
  }
  const std::string last = memberText(calendar, "last_day");
  facts.emplace_back("last day", last.empty() ? "" : last + "; behind it the week alone counts");
  return facts;
}

struct CalendarPut {
  std::string name;
  std::string text;
  std::string if_match;  // ETag; empty: none.
  bool must_be_new = false;
  bool dry_run = false;
};

Result<Json> putCalendar(Session& session, const CalendarPut& put) {
  webapi::ApiRequest request;
  request.method = "PUT";
  request.target = calendarPath(put.name) + (put.dry_run ? "?dry_run=true" : "");
  request.content_type = "application/yaml";
  request.body = put.text;
  request.if_match = put.if_match;
  request.if_none_match = put.must_be_new ? "*" : "";
  const auto reply = session.api().call(request);
  if (!reply.ok()) return reply.error();
  return reply->json();
}

void printCalendarApplied(Session& session, const Json& applied, bool dry_run) {
  if (session.format() != Format::Table) return;
  const bool created = memberText(applied, "created") == "true";
  const bool changed = memberText(applied, "changed") == "true";
  std::string line = fmt::format("calendar {}", memberText(applied, "name"));
  if (dry_run) {
    line += created ? " would be created" : changed ? " would change" : " would stay as it is";
  } else {
    line += fmt::format(" version {} {}", memberText(applied, "version"),
                        created   ? "created"
                        : changed ? "stored"
                                  : "unchanged");
  }
  const std::string flows = memberText(applied, "flows");
  if (changed && flows != "0") {
    line += fmt::format(", {} {} planned anew", flows,
                        flows == "1" ? (dry_run ? "flow would be" : "flow was")
                                     : (dry_run ? "flows would be" : "flows were"));
  }
  session.out() << printable(line) << "\n";
  const auto changes = applied.find("changes");
  if (changes == applied.end() || created) return;
  for (const Json& change : *changes) {
    if (change.is_string()) session.out() << "  " << printable(change.get<std::string>()) << "\n";
  }
}

struct CalendarFile {
  std::string file;
  std::string text;
};

int readCalendars(Surroundings& surroundings, Session& session,
                  const std::vector<std::string>& files, std::vector<CalendarFile>& out) {
  int code = kExitOk;
  std::map<std::string, std::string> seen;
  for (const std::string& file : files) {
    auto text = readDefinition(surroundings, file);
    if (!text.ok()) {
      code = std::max(code, session.fail(text.error()));
      continue;
    }
    const std::string shown = shownFile(file);
    if (const std::string other = otherKind(*text, "calendar"); !other.empty()) {
      code = std::max(code, session.fail(Error::invalidArgument("{}: {}", shown, other)));
      continue;
    }
    const flow::ParsedCalendar parsed = flow::parseCalendar(shown, *text);
    printIssues(session.err(), parsed.issues);
    if (!parsed.calendar) {
      code = std::max(code, kExitUsage);
      continue;
    }
    const std::string& name = parsed.calendar->name;
    const auto [it, first] = seen.emplace(nameKey(name), shown);
    if (!first) {
      code = std::max(code, session.fail(Error::invalidArgument(
                                "{}: {} is the calendar of {} as well", shown, name, it->second)));
    }
    out.push_back({shown, std::move(*text)});
  }
  return code;
}

// The stored calendar, as its text says, and its ETag; none: there is no calendar of that name.
struct StoredCalendar {
  flow::CalendarSpec spec;
  std::string etag;
};
Result<std::optional<StoredCalendar>> findCalendar(Session& session, const std::string& name) {
  webapi::ApiRequest request;
  request.target = calendarPath(name);
  request.accept = "application/yaml";
  const auto reply = session.api().call(request);
  if (!reply.ok() && reply.error().code() == ErrorCode::NotFound) return {std::nullopt};
  if (!reply.ok()) return reply.error();
  const flow::ParsedCalendar parsed = flow::parseCalendar(name, reply->body);
  if (!parsed.calendar) {
    return Error::make(ErrorCode::Corrupt, "the stored calendar can't be read: {}",
                       parsed.issues.front().text());
  }
  return {StoredCalendar{*parsed.calendar, std::string(reply->headers.get("ETag"))}};
}

void replaceDays(std::vector<CivilDay>& list, const flow::IcalQuestion& years,
                 const std::vector<CivilDay>& imported) {
  std::erase_if(list, [&](CivilDay day) { return day >= years.from && day < years.until; });
  list.insert(list.end(), imported.begin(), imported.end());
  std::sort(list.begin(), list.end());
}

Result<flow::IcalQuestion> yearsOf(const Session& session, const CalendarImportOptions& options) {
  const std::string today = formatRfc3339(session.clock().wallNow());
  const int this_year = std::stoi(today.substr(0, 4));
  const int from = options.from_year == 0 ? this_year : options.from_year;
  const int last = options.until_year == 0 ? std::max(this_year + 1, from) : options.until_year;
  if (last < from) {
    return Error::invalidArgument("--until: is {}, expected {} or later", last, from);
  }
  using std::chrono::January;
  return flow::IcalQuestion{.from = CivilDay(std::chrono::year(from) / January / 1),
                            .until = CivilDay(std::chrono::year(last + 1) / January / 1),
                            .workday_text = options.workday_text};
}

}  // namespace

int calendarList(Session& session, const PageOptions& options) {
  return listPages(session, "/api/v1/calendars", {},
                   {memberColumn("NAME", "name"),
                    memberColumn("VERSION", "version"),
                    {"WORKDAYS", weekText},
                    memberColumn("HOLIDAYS", "holiday_count"),
                    memberColumn("ADJUSTED", "adjusted_workday_count"),
                    memberColumn("LAST_DAY", "last_day"),
                    timeColumn("CHANGED", "updated_at"),
                    memberColumn("DESCRIPTION", "description")},
                   options);
}

int calendarGet(Session& session, const std::string& name) {
  return showStored(session, calendarPath(name), calendarFacts);
}

int calendarApply(Surroundings& surroundings, Session& session,
                  const CalendarApplyOptions& options) {
  std::vector<CalendarFile> files;
  if (const int wrong = readCalendars(surroundings, session, options.files, files);
      wrong != kExitOk) {
    return nothingApplied(session, wrong);
  }
  Json body = {{"calendars", Json::array()}};
  for (CalendarFile& file : files) {
    body["calendars"].push_back({{"file", file.file}, {"text", std::move(file.text)}});
  }
  if (options.dry_run) body["dry_run"] = true;
  webapi::ApiRequest request;
  request.target = "/api/v1/calendars/apply";
  request.body = dumpJson(body);
  const AppliedTogether done = applyTogether(session, std::move(request), [] { return false; });
  if (done.code != kExitOk) return done.code;
  for (const Json& applied : done.items) printCalendarApplied(session, applied, options.dry_run);
  if (session.format() != Format::Table) session.printObject({{"items", done.items}});
  return kExitOk;
}

int calendarImport(Surroundings& surroundings, Session& session,
                   const CalendarImportOptions& options) {
  if (!isValidName(options.name)) {
    return session.fail(Error::invalidArgument("NAME: is \"{}\", expected {}",
                                               truncateUtf8(options.name, 80), kNameRule));
  }
  const auto years = yearsOf(session, options);
  if (!years.ok()) return session.fail(years.error());
  const auto text = readDefinition(surroundings, options.file);
  if (!text.ok()) return session.fail(text.error());
  const auto days = flow::readIcal(*text, *years);
  if (!days.ok()) return session.fail(Error(days.error()).withContext(shownFile(options.file)));
  if (days->events == 0) {
    return session.fail(
        Error::invalidArgument("{}: no event lies between {} and {}; nothing was "
                               "imported",
                               shownFile(options.file), formatCivilDay(years->from),
                               formatCivilDay(years->until - std::chrono::days(1))));
  }
  for (const std::string& summary : days->left_out) {
    session.err() << "baton: left out, as it does not last whole days: " << printable(summary)
                  << "\n";
  }
  for (int tries = 1;; ++tries) {
    const auto stored = findCalendar(session, options.name);
    if (!stored.ok()) return session.fail(stored.error());
    flow::CalendarSpec spec;
    if (*stored) spec = (*stored)->spec;
    spec.name = *stored ? spec.name : options.name;
    replaceDays(spec.holidays, *years, days->holidays);
    replaceDays(spec.adjusted_workdays, *years, days->adjusted_workdays);
    const auto applied = putCalendar(session, {.name = options.name,
                                               .text = flow::calendarText(spec),
                                               .if_match = *stored ? (*stored)->etag : "",
                                               .must_be_new = !stored->has_value(),
                                               .dry_run = options.dry_run});
    if (applied.ok()) {
      printCalendarApplied(session, *applied, options.dry_run);
      if (session.format() != Format::Table) session.printObject(*applied);
      return kExitOk;
    }
    const bool changed = memberText(session.api().problem(), "code") == "version_conflict";
    if (!changed || tries == kImportTries) return session.fail(applied.error());
  }
}

int calendarDelete(Session& session, const std::string& name, bool yes) {
  return deleteStored(session, calendarPath(name), "calendar", name, "", yes);
}

}  // namespace baton::cli
