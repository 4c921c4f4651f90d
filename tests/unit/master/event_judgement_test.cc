#include "master/flow/event_judgement.h"

#include <gtest/gtest.h>

#include "common/model/task_spec.h"

namespace baton::master {
namespace {

WallTime at(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}
SourceState well(const std::string& plan_time, RunId run) {
  return {at(plan_time), run, "FINISHED", true};
}
SourceState failed(const std::string& plan_time, RunId run) {
  return {at(plan_time), run, "FAILED", false};
}
const TimeZone kUtc = TimeZone::utc();
const std::string kTwo = "2026-11-29T02:00:00Z";
const std::string kThree = "2026-11-29T03:00:00Z";

Recurrence hourly(const std::string& zone_name) {
  const auto expression = CronExpression::parse("0 * * * *");
  const auto zone = TimeZone::load(zone_name);
  EXPECT_TRUE(expression.ok() && zone.ok());
  return Recurrence({.base = CronSchedule(*expression, *zone), .zone = *zone});
}

TEST(EventJudgementTest, NewestCountsByPlanTimeThenByRun) {
  EXPECT_FALSE(judgeNewest({}, kUtc).met);
  EXPECT_EQ(judgeNewest({}, kUtc).text, "there is no run yet");

  // Run 9 stands for an earlier instant, though it began later.
  std::vector<SourceState> states{failed(kThree, 7), well(kTwo, 9)};
  EXPECT_FALSE(judgeNewest(states, kUtc).met);
  EXPECT_EQ(judgeNewest(states, kUtc).text,
            "the newest, run 7 of 2026-11-29T03:00:00+00:00, is FAILED");
  states.push_back(well(kThree, 8));
  EXPECT_TRUE(judgeNewest(states, kUtc).met);
  states.push_back(failed(kThree, 10));
  EXPECT_FALSE(judgeNewest(states, kUtc).met);
}

TEST(EventJudgementTest, AllAsksForEachInstantOfTheSchedule) {
  const std::optional expected{std::vector{at(kTwo), at(kThree)}};
  std::vector<SourceState> states{well(kTwo, 1), well("2026-11-29T02:30:00Z", 2)};
  Judgement judged = judgeAll(states, expected, kUtc);
  EXPECT_FALSE(judged.met);
  EXPECT_EQ(judged.text, "1 of 2 are not there: 2026-11-29T03:00:00+00:00 has no run yet");

  states.push_back(failed(kThree, 3));
  judged = judgeAll(states, expected, kUtc);
  EXPECT_FALSE(judged.met);
  EXPECT_EQ(judged.text, "1 of 2 are not there: run 3 of 2026-11-29T03:00:00+00:00 is FAILED");

  // What was begun beside the schedule does not matter.
  states.push_back(failed("2026-11-29T02:15:00Z", 4));
  states.push_back(well(kThree, 5));
  EXPECT_TRUE(judgeAll(states, expected, kUtc).met);
  // Of one instant the newest run counts.
  states.push_back(failed(kTwo, 6));
  EXPECT_FALSE(judgeAll(states, expected, kUtc).met);
}

TEST(EventJudgementTest, AllNamesAFewOfThoseThatAreMissing) {
  std::vector<WallTime> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(at(kTwo) + Seconds(3'600 * i));
  const Judgement judged = judgeAll({}, std::optional(expected), kUtc);
  EXPECT_FALSE(judged.met);
  EXPECT_NE(judged.text.find("24 of 24"), std::string::npos) << judged.text;
  EXPECT_NE(judged.text.find(", and 21 more"), std::string::npos) << judged.text;
  EXPECT_EQ(judgeAll({}, std::optional(std::vector<WallTime>()), kUtc).text,
            "the schedule has no instant there");
  EXPECT_FALSE(judgeAll({}, std::optional(std::vector<WallTime>()), kUtc).met);
}

TEST(EventJudgementTest, AllWithoutAScheduleAsksForThoseThatRan) {
  EXPECT_FALSE(judgeAll({}, std::nullopt, kUtc).met);
  std::vector<SourceState> states{well(kTwo, 1), failed(kThree, 2)};
  EXPECT_FALSE(judgeAll(states, std::nullopt, kUtc).met);
  states.push_back(well(kThree, 3));
  EXPECT_TRUE(judgeAll(states, std::nullopt, kUtc).met);
}

TEST(EventJudgementTest, ExpectedInstantsFollowTheClock) {
  const auto zone = TimeZone::load("Europe/Berlin");
  const auto count = [&](const std::string& plan_time) {
    const flow::PlanRange range = flow::eventRange("last_day", at(plan_time), *zone);
    const auto instants = expectedInstants({hourly("Europe/Berlin"), std::nullopt, {}}, range);
    EXPECT_TRUE(instants.has_value());
    EXPECT_EQ(instants->front(), range.from);
    return instants->size();
  };
  EXPECT_EQ(count("2026-11-29T12:00:00+01:00"), 24u);
  EXPECT_EQ(count("2026-03-30T12:00:00+02:00"), 23u);
  EXPECT_EQ(count("2026-10-26T12:00:00+01:00"), 25u);
}

TEST(EventJudgementTest, ExpectedInstantsEndWithTheCount) {
  const flow::PlanRange day{at("2026-11-29T00:00:00Z"), at("2026-11-30T00:00:00Z")};
  const auto size = [&](int64_t left, const std::string& last) {
    return expectedInstants({hourly("UTC"), left, at(last)}, day)->size();
  };
  EXPECT_EQ(size(0, "2026-11-29T05:00:00Z"), 6u);
  EXPECT_EQ(size(3, "2026-11-29T05:00:00Z"), 9u);
  EXPECT_EQ(size(3, "2026-11-28T22:00:00Z"), 2u);
  EXPECT_EQ(size(0, "2026-11-28T05:00:00Z"), 0u);
  EXPECT_EQ(size(1'000'000, "2026-11-01T05:00:00Z"), 24u);
}

TEST(EventJudgementTest, TooManyExpectedInstantsAreRefused) {
  const WallTime from = at("2026-01-01T00:00:00Z");
  const SourceSchedule schedule{
      Recurrence({.base = EverySchedule{from, Seconds(1)}, .zone = kUtc}), std::nullopt, {}};
  EXPECT_EQ(expectedInstants(schedule, {from, from + Seconds(10'000)})->size(), 10'000u);
  EXPECT_FALSE(expectedInstants(schedule, {from, from + Seconds(10'001)}).has_value());
}

}  // namespace
}  // namespace baton::master
