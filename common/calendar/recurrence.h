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
// workday before or behind, at the same local time.
enum class OffDayPolicy : uint8_t { Skip, Previous, Next };

// When a flow is due: cron, a grid, or one instant; within a window; on workdays if it has a
// calendar. A pure value; any thread.
class Recurrence {
 public:
  struct Parts {
    std::variant<CronSchedule, EverySchedule, WallTime> base;
    TimeZone zone;                                      // Of the calendar's days.
    std::optional<WallTime> start = {};                 // Inclusive.
    std::optional<WallTime> end = {};                   // Exclusive.
    std::shared_ptr<const WorkCalendar> calendar = {};  // Null: every day.
    OffDayPolicy off_day = OffDayPolicy::Skip;
  };
  explicit Recurrence(Parts parts) : parts_(std::move(parts)) {}

  // The first instant strictly later than `after`; results strictly increase. None: never again.
  // How often it may fire in all (`count`) is for the caller, who knows how often it did.
  std::optional<WallTime> next(WallTime after) const;

 private:
  std::optional<WallTime> nextOfBase(WallTime after) const;
  std::optional<WallTime> nextOnWorkday(WallTime after) const;
  // The first instant later than `after` that belongs to the workday: its own and those of off days
  // that are moved to it.
  std::optional<WallTime> firstOn(CivilDay workday, WallTime after) const;

  Parts parts_;
};

}  // namespace baton
