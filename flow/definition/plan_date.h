#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/calendar/time_zone.h"

namespace baton::flow {

// One step of date arithmetic on the fields of a calendar.
struct DateStep {
  enum class Unit : uint8_t {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    HourStart,
    DayStart,
    WeekStart,  // Monday.
    WeekEnd,    // Sunday.
    MonthStart,
    MonthEnd,
    QuarterStart,
    YearStart,
    YearEnd,
  };
  Unit unit = Unit::Day;
  int64_t count = 0;  // Of the first seven; the others set the fields below to their least.

  bool operator==(const DateStep&) const = default;
};

// Reads "-1d", "+2h", "-1mo", "+1y", "+30m", "-10s", "-2w", "month_start", …
// Errors: InvalidArgument (anything else, over 100,000).
Result<DateStep> parseDateStep(std::string_view text);

// The steps one after the other, on the fields alone: a day is a day whatever the clock does.
// A day that a month does not have becomes its last.
// Errors: InvalidArgument (a year outside 1 to 9999).
Result<CivilTime> addSteps(CivilTime time, std::span<const DateStep> steps);

// The instant at which clocks of the zone show `time`. A time that a clock set forward leaves out
// becomes as much later as the clock goes forward; of two passes the one with the offset `like` is
// taken, else the first.
WallTime instantOf(CivilTime time, const TimeZone& zone, std::optional<Seconds> like = {});

// Checks a format as strftime knows it: %Y %m %d %H %M %S …; English names, and "-" for no padding
// (%-d). Errors: InvalidArgument (a letter that is not known, by name).
Status checkDateFormat(std::string_view format);

// Writes an instant in a checked format.
std::string formatDate(std::string_view format, WallTime instant, const TimeZone& zone);

// Translates a pattern such as yyyyMMdd or yyyy-MM-dd HH:mm:ss into such a format.
// Errors: InvalidArgument (a letter without a meaning here).
Result<std::string> formatFromPattern(std::string_view pattern);

}  // namespace baton::flow
