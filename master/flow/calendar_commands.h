#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/event_desk.h"
#include "master/flow/flow_state.h"
#include "master/flow/planner.h"
#include "master/term_context.h"

namespace baton::master {

// How a calendar is shown.
api::CalendarView viewOfCalendar(const CalendarRecord& record, const flow::CalendarSpec& spec);

// A calendar to be stored, and what was read of its text: nothing is wrong with it.
struct CalendarDefinition {
  api::CalendarApply request;
  flow::ParsedCalendar parsed;
};

// What people ask of calendars. A change and the new next instants of all online flows that follow
// the calendar are one operation, so no master plans by half of it. Dispatcher thread only.
class CalendarCommands {
 public:
  // All outlive this.
  CalendarCommands(TermContext& context, FlowState& flows, Planner& planner, EventDesk& events)
      : context_(context), flows_(flows), planner_(planner), events_(events) {}

  // Stores calendars of different names, all or none, in one operation. A calendar that means the
  // same as the stored one changes nothing. Errors (with the file): Conflict (if_version; field
  // "version"), Overloaded (more than 1,000 calendars).
  void apply(std::vector<CalendarDefinition> definitions,
             const api::Callback<api::CalendarsApplied>& done);
  // Errors: NotFound, Conflict (flows follow it; names them).
  void remove(const std::string& name, const api::Request& request,
              const api::Callback<api::CalendarView>& done);

  // Flows whose definitions have to be read before it is known whether they follow a calendar. Who
  // has them read before apply and remove (ActiveTerm does) keeps the dispatcher from doing so.
  std::vector<std::string> unreadFollowers() const;

  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  Status admissible() const;
  // By key of the calendar: the flows that follow it now.
  using Followers = std::unordered_map<std::string, std::vector<LiveFlow*>>;
  Followers followersOf(const std::set<std::string>& keys);
  // What storing it would do where `kept` are there; changes nothing.
  Result<api::CalendarApplied> judge(const CalendarDefinition& definition,
                                     const Followers& followers, size_t kept);
  void store(Operation& operation, CalendarDefinition definition, const Followers& followers,
             const api::CalendarApplied& applied);
  Result<api::CalendarView> remove(Operation& operation, const std::string& name,
                                   const std::string& principal);

  TermContext& context_;
  FlowState& flows_;
  Planner& planner_;
  EventDesk& events_;
  bool open_ = false;
};

}  // namespace baton::master
