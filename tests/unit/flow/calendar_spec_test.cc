#include "flow/calendar/calendar_spec.h"

#include <gtest/gtest.h>

#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

constexpr const char* kChina = R"(calendar: cn-workdays
description: "as announced: 2026"
holidays: [2026-01-01, 2026-10-01..2026-10-07]
adjusted_workdays: [2026-10-10, 2026-09-27]
)";

CivilDay day(std::string_view text) { return *parseCivilDay(text); }

std::string wrongIn(std::string_view text) {
  const ParsedCalendar parsed = parseCalendar("c.yaml", text);
  EXPECT_FALSE(parsed.calendar.has_value()) << text;
  return parsed.issues.empty() ? "" : parsed.issues.front().text();
}

// Ranges must become days, and moved workdays count although they lie on a weekend.
TEST(CalendarSpecTest, IsReadAsWritten) {
  const ParsedCalendar parsed = parseCalendar("c.yaml", kChina);
  ASSERT_TRUE(parsed.calendar.has_value());
  EXPECT_TRUE(parsed.issues.empty());
  EXPECT_EQ(parsed.calendar->name, "cn-workdays");
  EXPECT_EQ(parsed.calendar->holidays.size(), 8U);
  EXPECT_EQ(parsed.calendar->lastDay(), day("2026-10-10"));
  EXPECT_FALSE(parsed.days->isWorkday(day("2026-10-05")));
  EXPECT_TRUE(parsed.days->isWorkday(day("2026-10-10")));  // A Saturday.
  EXPECT_TRUE(parsed.days->isWorkday(day("2026-10-08")));
  EXPECT_FALSE(parsed.days->isWorkday(day("2026-10-11")));
}

// What is written out must mean the same when it is read again, JSON included.
TEST(CalendarSpecTest, IsWrittenAsRead) {
  const ParsedCalendar first = parseCalendar("c.yaml", kChina);
  ASSERT_TRUE(first.calendar.has_value());
  const std::string text = calendarText(*first.calendar);
  EXPECT_NE(text.find("  - 2026-10-01..2026-10-07\n"), std::string::npos) << text;
  const ParsedCalendar again = parseCalendar("c.yaml", text);
  ASSERT_TRUE(again.calendar.has_value()) << text;
  EXPECT_EQ(*again.calendar, *first.calendar);
  const ParsedCalendar json = parseCalendar(
      "c.json", R"({"calendar": "x", "workdays": ["sun", "mon"], "holidays": ["2026-01-05"]})");
  ASSERT_TRUE(json.calendar.has_value());
  EXPECT_EQ(workdayWords(*json.calendar), (std::vector<std::string>{"mon", "sun"}));
}

// Every kind of fault must be told with its place, the value and what was expected.
TEST(CalendarSpecTest, FaultsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"holidays: []\n", "c.yaml:1:1: calendar: is missing"},
      {"calendar: a b\n", "c.yaml:1:11: calendar: is \"a b\", expected a name"},
      {"calendar: x\nholidays: [2026-02-30]\n", "c.yaml:2:12: holidays[0]: is \"2026-02-30\""},
      {"calendar: x\nholidays: [2026-01-02..2026-01-01]\n", "which ends before it begins"},
      {"calendar: x\nholidays: [2026-01-01..2027-01-02]\n", "at most 366 days in one range"},
      {"calendar: x\nholidays: 2026-01-01\n", "expected a list of days and ranges"},
      {"calendar: x\nholidays: [{a: b}]\n", "holidays[0]: is a map"},
      {"calendar: x\nworkdays: []\n", "workdays: is empty"},
      {"calendar: x\nworkdays: [mo]\n", "workdays: has \"mo\", expected sun, mon"},
      {"calendar: x\nworkday: [mon]\n", "c.yaml:2:1: workday: is not a known key"},
      {"calendar: x\nholidays: [2026-01-01]\nadjusted_workdays: [2026-01-01]\n",
       "both a holiday and an adjusted workday"},
      {"- x\n", "c.yaml:1:1: "},
      {"calendar: [", "c.yaml:1:"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(wrongIn(text).find(expected), std::string::npos) << text << "\n" << wrongIn(text);
  }
}

// A calendar of any size must not be read without end.
TEST(CalendarSpecTest, DaysAreBounded) {
  std::string text = "calendar: x\nholidays:\n";
  for (int year = 2000; year < 2040; ++year)
    text += fmt::format("  - {0}-01-01..{0}-12-20\n", year);
  EXPECT_NE(wrongIn(text).find("more than 10000 days"), std::string::npos) << wrongIn(text);
}

TEST(CalendarSpecTest, DifferencesAreSaidInWords) {
  const auto before = parseCalendar("", kChina).calendar;
  auto after = *before;
  EXPECT_TRUE(diffCalendars(*before, after).empty());
  after.holidays.push_back(day("2026-12-25"));
  after.adjusted_workdays.clear();
  after.workdays[6] = true;
  after.description = "other";
  EXPECT_EQ(
      diffCalendars(*before, after),
      (std::vector<std::string>{"description changed", "workdays +sat", "holidays +2026-12-25",
                                "adjusted_workdays -2026-09-27 -2026-10-10"}));
}

// A calendar that names no day from some time on must be told of before that time.
TEST(CalendarSpecTest, ACalendarThatEndsIsToldOfByItsFlows) {
  FlowSurroundings today;
  today.now = *parseRfc3339("2026-11-30T12:00:00Z");
  const auto issues = [&](const std::string& last) {
    const auto days = WorkCalendar::make({false, true, true, true, true, true, false},
                                         {*parseCivilDay("2026-01-01"), *parseCivilDay(last)}, {});
    today.calendars = {{"de", std::make_shared<const WorkCalendar>(*days)}};
    return issuesOf(
        "flow: f\nschedule: {cron: '0 2 * * *', timezone: UTC, calendar: de}\n"
        "tasks: {a: {noop: true}}\n",
        today);
  };
  EXPECT_EQ(issues("2026-10-10"),
            "f.yaml:2:1: warning: schedule.calendar: de names no day behind 2026-10-10, from where "
            "on the week alone counts\n");
  EXPECT_NE(issues("2026-12-30"), "");
  EXPECT_EQ(issues("2026-12-31"), "");
}

}  // namespace
}  // namespace baton::flow
