#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/base/json.h"
#include "common/calendar/cron_schedule.h"
#include "common/model/task_spec.h"

namespace baton {
namespace {

WallTime at(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

std::string refusal(const std::string& text, CronDialect dialect = CronDialect::Auto) {
  const auto parsed = CronExpression::parse(text, dialect);
  return parsed.ok() ? "accepted" : parsed.error().message();
}

std::vector<std::string> fires(const std::string& text, const std::string& zone,
                               const std::string& after, size_t count,
                               GapPolicy gap = GapPolicy::RunAfter,
                               OverlapPolicy overlap = OverlapPolicy::First,
                               const std::string& key = {}) {
  const auto expression = CronExpression::parse(text, CronDialect::Auto, key);
  const auto loaded = TimeZone::load(zone);
  if (!expression.ok() || !loaded.ok()) return {"refused"};
  const CronSchedule schedule(*expression, *loaded, gap, overlap);
  std::vector<std::string> out;
  WallTime from = at(after);
  while (out.size() < count) {
    const auto next = schedule.next(from);
    if (!next) break;
    EXPECT_GT(*next, from) << text;
    out.push_back(formatRfc3339(*next, *loaded));
    from = *next;
  }
  return out;
}

using Times = std::vector<std::string>;

// Faults that others had, with the right instants (the source stands beside each case).
TEST(CronTest, CasesOfOtherSchedulers) {
  std::ifstream file(BATON_SOURCE_DIR "/tests/data/cron_cases.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto cases = parseJson(text.str());
  ASSERT_TRUE(cases.ok()) << cases.status().text();
  ASSERT_EQ(cases->size(), 37U);
  for (const Json& c : *cases) {
    SCOPED_TRACE(c.at("id").get<std::string>() + " " + c.at("expression").get<std::string>());
    const CronDialect dialect =
        c.at("dialect") == "quartz" ? CronDialect::Quartz : CronDialect::Unix5;
    const auto expression = CronExpression::parse(c.at("expression").get<std::string>(), dialect);
    if (c.at("expect").empty()) {
      EXPECT_FALSE(expression.ok());
      continue;
    }
    ASSERT_TRUE(expression.ok()) << expression.status().text();
    const auto zone = TimeZone::load(c.at("timezone").get<std::string>());
    ASSERT_TRUE(zone.ok());
    const CronSchedule schedule(*expression, *zone);
    WallTime from = at(c.at("after").get<std::string>());
    for (const Json& expected : c.at("expect")) {
      const auto next = schedule.next(from);
      ASSERT_TRUE(next) << expected;
      EXPECT_EQ(formatRfc3339(*next, TimeZone::utc()),
                formatRfc3339(at(expected.get<std::string>()), TimeZone::utc()));
      from = *next;
    }
  }
}

TEST(CronTest, PoliciesOfAClockSetForward) {
  const std::string zone = "America/New_York";
  const std::string before = "2026-03-07T12:00:00-05:00";
  EXPECT_EQ(fires("30 2 * * *", zone, before, 2),
            (Times{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}));
  EXPECT_EQ(fires("30 2 * * *", zone, before, 1, GapPolicy::Skip),
            (Times{"2026-03-09T02:30:00-04:00"}));
  // Several times in the gap and one right behind it are one run.
  EXPECT_EQ(fires("0,15,30 2,3 * * *", zone, "2026-03-08T01:00:00-05:00", 3),
            (Times{"2026-03-08T03:00:00-04:00", "2026-03-08T03:15:00-04:00",
                   "2026-03-08T03:30:00-04:00"}));
  // A whole day that a zone left out.
  EXPECT_EQ(fires("0 12 * * *", "Pacific/Apia", "2011-12-29T13:00:00-10:00", 2),
            (Times{"2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}));
}

TEST(CronTest, PoliciesOfAClockSetBack) {
  const std::string zone = "Europe/Berlin";
  const std::string before = "2026-10-25T00:00:00+02:00";
  const auto with = [&](OverlapPolicy policy) {
    return fires("30 2 * * *", zone, before, 2, GapPolicy::RunAfter, policy);
  };
  EXPECT_EQ(with(OverlapPolicy::First),
            (Times{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}));
  EXPECT_EQ(with(OverlapPolicy::Second),
            (Times{"2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"}));
  EXPECT_EQ(with(OverlapPolicy::Both),
            (Times{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"}));
  EXPECT_EQ(fires("*/30 * * * *", zone, "2026-10-25T02:15:00+02:00", 4),
            (Times{"2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00",
                   "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00"}));
}

// Libraries that read only the explicit changes of a zone's file lose summer time after 2037.
TEST(CronTest, SummerTimeGoesOnAfter2037) {
  EXPECT_EQ(fires("0 12 1 1,7 *", "America/New_York", "2038-01-15T00:00:00Z", 2),
            (Times{"2038-07-01T12:00:00-04:00", "2039-01-01T12:00:00-05:00"}));
  EXPECT_EQ(fires("0 12 1 7 *", "Europe/Berlin", "2150-01-01T00:00:00Z", 1),
            (Times{"2150-07-01T12:00:00+02:00"}));
}

TEST(CronTest, DayFieldsThatBeginWithAStarRestrictTogether) {
  // Mondays on odd days.
  EXPECT_EQ(fires("0 0 */2 * 1", "UTC", "2026-06-01T00:00:00Z", 2),
            (Times{"2026-06-15T00:00:00+00:00", "2026-06-29T00:00:00+00:00"}));
  // The 1st or a Monday.
  EXPECT_EQ(fires("0 0 1 * 1", "UTC", "2026-06-29T00:00:00Z", 2),
            (Times{"2026-07-01T00:00:00+00:00", "2026-07-06T00:00:00+00:00"}));
}

TEST(CronTest, SpecialDays) {
  EXPECT_EQ(fires("0 0 LW * *", "UTC", "2026-01-01T00:00:00Z", 2),
            (Times{"2026-01-30T00:00:00+00:00", "2026-02-27T00:00:00+00:00"}));
  EXPECT_EQ(fires("0 0 1W * *", "UTC", "2026-07-02T00:00:00Z", 2),
            (Times{"2026-08-03T00:00:00+00:00", "2026-09-01T00:00:00+00:00"}));
  EXPECT_EQ(fires("0 0 31W * *", "UTC", "2026-05-01T00:00:00Z", 2),  // A Sunday; June has none.
            (Times{"2026-05-29T00:00:00+00:00", "2026-07-31T00:00:00+00:00"}));
  EXPECT_EQ(fires("0 0 0 ? * L", "UTC", "2026-05-01T00:00:00Z", 1),
            (Times{"2026-05-02T00:00:00+00:00"}));  // Quartz: Saturday.
  EXPECT_EQ(fires("0 0 * * 5L", "UTC", "2026-05-01T00:00:00Z", 1),
            (Times{"2026-05-29T00:00:00+00:00"}));
  EXPECT_EQ(fires("0 0 * * sun#1", "UTC", "2026-05-01T00:00:00Z", 1),
            (Times{"2026-05-03T00:00:00+00:00"}));
  EXPECT_EQ(fires("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1),
            (Times{"2104-02-29T00:00:00+00:00"}));
}

TEST(CronTest, SecondsAndYearsOfQuartz) {
  EXPECT_EQ(fires("5/20 59 23 31 12 ? 2030", "UTC", "2026-01-01T00:00:00Z", 9),
            (Times{"2030-12-31T23:59:05+00:00", "2030-12-31T23:59:25+00:00",
                   "2030-12-31T23:59:45+00:00"}));
  EXPECT_EQ(fires("0 0 0 1 NOV-FEB ?", "UTC", "2026-01-01T00:00:00Z", 3),
            (Times{"2026-02-01T00:00:00+00:00", "2026-11-01T00:00:00+00:00",
                   "2026-12-01T00:00:00+00:00"}));
}

TEST(CronTest, MacrosAndDistances) {
  EXPECT_EQ(fires("@daily", "Asia/Shanghai", "2026-05-01T00:00:00+08:00", 1),
            (Times{"2026-05-02T00:00:00+08:00"}));
  EXPECT_EQ(fires("@every 90s", "UTC", "2026-05-01T00:00:00Z", 2),
            (Times{"2026-05-01T00:01:30+00:00", "2026-05-01T00:03:00+00:00"}));
  EXPECT_EQ(fires("@every 1h", "UTC", "1970-01-01T00:00:00Z", 2),
            (Times{"1970-01-01T01:00:00+00:00", "1970-01-01T02:00:00+00:00"}));
}

// A hashed slot is the same for the same key, in range, and spreads over keys.
TEST(CronTest, HashedSlots) {
  std::set<std::string> minutes;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "flow-" + std::to_string(i);
    const auto one = [&](const std::string& text) {
      return fires(text, "UTC", "2026-05-01T00:00:00Z", 4, GapPolicy::RunAfter,
                   OverlapPolicy::First, key);
    };
    const Times daily = one("H H(1-3) * * *");
    EXPECT_EQ(daily, one("H H(1-3) * * *"));
    EXPECT_EQ(daily, fires("H H(1-3) * * *", "UTC", "2026-05-01T00:00:00Z", 4, GapPolicy::RunAfter,
                           OverlapPolicy::First, "FLOW-" + std::to_string(i)));
    EXPECT_GE(daily[0].substr(11, 2), "01");
    EXPECT_LE(daily[0].substr(11, 2), "03");
    minutes.insert(daily[0].substr(14, 2));
    const Times quarters = one("H/15 * * * *");
    EXPECT_EQ(at(quarters[3]) - at(quarters[0]), Micros(Seconds(45 * 60)));
    EXPECT_LT(at(quarters[0]), at("2026-05-01T00:15:01Z"));
    const Times half = one("H(0-29)/10 * * * *");
    EXPECT_EQ(at(half[3]) - at(half[0]), Micros(Seconds(60 * 60)));
    for (const std::string& fire : half) EXPECT_LT(fire.substr(14, 2), "30");
  }
  EXPECT_GT(minutes.size(), 20U);
}

TEST(CronTest, RefusalsNameFieldPartAndExpectation) {
  EXPECT_EQ(refusal("90 * * * *"), "cron minute field: '90' is out of range; expected 0 to 59");
  EXPECT_EQ(refusal("0 24 1 12 0"), "cron hour field: '24' is out of range; expected 0 to 23");
  EXPECT_NE(refusal("0/120 * * * *").find("step that is larger than the field"), std::string::npos);
  EXPECT_NE(refusal("*/0 * * * *").find("step of 1 or more"), std::string::npos);
  EXPECT_NE(refusal("0 22-2 * * *").find("runs backwards"), std::string::npos);
  EXPECT_NE(refusal("0 0 * * FRI-MON").find("runs backwards"), std::string::npos);
  EXPECT_NE(refusal("0 0 30 2 *").find("no date ever matches"), std::string::npos);
  EXPECT_NE(refusal("0 0 31 4,6,9,11 *").find("no date ever matches"), std::string::npos);
  EXPECT_NE(refusal("0 30 17 4 1 * 2016").find("exactly one"), std::string::npos);
  EXPECT_NE(refusal("0 0 0 ? * ?").find("exactly one"), std::string::npos);
  EXPECT_NE(refusal("0 0 9 ? * 6#0").find("1 to 5"), std::string::npos);
  EXPECT_NE(refusal("0 0 9 ? * 6#6").find("1 to 5"), std::string::npos);
  EXPECT_NE(refusal("0 0 9 ? * 0").find("expected 1 to 7"), std::string::npos);
  EXPECT_NE(refusal("0 0 0 1 1 ? 1969").find("1970 to 2199"), std::string::npos);
  EXPECT_NE(refusal("* * * *").find("has 4 fields"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("@reboot").find("unknown"), std::string::npos);
  EXPECT_NE(refusal("@every 10ms").find("at least 1s"), std::string::npos);
  EXPECT_EQ(refusal("@every 366d"), "accepted");
  EXPECT_NE(refusal("@every 367d").find("at most 366d"), std::string::npos);
  EXPECT_NE(refusal("0 0 1,,2 * *").find("empty part"), std::string::npos);
  EXPECT_NE(refusal("0 0 * * 8").find("expected 0 to 7"), std::string::npos);
  EXPECT_NE(refusal("x * * * *").find("is not a number"), std::string::npos);
  EXPECT_NE(refusal("-5 * * * *"), "accepted");
  EXPECT_NE(refusal("5- * * * *"), "accepted");
  EXPECT_NE(refusal("H(5) * * * *"), "accepted");
  EXPECT_NE(refusal("0 0 0 * * *", CronDialect::Unix5), "accepted");
  EXPECT_NE(refusal("0 0 * * *", CronDialect::Quartz), "accepted");
}

// Rule 5: "never again" is said in under a second, whatever the expression.
TEST(CronTest, NeverIsSaidQuickly) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(fires("0 0 0 1 1 ? 2016", "Europe/Lisbon", "2026-01-01T00:00:00Z", 1).empty());
  EXPECT_EQ(
      fires("30 2 29 2 *", "America/New_York", "2196-03-01T00:00:00Z", 1, GapPolicy::Skip).size(),
      0U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(TimeZoneTest, OnlyNamesOfTheDatabase) {
  for (const char* name : {"", "local", "localtime", "Nope/Nowhere", "../../etc/passwd",
                           "/etc/localtime", ":UTC", "libc:localtime", "europe/berlin"}) {
    EXPECT_FALSE(TimeZone::load(name).ok()) << name;
  }
  const auto refused = TimeZone::load("Mars/Base");
  EXPECT_NE(refused.error().message().find("Mars/Base"), std::string::npos);
  EXPECT_TRUE(TimeZone::load("Etc/GMT+5").ok());
}

TEST(TimeZoneTest, ChangesOfTheClock) {
  const auto zone = TimeZone::load("Australia/Lord_Howe");
  ASSERT_TRUE(zone.ok());
  const auto change = zone->nextChange(at("2026-09-01T00:00:00Z"));
  ASSERT_TRUE(change);
  EXPECT_EQ(formatRfc3339(change->at, *zone), "2026-10-04T02:30:00+11:00");
  EXPECT_EQ(change->after - change->before, Seconds(1800));
  EXPECT_EQ(zone->lastChange(change->at)->at, change->at);
  EXPECT_LT(zone->lastChange(change->at - Seconds(1))->at, change->at);
  EXPECT_GT(zone->nextChange(change->at)->at, change->at);
  EXPECT_FALSE(TimeZone::utc().nextChange(at("2026-01-01T00:00:00Z")));
}

}  // namespace
}  // namespace baton
