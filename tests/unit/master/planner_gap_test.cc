// Instants that passed while no master looked: what is begun at once, what by the misfire policy,
// and that no crash in the middle changes anything about it.
#include <algorithm>

#include "master/flow/planner.h"
#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

class PlannerGapTest : public PlannerTest {
 protected:
  struct Crash {};
  // Begins a term each operation of which is one commit, and lets it work until it has made
  // `commits` of them, or until nothing is left. True: nothing is left.
  bool workFor(size_t commits) {
    constexpr size_t kRecovery = 4;  // Commits that reserve numbers.
    size_t made = 0;
    bool done = false;
    database_.on_commit = [&] {
      if (++made > kRecovery && made - kRecovery >= commits) throw Crash();
    };
    try {
      begin(defaults(), 1'000, 1);
      finish();
      done = true;
    } catch (const Crash&) {
    }
    database_.on_commit = nullptr;
    rig_.reset();
    return done;
  }
};

// The table: what each policy makes of an absence, for each frequency.
struct Absence {
  const char* name;
  const char* schedule;
  Seconds absent;
};
struct Policy {
  const char* text;
  std::optional<MisfirePolicy> policy;  // None: by frequency.
};

TEST_F(PlannerGapTest, TheNextInstantOfARowIsFoundAnew) {
  // Aim: the last master may have known other rules of the zone; also where somebody has needed the
  // definition before it is due.
  apply(yaml("f", "cron: '0 2 * * *', timezone: Europe/Berlin"));
  apply(yaml("g", "cron: '0 2 * * *', timezone: Europe/Berlin"));
  rig_.reset();
  for (const char* key : {"f", "g"}) {
    database_.direct().flows.at(key).next_at = instant("2026-03-02T00:30:00Z");
  }
  begin();
  rig_->flows.newestOf(rig_->flows.flows.at("g"));
  watchUntil("2026-03-02T01:30:00Z", Seconds(30));
  for (const char* key : {"f", "g"}) {
    EXPECT_EQ(fates(key), (Fates{{"2026-03-02T01:00:00Z", "run"}})) << key;
  }
}

TEST_F(PlannerGapTest, AnAbsenceLeavesTheRowsThatThePolicySays) {
  using Kind = MisfireKind;
  const Absence absences[] = {
      {"seconds", "every: 10s, start: '2026-01-01T00:00:03Z'", Seconds(3 * 3'600 + 64)},
      {"minutely", "cron: '* * * * *', timezone: UTC", Seconds(5 * 3'600 + 70)},
      {"quarters", "cron: '*/15 * * * *', timezone: UTC", Seconds(50 * 3'600)},
      {"hourly", "cron: '0 * * * *', timezone: UTC", Seconds(50 * 3'600)},
      {"working", "cron: '0 9-17 * * 1-5', timezone: Europe/Berlin", Seconds(9 * 86'400)},
      {"daily", "cron: '0 2 * * *', timezone: Europe/Berlin", Seconds(40 * 86'400)},
      {"weekly", "cron: '0 2 * * 1', timezone: UTC", Seconds(40 * 86'400)},
  };
  const Policy policies[] = {
      {"", std::nullopt},
      {"none", MisfirePolicy{.kind = Kind::None}},
      {"latest", MisfirePolicy{.kind = Kind::Latest}},
      {"{policy: all, max: 5, within: 2h}", MisfirePolicy{Kind::All, 5, Seconds(7'200), true}},
      {"{policy: all, max: 1000, within: 60h, order: newest_first}",
       MisfirePolicy{Kind::All, 1'000, Seconds(60 * 3'600), false}},
  };
  const MisfirePolicy by_frequency[] = {
      {.kind = Kind::Latest},
      {.kind = Kind::Latest},
      {.kind = Kind::Latest},
      {Kind::All, 24, Seconds(86'400), true},
      {Kind::All, 24, Seconds(86'400), true},
      {Kind::All, 14, Seconds(14 * 86'400), true},
      {Kind::All, 14, Seconds(14 * 86'400), true},
  };
  for (size_t a = 0; a < std::size(absences); ++a) {
    const Absence& absence = absences[a];
    for (const Policy& policy : policies) {
      SCOPED_TRACE(std::string(absence.name) + " " + policy.text);
      const MisfirePolicy rule = policy.policy.value_or(by_frequency[a]);
      database_.direct() = {};
      begin(defaults(), 4'000);
      std::string schedule = absence.schedule;
      if (*policy.text != 0) schedule += std::string(", misfire: ") + policy.text;
      apply(yaml("f", schedule));
      const Recurrence recurrence = *rig_->flows.flows.at("f").recurrence;
      const WallTime left = clock_.wallNow();
      absent(absence.absent, 4'000);
      const WallTime back = left + absence.absent;
      std::vector<WallTime> instants;
      for (auto at = recurrence.next(left); at && *at <= back; at = recurrence.next(*at)) {
        instants.push_back(*at);
      }
      ASSERT_FALSE(instants.empty());
      ASSERT_LT(instants.back(), back - Micros(1));
      Fates expected;
      size_t running = 0;
      for (auto at = instants.rbegin(); at != instants.rend(); ++at) {
        std::string& fate = expected[formatRfc3339(*at)];
        if (rule.kind == Kind::None) {
          fate = "policy_none";
        } else if (rule.kind == Kind::Latest) {
          fate = running++ == 0 ? "late" : "not_the_latest";
        } else if (*at < back - rule.within) {
          fate = "too_old";
        } else {
          fate = running++ < rule.max ? "late" : "over_max";
        }
      }
      EXPECT_EQ(fates("f"), expected);
      const FlowRecord row = flowRow("f");
      EXPECT_EQ(row.missed_until, WallTime{});
      EXPECT_EQ(row.next_at, *recurrence.next(back));
      const std::vector<RunRecord> runs = runsOf("f");
      for (size_t i = 1; i < runs.size(); ++i) {
        EXPECT_EQ(runs[i - 1].plan_time < runs[i].plan_time, rule.oldest_first);
      }
    }
  }
}

TEST_F(PlannerGapTest, AClockChangeNearbyMakesNoOtherDefaultPolicy) {
  // Aim: what runs of an outage is the same with a change of the clock behind it, in it and before
  // it, and from its first part to its last, though the master changes between them.
  const std::pair<const char*, const char*> outages[] = {
      {"2026-03-21T12:00:10Z", "2026-03-26T12:00:10Z"},  // Berlin's change: 29 March, 01:00Z.
      {"2026-03-27T12:00:10Z", "2026-04-01T12:00:10Z"},
      {"2026-04-01T12:00:10Z", "2026-04-06T12:00:10Z"}};
  const FakeDatabase::Rows nothing = database_.rows();
  for (const auto& [from, to] : outages) {
    for (const size_t commits : {size_t{3}, SIZE_MAX}) {
      SCOPED_TRACE(fmt::format("{} {}", from, commits));
      rig_.reset();
      database_.direct() = nothing;
      at(from);
      begin();
      apply(yaml("berlin", "cron: '0 2 * * *', timezone: Europe/Berlin"));
      apply(yaml("midnight", "cron: '0 0 * * *', timezone: Europe/Berlin"));
      apply(yaml("hourly", "cron: '30 0-23 * * *', timezone: Europe/Berlin"));
      apply(yaml("utc", "cron: '30 0-23 * * *', timezone: UTC"));
      rig_.reset();
      at(to);
      size_t masters = 1;
      while (!workFor(commits)) ASSERT_LT(++masters, 100U);
      EXPECT_EQ(masters > 2, commits == 3) << masters;
      for (const char* daily : {"berlin", "midnight"}) {
        EXPECT_EQ(count(daily, "late"), 5U) << daily;
        EXPECT_EQ(fates(daily).size(), 5U) << daily;
      }
      for (const char* hourly : {"hourly", "utc"}) {
        EXPECT_EQ(count(hourly, "late"), 24U) << hourly;
        EXPECT_EQ(count(hourly, "too_old"), fates(hourly).size() - 24) << hourly;
        EXPECT_GE(fates(hourly).size(), 120U) << hourly;
      }
    }
  }
}

// BUG-080: each slot has one run though the master changes all the time.
TEST_F(PlannerGapTest, AFailoverIsNoOutage) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, misfire: none"));
  for (int i = 0; i < 10; ++i) {
    watch(Seconds(180) - Seconds(i));
    absent(Seconds(20 + i));
  }
  watchUntil("2026-03-02T00:34:30Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:34:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("f"), expected);
}

// A master that was frozen looked at nothing, however near the next instant was: what passed goes
// by the policy, but for the newest.
TEST_F(PlannerGapTest, WhoWasFrozenBeginsNoBurst) {
  apply(yaml("f", "cron: '* * * * * ?', dialect: quartz, timezone: UTC, misfire: none"));
  watchUntil("2026-03-02T00:00:40Z");
  clock_.advance(Millis(50'500));
  finish();
  watchUntil("2026-03-02T00:01:33Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:00:31Z", "2026-03-02T00:00:40Z", Seconds(1), "run");
  expectEach(expected, "2026-03-02T00:00:41Z", "2026-03-02T00:01:29Z", Seconds(1), "policy_none");
  expectEach(expected, "2026-03-02T00:01:30Z", "2026-03-02T00:01:33Z", Seconds(1), "run");
  EXPECT_EQ(fates("f"), expected);
}

// BUG-101: policy none, five minutes without a master: nothing of them runs, the next slot does.
TEST_F(PlannerGapTest, AfterAnOutagePolicyNoneRunsNothingOfIt) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, misfire: none"));
  watchUntil("2026-03-02T00:02:40Z");
  absent(Seconds(300));  // 00:07:40; the newest slot is 40 s old.
  watchUntil("2026-03-02T00:08:10Z");
  Fates expected;
  expectEach(expected, "2026-03-02T00:01:00Z", "2026-03-02T00:02:00Z", Seconds(60), "run");
  expectEach(expected, "2026-03-02T00:03:00Z", "2026-03-02T00:07:00Z", Seconds(60), "policy_none");
  expectEach(expected, "2026-03-02T00:08:00Z", "2026-03-02T00:08:00Z", Seconds(60), "run");
  EXPECT_EQ(fates("f"), expected);
}

TEST_F(PlannerGapTest, AYoungInstantThatStandsAloneIsBegunWhateverThePolicy) {
  apply(yaml("f", "cron: '0 2 * * *', timezone: UTC, misfire: none"));
  rig_.reset();
  at("2026-03-04T02:00:59Z");
  absent(Seconds(0));
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T02:00:00Z", "policy_none"},
                               {"2026-03-03T02:00:00Z", "policy_none"},
                               {"2026-03-04T02:00:00Z", "run"}}));
  rig_.reset();
  at("2026-03-05T02:01:01Z");
  absent(Seconds(0));
  EXPECT_EQ(fates("f").at("2026-03-05T02:00:00Z"), "policy_none");
}

TEST_F(PlannerGapTest, WhatIsDueNowGoesBeforeTheBacklog) {
  for (int i = 0; i < 300; ++i) {
    apply(yaml(fmt::format("f{}", i), "cron: '0 2 * * *', timezone: UTC"));
  }
  rig_.reset();
  at("2026-03-05T02:00:10Z");
  absent(Seconds(0), 4'000);
  size_t current = 0;
  bool backlog = false;
  for (const auto& [id, run] : database_.rows().runs) {
    backlog = backlog || run.compensates;
    current += run.compensates ? 0 : 1;
    EXPECT_FALSE(backlog && !run.compensates) << id;
  }
  EXPECT_EQ(current, 300U);
  EXPECT_EQ(database_.rows().runs.size(), 300U * 4);
}

TEST_F(PlannerGapTest, NewInstantsAreBegunOnTimeWhileTheBacklogIsWorkedOff) {
  apply(yaml("f", "every: 1s, start: '2026-01-01T00:00:00Z', misfire: none"));
  rig_.reset();
  clock_.advance(Seconds(100'000));
  begin();
  size_t looked = 0;
  while (rig_->planner.behind() > 0) {
    ASSERT_LT(++looked, 1'000U);
    clock_.advance(Seconds(1));
    for (int i = 0; i < 2; ++i) rig_->step();
    const std::vector<RunRecord> runs = runsOf("f");
    ASSERT_FALSE(runs.empty());
    EXPECT_EQ(runs.back().plan_time, clock_.wallNow());
  }
  EXPECT_GT(looked, 5U);
  EXPECT_EQ(count("f", "policy_none"), 99'999U);
}

TEST_F(PlannerGapTest, MonthsOfAMinutelyScheduleAreDealtWithInSmallOperations) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC"));
  rig_.reset();
  clock_.advance(Seconds(30 * 86'400));
  size_t most = 0;
  size_t rows = database_.direct().missed.size();
  database_.on_commit = [&] {
    const size_t now = database_.direct().missed.size();
    most = std::max(most, now - rows);
    rows = now;
  };
  begin(defaults(), 1'000, 1);
  finish();
  database_.on_commit = nullptr;
  EXPECT_EQ(database_.rows().missed.size(), 30U * 1'440 - 1);
  EXPECT_EQ(count("f", "late"), 1U);
  EXPECT_LE(most, 500U);
}

TEST_F(PlannerGapTest, CountStopsWithinAnAbsence) {
  apply(yaml("f", "cron: '* * * * *', timezone: UTC, count: 5, misfire: {policy: all, max: 2}"));
  watchUntil("2026-03-02T00:02:30Z");
  absent(Seconds(3'600));
  watch(Seconds(120));
  EXPECT_EQ(fates("f"), (Fates{{"2026-03-02T00:01:00Z", "run"},
                               {"2026-03-02T00:02:00Z", "run"},
                               {"2026-03-02T00:03:00Z", "over_max"},
                               {"2026-03-02T00:04:00Z", "late"},
                               {"2026-03-02T00:05:00Z", "late"}}));
  EXPECT_EQ(flowRow("f").next_at, WallTime{});
}

TEST_F(PlannerGapTest, ALongAbsenceIsCountedOverManyTurns) {
  // Aim: a schedule of seconds that is counted keeps nobody waiting, and the count is right.
  apply(yaml("f", "cron: '* * * * * ?', timezone: UTC, misfire: latest, count: 1000000"));
  apply(yaml("last", "cron: '* * * * * ?', timezone: UTC, misfire: latest, count: 50000"));
  watch(Seconds(20));
  const int64_t before = flowRow("f").fired;
  EXPECT_NEAR(before, 20, 1);
  absent(Seconds(100'000));
  EXPECT_NEAR(flowRow("f").fired, before + 100'000, 3);  // Some time went by meanwhile.
  EXPECT_EQ(flowRow("last").fired, 50'000);
  EXPECT_EQ(flowRow("last").next_at, WallTime{});
}

TEST_F(PlannerGapTest, ASecondAbsenceInTheMiddleOfTheFirstOnesBacklogLosesNothing) {
  apply(yaml("f", "every: 10s, start: '2026-01-01T00:00:00Z', misfire: {policy: all, max: 40}"));
  rig_.reset();
  clock_.advance(Seconds(20'000));
  EXPECT_FALSE(workFor(3));
  EXPECT_NE(flowRow("f").missed_until, WallTime{});
  clock_.advance(Seconds(2'000));
  absent(Seconds(0));
  const Fates all = fates("f");
  EXPECT_EQ(all.size(), 2'200U);
  EXPECT_EQ(count("f", "late"), 80U);
}

TEST_F(PlannerGapTest, ACrashBetweenAnyTwoCommitsChangesNothing) {
  apply(yaml("all", "cron: '*/10 * * * *', timezone: UTC, misfire: {policy: all, max: 15}"));
  apply(yaml("back",
             "cron: '*/10 * * * *', timezone: UTC, "
             "misfire: {policy: all, max: 15, order: newest_first}"));
  apply(yaml("latest", "every: 10s"));
  apply(yaml("daily", "cron: '0 3 * * *', timezone: UTC, misfire: none"));
  rig_.reset();
  at("2026-03-02T03:00:20Z");
  const FakeDatabase::Rows before = database_.rows();
  ASSERT_TRUE(workFor(SIZE_MAX));
  const std::vector<std::string> flows{"all", "back", "latest", "daily"};
  std::map<std::string, Fates> expected;
  for (const std::string& flow : flows) expected[flow] = fates(flow);
  EXPECT_EQ(expected["daily"], (Fates{{"2026-03-02T03:00:00Z", "run"}}));
  EXPECT_EQ(expected["all"].size(), 18U);
  EXPECT_EQ(expected["latest"].size(), 1'079U);

  // Crashes behind every commit: once, and then again and again at the same distance.
  for (size_t commits = 1; commits < 40; ++commits) {
    SCOPED_TRACE(commits);
    for (const bool again : {false, true}) {
      database_.direct() = before;
      // The same moment for all, so that no further instant comes into it.
      const auto work = [&](size_t many) {
        at("2026-03-02T03:00:20Z");
        return workFor(many);
      };
      bool done = work(commits);
      for (int i = 0; i < 100 && !done; ++i) done = work(again ? commits + 3 : SIZE_MAX);
      ASSERT_TRUE(done);
      for (const std::string& flow : flows) EXPECT_EQ(fates(flow), expected[flow]) << flow;
      ASSERT_EQ(database_.violation(), "");
    }
  }
}

TEST_F(PlannerGapTest, AFlowThatCanNotBeReadKeepsItsInstantsUntilItCan) {
  apply(yaml("f", "cron: '0 2 * * *', timezone: UTC, misfire: {policy: all, max: 3}"));
  const std::string text = database_.rows().flow_versions.at({"f", 1}).text;
  rig_.reset();
  at("2026-03-04T12:00:00Z");
  database_.direct().flow_versions.at({"f", 1}).text = "{flow: f}";
  absent(Seconds(0));
  watch(Seconds(300));
  EXPECT_TRUE(fates("f").empty());
  database_.direct().flow_versions.at({"f", 1}).text = text;
  absent(Seconds(0));
  EXPECT_EQ(count("f", "late"), 3U);
}

}  // namespace
}  // namespace baton::test
