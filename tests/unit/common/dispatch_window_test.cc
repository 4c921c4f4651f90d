#include "common/calendar/dispatch_window.h"

#include <gtest/gtest.h>

#include "common/model/task_spec.h"

namespace baton {
namespace {

WallTime at(const char* time) { return *parseRfc3339(time); }

DispatchWindow window(const char* text, const char* zone) {
  auto parsed = DispatchWindow::parse(text, zone);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

TEST(DispatchWindowTest, ItIsOpenFromItsBeginToBeforeItsEndAcrossMidnightToo) {
  // Aim: both directions of the two times, the end not included.
  const DispatchWindow day = window("09:00-17:30", "UTC");
  EXPECT_FALSE(day.openAt(at("2026-06-01T08:59:59Z")));
  EXPECT_TRUE(day.openAt(at("2026-06-01T09:00:00Z")));
  EXPECT_TRUE(day.openAt(at("2026-06-01T17:29:59Z")));
  EXPECT_FALSE(day.openAt(at("2026-06-01T17:30:00Z")));
  const DispatchWindow night = window("22:00-06:00", "UTC");
  EXPECT_TRUE(night.openAt(at("2026-06-01T23:00:00Z")));
  EXPECT_TRUE(night.openAt(at("2026-06-01T05:59:59Z")));
  EXPECT_FALSE(night.openAt(at("2026-06-01T06:00:00Z")));
  EXPECT_EQ(night.nextChange(at("2026-06-01T06:00:00Z")), at("2026-06-01T22:00:00Z"));
  EXPECT_EQ(night.nextChange(at("2026-06-01T22:00:00Z")), at("2026-06-02T06:00:00Z"));
}

TEST(DispatchWindowTest, TheClockOfItsZoneDecidesWhenThatIsSet) {
  // Aim: an hour that is left out closes nothing late, one that comes twice opens twice.
  const DispatchWindow gap = window("02:30-04:00", "Europe/Berlin");
  EXPECT_EQ(gap.nextChange(at("2026-03-29T00:00:00Z")), at("2026-03-29T01:00:00Z"));
  EXPECT_TRUE(gap.openAt(at("2026-03-29T01:00:00Z"))) << "03:00 on the clock";
  const DispatchWindow twice = window("02:30-04:00", "Europe/Berlin");
  EXPECT_EQ(twice.nextChange(at("2026-10-25T00:00:00Z")), at("2026-10-25T00:30:00Z"));
  EXPECT_EQ(twice.nextChange(at("2026-10-25T00:30:00Z")), at("2026-10-25T01:00:00Z"));
  EXPECT_EQ(twice.nextChange(at("2026-10-25T01:00:00Z")), at("2026-10-25T01:30:00Z"));
  EXPECT_EQ(twice.nextChange(at("2026-10-25T01:30:00Z")), at("2026-10-25T03:00:00Z"));
}

TEST(DispatchWindowTest, EveryChangeIsFoundAndNothingElse) {
  // Aim: the next change is the first minute that differs, through a year of two zones.
  for (const char* zone : {"Europe/Berlin", "Australia/Lord_Howe"}) {
    const DispatchWindow tested = window("01:45-02:15", zone);
    WallTime now = at("2026-01-01T00:00:00Z");
    const WallTime end = at("2027-01-01T00:00:00Z");
    WallTime next = tested.nextChange(now);
    for (; now < end; now += std::chrono::minutes(15)) {
      if (now >= next) {
        EXPECT_EQ(now, next) << zone;
        EXPECT_NE(tested.openAt(next - Micros(1)), tested.openAt(next));
        next = tested.nextChange(now);
      }
      EXPECT_EQ(tested.openAt(now), tested.openAt(next - Micros(1))) << formatRfc3339(now);
    }
  }
}

TEST(DispatchWindowTest, WhatIsNoWindowIsRefusedByField) {
  // Aim: every way to write it wrong.
  for (const char* text : {"", "22:00", "22:00-", "22-06", "24:00-06:00", "22:60-06:00",
                           "22:00-06:00-07:00", "a2:00-06:00", "06:00-06:00", " 22:00-06:00"}) {
    const auto parsed = DispatchWindow::parse(text, "UTC");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().field(), "window");
  }
  EXPECT_EQ(DispatchWindow::parse("22:00-06:00", "").error().field(), "time_zone");
  EXPECT_EQ(DispatchWindow::parse("22:00-06:00", "Nowhere/Here").error().field(), "time_zone");
}

}  // namespace
}  // namespace baton
