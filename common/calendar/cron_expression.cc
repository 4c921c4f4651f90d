#include "common/calendar/cron_expression.h"

#include <algorithm>
#include <utility>

namespace baton {
namespace {

constexpr int kFirstYear = 1970;

unsigned weekdayOf(int year, unsigned month, unsigned day) {
  return fieldsOf(civilFrom({.year = year, .month = month, .day = day})).weekday;
}

// The day of the month that `nW` means: n, or the nearest Monday to Friday in the same month.
unsigned nearestWeekday(int year, unsigned month, unsigned day) {
  const unsigned last = lastDayOf(year, month);
  const unsigned weekday = weekdayOf(year, month, day);
  if (weekday == 6) return day == 1 ? day + 2 : day - 1;
  if (weekday == 0) return day == last ? day - 2 : day + 1;
  return day;
}

// The next set bit at or after `from`; the size of the set if there is none.
template <size_t N>
size_t nextBit(const std::bitset<N>& bits, size_t from) {
  while (from < N && !bits[from]) ++from;
  return from;
}

// The distance of the two set bits that are nearest to each other.
template <size_t N>
size_t closest(const std::bitset<N>& bits) {
  size_t found = N;
  size_t last = nextBit(bits, 0);
  for (size_t at = nextBit(bits, last + 1); at < N; at = nextBit(bits, at + 1)) {
    found = std::min(found, at - std::exchange(last, at));
  }
  return found;
}

}  // namespace

Seconds CronExpression::usualDistance() const {
  if (every_) return *every_;
  if (seconds_.count() > 1) return Seconds(closest(seconds_));
  if (minutes_.count() > 1) return std::chrono::minutes(closest(minutes_));
  if (hours_.count() > 1) return std::chrono::hours(closest(hours_));
  return std::chrono::hours(24);
}

bool CronExpression::monthDayMatches(int year, unsigned month, unsigned day) const {
  if (month_days_.any || month_days_.days[day]) return true;
  const unsigned last = lastDayOf(year, month);
  for (const unsigned back : month_days_.from_last) {
    if (back < last && day == last - back) return true;
  }
  for (const unsigned wanted : month_days_.nearest) {
    if (wanted <= last && day == nearestWeekday(year, month, wanted)) return true;
  }
  return month_days_.last_weekday && day == nearestWeekday(year, month, last);
}

bool CronExpression::weekDayMatches(int year, unsigned month, unsigned day) const {
  const unsigned weekday = weekdayOf(year, month, day);
  if (week_days_.any || week_days_.days[weekday]) return true;
  const auto is_today = [weekday](unsigned wanted) { return wanted == weekday; };
  if (day + 7 > lastDayOf(year, month) &&
      std::any_of(week_days_.last.begin(), week_days_.last.end(), is_today)) {
    return true;
  }
  return std::any_of(week_days_.nth.begin(), week_days_.nth.end(), [&](const WeekDays::Nth& nth) {
    return nth.weekday == weekday && (day + 6) / 7 == nth.n;
  });
}

bool CronExpression::dayMatches(int year, unsigned month, unsigned day) const {
  const bool by_month = monthDayMatches(year, month, day);
  const bool by_week = weekDayMatches(year, month, day);
  // crontab(5): two restricted fields mean either; one that begins with * restricts as well.
  const bool either = !month_days_.star && !week_days_.star;
  return either ? by_month || by_week : by_month && by_week;
}

bool CronExpression::matches(CivilTime time) const { return nextMatch(time) == time; }

std::optional<CivilTime> CronExpression::nextMatch(CivilTime from) const {
  const CivilDay today = std::chrono::floor<std::chrono::days>(from);
  std::optional<CivilDay> day = nextDay(today);
  if (day == today) {
    if (const auto time = nextTimeOfDay(from - today)) return today + *time;
    day = nextDay(today + std::chrono::days(1));
  }
  const auto first = nextTimeOfDay(Seconds(0));
  if (!day || !first) return std::nullopt;
  return *day + *first;
}

std::optional<CivilDay> CronExpression::nextDay(CivilDay from) const {
  const CivilFields start = fieldsOf(from);
  const size_t start_year = static_cast<size_t>(std::max(start.year - kFirstYear, 0));
  for (size_t y = nextBit(years_, start_year); y < years_.size(); y = nextBit(years_, y + 1)) {
    const int year = kFirstYear + static_cast<int>(y);
    const bool same_year = year == start.year;
    for (size_t m = nextBit(months_, same_year ? start.month : 1); m < months_.size();
         m = nextBit(months_, m + 1)) {
      const auto month = static_cast<unsigned>(m);
      const bool same_month = same_year && month == start.month;
      const unsigned last = lastDayOf(year, month);
      for (unsigned day = same_month ? start.day : 1; day <= last; ++day) {
        if (!dayMatches(year, month, day)) continue;
        return std::chrono::floor<std::chrono::days>(
            civilFrom({.year = year, .month = month, .day = day}));
      }
    }
  }
  return std::nullopt;
}

std::optional<Seconds> CronExpression::nextTimeOfDay(Seconds from) const {
  const std::chrono::hh_mm_ss clock(from);
  const auto hour = static_cast<size_t>(clock.hours().count());
  const auto minute = static_cast<size_t>(clock.minutes().count());
  const auto second = static_cast<size_t>(clock.seconds().count());
  const auto made = [](size_t h, size_t m, size_t s) { return Seconds((h * 60 + m) * 60 + s); };
  const size_t first_minute = nextBit(minutes_, 0);
  const size_t first_second = nextBit(seconds_, 0);
  if (hours_[hour]) {
    if (minutes_[minute]) {
      const size_t s = nextBit(seconds_, second);
      if (s < seconds_.size()) return made(hour, minute, s);
    }
    const size_t m = nextBit(minutes_, minute + 1);
    if (m < minutes_.size()) return made(hour, m, first_second);
  }
  const size_t h = nextBit(hours_, hour + 1);
  if (h < hours_.size()) return made(h, first_minute, first_second);
  return std::nullopt;
}

}  // namespace baton
