#include "common/calendar/recurrence.h"

#include <algorithm>

namespace baton {
namespace {

constexpr std::chrono::days kOneDay{1};
// As far as cron expressions are followed.
constexpr CivilDay kHorizon{std::chrono::year(2200) / std::chrono::January / 1};

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

Seconds Recurrence::usualDistance() const {
  return std::visit(Overloaded{[](const CronSchedule& cron) { return cron.usualDistance(); },
                               [](const EverySchedule& every) { return every.distance; },
                               [](WallTime) -> Seconds { return kOneDay; }},
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
  while (calendar.isWorkday(day) && day < kHorizon) {
    if (const auto found = firstOn(day, after)) return found;
    // The next workday that can have anything is that of the next day with an instant, or the one
    // behind this, to which an off day before it was moved.
    const CivilDay behind = calendar.workdayAfter(day + kOneDay);
    const auto named = nextDay(day + kOneDay);
    if (!named) return std::nullopt;
    const CivilDay belongs = parts_.off_day == OffDayPolicy::Previous
                                 ? calendar.workdayBefore(*named)
                                 : calendar.workdayAfter(*named);
    day = std::max(behind, belongs);
  }
  return std::nullopt;  // Nothing but holidays for a year, or a distance that meets no workday.
}

std::optional<WallTime> Recurrence::firstOn(CivilDay workday, WallTime after) const {
  const WorkCalendar& calendar = *parts_.calendar;
  const std::chrono::days step(parts_.off_day == OffDayPolicy::Previous ? 1 : -1);
  after = std::max(after, parts_.zone.instantOf(workday) - Micros(1));
  // No instant is earlier than the next whole second: a look at more days would find none.
  const WallTime earliest = std::chrono::floor<Seconds>(after) + Seconds(1);
  std::optional<WallTime> best;
  for (CivilDay day = workday; !best || *best > earliest; day += step) {
    if (day != workday && (parts_.off_day == OffDayPolicy::Skip || calendar.isWorkday(day))) break;
    const auto found = firstMoved(day, workday, after);
    if (found && (!best || *found < *best)) best = found;
  }
  return best;
}

const CronSchedule* Recurrence::cron() const {
  const auto* cron = std::get_if<CronSchedule>(&parts_.base);
  return cron == nullptr || cron->isDistance() ? nullptr : cron;
}

std::optional<CivilDay> Recurrence::nextDay(CivilDay from) const {
  if (const CronSchedule* schedule = cron()) return schedule->nextDay(from);
  const auto base = nextOfBase(parts_.zone.instantOf(from) - Micros(1));
  return base ? std::optional(dayOf(parts_.zone.civilAt(*base))) : std::nullopt;
}

std::optional<WallTime> Recurrence::firstMoved(CivilDay day, CivilDay workday,
                                               WallTime after) const {
  if (const CronSchedule* schedule = cron()) return schedule->nextOnDay(day, workday, after);
  if (day == workday) {
    const auto found = nextOfBase(after);
    return found && dayOf(parts_.zone.civilAt(*found)) == day ? found : std::nullopt;
  }
  const auto movedFrom = [&](WallTime instant) {
    return parts_.zone.instantOf(workday + (parts_.zone.civilAt(instant) - day));
  };
  // Between two changes of the clock a later time of the day is a later one on the workday as well:
  // the first that is late enough there is looked for by halves.
  const WallTime end = parts_.zone.instantOf(day + kOneDay);
  std::optional<WallTime> best;
  for (WallTime from = parts_.zone.instantOf(day); from < end;) {
    const auto change = parts_.zone.nextChange(from);
    const WallTime until = change && change->at < end ? change->at : end;
    WallTime low = from;
    for (WallTime high = until; low < high;) {
      const WallTime middle = low + (high - low) / 2;
      if (movedFrom(middle) > after) {
        high = middle;
      } else {
        low = middle + Micros(1);
      }
    }
    const auto instant = nextOfBase(low - Micros(1));
    if (instant && *instant < until) {
      const WallTime found = movedFrom(*instant);
      if (!best || found < *best) best = found;
    }
    from = until;
  }
  return best;
}

}  // namespace baton
