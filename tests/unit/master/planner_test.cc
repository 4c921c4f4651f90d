// When schedules begin runs while a master looks, and what people change meanwhile. Absences:
// planner_gap_test.cc.
#include "master/flow/planner.h"

#include <atomic>
#include <thread>

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

TEST_F(PlannerTest, EachInstantIsBegunOnceWhenItIsDue) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  EXPECT_EQ(flowRow("f").next_at, instant("2026-03-02T00:01:00Z"));
  watchUntil("2026-03-02T00:00:59Z", Millis(500));
  EXPECT_TRUE(runsOf("f").empty());
  watch(Seconds(1), Millis(500));
  ASSERT_EQ(runsOf("f").size(), 1U);
  EXPECT_EQ(runsOf("f").front().created_at, instant("2026-03-02T00:01:00Z"));
  watchUntil("2026-03-02T00:10:30Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:10:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("f"), expected);
  EXPECT_EQ(flowRow("f").next_at, instant("2026-03-02T00:11:00Z"));
  EXPECT_EQ(flowRow("f").last_instant, instant("2026-03-02T00:10:00Z"));
}

TEST_F(PlannerTest, AGridCountsFromGoingOnlineInWholeSeconds) {
  clock_.advance(Micros(123'456));
  apply(yaml("f", "every: 90s"));
  watchUntil("2026-03-02T00:06:00Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:02:00Z", "2026-03-02T00:05:00Z", Seconds(90), "run");
  EXPECT_EQ(fates("f"), expected);
}

TEST_F(PlannerTest, StartEndAndCountBoundTheInstants) {
  apply(yaml("w",
             "cron: '* * * * *', timezone: UTC, start: '2026-03-02T00:03:00Z', "
             "end: '2026-03-02T00:06:00Z'"));
  apply(yaml("c", "cron: '* * * * *', timezone: UTC, count: 3"));
  EXPECT_EQ(flowRow("w").next_at, instant("2026-03-02T00:03:00Z"));
  watchUntil("2026-03-02T00:12:00Z");
  Fates window;
  expectEach(window, "2026-03-02T00:03:00Z", "2026-03-02T00:05:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("w"), window);
  EXPECT_EQ(flowRow("w").next_at, WallTime{});
  EXPECT_EQ(count("c", "run"), 3U);
  EXPECT_EQ(flowRow("c").next_at, WallTime{});
  // Online again: it counts anew.
  setOnline("c", false);
  setOnline("c", true);
  watchUntil("2026-03-02T00:20:00Z");
  EXPECT_EQ(count("c", "run"), 6U);
}

TEST_F(PlannerTest, OneInstantComesOnce) {
  apply(yaml("f", "at: '2026-03-02T00:05:00Z'"));
  apply(yaml("past", "at: '2026-03-01T00:05:00Z'"));
  watchUntil("2026-03-02T00:10:00Z");
  absent(Seconds(600));
  setOnline("f", false);
  setOnline("f", true);
  watch(Seconds(600));
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T00:05:00Z", "run"}}));
  EXPECT_TRUE(fates("past").empty());
}

TEST_F(PlannerTest, DaysWithAClockChangeHaveTheInstantsOfTheCronRules) {
  at("2026-03-28T00:00:00Z");
  apply(yaml("fixed", "cron: '30 2 * * *', timezone: Europe/Berlin"));
  apply(yaml("interval", "cron: '*/30 2 * * *', timezone: Europe/Berlin"));
  watchUntil("2026-03-30T02:00:00Z", Seconds(20));
  // On the 29th 02:00 to 03:00 does not exist: at 03:00+02:00 the fixed one runs.
  EXPECT_EQ(fates("fixed"), (Fates{{"2026-03-28T01:30:00Z", "run"},
                                   {"2026-03-29T01:00:00Z", "run"},
                                   {"2026-03-30T00:30:00Z", "run"}}));
  EXPECT_EQ(fates("interval"), (Fates{{"2026-03-28T01:00:00Z", "run"},
                                      {"2026-03-28T01:30:00Z", "run"},
                                      {"2026-03-30T00:00:00Z", "run"},
                                      {"2026-03-30T00:30:00Z", "run"}}));
}

// BUG-100: 0 runs for paused slots; the next minute fires.
TEST_F(PlannerTest, InstantsOfTheTimeOfflineAreNoRows) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  watchUntil("2026-03-02T00:02:30Z");
  setOnline("f", false);
  EXPECT_EQ(flowRow("f").next_at, WallTime{});
  watchUntil("2026-03-02T03:02:30Z");
  absent(Seconds(3'600));
  setOnline("f", true);
  watchUntil("2026-03-02T04:04:30Z");
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T00:01:00Z", "run"},
                               {"2026-03-02T00:02:00Z", "run"},
                               {"2026-03-02T04:03:00Z", "run"},
                               {"2026-03-02T04:04:00Z", "run"}}));
}

// BUG-103: whoever was told "offline" sees no run of the schedule, whatever master comes.
TEST_F(PlannerTest, AFlowThatWentOfflineRightBeforeItsInstantStaysSilent) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  watch(Seconds(30) - Millis(200), Millis(100));
  setOnline("f", false);
  absent(Millis(300));
  watch(Seconds(300));
  EXPECT_TRUE(fates("f").empty());
}

TEST_F(PlannerTest, WhatIsDueAndNotBegunWhenAFlowGoesOfflineIsMissed) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, misfire: all"));
  rig_.reset();
  clock_.advance(Seconds(180));
  open();
  std::optional<Result<master::api::FlowView>> view;
  rig_->flow_commands.setOnline("f", false, requester(), [&](auto result) { view = result; });
  settle();
  ASSERT_TRUE(view && view->ok());
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:03:00Z", Seconds(60), "offline");
  EXPECT_EQ(fates("f"), expected);
}

TEST_F(PlannerTest, AnotherScheduleIsFollowedFromThenOn) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  watchUntil("2026-03-02T00:01:30Z");
  apply(yaml("f", "cron: '*/5 * * * *', timezone: UTC"), std::nullopt);
  EXPECT_EQ(flowRow("f").next_at, instant("2026-03-02T00:05:00Z"));
  watchUntil("2026-03-02T00:10:30Z");
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T00:01:00Z", "run"},
                               {"2026-03-02T00:05:00Z", "run"},
                               {"2026-03-02T00:10:00Z", "run"}}));
}

TEST_F(PlannerTest, WhatIsDueAndNotBegunWhenAFlowGetsAnotherScheduleIsMissed) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, misfire: all"));
  rig_.reset();
  clock_.advance(Seconds(180));
  open();
  master::api::FlowApply request;
  request.text = yaml("f", "cron: '0 * * * *', timezone: UTC");
  std::vector<master::FlowDefinition> one;
  const auto parsed = flow::parseFlow("test", request.text);
  one.push_back({request, master::makeFlowVersion(0, *parsed.flow), {}});
  std::optional<Result<master::api::FlowsApplied>> applied;
  rig_->flow_commands.apply(std::move(one), [&](auto result) { applied = result; });
  settle();
  ASSERT_TRUE(applied && applied->ok());
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:03:00Z", Seconds(60), "redefined");
  EXPECT_EQ(fates("f"), expected);
  EXPECT_EQ(flowRow("f").next_at, instant("2026-03-02T01:00:00Z"));
}

// BUG-090: the clock goes back an hour, and forward again ten minutes later.
TEST_F(PlannerTest, ClockStepsBeginNothingTwiceAndLoseNothing) {
  apply(yaml("all", "cron: '* * * * *', timezone: UTC, misfire: {policy: all, max: 100}"));
  apply(yaml("none", "cron: '* * * * *', timezone: UTC, misfire: none"));
  watchUntil("2026-03-02T02:00:30Z");
  clock_.stepWall(-Seconds(3'600));
  watch(Seconds(600));
  EXPECT_EQ(fates("all").size(), 120U);
  clock_.stepWall(Seconds(3'600));  // 02:10:30
  watch(Seconds(59));
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T02:00:00Z", Seconds(60), "run");
  expectEach(expected, "2026-03-02T02:01:00Z", "2026-03-02T02:10:00Z", Seconds(60), "late");
  expectEach(expected, "2026-03-02T02:11:00Z", "2026-03-02T02:11:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("all"), expected);
  expectEach(expected, "2026-03-02T02:01:00Z", "2026-03-02T02:10:00Z", Seconds(60), "policy_none");
  EXPECT_EQ(fates("none"), expected);
}

// BUG-090's relative: the clock is eleven hours ahead for some seconds, and right again.
TEST_F(PlannerTest, AClockThatWasAheadSilencesNoSchedule) {
  apply(yaml("none", "cron: '* * * * *', timezone: UTC, misfire: none"));
  apply(yaml("latest", "cron: '* * * * *', timezone: UTC, misfire: latest"));
  apply(yaml("all", "cron: '* * * * *', timezone: UTC, misfire: {policy: all, max: 3}"));
  apply(yaml("few", "cron: '* * * * *', timezone: UTC, misfire: none, count: 14"));
  watchUntil("2026-03-02T00:10:30Z");
  clock_.stepWall(Seconds(11 * 3'600));
  watch(Seconds(20));
  clock_.stepWall(-Seconds(11 * 3'600));
  watch(Seconds(150));  // 00:13:20
  for (const std::string flow : {"none", "latest", "all", "few"}) {
    for (const std::string minute : {"11", "12", "13"}) {
      EXPECT_EQ(fates(flow)["2026-03-02T00:" + minute + ":00Z"], "run") << flow << minute;
    }
  }
  // Also for the next master, and one whose clock never was ahead.
  absent(Seconds(20));
  watchUntil("2026-03-02T00:20:30Z");
  for (const std::string flow : {"none", "latest", "all"}) {
    Fates expected;
    expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:20:00Z", Seconds(60), "run");
    Fates seen = fates(flow);
    seen.erase(seen.upper_bound("2026-03-02T00:20:00Z"), seen.end());
    EXPECT_EQ(seen, expected) << flow;
  }
  // What was begun ahead of its time keeps its run; the rest comes in its time.
  const size_t ahead = count("all", "late");
  EXPECT_EQ(ahead, 3U);
  watchUntil("2026-03-02T11:15:30Z", Seconds(30));
  Fates seen = fates("all");
  EXPECT_EQ(seen.size(), 11U * 60 + 15);
  EXPECT_EQ(count("all", "late"), ahead);
  EXPECT_EQ(count("all", "run"), seen.size() - ahead);
  EXPECT_EQ(flowRow("few").fired, 14);
  EXPECT_EQ(count("few", "run"), 14U);
}

TEST_F(PlannerTest, WhatWentOnlineUnderAClockThatWasAheadGoesOnWithTheRightOne) {
  apply(yaml("again", "cron: '* * * * *', timezone: UTC"));
  apply(yaml("other", "cron: '* * * * *', timezone: UTC"));
  watchUntil("2026-03-02T00:10:30Z");
  clock_.stepWall(Seconds(11 * 3'600));
  watch(Seconds(10));
  setOnline("again", false);
  setOnline("again", true);
  apply(yaml("other", "cron: '30 * * * * ?', timezone: UTC"));
  apply(yaml("new", "cron: '* * * * *', timezone: UTC"));
  apply(yaml("grid", "every: 30s"));
  watch(Seconds(5));
  clock_.stepWall(-Seconds(11 * 3'600));
  watchUntil("2026-03-02T00:13:20Z");
  for (const std::string flow : {"again", "new"}) {
    EXPECT_EQ(fates(flow)["2026-03-02T00:11:00Z"], "run") << flow;
    EXPECT_EQ(fates(flow)["2026-03-02T00:12:00Z"], "run") << flow;
  }
  EXPECT_EQ(fates("other")["2026-03-02T00:12:30Z"], "run");
  EXPECT_GE(count("grid", "run"), 4U);
}

TEST_F(PlannerTest, AClockThatGoesBackForAWhileBeginsNothingFromBeforeAFlowWasOnline) {
  watchUntil("2026-03-02T02:00:30Z", Seconds(600));
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  watch(Seconds(120));
  clock_.stepWall(-Seconds(3'600));
  watch(Seconds(120));
  clock_.stepWall(Seconds(3'600));
  watch(Seconds(90));
  const Fates seen = fates("f");
  EXPECT_EQ(seen.begin()->first, "2026-03-02T02:01:00Z");
  EXPECT_EQ(seen.size(), 6U) << "up to 02:06, each once, run or missed";
}

TEST_F(PlannerTest, WhatAClockThatWasAheadNeverDealtWithIsMissedAsUsual) {
  // Aim: the stretch in which it was ahead takes nothing from flows that are made in it.
  apply(yaml("old", "cron: '* * * * *', timezone: UTC, misfire: none"));
  watchUntil("2026-03-02T00:10:30Z");
  clock_.stepWall(Seconds(3 * 3'600));
  watch(Seconds(20));
  clock_.stepWall(-Seconds(3 * 3'600));
  watch(Seconds(30));
  apply(yaml("new", "cron: '* * * * *', timezone: UTC, misfire: none"));
  watchUntil("2026-03-02T00:20:30Z");
  absent(Seconds(600));
  watchUntil("2026-03-02T00:32:30Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:12:00Z", "2026-03-02T00:20:00Z", Seconds(60), "run");
  expectEach(expected, "2026-03-02T00:21:00Z", "2026-03-02T00:30:00Z", Seconds(60), "policy_none");
  expectEach(expected, "2026-03-02T00:31:00Z", "2026-03-02T00:32:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("new"), expected);
}

TEST_F(PlannerTest, ANewMasterWithTheRightClockGoesOnBehindOneThatWasAhead) {
  // Aim: the master with the wrong clock died with it.
  apply(yaml("f", "cron: '*/5 * * * *', timezone: UTC, misfire: latest"));
  watchUntil("2026-03-02T00:10:30Z");
  clock_.stepWall(Seconds(7 * 3'600));
  watch(Seconds(20));
  rig_.reset();
  clock_.stepWall(-Seconds(7 * 3'600));
  begin();
  watchUntil("2026-03-02T00:30:30Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:05:00Z", "2026-03-02T00:30:00Z", Seconds(300), "run");
  Fates seen = fates("f");
  seen.erase(seen.upper_bound("2026-03-02T00:30:00Z"), seen.end());
  EXPECT_EQ(seen, expected);
}

TEST_F(PlannerTest, WhatWasBegunComesNoMoreThoughTheFlowIsPlannedAnewUnderAWrongClock) {
  // Aim: last_instant guards, also where the next instant is found anew, and over a deletion.
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  apply(yaml("g", "cron: '* * * * *', timezone: UTC"));
  watchUntil("2026-03-02T00:30:30Z");
  clock_.stepWall(-Seconds(900));
  watch(Seconds(30));
  setOnline("f", false);
  setOnline("f", true);
  ASSERT_TRUE(ask<master::api::FlowView>([&](auto done) {
                rig_->flow_commands.remove("g", requester(), done);
              }).ok());
  apply(yaml("g", "cron: '* * * * *', timezone: UTC"));
  watch(Seconds(300));
  EXPECT_EQ(count("f", "run"), 30U);
  watchUntil("2026-03-02T00:32:30Z");
  for (const std::string flow : {"f", "g"}) {
    Fates expected;
    expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:32:00Z", Seconds(60), "run");
    EXPECT_EQ(fates(flow), expected);
  }
}

TEST_F(PlannerTest, WithoutNumbersInHandWhatIsDueBeginsAllTheSame) {
  begin(defaults(), 20);
  for (int i = 0; i < 60; ++i) {
    apply(yaml("f" + std::to_string(i), "cron: '* * * * *', timezone: UTC"));
  }
  watchUntil("2026-03-02T00:01:00Z");
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(fates("f" + std::to_string(i)), (Fates{{"2026-03-02T00:01:00Z", "run"}})) << i;
  }
  absent(Seconds(60), 20);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(runsOf("f" + std::to_string(i)).size(), 2U) << i;
}

TEST_F(PlannerTest, WhileTheDatabaseTakesNothingInstantsWait) {
  // Aim: nothing is decided that would pile up; afterwards the policy of the outage holds.
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, misfire: {policy: all, max: 2}"));
  apply(yaml("g", "at: '2026-03-02T05:00:00Z'"));
  rig_->updater.stop();  // It writes by itself.
  std::atomic<bool> retried = false;
  std::atomic<bool> back = false;
  database_.on_commit = [&] {
    retried = true;
    retried.notify_all();
    back.wait(false);
  };
  database_.fail(FakeDatabase::Point::Commit, ErrorCode::StorageFull);
  rig_->dispatcher.post(
      [&] { rig_->flow_commands.setOnline("g", false, requester(), [](const auto&) {}); });
  rig_->dispatcher.runPendingForTest();
  rig_->writer.publish();
  std::thread writer([&] { rig_->writer.runPendingForTest(); });
  retried.wait(false);
  ASSERT_FALSE(rig_->writer.acceptsWork());
  const size_t waiting = rig_->writer.pendingOperations();
  for (int i = 0; i < 30; ++i) {
    clock_.advance(Seconds(10));
    rig_->dispatcher.runPendingForTest();
  }
  EXPECT_EQ(rig_->writer.pendingOperations(), waiting);
  back = true;
  back.notify_all();
  writer.join();
  database_.on_commit = nullptr;
  watch(Seconds(20), Millis(200));
  finish();
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T00:01:00Z", "over_max"},
                               {"2026-03-02T00:02:00Z", "over_max"},
                               {"2026-03-02T00:03:00Z", "over_max"},
                               {"2026-03-02T00:04:00Z", "late"},
                               {"2026-03-02T00:05:00Z", "late"}}));
}

class ManyFlowsTest : public PlannerTest {
 protected:
  // Online flows that differ in name alone, in memory and in the database.
  void define(size_t flows, const std::string& schedule) {
    const std::string text = yaml("f", schedule);
    const flow::ParsedFlow parsed = flow::parseFlow("test", text);
    ASSERT_TRUE(parsed.flow.has_value());
    const auto version = master::makeFlowVersion(1, *parsed.flow);
    for (size_t i = 0; i < flows; ++i) {
      const std::string name = fmt::format("f{}", i);
      master::LiveFlow& flow = rig_->flows.flows[name];
      flow.record.name = name;
      flow.record.version = 1;
      flow.record.online = true;
      flow.newest = version;
      rig_->planner.plan(flow);
      database_.direct().flows[name] = flow.record;
    }
  }
};

TEST_F(ManyFlowsTest, TenThousandThatAreDueInOneSecondAreAllBegunInSlices) {
  begin(defaults(), 40'000);
  define(10'000, "cron: '* * * * *', timezone: UTC");
  watchUntil("2026-03-02T00:00:59Z");
  // Somebody else's events are handled between the slices.
  clock_.advance(Seconds(1));
  size_t turns = 0;
  size_t before = 0;
  while (before < 10'000 && turns < 100) {
    rig_->step();
    ++turns;
    const size_t begun = rig_->ended_runs.size();
    EXPECT_LE(begun - before, 200U);
    before = begun;
  }
  EXPECT_GE(turns, 50U);
  settle();
  const auto rows = database_.rows();
  ASSERT_EQ(rows.runs.size(), 10'000U);
  std::set<std::string> flows;
  for (const auto& [id, run] : rows.runs) {
    flows.insert(run.flow);
    EXPECT_EQ(run.plan_time, instant("2026-03-02T00:01:00Z"));
  }
  EXPECT_EQ(flows.size(), 10'000U);
  EXPECT_TRUE(rows.missed.empty());
  EXPECT_EQ(rows.flows.at("f9999").next_at, instant("2026-03-02T00:02:00Z"));
}

TEST_F(ManyFlowsTest, AHundredThousandThatAreNotDueCostNothing) {
  define(100'000, "cron: '0 12 * * *', timezone: UTC");
  settle();
  rig_->watchdog.stop();
  rig_->updater.stop();
  EXPECT_EQ(rig_->planner.planned(), 100'000U);
  const uint64_t commits = database_.commits();
  const uint64_t progress = rig_->dispatcher.progress();
  watch(Seconds(600));
  EXPECT_EQ(database_.commits(), commits);
  EXPECT_LE(rig_->dispatcher.progress() - progress, 60U);
}

}  // namespace
}  // namespace baton::test
