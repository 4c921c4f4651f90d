#include "common/calendar/recurrence.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "common/calendar/misfire.h"
#include "common/model/task_spec.h"

namespace baton {
namespace {

using Times = std::vector<std::string>;

WallTime instant(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}
CivilDay day(const std::string& text) {
  const auto parsed = parseCivilDay(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

class RecurrenceTest : public testing::Test {
 protected:
  static Recurrence::Parts cron(const std::string& text, const std::string& zone = "UTC") {
    const auto expression = CronExpression::parse(text);
    const auto loaded = TimeZone::load(zone);
    EXPECT_TRUE(expression.ok() && loaded.ok()) << text;
    return {.base = CronSchedule(*expression, *loaded), .zone = *loaded};
  }
  static Times next(const Recurrence::Parts& parts, const std::string& after, size_t count) {
    const Recurrence recurrence(parts);
    Times out;
    WallTime from = instant(after);
    while (out.size() < count) {
      const auto found = recurrence.next(from);
      if (!found) break;
      EXPECT_GT(*found, from);
      out.push_back(formatRfc3339(*found, parts.zone));
      from = *found;
    }
    return out;
  }
  // Christmas 2026: Thursday 24th to Saturday 26th are off, Sunday 27th is worked instead.
  static std::shared_ptr<const WorkCalendar> christmas() {
    const auto made = WorkCalendar::make({false, true, true, true, true, true, false},
                                         {day("2026-12-24"), day("2026-12-25"), day("2026-12-26")},
                                         {day("2026-12-27")});
    EXPECT_TRUE(made.ok());
    return std::make_shared<WorkCalendar>(*made);
  }
};

TEST_F(RecurrenceTest, WindowBoundsTheInstants) {
  auto parts = cron("0 12 * * *");
  parts.start = instant("2026-03-02T12:00:00Z");
  parts.end = instant("2026-03-04T12:00:00Z");
  EXPECT_EQ(next(parts, "2026-01-01T00:00:00Z", 5),
            (Times{"2026-03-02T12:00:00+00:00", "2026-03-03T12:00:00+00:00"}));
}

TEST_F(RecurrenceTest, GridsAndSingleInstants) {
  Recurrence::Parts every{.base = EverySchedule{instant("2026-03-02T12:00:05Z"), Seconds(90)},
                          .zone = TimeZone::utc()};
  EXPECT_EQ(next(every, "2026-03-02T00:00:00Z", 2),
            (Times{"2026-03-02T12:00:05+00:00", "2026-03-02T12:01:35+00:00"}));
  Recurrence::Parts once{.base = instant("2026-12-24T18:00:00+01:00"), .zone = TimeZone::utc()};
  EXPECT_EQ(next(once, "2026-03-02T00:00:00Z", 3), (Times{"2026-12-24T17:00:00+00:00"}));
}

TEST_F(RecurrenceTest, OffDaysAreSkippedOrMoved) {
  auto parts = cron("30 8 * * *", "Europe/Berlin");
  parts.calendar = christmas();
  const std::string after = "2026-12-23T00:00:00+01:00";
  const Times workdays{"2026-12-23T08:30:00+01:00", "2026-12-27T08:30:00+01:00",
                       "2026-12-28T08:30:00+01:00"};
  EXPECT_EQ(next(parts, after, 3), workdays);
  // Those of the holidays meet those of the workday itself: once each.
  parts.off_day = OffDayPolicy::Next;
  EXPECT_EQ(next(parts, after, 3), workdays);
  parts.off_day = OffDayPolicy::Previous;
  EXPECT_EQ(next(parts, after, 3), workdays);
}

TEST_F(RecurrenceTest, AnInstantMovesWithItsTimeOfDay) {
  auto parts = cron("0 6 25 * *");
  parts.calendar = christmas();
  parts.off_day = OffDayPolicy::Previous;
  EXPECT_EQ(next(parts, "2026-11-26T00:00:00Z", 2),
            (Times{"2026-12-23T06:00:00+00:00", "2027-01-25T06:00:00+00:00"}));
  parts.off_day = OffDayPolicy::Next;
  EXPECT_EQ(next(parts, "2026-11-26T00:00:00Z", 2),
            (Times{"2026-12-27T06:00:00+00:00", "2027-01-25T06:00:00+00:00"}));
  parts.off_day = OffDayPolicy::Skip;
  EXPECT_EQ(next(parts, "2026-11-26T00:00:00Z", 1), (Times{"2027-01-25T06:00:00+00:00"}));
}

// Moved instants are sorted among those of the day, and none is lost behind a later one.
TEST_F(RecurrenceTest, MovedInstantsKeepTheirOrder) {
  auto parts = cron("0 20 * * FRI,SAT");  // Friday 25th and Saturday 26th.
  parts.calendar = christmas();
  parts.off_day = OffDayPolicy::Next;
  EXPECT_EQ(next(parts, "2026-12-22T00:00:00Z", 2),
            (Times{"2026-12-27T20:00:00+00:00", "2027-01-01T20:00:00+00:00"}));
  auto mixed = cron("0 9,17 * * *");
  mixed.calendar = christmas();
  mixed.off_day = OffDayPolicy::Previous;
  EXPECT_EQ(next(mixed, "2026-12-23T10:00:00Z", 2),
            (Times{"2026-12-23T17:00:00+00:00", "2026-12-27T09:00:00+00:00"}));
}

// What the clock does on an off day is of no meaning for what is moved off it (2027-03-28 and
// 2027-10-31 are Sundays).
TEST_F(RecurrenceTest, ChangesOfTheClockCountOnTheDayThatAnInstantIsMovedTo) {
  const auto berlin = [](const std::string& text, OffDayPolicy off_day,
                         GapPolicy gap = GapPolicy::RunAfter) {
    const auto zone = TimeZone::load("Europe/Berlin");
    Recurrence::Parts parts{.base = CronSchedule(*CronExpression::parse(text), *zone, gap),
                            .zone = *zone};
    parts.calendar = std::make_shared<WorkCalendar>();
    parts.off_day = off_day;
    return parts;
  };
  const std::string thursday = "2027-03-25T12:00:00Z";
  EXPECT_EQ(next(berlin("30 2 * * *", OffDayPolicy::Next), thursday, 3),
            (Times{"2027-03-26T02:30:00+01:00", "2027-03-29T02:30:00+02:00",
                   "2027-03-30T02:30:00+02:00"}));
  EXPECT_EQ(next(berlin("30 2 * * *", OffDayPolicy::Previous), thursday, 2),
            (Times{"2027-03-26T02:30:00+01:00", "2027-03-29T02:30:00+02:00"}));
  EXPECT_EQ(next(berlin("30 2 * * SUN", OffDayPolicy::Next), thursday, 1),
            (Times{"2027-03-29T02:30:00+02:00"}));
  EXPECT_EQ(next(berlin("30 2 28 * *", OffDayPolicy::Next, GapPolicy::Skip), thursday, 1),
            (Times{"2027-03-29T02:30:00+02:00"}));
  // Moved into a gap, it is what the policy of gaps says. Sundays are worked, the rest is not.
  auto sundays = berlin("30 2 * * *", OffDayPolicy::Next, GapPolicy::Skip);
  sundays.calendar = std::make_shared<WorkCalendar>(*WorkCalendar::make({true}, {}, {}));
  EXPECT_EQ(next(sundays, thursday, 1), (Times{"2027-04-04T02:30:00+02:00"}));
  sundays.base = CronSchedule(*CronExpression::parse("30 2 * * *"), sundays.zone);
  EXPECT_EQ(next(sundays, thursday, 2),
            (Times{"2027-03-28T03:00:00+02:00", "2027-04-04T02:30:00+02:00"}));
  // What a Saturday evening leaves out runs at midnight and is still of Saturday.
  const auto nuuk = TimeZone::load("America/Nuuk");
  Recurrence::Parts evening{.base = CronSchedule(*CronExpression::parse("30 23 * * SAT"), *nuuk),
                            .zone = *nuuk};
  evening.calendar = std::make_shared<WorkCalendar>(
      *WorkCalendar::make({false, false, false, false, false, false, true}, {}, {}));
  EXPECT_EQ(next(evening, "2027-03-27T12:00:00Z", 2),
            (Times{"2027-03-28T00:00:00-01:00", "2027-04-03T23:30:00-01:00"}));
}

// A distance that meets no workday ends, and one of seconds behind a year of holidays is quick.
TEST_F(RecurrenceTest, WhatNeverMeetsAWorkdayEnds) {
  Recurrence::Parts weekly{
      .base = EverySchedule{instant("2026-11-30T06:00:00Z"), Seconds(7 * 86'400)},
      .zone = TimeZone::utc()};
  weekly.calendar = std::make_shared<WorkCalendar>(*WorkCalendar::make(
      {false, false, true}, {}, {day("2026-11-30")}));  // Tuesdays, and one Monday.
  EXPECT_EQ(next(weekly, "2026-11-29T00:00:00Z", 2), (Times{"2026-11-30T06:00:00+00:00"}));
  auto cron_never = cron("0 6 * * MON");
  cron_never.calendar = weekly.calendar;
  EXPECT_EQ(next(cron_never, "2026-11-30T07:00:00Z", 1), Times{});
}

TEST_F(RecurrenceTest, SecondsBehindAYearOfHolidaysAreFoundWithoutWalkingThroughThem) {
  std::vector<CivilDay> holidays;
  for (CivilDay off = day("2027-01-04"); off < day("2027-12-31"); off += std::chrono::days(1)) {
    holidays.push_back(off);
  }
  const auto calendar = std::make_shared<WorkCalendar>(
      *WorkCalendar::make({false, true, true, true, true, true, false}, holidays, {}));
  const auto zone = TimeZone::load("Europe/Berlin");
  for (const OffDayPolicy off_day : {OffDayPolicy::Next, OffDayPolicy::Previous}) {
    for (const char* text : {"* * * * * ?", "@every"}) {
      Recurrence::Parts parts{.base = EverySchedule{instant("2026-01-01T00:00:00Z"), Seconds(7)},
                              .zone = *zone};
      if (text[0] == '*') parts.base = CronSchedule(*CronExpression::parse(text), *zone);
      parts.calendar = calendar;
      parts.off_day = off_day;
      // From the last workday before over the gap: the day behind it begins at midnight.
      const Times found = next(parts, "2027-01-01T22:59:59Z", 1);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].substr(0, 17), "2027-12-31T00:00:") << found[0];
      EXPECT_EQ(next(parts, "2027-12-31T08:00:00Z", 500).size(), 500U);
    }
  }
}

// Against a slow oracle: each local minute of each day that the expression names is put onto its
// workday, and becomes what the clock of that day makes of it.
TEST_F(RecurrenceTest, MovedInstantsAreThoseOfAMinuteByMinuteOracle) {
  std::mt19937 random(20'261'130);
  const auto pick = [&](auto list) { return *(list.begin() + random() % list.size()); };
  using Texts = std::initializer_list<const char*>;
  for (int round = 0; round < 60; ++round) {
    const char* name = pick(Texts{"Europe/Berlin", "America/New_York", "America/Nuuk",
                                  "Africa/Cairo", "Australia/Lord_Howe", "UTC"});
    const std::string text =
        pick(Texts{"30 2 * * *", "15,45 1-3 * * *", "0 0 * * *", "30 23 * * SAT", "59 23 * * SUN",
                   "*/20 * * * *", "30 2 28-31 * *", "10 0,2,3,23 * * SUN,MON"});
    const auto zone = TimeZone::load(name);
    const auto expression = CronExpression::parse(text);
    ASSERT_TRUE(zone.ok() && expression.ok()) << name << text;
    const GapPolicy gap = pick(std::initializer_list{GapPolicy::RunAfter, GapPolicy::Skip});
    const OverlapPolicy overlap = pick(
        std::initializer_list{OverlapPolicy::First, OverlapPolicy::Second, OverlapPolicy::Both});
    const OffDayPolicy off_day =
        pick(std::initializer_list{OffDayPolicy::Skip, OffDayPolicy::Previous, OffDayPolicy::Next});
    std::array<bool, 7> week{};
    for (bool& works : week) works = random() % 3 != 0;
    week[random() % 7] = true;
    // Around a change of the clock.
    const auto change =
        zone->nextChange(instant("2027-01-01T00:00:00Z") + Seconds(86'400 * (random() % 300)));
    const WallTime center = change ? change->at : instant("2027-03-28T01:00:00Z");
    const CivilDay middle = std::chrono::floor<std::chrono::days>(zone->civilAt(center));
    std::vector<CivilDay> holidays;
    if (random() % 2 == 0) holidays.push_back(middle + std::chrono::days(random() % 3));
    const auto calendar = std::make_shared<WorkCalendar>(*WorkCalendar::make(week, holidays, {}));
    Recurrence::Parts parts{.base = CronSchedule(*expression, *zone, gap, overlap), .zone = *zone};
    parts.calendar = calendar;
    parts.off_day = off_day;

    std::set<WallTime> expected;
    for (CivilDay at = middle - std::chrono::days(22); at < middle + std::chrono::days(22);
         at += std::chrono::days(1)) {
      CivilDay belongs = at;
      if (!calendar->isWorkday(at) && off_day == OffDayPolicy::Skip) continue;
      if (off_day == OffDayPolicy::Previous) belongs = calendar->workdayBefore(at);
      if (off_day == OffDayPolicy::Next) belongs = calendar->workdayAfter(at);
      for (int minute = 0; minute < 1'440; ++minute) {
        const auto of_day = std::chrono::minutes(minute);
        if (!expression->matches(at + of_day)) continue;
        const CivilTime local = belongs + of_day;
        std::set<WallTime> shown;  // When the clock shows that time.
        const WallTime near =
            wallFromMicros(std::chrono::duration_cast<Micros>(local.time_since_epoch()).count());
        for (const Seconds offset : {zone->offsetAt(near - Seconds(2 * 86'400)),
                                     zone->offsetAt(near + Seconds(2 * 86'400))}) {
          if (zone->civilAt(near - offset) == local) shown.insert(near - offset);
        }
        const bool both = expression->isInterval() || overlap == OverlapPolicy::Both;
        if (shown.empty()) {
          if (gap == GapPolicy::RunAfter && !expression->isInterval()) {
            expected.insert(zone->instantOf(local));
          }
        } else if (both) {
          expected.insert(shown.begin(), shown.end());
        } else {
          expected.insert(overlap == OverlapPolicy::Second ? *shown.rbegin() : *shown.begin());
        }
      }
    }
    const Recurrence recurrence(parts);
    const WallTime end = center + Seconds(12 * 86'400);
    WallTime from = center - Seconds(12 * 86'400);
    for (auto want = expected.upper_bound(from); want != expected.end() && *want < end; ++want) {
      const auto found = recurrence.next(from);
      ASSERT_TRUE(found) << name << " " << text << " " << formatRfc3339(*want, *zone);
      ASSERT_EQ(formatRfc3339(*found, *zone), formatRfc3339(*want, *zone))
          << name << " " << text << " behind " << formatRfc3339(from, *zone) << " round " << round;
      from = *found;
    }
  }
}

TEST_F(RecurrenceTest, CalendarsAreChecked) {
  EXPECT_FALSE(WorkCalendar::make({}, {}, {}).ok());
  const auto both = WorkCalendar::make({false, true}, {day("2026-05-04")}, {day("2026-05-04")});
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().message().find("2026-05-04"), std::string::npos);
  for (const char* text : {"2026-2-3", "2026-02-30", "20260203", "2026-02-03x", "", "2026-13-01"}) {
    EXPECT_FALSE(parseCivilDay(text).ok()) << text;
  }
}

// flows.md "Planner": what each policy runs of the instants that were missed, and what it says of
// the others.
TEST_F(RecurrenceTest, MisfirePolicies) {
  const Recurrence daily(cron("0 2 * * *"));
  const WallTime after = instant("2026-03-01T02:00:00Z");
  const WallTime now = instant("2026-03-21T12:00:00Z");  // 20 instants.
  const auto plan = [&](MisfirePolicy policy) { return planMisfire(daily, policy, after, now); };

  EXPECT_EQ(plan({.kind = MisfireKind::None}).missed.size(), 20U);
  EXPECT_EQ(plan({.kind = MisfireKind::None}).missed.front().reason, MissedReason::PolicyNone);

  const MisfirePlan latest = plan({.kind = MisfireKind::Latest});
  EXPECT_EQ(latest.run, std::vector{instant("2026-03-21T02:00:00Z")});
  EXPECT_EQ(latest.missed.size(), 19U);
  EXPECT_EQ(latest.missed.back().reason, MissedReason::NotTheLatest);

  const MisfirePlan all = plan({.kind = MisfireKind::All, .max = 7});
  ASSERT_EQ(all.run.size(), 7U);
  EXPECT_EQ(all.run.front(), instant("2026-03-15T02:00:00Z"));
  EXPECT_EQ(all.missed.size(), 13U);
  EXPECT_EQ(all.missed.front().reason, MissedReason::TooOld);  // Older than 14 days.
  EXPECT_EQ(all.missed.back().reason, MissedReason::OverMax);

  const MisfirePlan newest = plan(
      {.kind = MisfireKind::All, .max = 100, .within = Seconds(3 * 86400), .oldest_first = false});
  ASSERT_EQ(newest.run.size(), 3U);
  EXPECT_EQ(newest.run.front(), instant("2026-03-21T02:00:00Z"));
  EXPECT_EQ(newest.missed.back().reason, MissedReason::TooOld);

  EXPECT_TRUE(planMisfire(daily, {}, now, now).run.empty());
}

// The same comes out if a long stretch is planned in parts, with those left out that were begun,
// from the end at which the order begins.
TEST_F(RecurrenceTest, MisfiresInPartsAreThoseOfTheWhole) {
  const WallTime after = instant("2026-03-01T02:00:00Z");
  const WallTime now = instant("2026-03-04T12:00:00Z");
  for (const std::string text : {"*/7 * * * *", "0 9-17 * * 1-5", "0 2 * * *", "0 0 1 1 *"}) {
    const Recurrence recurrence(cron(text));
    for (const MisfirePolicy& policy :
         {MisfirePolicy{.kind = MisfireKind::None}, MisfirePolicy{.kind = MisfireKind::Latest},
          MisfirePolicy{MisfireKind::All, 9, Seconds(5'000), true},
          MisfirePolicy{MisfireKind::All, 5, Seconds(200'000), false},
          MisfirePolicy{MisfireKind::All, 1'000, Seconds(86'400 * 366), true}}) {
      const MisfirePlan whole = planMisfire(recurrence, policy, after, now);
      std::vector<WallTime> run;
      std::vector<WallTime> missed;
      WallTime from = after;
      WallTime until = now;
      for (int parts = 0; parts < 2'000; ++parts) {
        const MisfirePlan part = planMisfire(recurrence, policy, from, until, 10);
        ASSERT_LE(part.missed.size(), 10U);
        if (part.missed.empty() && part.run.empty()) break;
        for (const auto& at : part.missed) missed.push_back(at.at);
        if (!part.missed.empty()) from = part.missed.back().at;
        if (part.run.empty()) continue;
        run.push_back(part.run.front());
        (policy.oldest_first ? from : until) =
            policy.oldest_first ? run.back() : run.back() - Micros(1);
      }
      EXPECT_EQ(run, whole.run) << text;
      ASSERT_EQ(missed.size(), whole.missed.size()) << text;
      for (size_t i = 0; i < missed.size(); ++i) EXPECT_EQ(missed[i], whole.missed[i].at);
    }
  }
}

TEST_F(RecurrenceTest, MisfireDefaultsFollowTheFrequency) {
  const auto policy = [](const Recurrence::Parts& parts) {
    return defaultMisfirePolicy(Recurrence(parts));
  };
  // 0: latest; 24: hourly; 14: daily. Whatever clocks do nearby: Berlin leaves out 02:00 to 03:00,
  // Lord Howe goes by half an hour.
  const std::pair<const char*, uint32_t> crons[] = {
      {"*/15 * * * *", 0},    {"0,59 3 * * *", 0},  {"0 0 12 1/2 * ? 2040", 14},
      {"*/20 0 0 * * ?", 0},  {"0 * * * *", 24},    {"30 0-23 * * *", 24},
      {"0 9-17 * * 1-5", 24}, {"0 2,14 * * *", 24}, {"0 0,23 * * *", 24},
      {"0 2 * * *", 14},      {"30 1 * * *", 14},   {"0 0 * * *", 14},
      {"0 2 1 * *", 14},      {"0 2 29 2 *", 14},   {"H H * * *", 14},
      {"@hourly", 24},        {"@daily", 14},       {"@every 90s", 0},
      {"@every 1h", 24},      {"@every 23h", 24},   {"@every 24h", 14}};
  for (const auto& [text, max] : crons) {
    for (const char* zone : {"UTC", "Europe/Berlin", "Australia/Lord_Howe"}) {
      const MisfirePolicy found = policy(cron(text, zone));
      EXPECT_EQ(found.kind, max == 0 ? MisfireKind::Latest : MisfireKind::All) << text;
      if (max == 0) continue;
      EXPECT_EQ(found.max, max) << text;
      EXPECT_EQ(found.within, Seconds(max == 24 ? 86'400 : 14 * 86'400)) << text;
    }
  }
  // Neither days off, from which instants are moved together, nor a window make it another.
  auto parts = cron("0 2 * * *", "Europe/Berlin");
  parts.calendar = christmas();
  parts.off_day = OffDayPolicy::Next;
  parts.start = instant("2026-03-28T00:00:00Z");
  parts.end = instant("2026-03-30T00:00:00Z");
  EXPECT_EQ(policy(parts).max, 14U);
  parts.base = EverySchedule{instant("2026-01-01T00:00:00Z"), Seconds(25 * 3'600)};
  EXPECT_EQ(policy(parts).max, 14U);
  parts.base = EverySchedule{instant("2026-01-01T00:00:00Z"), Seconds(3'599)};
  EXPECT_EQ(policy(parts).kind, MisfireKind::Latest);
  parts.base = instant("2026-01-01T00:00:00Z");
  EXPECT_EQ(policy(parts).max, 14U);
}

}  // namespace
}  // namespace baton
