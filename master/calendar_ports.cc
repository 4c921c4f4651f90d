#include "master/calendar_ports.h"

#include "master/answered_once.h"
#include "master/definitions_together.h"
#include "master/flow_ports.h"

namespace baton::master {
namespace {

// A stored text that can't be read any more is shown without its days.
api::CalendarView viewOfRow(CalendarRecord record) {
  const flow::ParsedCalendar parsed = flow::parseCalendar(record.name, record.text);
  return viewOfCalendar(record, parsed.calendar.value_or(flow::CalendarSpec{}));
}

}  // namespace

void CalendarPorts::apply(api::CalendarApply request, api::Callback<api::CalendarApplied> done) {
  std::vector<api::CalendarApply> requests;
  requests.push_back(std::move(request));
  applyAll(std::move(requests), [done](Result<api::CalendarsApplied> applied) {
    if (!applied.ok()) return done(applied.error());
    if (applied->errors.empty()) return done(std::move(applied->calendars.front()));
    api::CalendarApplied refused;
    refused.errors = std::move(applied->errors);
    done(std::move(refused));
  });
}

void CalendarPorts::applyAll(std::vector<api::CalendarApply> requests,
                             api::Callback<api::CalendarsApplied> done) {
  done = answeredOnce<api::CalendarsApplied>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  std::vector<CalendarDefinition> definitions;
  DefinitionsTogether together("calendar");
  for (api::CalendarApply& request : requests) {
    std::string file = request.file.empty() ? request.name : request.file;
    if (file.empty()) file = "calendar";
    flow::ParsedCalendar parsed = flow::parseCalendar(file, request.text);
    const Status taken = together.take(
        file, request.name, parsed.calendar ? parsed.calendar->name : "", issuesOf(parsed.issues));
    if (!taken.ok()) return done(taken.error());
    if (parsed.calendar) definitions.push_back({std::move(request), std::move(parsed)});
  }
  if (together.wrong()) {
    api::CalendarsApplied refused;
    refused.errors = together.allIssues();
    return done(std::move(refused));
  }
  const auto told = [done,
                     issues = std::move(together.issues())](Result<api::CalendarsApplied> applied) {
    for (size_t i = 0; applied.ok() && i < issues.size(); ++i) {
      auto& warnings = applied->calendars[i].warnings;
      warnings.insert(warnings.begin(), issues[i].begin(), issues[i].end());
    }
    done(std::move(applied));
  };
  (*term)->applyCalendars(std::move(definitions), told);
}

void CalendarPorts::remove(std::string name, api::Request request,
                           api::Callback<api::CalendarView> done) {
  done = answeredOnce<api::CalendarView>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->removeCalendar(std::move(name), std::move(request), std::move(done));
}

Result<api::CalendarView> CalendarPorts::calendar(const std::string& name) {
  RETURN_IF_ERROR(master_.activeTerm().status());
  ASSIGN_OR_RETURN(
      auto row, readers_.with([&](dao::Reader& reader) { return reader.calendar(nameKey(name)); }));
  if (!row) return Error::notFound("there is no calendar {}", name);
  return viewOfRow(std::move(*row));
}

Result<api::ListOf<api::CalendarView>> CalendarPorts::calendars(const std::string& after,
                                                                uint32_t limit) {
  RETURN_IF_ERROR(master_.activeTerm().status());
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.calendars(false, after, limit);
  }));
  api::ListOf<api::CalendarView> list;
  list.more = page.more;
  for (CalendarRecord& row : page.items) list.items.push_back(viewOfRow(std::move(row)));
  return list;
}

}  // namespace baton::master
