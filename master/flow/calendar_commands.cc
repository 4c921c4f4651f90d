#include "master/flow/calendar_commands.h"

#include <algorithm>

#include "common/base/log.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr size_t kCalendarsMax = 1'000;
constexpr size_t kFollowersShown = 5;

}  // namespace

api::CalendarView viewOfCalendar(const CalendarRecord& record, const flow::CalendarSpec& spec) {
  api::CalendarView view;
  view.record = record;
  view.description = spec.description;
  view.workdays = flow::workdayWords(spec);
  view.holidays = flow::dayRanges(spec.holidays);
  view.adjusted_workdays = flow::dayRanges(spec.adjusted_workdays);
  view.holiday_count = spec.holidays.size();
  view.adjusted_count = spec.adjusted_workdays.size();
  if (const auto last = spec.lastDay()) view.last_day = formatCivilDay(*last);
  return view;
}

Status CalendarCommands::admissible() const {
  if (!open_) return Error(ErrorCode::NotActive, "this master does not take commands yet");
  return context_.writer.acceptance();
}

std::vector<std::string> CalendarCommands::unreadFollowers() const {
  std::vector<std::string> keys;
  for (const auto& [key, flow] : flows_.flows) {
    if (flow.text != nullptr && flow.names_calendar) keys.push_back(key);
  }
  return keys;
}

CalendarCommands::Followers CalendarCommands::followersOf(const std::set<std::string>& keys) {
  Followers followers;
  for (const std::string& key : keys) followers[key];
  for (auto& [flow_key, flow] : flows_.flows) {
    if (flow.record.deleted) continue;
    if (flow.newest == nullptr && !flow.names_calendar) continue;
    const auto version = flows_.newestOf(flow);
    if (version == nullptr || !version->spec.schedule) continue;
    const auto followed = followers.find(nameKey(version->spec.schedule->calendar));
    if (followed != followers.end()) followed->second.push_back(&flow);
  }
  return followers;
}

void CalendarCommands::apply(std::vector<CalendarDefinition> definitions,
                             const api::Callback<api::CalendarsApplied>& done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  api::CalendarsApplied all;
  std::vector<Audit> audits;
  // One look at all flows, of which there may be very many, for all calendars.
  std::set<std::string> keys;
  for (const CalendarDefinition& definition : definitions) {
    keys.insert(nameKey(definition.parsed.calendar->name));
  }
  const Followers followers = followersOf(keys);
  size_t kept = flows_.calendars.all().size();
  for (const CalendarDefinition& definition : definitions) {
    const api::CalendarApply& request = definition.request;
    const std::string& name = definition.parsed.calendar->name;
    Audit& audit = audits.emplace_back(
        request.dry_run ? Audit::none()
                        : Audit(request.request, context_.clock.wallNow(), "calendar.apply", name));
    const auto before = flows_.calendars.find(name);
    if (before != nullptr && !before->record.deleted) {
      audit.setBefore({{"version", before->record.version}});
    }
    auto applied = judge(definition, followers, kept);
    if (!applied.ok()) {
      Error error = applied.error();
      if (!request.file.empty()) error = std::move(error).withContext(request.file);
      audit.putInto(operation, Status(error));
      operation.then([done, error = std::move(error)] { done(error); });
      return context_.writer.submit(std::move(operation));
    }
    audit.setAfter({{"version", applied->calendar.record.version}});
    kept += applied->created ? 1 : 0;
    all.calendars.push_back(std::move(*applied));
  }
  for (size_t i = 0; i < definitions.size(); ++i) {
    store(operation, std::move(definitions[i]), followers, all.calendars[i]);
    audits[i].putInto(operation, {});
  }
  operation.then([done, all = std::move(all)] { done(all); });
  context_.writer.submit(std::move(operation));
}

Result<api::CalendarApplied> CalendarCommands::judge(const CalendarDefinition& definition,
                                                     const Followers& followers, size_t kept) {
  const api::CalendarApply& request = definition.request;
  const flow::CalendarSpec& spec = *definition.parsed.calendar;
  const auto known = flows_.calendars.find(spec.name);
  const bool there = known != nullptr && !known->record.deleted;
  api::CalendarApplied applied;
  applied.created = !there;
  applied.changed = !there || known->days == nullptr || !(known->spec == spec);
  if (there && known->days != nullptr) applied.changes = flow::diffCalendars(known->spec, spec);
  const uint32_t newest = there ? known->record.version : 0;
  if (request.if_version && *request.if_version != newest && applied.changed) {
    return Error(ErrorCode::Conflict,
                 newest == 0 ? fmt::format("there is no calendar {}, and version {} was expected",
                                           spec.name, *request.if_version)
                             : fmt::format("calendar {} is at version {}, and {} was expected",
                                           spec.name, newest, *request.if_version),
                 "version");
  }
  if (!there && kept >= kCalendarsMax) {
    return Error::make(ErrorCode::Overloaded, "{} calendars are the most that are kept",
                       kCalendarsMax);
  }
  applied.flows = followers.at(nameKey(spec.name)).size();
  const WallTime now = context_.clock.wallNow();
  CalendarRecord record;
  if (known != nullptr) record = known->record;
  if (applied.changed) {
    if (!there) record.created_at = now;
    record.name = spec.name;
    record.version += 1;
    record.deleted = false;
    record.text = request.text;
    record.author = request.request.principal;
    record.updated_at = now;
  }
  applied.calendar = viewOfCalendar(record, spec);
  if (const std::string ending = definition.parsed.days->endingText(now); !ending.empty()) {
    applied.warnings.push_back({.file = request.file.empty() ? spec.name : request.file,
                                .line = 0,
                                .column = 0,
                                .key = "holidays",
                                .message = ending,
                                .warning = true});
  }
  return applied;
}

void CalendarCommands::store(Operation& operation, CalendarDefinition definition,
                             const Followers& followers, const api::CalendarApplied& applied) {
  if (definition.request.dry_run || !applied.changed) return;
  const CalendarRecord& record = applied.calendar.record;
  flow::ParsedCalendar& parsed = definition.parsed;
  flows_.calendars.put({record, std::move(*parsed.calendar), std::move(parsed.days)});
  operation.changes.calendars.push_back(record);
  for (LiveFlow* flow : followers.at(record.key())) {
    if (planner_.replan(*flow)) operation.store(flow->record);
    events_.onFlowChanged(*flow);  // Who waits for all of its instants waits for others now.
  }
  logInfo("calendar_applied", field("calendar", record.name), field("version", record.version),
          field("flows", applied.flows), field("epoch", context_.epoch()));
}

void CalendarCommands::remove(const std::string& name, const api::Request& request,
                              const api::Callback<api::CalendarView>& done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  Audit audit(request, context_.clock.wallNow(), "calendar.delete", name);
  if (const auto before = flows_.calendars.find(name); before && !before->record.deleted) {
    audit.setBefore({{"version", before->record.version}});
  }
  auto removed = remove(operation, name, request.principal);
  audit.putInto(operation, removed.status());
  operation.then([done, removed = std::move(removed)] { done(removed); });
  context_.writer.submit(std::move(operation));
}

Result<api::CalendarView> CalendarCommands::remove(Operation& operation, const std::string& name,
                                                   const std::string& principal) {
  const auto known = flows_.calendars.find(name);
  if (known == nullptr || known->record.deleted) {
    return Error::notFound("there is no calendar {}", truncateUtf8(name, 64));
  }
  CalendarRecord record = known->record;
  const auto followers = followersOf({record.key()}).at(record.key());
  if (!followers.empty()) {
    std::string names;
    for (size_t i = 0; i < followers.size() && i < kFollowersShown; ++i) {
      names += (i == 0 ? "" : ", ") + followers[i]->record.name;
    }
    const size_t more = followers.size() - std::min(followers.size(), kFollowersShown);
    if (more > 0) names += fmt::format(" and {} more", more);
    return Error::conflict("calendar {} is followed by {}; give them another one first",
                           record.name, names);
  }
  record.deleted = true;
  record.text.clear();
  record.author = principal;
  record.updated_at = context_.clock.wallNow();
  flows_.calendars.put({record, {}, nullptr});
  operation.changes.calendars.push_back(record);
  logInfo("calendar_deleted", field("calendar", record.name), field("epoch", context_.epoch()));
  return viewOfCalendar(record, {});
}

}  // namespace baton::master
