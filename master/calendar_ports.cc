#include "master/calendar_ports.h"

#include "master/answered_once.h"
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
  done = answeredOnce<api::CalendarApplied>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  const std::string file = request.name.empty() ? "calendar" : request.name;
  flow::ParsedCalendar parsed = flow::parseCalendar(file, request.text);
  if (!parsed.calendar) {
    api::CalendarApplied refused;
    refused.errors = issuesOf(parsed.issues);
    return done(std::move(refused));
  }
  if (!request.name.empty() && nameKey(request.name) != nameKey(parsed.calendar->name)) {
    return done(Error(ErrorCode::InvalidArgument,
                      fmt::format("the definition is of calendar {}, the path says {}",
                                  parsed.calendar->name, request.name),
                      "calendar"));
  }
  const auto told = [done,
                     warnings = issuesOf(parsed.issues)](Result<api::CalendarApplied> applied) {
    if (applied.ok()) applied->warnings = warnings;
    done(std::move(applied));
  };
  (*term)->applyCalendar(std::move(request), std::move(parsed), told);
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
