#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/calendar/civil_time.h"

namespace baton {

// Unix has five fields (minute to weekday, Sunday 0 or 7), Quartz six or seven (second first, year
// last, Sunday 1). Auto decides by the number of fields.
enum class CronDialect : uint8_t { Auto, Unix5, Quartz };

// A cron expression as sets of what matches. A pure value: says whether and when a local time
// matches; what clocks do in a zone is CronSchedule's matter.
// Rules: the design's flows.md "Cron" 1 to 5; crontab(5) of Vixie cron for the two day fields, the
// Quartz manual for L, W and #.
class CronExpression {
 public:
  // `hash_key` decides what `H` stands for (the name of the flow, in any case: always the same for
  // it).
  // Errors: InvalidArgument, naming the field, the part and what is expected; also an expression
  // that no date can ever match (30 February).
  static Result<CronExpression> parse(std::string_view text,
                                      CronDialect dialect = CronDialect::Auto,
                                      std::string_view hash_key = {});

  // The first local time at or after `from` that matches; none before the year 2200.
  std::optional<CivilTime> nextMatch(CivilTime from) const;
  bool matches(CivilTime time) const;
  // Rule 4: an interval schedule runs through changes of the clock, a fixed one runs once a day.
  bool isInterval() const { return interval_; }
  // `@every`: the distance; everything else of this is empty then.
  std::optional<Seconds> every() const { return every_; }
  // The shortest distance of two times of one day that matches, as the clock shows them; a day if
  // there is one time alone, however seldom such days are.
  Seconds usualDistance() const;

 private:
  friend class CronParser;

  struct MonthDays {
    std::bitset<32> days;             // 1 to 31.
    std::vector<unsigned> from_last;  // L: 0, L-3: 3.
    std::vector<unsigned> nearest;    // 15W.
    bool last_weekday = false;        // LW.
    bool any = true;                  // Restricts nothing.
    bool star = true;                 // Begins with * (or is ?).
  };
  struct WeekDays {
    struct Nth {
      unsigned weekday;
      unsigned n;
    };
    std::bitset<7> days;         // 0: Sunday.
    std::vector<unsigned> last;  // 5L: the last Friday.
    std::vector<Nth> nth;        // 5#3.
    bool any = true;
    bool star = true;
  };

  std::optional<CivilDay> nextDay(CivilDay from) const;
  std::optional<Seconds> nextTimeOfDay(Seconds from) const;
  bool dayMatches(int year, unsigned month, unsigned day) const;
  bool monthDayMatches(int year, unsigned month, unsigned day) const;
  bool weekDayMatches(int year, unsigned month, unsigned day) const;

  std::bitset<60> seconds_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<13> months_;  // 1 to 12.
  MonthDays month_days_;
  WeekDays week_days_;
  std::bitset<230> years_;  // From 1970.
  bool interval_ = false;
  std::optional<Seconds> every_;
};

}  // namespace baton
