#include "flow/calendar/ical_import.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/base/json.h"
#include "flow/calendar/calendar_spec.h"

namespace baton::flow {
namespace {

IcalQuestion years(int from, int until) {
  using std::chrono::January;
  return {.from = CivilDay(std::chrono::year(from) / January / 1),
          .until = CivilDay(std::chrono::year(until) / January / 1),
          .workday_text = {}};
}

std::string event(const std::string& lines) {
  return "BEGIN:VEVENT\r\nUID:u1\r\nDTSTAMP:20250101T000000Z\r\n" + lines + "END:VEVENT\r\n";
}

std::string calendarOf(const std::string& events) {
  return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\n" + events + "END:VCALENDAR\r\n";
}

std::string holidaysOf(const std::string& events, const IcalQuestion& question) {
  const auto read = readIcal(calendarOf(events), question);
  return read.ok() ? fmt::format("{}", fmt::join(dayRanges(read->holidays), " "))
                   : std::string(read.error().message());
}

// Whole-day events, single, long and repeated, must give their days within the years asked for.
TEST(IcalImportTest, WholeDaysAreHolidays) {
  const IcalQuestion two = years(2026, 2028);
  EXPECT_EQ(holidaysOf(event("SUMMARY:New Year\r\nDTSTART;VALUE=DATE:20260101\r\n"), two),
            "2026-01-01");
  EXPECT_EQ(holidaysOf(event("DTSTART;VALUE=DATE:20261001\r\nDTEND;VALUE=DATE:20261008\r\n"), two),
            "2026-10-01..2026-10-07");
  EXPECT_EQ(holidaysOf(event("DTSTART;VALUE=DATE:20201225\r\nDTEND;VALUE=DATE:20201227\r\n"
                             "RRULE:FREQ=YEARLY\r\nEXDATE;VALUE=DATE:20261225\r\n"),
                       two),
            "2027-12-25 2027-12-26");
  EXPECT_EQ(holidaysOf(event("DTSTART;VALUE=DATE:20261126\r\n"
                             "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH\r\n"),
                       two)
                .find("2026-11-26"),
            0U);
  // Reaches into the years and out of them.
  EXPECT_EQ(holidaysOf(event("DTSTART;VALUE=DATE:20251231\r\nDTEND;VALUE=DATE:20260102\r\n") +
                           event("DTSTART;VALUE=DATE:20271230\r\nDTEND;VALUE=DATE:20280105\r\n"),
                       two),
            "2026-01-01 2027-12-30 2027-12-31");
}

// One occurrence that was moved or cancelled must not stand at its old place.
TEST(IcalImportTest, ChangedOccurrencesCount) {
  const std::string moved =
      event("DTSTART;VALUE=DATE:20260601\r\nRRULE:FREQ=YEARLY\r\n") +
      event("RECURRENCE-ID;VALUE=DATE:20270601\r\nDTSTART;VALUE=DATE:20270602\r\n");
  EXPECT_EQ(holidaysOf(moved, years(2026, 2029)), "2026-06-01 2027-06-02 2028-06-01");
  const std::string cancelled =
      event("DTSTART;VALUE=DATE:20260601\r\nRRULE:FREQ=YEARLY\r\n") +
      event(
          "RECURRENCE-ID;VALUE=DATE:20270601\r\nDTSTART;VALUE=DATE:20270601\r\n"
          "STATUS:CANCELLED\r\n");
  EXPECT_EQ(holidaysOf(cancelled, years(2026, 2029)), "2026-06-01 2028-06-01");
}

// Of two states of one event the newer one counts, and what is called off has no days.
TEST(IcalImportTest, TheNewestStateCounts) {
  const std::string first = event("SEQUENCE:0\r\nDTSTART;VALUE=DATE:20260501\r\n");
  const std::string then = event("SEQUENCE:1\r\nDTSTART;VALUE=DATE:20260502\r\n");
  EXPECT_EQ(holidaysOf(first + then, years(2026, 2027)), "2026-05-02");
  EXPECT_EQ(holidaysOf(then + first, years(2026, 2027)), "2026-05-02");
  EXPECT_EQ(holidaysOf("METHOD:PUBLISH\r\n" + first, years(2026, 2027)), "2026-05-01");
  EXPECT_NE(holidaysOf("METHOD:CANCEL\r\n" + first, years(2026, 2027)).find("no event that lasts"),
            std::string::npos);
}

// Workdays that were moved to a weekend must be told from holidays, by their mark or by a text.
TEST(IcalImportTest, AdjustedWorkdaysAreTold) {
  const std::string text = calendarOf(
      event("SUMMARY:国庆节（休）\r\nDTSTART;VALUE=DATE:20261001\r\nDTEND;VALUE=DATE:20261008\r\n"
            "X-APPLE-SPECIAL-DAY:WORK-HOLIDAY\r\n") +
      event("SUMMARY:国庆节（班）\r\nDTSTART;VALUE=DATE:20261010\r\n"
            "X-APPLE-SPECIAL-DAY:ALTERNATE-WORKDAY\r\n"));
  const auto marked = readIcal(text, years(2026, 2027));
  ASSERT_TRUE(marked.ok());
  EXPECT_EQ(dayRanges(marked->adjusted_workdays), std::vector<std::string>{"2026-10-10"});
  EXPECT_EQ(dayRanges(marked->holidays), std::vector<std::string>{"2026-10-01..2026-10-07"});

  IcalQuestion by_text = years(2026, 2027);
  by_text.workday_text = "上班";
  const auto named =
      readIcal(calendarOf(event("SUMMARY:春节 上班\r\nDTSTART;VALUE=DATE:20260214\r\n")), by_text);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(dayRanges(named->adjusted_workdays), std::vector<std::string>{"2026-02-14"});
  EXPECT_TRUE(named->holidays.empty());
}

// What is no whole day must be named and change nothing; a rule by the second must not be walked.
TEST(IcalImportTest, OthersAreLeftOut) {
  const auto read = readIcal(
      calendarOf(event("SUMMARY:lunch\r\nDTSTART:20260105T120000Z\r\n") +
                 event("SUMMARY:tick\r\nDTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=SECONDLY\r\n") +
                 event("SUMMARY:hours\r\nDTSTART;VALUE=DATE:20260101\r\n"
                       "RRULE:FREQ=DAILY;BYHOUR=0,1;BYMINUTE=0,1\r\n") +
                 event("DTSTART;VALUE=DATE:20260106\r\n")),
      years(2026, 2027));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->left_out, (std::vector<std::string>{"lunch", "tick", "hours"}));
  EXPECT_EQ(read->events, 1U);
  EXPECT_EQ(dayRanges(read->holidays), std::vector<std::string>{"2026-01-06"});
}

// What can't be read of when an event is makes no other days, and takes none away, in silence.
TEST(IcalImportTest, TimesThatCanNotBeReadAreRefused) {
  const IcalQuestion some = years(2026, 2030);
  const std::string day = "SUMMARY:Feast\r\nDTSTART;VALUE=DATE:20260103\r\n";
  for (const std::string& lines :
       {std::string("SUMMARY:Feast\r\nDTSTART;VALUE=DATE:20260230\r\n"),
        std::string("SUMMARY:Feast\r\nDTSTART;VALUE=DATE:20261301\r\n"),
        day + "DTEND;VALUE=DATE:20260230\r\n", day + "DTEND;VALUE=DATE:99991231\r\n",
        day + "DURATION:3D\r\n", day + "DURATION:PT48H\r\n", day + "DURATION:-P2D\r\n",
        day + "DURATION:PT12H\r\n", day + "DURATION:P0D\r\n", day + "DTEND;VALUE=DATE:20260101\r\n",
        day + "DTSTART;VALUE=DATE:20260104\r\n",
        day + "DTEND;VALUE=DATE:20260105\r\nDURATION:P5D\r\n",
        day + "RECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20260103\r\n",
        day + "RRULE:FREQ=YEARLI\r\n", day + "RRULE:FREQ=YEARLY;INTERVAL=0\r\n",
        day + "RRULE:FREQ=YEARLY;X=1\r\n",
        day + "RRULE:FREQ=YEARLY\r\nEXDATE;VALUE=DATE:20260145\r\n",
        day + "RRULE:FREQ=YEARLY\r\nEXDATE:20270103T000000Z\r\n"}) {
    const std::string said = holidaysOf(event(lines), some);
    EXPECT_EQ(said.find("event \"Feast\" can't be read: "), 0U) << lines << said;
  }
  EXPECT_EQ(holidaysOf(event(day + "DURATION:P2D\r\n"), some), "2026-01-03 2026-01-04");
  EXPECT_EQ(holidaysOf(event(day + "DURATION:P1W\r\n"), some), "2026-01-03..2026-01-09");
  EXPECT_EQ(holidaysOf(event(day + "DTEND;VALUE=DATE:20260103\r\n"), some), "2026-01-03");
  // What is of no meaning for the days may be broken.
  EXPECT_EQ(holidaysOf(event(day + "LOCATION:\r\nGEO:x\r\n"), some), "2026-01-03");
}

TEST(IcalImportTest, RubbishIsRefused) {
  const IcalQuestion one = years(2026, 2027);
  EXPECT_NE(holidaysOf("", one).find("no event that lasts whole days"), std::string::npos);
  for (const std::string& text :
       {std::string(), std::string("calendar: x\n"), std::string(1000, '\0'),
        std::string("BEGIN:VCALENDAR"), std::string("END:VCALENDAR\r\nBEGIN:VEVENT")}) {
    const auto read = readIcal(text, one);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::InvalidArgument);
  }
  std::string many;
  for (int i = 0; i < 501; ++i) many += "EXDATE;VALUE=DATE:20260102\r\n";
  EXPECT_NE(holidaysOf(event("DTSTART;VALUE=DATE:20260101\r\n" + many), one)
                .find("501 rules and exceptions"),
            std::string::npos);
  EXPECT_FALSE(readIcal(calendarOf(""), years(2027, 2026)).ok());
  EXPECT_FALSE(readIcal(calendarOf(""), years(1900, 2026)).ok());
  EXPECT_EQ(readIcal(std::string(5 * 1024 * 1024, 'x'), one).error().code(), ErrorCode::TooLarge);
  EXPECT_NE(
      holidaysOf(event("DTSTART;VALUE=DATE:20000101\r\nRRULE:FREQ=DAILY\r\n"), years(2000, 2040))
          .find("more than 10000 days"),
      std::string::npos);
}

// Days are those of the file, wherever it is read.
TEST(IcalImportTest, TheMachinesZoneDoesNotMatter) {
  const char* before = std::getenv("TZ");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* zone : {"America/Los_Angeles", "Pacific/Auckland", "UTC"}) {
    setenv("TZ", zone, 1);
    tzset();
    EXPECT_EQ(holidaysOf(event("DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=YEARLY\r\n"),
                         years(2026, 2028)),
              "2026-01-01 2027-01-01")
        << zone;
  }
  before == nullptr ? unsetenv("TZ") : setenv("TZ", kept.c_str(), 1);
  tzset();
}

}  // namespace
}  // namespace baton::flow
