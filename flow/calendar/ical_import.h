#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/calendar/civil_time.h"

namespace baton::flow {

struct IcalQuestion {
  CivilDay from;  // Days in [from, until] are wanted; at most 50 years.
  CivilDay until;
  // Whole-day events whose summary holds this (case counts) are adjusted workdays and no holidays;
  // empty: only those that say so themselves.
  std::string workday_text;
};

struct IcalDays {
  std::vector<CivilDay> holidays;  // Rising, each once.
  std::vector<CivilDay> adjusted_workdays;
  size_t events = 0;                  // That gave a day.
  std::vector<std::string> left_out;  // Summaries of events that are no whole days; at most 20.
};

// The days of a calendar in iCalendar format (RFC 5545), repeated ones (RRULE, RDATE, EXDATE) and
// changed ones (RECURRENCE-ID) included. Whole-day events are holidays, unless they are adjusted
// workdays: by workday_text, or by X-APPLE-SPECIAL-DAY:ALTERNATE-WORKDAY, as the public calendar of
// China has it. Cancelled events count for nothing. A text of at most 4 MB.
// Errors: InvalidArgument (no iCalendar; no whole-day event at all; more than 10,000 days),
// TooLarge. Pure; any thread.
Result<IcalDays> readIcal(std::string_view text, const IcalQuestion& question);

}  // namespace baton::flow
