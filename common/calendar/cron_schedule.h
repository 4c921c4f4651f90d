#pragma once

#include <cstdint>
#include <optional>

#include "common/calendar/cron_expression.h"
#include "common/calendar/time_zone.h"

namespace baton {

// What a fixed schedule does with times that a clock set forward leaves out.
enum class GapPolicy : uint8_t {
  RunAfter,  // Once, at the first instant behind the gap.
  Skip,
};
// Which of the two passes counts for a fixed schedule when a clock set back shows times twice.
enum class OverlapPolicy : uint8_t { First, Second, Both };

// A cron expression in a zone. A pure value; any thread.
class CronSchedule {
 public:
  CronSchedule(CronExpression expression, TimeZone zone, GapPolicy gap = GapPolicy::RunAfter,
               OverlapPolicy overlap = OverlapPolicy::First)
      : expression_(std::move(expression)), zone_(std::move(zone)), gap_(gap), overlap_(overlap) {}

  // The first instant strictly later than `after`; none if there is none before the year 2200.
  std::optional<WallTime> next(WallTime after) const { return next(after, {}); }
  // The first day at or after `from` that has a local time that matches, whether the clock shows it
  // or not. This and the next: not for a distance (`@every`).
  std::optional<CivilDay> nextDay(CivilDay from) const;
  // The first instant later than `after` of those that local times of `day` stand for, as if they
  // were of the day `at`. What the clock does is what it does there: a time that a Sunday leaves
  // out is there on Monday.
  std::optional<WallTime> nextOnDay(CivilDay day, CivilDay at, WallTime after) const;
  bool isDistance() const { return expression_.every().has_value(); }
  Seconds usualDistance() const { return expression_.usualDistance(); }
  const TimeZone& zone() const { return zone_; }

 private:
  // A stretch of time in which the clock goes evenly: [begin, end).
  struct Stretch {
    std::optional<TimeZone::Change> begin;  // None: since ever.
    std::optional<TimeZone::Change> end;    // None: for ever.
    Seconds offset;
  };
  // With `moved` every local time that matches counts that many days later (or earlier).
  std::optional<WallTime> next(WallTime after, std::chrono::days moved) const;
  // Whether an instant that next() found stands for a local time of that day.
  bool isOf(CivilDay day, WallTime found, std::chrono::days moved) const;
  Stretch stretchAt(WallTime instant) const;
  std::optional<CivilTime> nextMatch(CivilTime from, std::chrono::days moved) const;
  bool ranInGap(const TimeZone::Change& change, std::chrono::days moved) const;
  // The first local time in the stretch at or after `from` that counts.
  std::optional<CivilTime> nextIn(const Stretch& stretch, CivilTime from,
                                  std::chrono::days moved) const;

  CronExpression expression_;
  TimeZone zone_;
  GapPolicy gap_;
  OverlapPolicy overlap_;
};

}  // namespace baton
