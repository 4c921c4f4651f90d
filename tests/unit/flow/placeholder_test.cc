#include "flow/definition/placeholder.h"

#include <gtest/gtest.h>

#include "common/model/task_spec.h"

namespace baton::flow {
namespace {

WallTime instantAt(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

PlaceholderContext contextAt(const std::string& plan_time, const std::string& zone) {
  PlaceholderContext context;
  context.plan_time = instantAt(plan_time);
  context.zone = *TimeZone::load(zone);
  return context;
}

std::string resolved(const std::string& text, const PlaceholderContext& context) {
  const auto value = resolveText(text, context);
  return value.ok() ? *value : "error: " + value.error().message();
}

struct DateCase {
  std::string plan_time;
  std::string zone;
  std::string text;
  std::string expected;
};

void expectDates(const std::vector<DateCase>& cases) {
  for (const DateCase& c : cases) {
    EXPECT_EQ(resolved(c.text, contextAt(c.plan_time, c.zone)), c.expected)
        << c.plan_time << " " << c.zone << " " << c.text;
  }
}

// The fields must be those of the calendar in the zone, at ends of months and in leap years.
TEST(PlaceholderTest, DatesFollowTheCalendarOfTheZone) {
  expectDates({
      {"2026-03-28T23:30:00Z", "Europe/Berlin", "${plan_time:%Y%m%d}", "20260329"},
      {"2026-03-28T23:30:00Z", "UTC", "${plan_time:%Y%m%d}", "20260328"},
      {"2026-03-28T23:30:00Z", "Europe/Berlin", "${plan_time}", "2026-03-29T00:30:00+01:00"},
      {"2026-11-29T01:00:00Z", "Asia/Shanghai", "${plan_time:%F %T,-1d}", "2026-11-28 09:00:00"},
      {"2026-03-31T12:00:00Z", "UTC", "${plan_time:%F,-1mo}", "2026-02-28"},
      {"2028-03-31T12:00:00Z", "UTC", "${plan_time:%F,-1mo}", "2028-02-29"},
      {"2028-02-29T12:00:00Z", "UTC", "${plan_time:%F,+1y}", "2029-02-28"},
      {"2028-02-29T12:00:00Z", "UTC", "${plan_time:%F,-4y}", "2024-02-29"},
      {"2026-01-31T12:00:00Z", "UTC", "${plan_time:%F,+13mo}", "2027-02-28"},
      {"2026-01-15T12:00:00Z", "UTC", "${plan_time:%F,-1mo,month_end}", "2025-12-31"},
      {"2028-02-10T12:00:00Z", "UTC", "${plan_time:%F,month_end}", "2028-02-29"},
      {"2026-05-31T12:00:00Z", "UTC", "${plan_time:%F %T,month_start,-1d}", "2026-04-30 00:00:00"},
      {"2026-03-01T12:00:00Z", "UTC", "${plan_time:%F,-1d}", "2026-02-28"},
      {"2028-03-01T12:00:00Z", "UTC", "${plan_time:%F,-1d}", "2028-02-29"},
      {"2026-11-29T12:00:00Z", "UTC", "${plan_time:%F,week_start}", "2026-11-23"},
      {"2026-11-30T12:00:00Z", "UTC", "${plan_time:%F,week_start}", "2026-11-30"},
      {"2026-11-29T12:00:00Z", "UTC", "${plan_time:%F,week_end,-1w}", "2026-11-22"},
      {"2026-11-29T12:00:00Z", "UTC", "${plan_time:%F,quarter_start}", "2026-10-01"},
      {"2026-11-29T12:00:00Z", "UTC", "${plan_time:%F,year_start}/${plan_time:%F,year_end}",
       "2026-01-01/2026-12-31"},
      {"2026-11-29T12:34:56Z", "UTC", "${plan_time:%T,hour_start}", "12:00:00"},
      {"2026-11-29T12:34:56Z", "UTC", "${plan_time:%T,+30m,-6s}", "13:04:50"},
      {"2026-12-31T23:00:00Z", "UTC", "${plan_time:%F %H,+2h}", "2027-01-01 01"},
  });
}

// A day must stay a day of the calendar where the clock changes.
TEST(PlaceholderTest, DatesAcrossChangesOfTheClock) {
  const std::string berlin = "Europe/Berlin";
  expectDates({
      {"2026-03-29T10:00:00Z", berlin, "${plan_time:%F %T%z,-1d}", "2026-03-28 12:00:00+0100"},
      {"2026-03-28T11:00:00Z", berlin, "${plan_time:%F %T%z,+1d}", "2026-03-29 12:00:00+0200"},
      {"2026-10-25T22:59:00Z", berlin, "${plan_time:%F %H:%M,-1d}", "2026-10-24 23:59"},
      {"2026-03-29T22:00:00Z", berlin, "${plan_time:%F %H,-1d}", "2026-03-29 00"},
      // A time that does not exist moves behind the gap, but only at the end.
      {"2026-03-28T01:30:00Z", berlin, "${plan_time:%F %H:%M,+1d}", "2026-03-29 03:30"},
      {"2026-03-28T01:30:00Z", berlin, "${plan_time:%F %H:%M,+1d,+1d}", "2026-03-30 02:30"},
      {"2026-03-29T01:00:00Z", berlin, "${plan_time:%H,-1h}", "03"},
      // Of two passes the one with the offset of the plan time counts.
      {"2026-10-24T00:30:00Z", berlin, "${plan_time:%H:%M%:z,+1d}", "02:30+02:00"},
      {"2026-10-26T01:30:00Z", berlin, "${plan_time:%H:%M%:z,-1d}", "02:30+01:00"},
      {"2026-10-25T01:30:00Z", berlin, "${plan_time:%H:%M %s}", "02:30 1792891800"},
      // Samoa left out 30 December 2011.
      {"2011-12-31T12:00:00Z", "Pacific/Apia", "${plan_time:%F %H,-1d}", "2011-12-31 02"},
      {"2011-12-31T12:00:00Z", "Pacific/Apia", "${plan_time:%F %H,-2d}", "2011-12-31 02"},
  });
}

TEST(PlaceholderTest, LettersOfFormats) {
  expectDates({
      {"2026-01-03T15:04:05Z", "UTC",
       "${plan_time:%Y|%y|%C|%m|%d|%e|%j|%H|%I|%M|%S|%p|%F|%D|%T|%R|%a|%A|%b|%h|%B|%u|%w|%G|%g|%V|"
       "%U|%W|%z|%s|%%|%-m|%-d|%-j}",
       "2026|26|20|01|03| 3|003|15|03|04|05|PM|2026-01-03|01/03/26|15:04:05|15:04|Sat|Saturday|Jan|"
       "Jan|January|6|6|2026|26|01|00|00|+0000|1767452645|%|1|3|3"},
      {"2027-01-03T00:00:00Z", "UTC", "${plan_time:%G-W%V-%u %U %W %I}", "2026-W53-7 01 00 12"},
      {"2026-11-29T12:00:00Z", "UTC", "${plan_time:%d,%m, %Y,-1d}", "28,11, 2026"},
      {"2026-11-29T12:00:00Z", "UTC", "$ $x $$ a$${b} $$[c] }]", "$ $x $$ a${b} $[c] }]"},
  });
}

// Files of other schedulers must work.
TEST(PlaceholderTest, DatesAsOtherSchedulersWriteThem) {
  const std::string noon = "2026-11-29T12:00:00Z";
  expectDates({
      {noon, "UTC", "$[yyyyMMdd]", "20261129"},
      {"2026-03-01T12:00:00Z", "UTC", "$[yyyyMMdd-1]", "20260228"},
      {noon, "UTC", "$[yyyy-MM-dd]", "2026-11-29"},
      {noon, "UTC", "$[yyyy-MM-dd-1] $[yyyy-MM-dd+7*2]", "2026-11-28 2026-12-13"},
      {"2026-11-29T12:10:00Z", "UTC", "$[HHmmss-1/24] $[HHmm + 15/24/60]", "111000 1225"},
      {"2026-03-31T12:00:00Z", "UTC", "$[add_months(yyyyMM,-1)]", "202602"},
      {"2026-03-31T12:00:00Z", "UTC", "$[add_months(yyyyMMdd,12*1)]", "20270331"},
      {noon, "UTC", "$[month_begin(yyyyMMdd,1)]|$[month_end(yyyyMMdd,-1)]", "20261102|20261129"},
      {noon, "UTC", "$[week_begin(yyyy-MM-dd,0)]|$[week_end(yyyy-MM-dd, 1)]",
       "2026-11-23|2026-11-30"},
      {noon, "UTC", "$[this_day(yyyyMMdd)]|$[last_day(yyyyMMdd)]", "20261129|20261128"},
      {noon, "UTC", "$[yyyy'y'MM d/M/yy EEE]", "2026y11 29/11/26 Sun"},
      {noon, "UTC", "${system.biz.date} ${system.biz.curdate} ${system.datetime}",
       "20261128 20261129 20261129120000"},
  });
}

// What can't be read must be named with what is expected.
TEST(PlaceholderTest, WrongPlaceholdersAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"${", "placeholder ${: has no \"}\""},
      {"a ${x", "placeholder ${x: has no \"}\""},
      {"$[yyyy", "has no \"]\""},
      {"${}", "expected ${name}"},
      {"${ x }", "expected ${name}"},
      {"${1x}", "expected ${name}"},
      {"${a b}", "expected ${name}"},
      {"${.x}", "expected ${name}"},
      {"${x.}", "expected ${name}"},
      {"${x:-default}", "only plan_time and prev_success_time take a format"},
      {"${plan_time:}", "has no format"},
      {"${plan_time:%Q}", "\"%Q\" is no part of a date format"},
      {"${plan_time:%}", "\"%\" is no part of a date format"},
      {"${plan_time:%:m}", "\"%:m\" is no part of a date format"},
      {"${plan_time:%Y,1d}", "\"1d\" is no step in time"},
      {"${plan_time:%Y,-1x}", "\"-1x\" is no step in time"},
      {"${plan_time:%Y,-1d,%m}", "\"%m\" is no step in time"},
      {"${plan_time:%Y,-100001d}", "is no step in time"},
      {"${plan_time:%Y,--1d}", "is no step in time"},
      {"${plan_time:%Y,-9000y}", "leaves the years 1 to 9999"},
      {"$[]", "is empty"},
      {"$[yyyyQQ]", "\"QQ\" has no meaning in a date pattern"},
      {"$[yyyyMMdd-]", "is no distance"},
      {"$[yyyyMMdd-1/7]", "is no distance"},
      {"$[yyyyMMdd-1/0]", "is no distance"},
      {"$[yyyyMMdd+9999999*9999999]", "is no distance"},
      {"$[add_months(yyyyMM)]", "expected add_months(PATTERN,N)"},
      {"$[add_months(yyyyMM,-1]", "expected \")\""},
      {"$[add_months(yyyyMM,-1/2)]", "takes a whole number"},
      {"$[add_years(yyyyMM,-1)]", "\"add_years\" is no function of dates"},
      {"${nothing}", "no parameter has the name nothing"},
      {"${load.rows}", "${load.rows}: no outputs are known here"}};
  for (const auto& [text, said] : cases) {
    const std::string value = resolved(text, contextAt("2026-11-29T12:00:00Z", "UTC"));
    EXPECT_TRUE(value.starts_with("error: ")) << text << " " << value;
    EXPECT_NE(value.find(said), std::string::npos) << text << " " << value;
  }
}

// The strongest level must win, and what comes from outside must never be looked into.
TEST(PlaceholderTest, LevelsOfParameters) {
  const ParamMap startup{{"a", "startup ${b}"}};
  const ParamMap task{
      {"a", "task"}, {"b", "task ${c}"}, {"path", "${path}:/task"}, {"none", std::nullopt}};
  const ParamMap upstream{{"b", "upstream"}, {"c", "upstream ${d}"}};
  const ParamMap flow{{"c", "flow"}, {"d", "flow ${e}"}, {"path", "/flow:${path}"}, {"none", "x"}};
  const ParamMap project{
      {"d", "project"}, {"e", "project"}, {"path", "/project"}, {"f", "project ${a}"}};
  const OutputMap outputs{{"load.x", {{"rows", "${a}"}}}};
  PlaceholderContext context = contextAt("2026-11-29T12:00:00Z", "UTC");
  context.flow = "nightly";
  context.run_id = "7";
  context.task = "check";
  context.outputs = &outputs;
  context.at(ParamLevel::Startup) = &startup;
  context.at(ParamLevel::Task) = &task;
  context.at(ParamLevel::Upstream) = &upstream;
  context.at(ParamLevel::Flow) = &flow;
  context.at(ParamLevel::Project) = &project;
  EXPECT_EQ(resolved("${a}", context), "startup ${b}");
  EXPECT_EQ(resolved("${b}", context), "task upstream ${d}");
  EXPECT_EQ(resolved("${d}", context), "flow project");
  EXPECT_EQ(resolved("${path}", context), "/flow:/project:/task");
  EXPECT_EQ(resolved("${f}", context), "project ${a}");
  EXPECT_EQ(resolved("[${none}]", context), "[]");
  EXPECT_EQ(resolved("${load.x.rows}", context), "${a}");
  EXPECT_EQ(resolved("${load.x.cols}", context),
            "error: ${load.x.cols}: the task did not write that output");
  EXPECT_EQ(resolved("${flow} ${run_id} ${task}", context), "nightly 7 check");
  EXPECT_EQ(resolved("${prev_success_time:%F}", context), "");
  context.prev_success_time = instantAt("2026-11-27T12:00:00Z");
  EXPECT_EQ(resolved("${prev_success_time:%F,+1d}", context), "2026-11-28");
  const auto all = resolveParams(context);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 8U);
  EXPECT_EQ(all->at("none"), std::nullopt);
  EXPECT_EQ(all->at("c"), "upstream ${d}");
  EXPECT_EQ(all->at("e"), "project");
}

// Parameters that lead to each other or blow up must end in an error, quickly.
TEST(PlaceholderTest, EndlessParametersAreErrors) {
  ParamMap flow{{"a", "${b}"}, {"b", "x${a}"}, {"self", "${self}"}};
  for (int i = 0; i < 40; ++i) {
    flow[fmt::format("n{}", i)] = fmt::format("${{n{0}}}${{n{0}}}", i + 1);
    flow[fmt::format("w{}", i)] = fmt::format("{0}${{w{1}}}${{w{1}}}", std::string(99, 'x'), i + 1);
  }
  flow["n40"] = "";
  flow["w40"] = "w";
  for (int i = 0; i < 200; ++i) flow[fmt::format("d{}", i)] = fmt::format("${{d{}}}", i + 1);
  flow["d200"] = "";
  PlaceholderContext context = contextAt("2026-11-29T12:00:00Z", "UTC");
  context.at(ParamLevel::Flow) = &flow;
  EXPECT_EQ(resolved("${a}", context), "error: parameter a refers to itself");
  EXPECT_EQ(resolved("${self}", context), "error: parameter self refers to itself");
  EXPECT_EQ(resolved("${n0}", context), "error: needs over 10000 steps to resolve");
  EXPECT_TRUE(resolved("${w0}", context).starts_with("error: "));
  EXPECT_NE(resolved("${d0}", context).find("over 64 others deep"), std::string::npos);
  const auto all = resolveParams(context);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().field(), "a");
}

}  // namespace
}  // namespace baton::flow
