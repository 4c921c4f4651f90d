// What people ask of calendars, and what becomes of the flows that follow them.
#include "master/flow/calendar_commands.h"

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::api::CalendarApplied;
using master::api::CalendarApply;
using master::api::CalendarsApplied;
using master::api::CalendarView;
using Code = ErrorCode;

// 2026-03-02 is a Monday; the test begins at 00:00:30.
const char* const kDailyOffDays =
    "cron: '0 2 * * *', timezone: UTC, calendar: De, off_day: skip, misfire: {policy: all}";

class CalendarCommandsTest : public PlannerTest {
 protected:
  Result<CalendarsApplied> tryPutAll(std::vector<CalendarApply> requests) {
    std::vector<master::CalendarDefinition> definitions;
    for (CalendarApply& request : requests) {
      flow::ParsedCalendar parsed = flow::parseCalendar("test", request.text);
      EXPECT_TRUE(parsed.calendar.has_value()) << request.text;
      request.request.principal = "ann";
      definitions.push_back({std::move(request), std::move(parsed)});
    }
    return ask<CalendarsApplied>(
        [&](auto done) { rig_->calendar_commands.apply(std::move(definitions), done); });
  }
  Result<CalendarApplied> tryPut(CalendarApply request) {
    const auto all = tryPutAll({std::move(request)});
    if (!all.ok()) return all.error();
    return all->calendars.front();
  }
  CalendarApplied put(const std::string& text, bool dry_run = false) {
    const auto applied = tryPut({.name = "", .text = text, .if_version = {}, .dry_run = dry_run});
    EXPECT_TRUE(applied.ok()) << applied.status().text();
    return applied.ok() ? *applied : CalendarApplied{};
  }
  Status removeCalendar(const std::string& name) {
    return ask<CalendarView>([&](auto done) { rig_->calendar_commands.remove(name, {}, done); })
        .status();
  }
  std::string nextOf(const std::string& key) const { return formatRfc3339(flowRow(key).next_at); }
};

// A flow follows days off from its first plan on, and a calendar that nobody knows is refused.
TEST_F(CalendarCommandsTest, FlowsFollowTheirCalendar) {
  CalendarApply request;
  master::api::FlowApply flow;
  flow.text = yaml("F", kDailyOffDays);
  const auto unknown = tryApply(flow);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().field(), "schedule.calendar");
  const CalendarApplied made = put("{calendar: De, holidays: [2026-03-03..2026-03-05]}");
  EXPECT_TRUE(made.created && made.changed);
  EXPECT_EQ(made.calendar.record.version, 1U);
  EXPECT_EQ(made.calendar.record.author, "ann");
  EXPECT_EQ(made.calendar.last_day, "2026-03-05");
  apply(flow.text);
  EXPECT_EQ(nextOf("f"), "2026-03-02T02:00:00Z");
  watchUntil("2026-03-09T12:00:00Z", Seconds(600));
  Fates expected;
  for (const char* day : {"02", "06", "09"}) {
    expected["2026-03-" + std::string(day) + "T02:00:00Z"] = "run";
  }
  EXPECT_EQ(fates("f"), expected);
}

// Who waits for all runs of a flow waits for those of the days as they are by then.
TEST_F(CalendarCommandsTest, ACalendarThatEndsIsToldOf) {
  // Aim: before its last day, not when a run came on a holiday. It is 2 March.
  const auto warning = [&](const std::string& holidays) {
    const auto applied = put("{calendar: de, holidays: [" + holidays + "]}");
    return applied.warnings.empty() ? std::string() : applied.warnings.front().message;
  };
  EXPECT_EQ(warning(""), "");
  EXPECT_EQ(warning("2026-01-01"),
            "names no day behind 2026-01-01, from where on the week alone counts");
  EXPECT_NE(warning("2026-01-01, 2026-04-01"), "");
  EXPECT_EQ(warning("2026-01-01, 2026-04-02"), "");
}

TEST_F(CalendarCommandsTest, WaitsForAllInstantsFollowTheNewDays) {
  put("{calendar: De, adjusted_workdays: [2026-03-07]}");  // A Saturday.
  apply(yaml("src", kDailyOffDays));
  watchUntil("2026-03-07T01:00:00Z", Seconds(600));
  apply("{flow: w, tasks: {e: {event: {flow: src, window: {last_3_days: all}}}}}", false);
  const RunId run = trigger("w", {.plan_time = instant("2026-03-08T12:00:00Z")}).state.id;
  EXPECT_EQ(nodeStatus(run, "e"), TaskStatus::Running);
  EXPECT_NE(rig_->events.whyWaiting(node(run, "e").state.id).find("2026-03-07T02:00"),
            std::string::npos);
  put("{calendar: De}");
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

// A change moves the next instants of the flows that follow it, in the operation of the change;
// a day of the past that becomes a workday is not made up for.
TEST_F(CalendarCommandsTest, AChangePlansItsFlowsAnew) {
  put("{calendar: De, holidays: [2026-03-02]}");
  apply(yaml("F", kDailyOffDays));
  apply(yaml("Other", "cron: '0 2 * * *', timezone: UTC"));
  apply(yaml("Off", kDailyOffDays), false);
  EXPECT_EQ(nextOf("f"), "2026-03-03T02:00:00Z");
  watchUntil("2026-03-02T12:00:00Z", Seconds(600));
  const size_t runs = runsOf("other").size();
  CalendarApplied would = put("{calendar: DE, holidays: [2026-03-03]}", true);
  EXPECT_EQ(would.flows, 2U);
  EXPECT_EQ(nextOf("f"), "2026-03-03T02:00:00Z");
  const CalendarApplied changed = put("{calendar: DE, holidays: [2026-03-03]}");
  EXPECT_FALSE(changed.created);
  EXPECT_EQ(changed.changes.size(), 2U);
  EXPECT_EQ(changed.calendar.record.version, 2U);
  EXPECT_EQ(changed.flows, 2U);
  EXPECT_EQ(nextOf("f"), "2026-03-04T02:00:00Z");
  EXPECT_EQ(database_.rows().calendars.at("de").name, "DE");
  watchUntil("2026-03-04T12:00:00Z", Seconds(600));
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-04T02:00:00Z", "run"}}));
  EXPECT_EQ(runsOf("other").size(), runs + 2);
  EXPECT_TRUE(runsOf("off").empty());
}

// A next master follows the calendars and the instants of the last one, and so does what was
// missed.
TEST_F(CalendarCommandsTest, ATakeoverKeepsCalendars) {
  put("{calendar: De, holidays: [2026-03-03, 2026-03-05]}");
  put("{calendar: gone}");
  EXPECT_TRUE(removeCalendar("GONE").ok());
  apply(yaml("F", kDailyOffDays));
  absent(std::chrono::hours(24 * 4));  // To Friday.
  const Fates expected{{"2026-03-02T02:00:00Z", "late"}, {"2026-03-04T02:00:00Z", "late"}};
  Fates found = fates("f");
  found.erase("2026-03-06T02:00:00Z");
  EXPECT_EQ(found, expected);
  EXPECT_EQ(removeCalendar("gone").error().code(), Code::NotFound);
  // The number goes on counting.
  EXPECT_EQ(put("{calendar: gone}").calendar.record.version, 2U);
  EXPECT_EQ(put("{calendar: De}").calendar.record.version, 2U);
}

// What flows follow can't be taken from under them, read or not read since the takeover.
TEST_F(CalendarCommandsTest, ACalendarThatIsFollowedStays) {
  put("{calendar: De}");
  for (int i = 0; i < 7; ++i) apply(yaml("F" + std::to_string(i), kDailyOffDays), i % 2 == 0);
  for (const bool again : {false, true}) {
    if (again) absent(Seconds(1));
    const Status refused = removeCalendar("de");
    EXPECT_EQ(refused.error().code(), Code::Conflict);
    EXPECT_NE(refused.text().find("and 2 more"), std::string::npos) << refused.text();
  }
  for (int i = 0; i < 7; ++i) {
    const std::string name = "F" + std::to_string(i);
    EXPECT_TRUE(ask<master::api::FlowView>([&](auto done) {
                  rig_->flow_commands.remove(name, requester(), done);
                }).ok());
  }
  EXPECT_TRUE(removeCalendar("de").ok());
  EXPECT_TRUE(database_.rows().calendars.at("de").deleted);
}

// Several calendars are stored together, or none of them is.
TEST_F(CalendarCommandsTest, SeveralAreStoredTogetherOrNotAtAll) {
  put("{calendar: De, holidays: [2026-03-03]}");
  const std::vector<CalendarApply> all = {
      {.name = "", .file = "fr.yaml", .text = "{calendar: Fr}", .if_version = {}},
      {.name = "", .file = "de.yaml", .text = "{calendar: De}", .if_version = 1}};
  auto stale = all;
  stale[1].if_version = 7;
  const auto refused = tryPutAll(stale);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::Conflict);
  EXPECT_EQ(refused.error().field(), "version");
  EXPECT_NE(refused.error().message().find("de.yaml"), std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(database_.rows().calendars.contains("fr"));
  auto dry = all;
  for (CalendarApply& request : dry) request.dry_run = true;
  const auto looked = tryPutAll(dry);
  ASSERT_TRUE(looked.ok()) << looked.status().text();
  EXPECT_TRUE(looked->calendars[0].created);
  EXPECT_FALSE(database_.rows().calendars.contains("fr"));
  const auto stored = tryPutAll(all);
  ASSERT_TRUE(stored.ok()) << stored.status().text();
  EXPECT_TRUE(stored->calendars[0].created);
  EXPECT_EQ(stored->calendars[1].changes.size(), 1U);
  EXPECT_EQ(database_.rows().calendars.at("fr").version, 1U);
  EXPECT_EQ(database_.rows().calendars.at("de").version, 2U);
}

// Of two people who change the same version the second is told; who says the same changes nothing.
TEST_F(CalendarCommandsTest, VersionsAreCompared) {
  put("{calendar: De, holidays: [2026-03-03]}");
  const auto stale = tryPut({.name = "", .text = "{calendar: De}", .if_version = 7});
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code(), Code::Conflict);
  EXPECT_EQ(stale.error().field(), "version");
  EXPECT_FALSE(tryPut({.name = "", .text = "{calendar: De}", .if_version = 0}).ok());
  EXPECT_FALSE(tryPut({.name = "", .text = "{calendar: Fr}", .if_version = 1}).ok());
  const auto same =
      tryPut({.name = "", .text = "calendar: De\nholidays: ['2026-03-03']\n", .if_version = 9});
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->changed);
  EXPECT_EQ(database_.rows().calendars.at("de").version, 1U);
  EXPECT_TRUE(tryPut({.name = "", .text = "{calendar: De}", .if_version = 1}).ok());
}

}  // namespace
}  // namespace baton::test
