#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "common/calendar/cron_schedule.h"
#include "common/calendar/work_calendar.h"

namespace baton {

// A grid of instants: anchor, anchor + distance, …; `distance` at least one second.
struct EverySchedule {
  WallTime anchor;
  Seconds distance;
};

// What happens to an instant on a day that the calendar calls off: it is dropped, or moved to the
// workday before or behind, at the same local time. What the clock does counts on the day where it
// is then: if 02:30 is left out on a Sunday, a daily 02:30 is there on Monday, once.
enum class OffDayPolicy : uint8_t { Skip, Previous, Next };

// When a flow is due: cron, a grid, or one instant; within a window; on workdays if it has a
// calendar. A pure value; any thread.
class Recurrence {
 public:
  struct Parts {
    std::variant<CronSchedule, EverySchedule, WallTime> base;
    TimeZone zone;                                      // Of the calendar's days, and of a cron.
    std::optional<WallTime> start = {};                 // Inclusive.
    std::optional<WallTime> end = {};                   // Exclusive.
    std::shared_ptr<const WorkCalendar> calendar = {};  // Null: every day.
    OffDayPolicy off_day = OffDayPolicy::Skip;
  };
  explicit Recurrence(Parts parts) : parts_(std::move(parts)) {}

  // The first instant strictly later than `after`; results strictly increase. None: never again,
  // or not before the year 2200. How often it may fire in all (`count`) is for the caller, who
  // knows how often it did. Costs some milliseconds at worst (a distance that never meets a
  // workday).
  std::optional<WallTime> next(WallTime after) const;

  // How far its instants are apart where they are nearest, by the rule alone: neither changes of
  // the clock nor days off make it another. A day for one instant.
  Seconds usualDistance() const;

 private:
  std::optional<WallTime> nextOfBase(WallTime after) const;
  std::optional<WallTime> nextOnWorkday(WallTime after) const;
  // The first instant later than `after` that belongs to the workday: its own and those of off days
  // that are moved to it.
  std::optional<WallTime> firstOn(CivilDay workday, WallTime after) const;
  // The first later than `after` of those that `day` has, at their local times on the workday.
  std::optional<WallTime> firstMoved(CivilDay day, CivilDay workday, WallTime after) const;
  // The first day at or after `from` that has an instant, on a workday or not.
  std::optional<CivilDay> nextDay(CivilDay from) const;
  // Null: the base is no cron, or one that is a distance.
  const CronSchedule* cron() const;

  Parts parts_;
};

}  // namespace baton
