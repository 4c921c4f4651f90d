#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calendar/work_calendar.h"
#include "flow/definition/flow_parser.h"

namespace baton::flow {

// A calendar of workdays as people define it:
//
//   calendar: cn-workdays
//   description: days off as the State Council announced them
//   workdays: [mon, tue, wed, thu, fri]            # as by default
//   holidays: [2026-01-01, 2026-10-01..2026-10-07]
//   adjusted_workdays: [2026-10-10]                # days off the week that are worked
struct CalendarSpec {
  std::string name;
  std::string description;
  std::array<bool, 7> workdays{false, true, true, true, true, true, false};  // [0]: Sunday.
  std::vector<CivilDay> holidays;                                            // Rising, each once.
  std::vector<CivilDay> adjusted_workdays;                                   // The same.

  // The last day that it says something about; none: it has the week alone. Behind it the week
  // alone counts.
  std::optional<CivilDay> lastDay() const;
  bool operator==(const CalendarSpec&) const = default;
};

struct ParsedCalendar {
  std::optional<CalendarSpec> calendar;  // If nothing is wrong.
  std::shared_ptr<const WorkCalendar> days;
  std::vector<FlowIssue> issues;  // By place; at most 200.
};

// Days that a calendar names at most, and the longest range of days in it.
inline constexpr size_t kCalendarDaysMax = 10'000;
inline constexpr int kCalendarRangeDaysMax = 366;

// Reads and checks a calendar, YAML or JSON, up to 1 MB, as parseFlow does a flow. Pure; any
// thread. `file` is for messages.
ParsedCalendar parseCalendar(const std::string& file, std::string_view text);

// The calendar as YAML, as parseCalendar reads it; days that follow each other are one range.
std::string calendarText(const CalendarSpec& calendar);
// "2026-01-01" and "2026-10-01..2026-10-07": rising days, ranges of three days and more in short.
std::vector<std::string> dayRanges(const std::vector<CivilDay>& days);
// "mon", "tue", … as the definition has them, from Monday on.
std::vector<std::string> workdayWords(const CalendarSpec& calendar);

// What differs, in words, as `flow diff` has it for flows; empty: both mean the same.
std::vector<std::string> diffCalendars(const CalendarSpec& before, const CalendarSpec& after);

}  // namespace baton::flow
