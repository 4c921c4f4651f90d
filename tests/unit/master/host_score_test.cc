#include "master/host/host_score.h"

#include <gtest/gtest.h>

#include "master/host/host_rules.h"
#include "master/host/start_record.h"

namespace baton::master {
namespace {

constexpr Millis kBeat{1'000};
constexpr int64_t kMiB = 1024 * 1024;
constexpr int64_t kGiB = 1024 * kMiB;

HostFigures well() {
  return {.load1 = 1.0,
          .cpu_count = 4,
          .memory_total_bytes = 8 * kGiB,
          .memory_free_bytes = 4 * kGiB,
          .disk_free_bytes = 100 * kGiB};
}

HostSigns signs(Micros silence, HostFigures figures, uint32_t failures = 0) {
  return {.silence = silence,
          .heartbeat = kBeat,
          .figures = figures,
          .start_failures = failures,
          .start_failures_max = 5};
}

// The table of the header, line by line: each sign takes its points and names itself.
TEST(HostScoreTest, EachSignTakesItsPoints) {
  const auto with = [](auto change) {
    HostFigures figures = well();
    change(figures);
    return figures;
  };
  const auto load = [&](double value) { return with([&](auto& f) { f.load1 = value; }); };
  const auto memory = [&](int64_t mib) {
    return with([&](auto& f) { f.memory_free_bytes = mib * kMiB; });
  };
  const auto disk = [&](int64_t mib) {
    return with([&](auto& f) { f.disk_free_bytes = mib * kMiB; });
  };
  struct Row {
    HostSigns signs;
    int points;
    HostHealth health;
    const char* finding;
  };
  const Row rows[] = {
      {signs(Micros(0), well()), 100, HostHealth::Healthy, ""},
      {signs(Millis(1'000), well()), 100, HostHealth::Healthy, ""},
      {signs(Millis(1'001), well()), 85, HostHealth::Healthy, "silent for 1001ms"},
      {signs(Millis(2'000), well()), 85, HostHealth::Healthy, "silent"},
      {signs(Millis(2'001), well()), 50, HostHealth::Suspect, "silent"},
      {signs(Millis(2'999), well()), 50, HostHealth::Suspect, "silent"},
      {signs(Millis(3'000), well()), 0, HostHealth::Dead, "silent for 3s"},
      {signs(Micros(0), load(4)), 100, HostHealth::Healthy, ""},
      {signs(Micros(0), load(8)), 90, HostHealth::Healthy, "load 8.0 on 4 CPUs"},
      {signs(Micros(0), load(400)), 70, HostHealth::Healthy, "load"},
      {signs(Micros(0), memory(1'024)), 100, HostHealth::Healthy, ""},
      {signs(Micros(0), memory(800)), 80, HostHealth::Healthy, "9.8 % of memory free"},
      {signs(Micros(0), memory(400)), 50, HostHealth::Suspect, "4.9 % of memory free"},
      {signs(Micros(0), disk(1'024)), 100, HostHealth::Healthy, ""},
      {signs(Micros(0), disk(1'023)), 80, HostHealth::Healthy, "1023 MiB of disk free"},
      {signs(Micros(0), disk(255)), 50, HostHealth::Suspect, "255 MiB of disk free"},
      {signs(Micros(0), well(), 3), 64, HostHealth::Healthy, "3 attempts could not be started"},
      {signs(Micros(0), well(), 4), 52, HostHealth::Suspect, "4 attempts could not be started"},
  };
  for (const Row& row : rows) {
    const HostScore score = scoreHost(row.signs);
    EXPECT_EQ(score.points, row.points) << score.findings;
    EXPECT_EQ(toString(score.health), toString(row.health)) << score.findings;
    EXPECT_NE(score.findings.find(row.finding), std::string::npos) << score.findings;
    EXPECT_EQ(score.findings.empty(), row.points == 100) << score.findings;
  }
}

// Several signs add up, a dead host is dead whatever else it is, and quarantine shows.
TEST(HostScoreTest, SignsAddUp) {
  HostFigures poor = well();
  poor.load1 = 12;
  poor.memory_free_bytes = 700 * kMiB;
  HostSigns all = signs(Millis(1'500), poor);
  EXPECT_EQ(scoreHost(all).points, 100 - 15 - 20 - 20);
  EXPECT_EQ(scoreHost(all).health, HostHealth::Suspect);
  all.quarantined = true;
  EXPECT_EQ(scoreHost(all).health, HostHealth::Quarantined);
  all.silence = Seconds(9);
  EXPECT_EQ(scoreHost(all).health, HostHealth::Dead);
  EXPECT_EQ(scoreHost(all).points, 0);
}

// Who sends no figures, or parts of them, is not judged by what it did not say.
TEST(HostScoreTest, AbsentFiguresTakeNothing) {
  EXPECT_EQ(scoreHost(signs(Micros(0), HostFigures{})).points, 100);
  HostSigns none = signs(Micros(0), {});
  none.figures.reset();
  none.start_failures = 3;
  none.start_failures_max = 0;
  EXPECT_EQ(scoreHost(none).points, 100);
}

// Use is half runners, a quarter each load and memory; without figures the runners alone.
TEST(HostScoreTest, UseLooksAtAllResources) {
  EXPECT_DOUBLE_EQ(hostUse(1, 4, std::nullopt), 0.25);
  EXPECT_DOUBLE_EQ(hostUse(0, 0, std::nullopt), 0);
  EXPECT_DOUBLE_EQ(hostUse(2, 4, well()), 0.25 + 0.25 * 0.25 + 0.25 * 0.5);
  HostFigures full = well();
  full.load1 = 99;
  full.memory_free_bytes = 0;
  EXPECT_DOUBLE_EQ(hostUse(4, 4, full), 1);
}

// ---------------------------------------------------------------------------- start record

class StartRecordTest : public testing::Test {
 protected:
  bool fail(uint64_t work, bool may = true) { return record_.failed(work, now_, rules_, may); }
  void pass(Micros time) {
    now_ += time;
    record_.tick(now_, rules_);
  }
  const StartRecord::Rules rules_{.failures_max = 3, .window = Seconds(10), .cooldown = Seconds(5)};
  StartRecord record_;
  BootTime now_{Seconds(100)};
};

// The third failure within the window brings quarantine; failures that are old do not count.
TEST_F(StartRecordTest, TooManyWithinTheWindowBringQuarantine) {
  EXPECT_FALSE(fail(1));
  EXPECT_FALSE(fail(2));
  pass(Seconds(10));
  EXPECT_EQ(record_.failures(), 0u);
  EXPECT_FALSE(fail(3));
  EXPECT_FALSE(fail(4));
  EXPECT_TRUE(fail(5));
  EXPECT_EQ(record_.state(), StartRecord::State::Quarantined);
  EXPECT_EQ(record_.quarantinedUntil(), now_ + Seconds(5));
  EXPECT_FALSE(fail(6)) << "what was under way does not make it longer";
}

// One bad task counts once, and starts that work take failures back.
TEST_F(StartRecordTest, ABadTaskAloneClosesNoHost) {
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(fail(1));
  EXPECT_EQ(record_.failures(), 1u);
  for (TaskId id = 2; id < 20; ++id) {
    EXPECT_FALSE(fail(id));
    record_.worked();
  }
  EXPECT_EQ(record_.state(), StartRecord::State::Open);
}

// After the cool-down it is tried: a start that works opens it, one that fails closes it again.
TEST_F(StartRecordTest, TheCoolDownEndsInATrial) {
  for (TaskId id = 1; id <= 3; ++id) fail(id);
  pass(Seconds(4));
  EXPECT_EQ(record_.state(), StartRecord::State::Quarantined);
  EXPECT_FALSE(record_.worked()) << "it was begun before";
  pass(Seconds(1));
  EXPECT_EQ(record_.state(), StartRecord::State::Probing);
  EXPECT_TRUE(fail(9));
  EXPECT_EQ(record_.state(), StartRecord::State::Quarantined);
  pass(Seconds(5));
  EXPECT_TRUE(record_.worked());
  EXPECT_EQ(record_.state(), StartRecord::State::Open);
  EXPECT_FALSE(fail(10)) << "it begins anew";
}

// Where an earlier term left it: the rest of the cool-down, then the trial.
TEST_F(StartRecordTest, AQuarantineGoesOnInAnotherTerm) {
  record_.resumeQuarantine(now_ + Seconds(2));
  pass(Seconds(1));
  EXPECT_EQ(record_.state(), StartRecord::State::Quarantined);
  pass(Seconds(1));
  EXPECT_EQ(record_.state(), StartRecord::State::Probing);
}

// The last host that takes tasks stays open, and 0 turns it all off.
TEST_F(StartRecordTest, QuarantineCanBeForbidden) {
  for (TaskId id = 1; id <= 9; ++id) EXPECT_FALSE(fail(id, false));
  EXPECT_TRUE(fail(10, true));
  StartRecord off;
  for (TaskId id = 1; id <= 9; ++id) {
    EXPECT_FALSE(off.failed(id, now_, {.failures_max = 0, .window = {}, .cooldown = {}}, true));
  }
}

// ------------------------------------------------------------------------------------ rules

HostRecord record(const std::string& name, HostWord word, const std::string& reason = {}) {
  HostRecord made;
  made.name = name;
  made.word = word;
  made.reason = reason;
  return made;
}

// A word about the host holds for all workers on it, and the stricter of two counts.
TEST(HostRulesTest, TheStricterWordCounts) {
  HostRules rules;
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::None);
  rules.store(record("h", HostWord::Drain, "disk"));
  EXPECT_EQ(rules.judge("w1", "h", "1.0").why, "is drained: disk");
  EXPECT_EQ(rules.judge("w2", "h", "1.0").bar, HostBar::Drained);
  EXPECT_EQ(rules.judge("w2", "other", "1.0").bar, HostBar::None);
  rules.store(record("w1", HostWord::Include));
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::Drained);
  rules.store(record("w1", HostWord::Exclude));
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::Excluded);
  rules.forget("w1");
  rules.store(record("h", HostWord::Include));
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::None);
}

// Under a white list only who was included gets tasks; a minimum version holds for all.
TEST(HostRulesTest, WhiteListAndVersion) {
  HostRules rules;
  rules.store(SettingRecord{std::string(kSettingWhiteList), "true"});
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::Unapproved);
  rules.store(record("h", HostWord::Include));
  EXPECT_EQ(rules.judge("w1", "h", "1.0").bar, HostBar::None);
  rules.store(SettingRecord{std::string(kSettingMinVersion), "1.10.0"});
  EXPECT_EQ(rules.judge("w1", "h", "1.9.0").why, "has version 1.9.0, 1.10.0 is required");
  EXPECT_EQ(rules.judge("w1", "h", "").bar, HostBar::Outdated);
  EXPECT_EQ(rules.judge("w1", "h", "1.10.0").bar, HostBar::None);
  rules.store(SettingRecord{std::string(kSettingMinVersion), ""});
  EXPECT_EQ(rules.judge("w1", "h", "").bar, HostBar::None);
}

// Labels of the worker's own name are stronger than those of its host.
TEST(HostRulesTest, LabelsOfBothNamesAreJoined) {
  HostRules rules;
  HostRecord host = record("h", HostWord::None);
  host.labels = {{"zone", "a"}, {"disk", "hdd"}};
  rules.store(host);
  HostRecord worker = record("w1", HostWord::None);
  worker.labels = {{"disk", "ssd"}};
  rules.store(worker);
  EXPECT_EQ(rules.labelsOf("w1", "h"), (LabelMap{{"zone", "a"}, {"disk", "ssd"}}));
  EXPECT_EQ(rules.labelsOf("w2", "h"), (LabelMap{{"zone", "a"}, {"disk", "hdd"}}));
}

}  // namespace
}  // namespace baton::master
