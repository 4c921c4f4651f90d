#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/base/random.h"
#include "common/calendar/cron_schedule.h"

namespace baton {
namespace {

constexpr Micros kMinute = Seconds(60);

// One field: its text, what it means, and whether it begins with a star. Written without the
// parser, so that a fault in that shows.
struct OracleField {
  std::string text;
  std::set<unsigned> values;
  bool star = false;
};

uint64_t below(Random& random, uint64_t end) {
  return static_cast<uint64_t>(random.between(0, static_cast<int64_t>(end) - 1));
}

OracleField randomField(Random& random, unsigned low, unsigned high) {
  OracleField field;
  const auto number = [&] { return low + static_cast<unsigned>(below(random, high - low + 1)); };
  switch (below(random, 4)) {
    case 0:
      field = {"*", {}, true};
      for (unsigned v = low; v <= high; ++v) field.values.insert(v);
      break;
    case 1: {
      const unsigned step = 1 + static_cast<unsigned>(below(random, (high - low) / 2));
      field = {"*/" + std::to_string(step), {}, true};
      for (unsigned v = low; v <= high; v += step) field.values.insert(v);
      break;
    }
    case 2: {
      const unsigned a = number(), b = number();
      field.text = std::to_string(std::min(a, b)) + "-" + std::to_string(std::max(a, b));
      for (unsigned v = std::min(a, b); v <= std::max(a, b); ++v) field.values.insert(v);
      break;
    }
    default:
      for (uint64_t n = 1 + below(random, 4); n > 0; --n) {
        const unsigned v = number();
        field.text += (field.text.empty() ? "" : ",") + std::to_string(v);
        field.values.insert(v);
      }
  }
  return field;
}

// An expression and the slow way to say when it fires: every minute is looked at.
struct Oracle {
  explicit Oracle(Random& random)
      : minute(randomField(random, 0, 59)),
        hour(randomField(random, 0, 23)),
        day(below(random, 2) == 0 ? OracleField{"*", {}, true} : randomField(random, 1, 31)),
        weekday(below(random, 2) == 0 ? OracleField{"*", {}, true} : randomField(random, 0, 6)) {}

  std::string text() const {
    return minute.text + " " + hour.text + " " + day.text + " * " + weekday.text;
  }
  bool matches(CivilTime time) const {
    const CivilFields f = fieldsOf(time);
    if (!minute.values.contains(f.minute) || !hour.values.contains(f.hour)) return false;
    const bool by_day = day.text == "*" || day.values.contains(f.day);
    const bool by_weekday = weekday.text == "*" || weekday.values.contains(f.weekday);
    return day.star || weekday.star ? by_day && by_weekday : by_day || by_weekday;
  }
  std::vector<WallTime> fires(const TimeZone& zone, WallTime begin, WallTime end, GapPolicy gap,
                              OverlapPolicy overlap) const {
    std::map<CivilTime, std::vector<WallTime>> shown;
    for (WallTime t = begin; t < end; t += kMinute) shown[zone.civilAt(t)].push_back(t);
    const bool interval = minute.star || hour.star;
    std::set<WallTime> found;
    for (const auto& [local, instants] : shown) {
      if (!matches(local)) continue;
      if (interval || overlap == OverlapPolicy::Both) {
        found.insert(instants.begin(), instants.end());
      } else {
        found.insert(overlap == OverlapPolicy::First ? instants.front() : instants.back());
      }
    }
    for (WallTime t = begin + kMinute; !interval && gap == GapPolicy::RunAfter && t < end;
         t += kMinute) {
      const CivilTime local = zone.civilAt(t);
      for (CivilTime left = zone.civilAt(t - kMinute) + Seconds(60); left < local;
           left += Seconds(60)) {
        if (matches(left)) found.insert(t);
      }
    }
    return {found.begin(), found.end()};
  }

  OracleField minute, hour, day, weekday;
};

// The quick way agrees with the slow one around changes of the clock in many zones.
TEST(CronOracleTest, EveryMinuteAroundChangesOfTheClock) {
  const std::vector<std::string> zones{"America/New_York",  "America/St_Johns",
                                       "America/Santiago",  "America/Havana",
                                       "America/Sao_Paulo", "Europe/Berlin",
                                       "Europe/Lisbon",     "Europe/Dublin",
                                       "Africa/Casablanca", "Africa/Cairo",
                                       "Asia/Tehran",       "Asia/Beirut",
                                       "Asia/Gaza",         "Asia/Shanghai",
                                       "Asia/Kathmandu",    "Australia/Lord_Howe",
                                       "Australia/Sydney",  "Pacific/Auckland",
                                       "Pacific/Chatham",   "Pacific/Apia",
                                       "Antarctica/Troll",  "UTC"};
  Random random(20260329);
  size_t compared = 0;
  for (const std::string& name : zones) {
    const auto zone = TimeZone::load(name);
    ASSERT_TRUE(zone.ok()) << name;
    for (const int64_t year_start : {1293840000LL, 1735689600LL, 2177452800LL}) {  // 2011 2025 2039
      WallTime around = wallFromMicros(year_start * 1'000'000);
      for (int change = 0; change < 3; ++change) {
        const auto next = zone->nextChange(around);
        around = next ? next->at : around + std::chrono::hours(24 * 100);
        const WallTime begin = around - std::chrono::hours(30);
        const WallTime end = around + std::chrono::hours(30);
        for (int i = 0; i < 3; ++i) {
          const Oracle oracle(random);
          const auto gap = below(random, 2) == 0 ? GapPolicy::RunAfter : GapPolicy::Skip;
          const auto overlap = static_cast<OverlapPolicy>(below(random, 3));
          SCOPED_TRACE(name + " '" + oracle.text() + "' " + formatRfc3339(around, *zone));
          const auto expression = CronExpression::parse(oracle.text(), CronDialect::Unix5);
          ASSERT_TRUE(expression.ok()) << expression.status().text();
          const CronSchedule schedule(*expression, *zone, gap, overlap);
          // The margins keep a pass from being cut in two by the window.
          WallTime from = begin + std::chrono::hours(3);
          for (const WallTime expected : oracle.fires(*zone, begin, end, gap, overlap)) {
            if (expected <= from || expected > end - std::chrono::hours(3)) continue;
            const auto fired = schedule.next(from);
            ASSERT_TRUE(fired);
            ASSERT_EQ(formatRfc3339(*fired, *zone), formatRfc3339(expected, *zone));
            from = expected;
            ++compared;
          }
          const auto beyond = schedule.next(from);
          ASSERT_TRUE(!beyond || *beyond > end - std::chrono::hours(3));
        }
      }
    }
  }
  EXPECT_GT(compared, 5'000U);
}

}  // namespace
}  // namespace baton
