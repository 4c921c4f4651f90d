#include "common/calendar/recurrence.h"

#include <algorithm>

namespace baton {
namespace {

constexpr std::chrono::days kOneDay{1};

CivilDay dayOf(CivilTime time) { return std::chrono::floor<std::chrono::days>(time); }

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

std::optional<WallTime> Recurrence::nextOfBase(WallTime after) const {
  return std::visit(
      Overloaded{[&](const CronSchedule& cron) { return cron.next(after); },
                 [&](const EverySchedule& every) -> std::optional<WallTime> {
                   if (after < every.anchor) return every.anchor;
                   const Micros step = every.distance;
                   return every.anchor + ((after - every.anchor) / step + 1) * step;
                 },
                 [&](WallTime at) { return at > after ? std::optional(at) : std::nullopt; }},
      parts_.base);
}

std::optional<WallTime> Recurrence::next(WallTime after) const {
  if (parts_.start && after < *parts_.start) after = *parts_.start - Micros(1);
  const std::optional<WallTime> found =
      parts_.calendar == nullptr ? nextOfBase(after) : nextOnWorkday(after);
  if (!found || (parts_.end && *found >= *parts_.end)) return std::nullopt;
  return found;
}

std::optional<WallTime> Recurrence::nextOnWorkday(WallTime after) const {
  const WorkCalendar& calendar = *parts_.calendar;
  CivilDay day = calendar.workdayAfter(dayOf(parts_.zone.civilAt(after)));
  while (calendar.isWorkday(day)) {
    if (const auto found = firstOn(day, after)) return found;
    // The next workday that can have anything is that of the base's next instant, or the one behind
    // this, to which an off day before it was moved.
    const WallTime day_end = parts_.zone.instantOf(day + kOneDay);
    const auto base = nextOfBase(std::max(after, day_end - Micros(1)));
    const CivilDay behind = calendar.workdayAfter(day + kOneDay);
    if (!base) return std::nullopt;
    const CivilDay base_day = dayOf(parts_.zone.civilAt(*base));
    const CivilDay belongs = parts_.off_day == OffDayPolicy::Previous
                                 ? calendar.workdayBefore(base_day)
                                 : calendar.workdayAfter(base_day);
    day = std::max(behind, belongs);
  }
  return std::nullopt;  // Nothing but holidays for a year.
}

std::optional<WallTime> Recurrence::firstOn(CivilDay workday, WallTime after) const {
  const WorkCalendar& calendar = *parts_.calendar;
  CivilDay first = workday;
  CivilDay last = workday;
  if (parts_.off_day == OffDayPolicy::Next) {
    while (!calendar.isWorkday(first - kOneDay)) first -= kOneDay;
  } else if (parts_.off_day == OffDayPolicy::Previous) {
    while (!calendar.isWorkday(last + kOneDay)) last += kOneDay;
  }
  std::optional<WallTime> best;
  const auto consider = [&](WallTime instant) {
    if (instant > after && (!best || instant < *best)) best = instant;
  };
  WallTime at = parts_.zone.instantOf(first) - Micros(1);
  if (first == workday) at = std::max(at, after);  // Its own instants need no move.
  while (const auto found = nextOfBase(at)) {
    at = *found;
    const CivilTime local = parts_.zone.civilAt(at);
    if (dayOf(local) > last) break;
    if (dayOf(local) == workday) {
      consider(at);
      if (last == workday) break;  // What follows is later.
      at = std::max(at, parts_.zone.instantOf(workday + kOneDay) - Micros(1));
    } else {
      consider(parts_.zone.instantOf(workday + (local - dayOf(local))));
    }
  }
  return best;
}

}  // namespace baton
