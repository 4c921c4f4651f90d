#include "flow/definition/event_window.h"

#include <gtest/gtest.h>

#include "common/model/task_spec.h"

namespace baton::flow {
namespace {

WallTime at(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}
TimeZone zoneOf(const std::string& name) {
  const auto loaded = TimeZone::load(name);
  EXPECT_TRUE(loaded.ok()) << name;
  return *loaded;
}

struct WindowCase {
  std::string window;
  std::string plan_time;
  std::string from;
  std::string before;
};
void expectWindows(const std::string& zone_name, const std::vector<WindowCase>& cases) {
  const TimeZone zone = zoneOf(zone_name);
  for (const WindowCase& c : cases) {
    ASSERT_TRUE(isEventWindow(c.window)) << c.window;
    const PlanRange range = eventRange(c.window, at(c.plan_time), zone);
    EXPECT_EQ(formatRfc3339(range.from, zone), c.from) << c.window << " of " << c.plan_time;
    EXPECT_EQ(formatRfc3339(range.before, zone), c.before) << c.window << " of " << c.plan_time;
  }
}

TEST(EventWindowTest, UnitsFollowTheCalendar) {
  expectWindows("UTC", {{"same_hour", "2026-11-29T02:00:00Z", "2026-11-29T02:00:00+00:00",
                         "2026-11-29T03:00:00+00:00"},
                        {"same_hour", "2026-11-29T02:59:59Z", "2026-11-29T02:00:00+00:00",
                         "2026-11-29T03:00:00+00:00"},
                        {"last_hour", "2026-11-29T00:00:00Z", "2026-11-28T23:00:00+00:00",
                         "2026-11-29T00:00:00+00:00"},
                        {"last_3_hours", "2026-11-29T02:30:00Z", "2026-11-28T23:00:00+00:00",
                         "2026-11-29T02:00:00+00:00"},
                        {"same_day", "2026-11-29T00:00:00Z", "2026-11-29T00:00:00+00:00",
                         "2026-11-30T00:00:00+00:00"},
                        {"last_day", "2026-03-01T12:00:00Z", "2026-02-28T00:00:00+00:00",
                         "2026-03-01T00:00:00+00:00"},
                        {"last_day", "2024-03-01T12:00:00Z", "2024-02-29T00:00:00+00:00",
                         "2024-03-01T00:00:00+00:00"},
                        {"last_7_days", "2026-01-03T12:00:00Z", "2025-12-27T00:00:00+00:00",
                         "2026-01-03T00:00:00+00:00"},
                        // 2026-11-29 is a Sunday.
                        {"this_week", "2026-11-29T23:59:59Z", "2026-11-23T00:00:00+00:00",
                         "2026-11-30T00:00:00+00:00"},
                        {"this_week", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00+00:00",
                         "2026-12-07T00:00:00+00:00"},
                        {"last_week", "2026-11-30T00:00:00Z", "2026-11-23T00:00:00+00:00",
                         "2026-11-30T00:00:00+00:00"},
                        {"last_2_weeks", "2026-01-01T08:00:00Z", "2025-12-15T00:00:00+00:00",
                         "2025-12-29T00:00:00+00:00"},
                        {"last_monday", "2026-11-25T08:00:00Z", "2026-11-16T00:00:00+00:00",
                         "2026-11-17T00:00:00+00:00"},
                        {"last_thursday", "2026-11-25T08:00:00Z", "2026-11-19T00:00:00+00:00",
                         "2026-11-20T00:00:00+00:00"},
                        {"last_sunday", "2026-11-25T08:00:00Z", "2026-11-22T00:00:00+00:00",
                         "2026-11-23T00:00:00+00:00"},
                        {"this_month", "2024-02-29T08:00:00Z", "2024-02-01T00:00:00+00:00",
                         "2024-03-01T00:00:00+00:00"},
                        {"this_month", "2026-12-31T08:00:00Z", "2026-12-01T00:00:00+00:00",
                         "2027-01-01T00:00:00+00:00"},
                        {"last_month", "2026-03-31T08:00:00Z", "2026-02-01T00:00:00+00:00",
                         "2026-03-01T00:00:00+00:00"},
                        {"last_month_begin", "2026-01-10T08:00:00Z", "2025-12-01T00:00:00+00:00",
                         "2025-12-02T00:00:00+00:00"},
                        {"last_month_end", "2024-03-31T08:00:00Z", "2024-02-29T00:00:00+00:00",
                         "2024-03-01T00:00:00+00:00"},
                        {"last_month_end", "2026-03-01T00:00:00Z", "2026-02-28T00:00:00+00:00",
                         "2026-03-01T00:00:00+00:00"},
                        {"last_13_months", "2026-01-10T08:00:00Z", "2024-12-01T00:00:00+00:00",
                         "2026-01-01T00:00:00+00:00"},
                        {"last_1000_months", "2026-01-10T08:00:00Z", "1942-09-01T00:00:00+00:00",
                         "2026-01-01T00:00:00+00:00"}});
}

TEST(EventWindowTest, ZonesDecideWhichDayItIs) {
  expectWindows("Asia/Shanghai", {{"same_day", "2026-11-28T16:30:00Z", "2026-11-29T00:00:00+08:00",
                                   "2026-11-30T00:00:00+08:00"},
                                  {"last_24_hours", "2026-11-28T16:30:00Z",
                                   "2026-11-28T00:00:00+08:00", "2026-11-29T00:00:00+08:00"}});
  expectWindows("Asia/Kolkata", {{"same_hour", "2026-01-01T10:10:00+05:30",
                                  "2026-01-01T10:00:00+05:30", "2026-01-01T11:00:00+05:30"}});
}

TEST(EventWindowTest, DaysHaveTheHoursThatTheClockGivesThem) {
  expectWindows("Europe/Berlin", {{"same_day", "2026-03-29T12:00:00+02:00",
                                   "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
                                  {"same_day", "2026-10-25T12:00:00+01:00",
                                   "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
                                  {"last_24_hours", "2026-03-30T00:30:00+02:00",
                                   "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
                                  {"last_24_hours", "2026-10-26T00:30:00+01:00",
                                   "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
                                  {"last_25_hours", "2026-10-26T00:30:00+01:00",
                                   "2026-10-24T23:00:00+02:00", "2026-10-26T00:00:00+01:00"},
                                  {"last_48_hours", "2026-10-26T00:30:00+01:00",
                                   "2026-10-24T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
                                  {"this_week", "2026-10-25T12:00:00+01:00",
                                   "2026-10-19T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
                                  {"last_month", "2026-04-15T12:00:00+02:00",
                                   "2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"}});
  // Clocks that are set at midnight: the day begins at one o'clock, or shows midnight twice.
  expectWindows("Asia/Beirut", {{"same_day", "2026-03-29T12:00:00+03:00",
                                 "2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"}});
  expectWindows("America/Havana", {{"same_day", "2026-11-01T12:00:00-05:00",
                                    "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"}});
}

TEST(EventWindowTest, HoursAreThoseThatPass) {
  expectWindows("Europe/Berlin",
                {// No hour is left out where the clock leaves one out …
                 {"last_hour", "2026-03-29T03:30:00+02:00", "2026-03-29T01:00:00+01:00",
                  "2026-03-29T03:00:00+02:00"},
                 {"last_2_hours", "2026-03-29T04:30:00+02:00", "2026-03-29T01:00:00+01:00",
                  "2026-03-29T04:00:00+02:00"},
                 // … and of one that comes twice each pass is one.
                 {"same_hour", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+02:00",
                  "2026-10-25T02:00:00+01:00"},
                 {"same_hour", "2026-10-25T00:59:59.999999Z", "2026-10-25T02:00:00+02:00",
                  "2026-10-25T02:00:00+01:00"},
                 {"same_hour", "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00",
                  "2026-10-25T03:00:00+01:00"},
                 {"last_hour", "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+02:00",
                  "2026-10-25T02:00:00+01:00"},
                 {"last_2_hours", "2026-10-25T03:10:00+01:00", "2026-10-25T02:00:00+02:00",
                  "2026-10-25T03:00:00+01:00"}});
  // Set back by half an hour at two: one hour of 60 minutes, then one of 30.
  expectWindows("Australia/Lord_Howe",
                {{"same_hour", "2026-04-05T01:45:00+10:30", "2026-04-05T01:30:00+10:30",
                  "2026-04-05T02:00:00+10:30"},
                 {"last_hour", "2026-04-05T01:45:00+10:30", "2026-04-05T01:00:00+11:00",
                  "2026-04-05T01:30:00+10:30"}});
}

// What runs hourly and looks at the hour before sees each instant once, whatever the clock does.
TEST(EventWindowTest, HoursFollowEachOtherWithoutGap) {
  for (const std::string name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                 "Asia/Beirut", "America/Havana"}) {
    const TimeZone zone = zoneOf(name);
    WallTime expected{};
    for (WallTime t = at("2026-01-01T00:00:00Z"); t < at("2027-01-01T00:00:00Z");
         t += Seconds(600)) {
      const PlanRange hour = eventRange("same_hour", t, zone);
      ASSERT_TRUE(hour.contains(t)) << name << " " << formatRfc3339(t);
      ASSERT_EQ(eventRange("last_hour", t, zone).before, hour.from);
      if (expected != WallTime{} && hour.before != expected) {
        ASSERT_EQ(hour.from, expected) << name << " " << formatRfc3339(t);
      }
      expected = hour.before;
    }
  }
}

// A daily run in the first hour that looks at 24 hours sees the day before.
TEST(EventWindowTest, TwentyFourHoursAreADay) {
  for (const std::string name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}) {
    const TimeZone zone = zoneOf(name);
    const CivilDay first =
        std::chrono::floor<std::chrono::days>(zone.civilAt(at("2026-01-01T12:00:00Z")));
    for (int i = 0; i < 366; ++i) {
      const WallTime t = zone.instantOf(first + std::chrono::days(i) + Seconds(1'800));
      ASSERT_EQ(eventRange("last_24_hours", t, zone), eventRange("last_day", t, zone))
          << name << " " << formatRfc3339(t, zone);
    }
  }
}

TEST(EventWindowTest, OtherNamesAreNoWindows) {
  for (const std::string name :
       {"", "today", "last_", "last_N_days", "last_0_days", "last_1001_hours", "last_-1_days",
        "last_3_years", "last_3", "same_week", "last_day ", "LAST_DAY", "last_01_days"}) {
    EXPECT_FALSE(isEventWindow(name)) << name;
  }
  for (const std::string_view name : eventWindowNames()) {
    std::string real(name);
    if (const size_t n = real.find("_N_"); n != real.npos) real.replace(n, 3, "_24_");
    EXPECT_TRUE(isEventWindow(real)) << name;
  }
}

}  // namespace
}  // namespace baton::flow
