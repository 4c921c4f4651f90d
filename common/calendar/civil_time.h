#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/clock.h"

namespace baton {

// Date and time of day as a clock on the wall shows them, without saying where. Seconds, any year
// from 1 to 9999. Proleptic Gregorian, without leap seconds.
using CivilTime = std::chrono::local_seconds;
using CivilDay = std::chrono::local_days;

struct CivilFields {
  int year = 1970;
  unsigned month = 1;  // 1 to 12.
  unsigned day = 1;    // 1 to 31.
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  unsigned weekday = 4;  // 0: Sunday.
};

inline CivilFields fieldsOf(CivilTime time) {
  const CivilDay day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<unsigned>(date.month()),
          .day = static_cast<unsigned>(date.day()),
          .hour = static_cast<unsigned>(clock.hours().count()),
          .minute = static_cast<unsigned>(clock.minutes().count()),
          .second = static_cast<unsigned>(clock.seconds().count()),
          .weekday = std::chrono::weekday(day).c_encoding()};
}

// The weekday of `fields` is not looked at; the others are in range and the day exists.
inline CivilTime civilFrom(const CivilFields& fields) {
  const std::chrono::year_month_day date(std::chrono::year(fields.year),
                                         std::chrono::month(fields.month),
                                         std::chrono::day(fields.day));
  return CivilDay(date) + std::chrono::hours(fields.hour) + std::chrono::minutes(fields.minute) +
         std::chrono::seconds(fields.second);
}

inline unsigned lastDayOf(int year, unsigned month) {
  const std::chrono::year_month_day_last last{
      std::chrono::year(year), std::chrono::month_day_last{std::chrono::month(month)}};
  return static_cast<unsigned>(last.day());
}

}  // namespace baton
