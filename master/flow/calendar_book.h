#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/calendar/work_calendar.h"
#include "common/model/flow_records.h"
#include "flow/calendar/calendar_spec.h"

namespace baton::master {

// A calendar as the active master knows it.
struct KnownCalendar {
  CalendarRecord record;                     // Deleted ones are kept for their version numbers.
  flow::CalendarSpec spec;                   // Empty: deleted, or it can't be read any more.
  std::shared_ptr<const WorkCalendar> days;  // Null: the same.
};

// The calendars of the cluster. Any thread; changed by recovery and on the dispatcher thread.
class CalendarBook {
 public:
  // A row of the database; one that can't be read any more is told in the log and has no days.
  void adopt(const CalendarRecord& record);
  void put(KnownCalendar calendar);

  // By name, in any case. Null: unknown or deleted.
  std::shared_ptr<const WorkCalendar> days(const std::string& name) const;
  // Null: never heard of.
  std::shared_ptr<const KnownCalendar> find(const std::string& name) const;
  // Those that have days, by key.
  std::map<std::string, std::shared_ptr<const WorkCalendar>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const KnownCalendar>> calendars_;  // By key.
};

}  // namespace baton::master
