#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/calendar/civil_time.h"

namespace baton {

// Which days are workdays: the days of the week, except holidays, and with workdays that were moved
// to a weekend ("adjusted"). A pure value.
class WorkCalendar {
 public:
  // Monday to Friday.
  WorkCalendar() = default;
  // `workdays[0]` is Sunday. Errors: InvalidArgument if there would be no workday in 366 days.
  static Result<WorkCalendar> make(const std::array<bool, 7>& workdays,
                                   const std::vector<CivilDay>& holidays,
                                   const std::vector<CivilDay>& adjusted);

  bool isWorkday(CivilDay day) const;
  // The nearest workday at or before, at or after `day`. There is one within 366 days for days that
  // the calendar was made for; beyond that the week alone counts.
  CivilDay workdayBefore(CivilDay day) const;
  CivilDay workdayAfter(CivilDay day) const;

  // What to tell people who use it now if the days that it names end within a month, or have ended:
  // "names no day behind …". Empty: they go on, or it names none.
  std::string endingText(WallTime now) const;

 private:
  std::array<bool, 7> workdays_{false, true, true, true, true, true, false};
  std::set<CivilDay> holidays_;
  std::set<CivilDay> adjusted_;
};

// "2026-12-24". Errors: InvalidArgument (another form, or no such day).
Result<CivilDay> parseCivilDay(std::string_view text);
std::string formatCivilDay(CivilDay day);

}  // namespace baton
