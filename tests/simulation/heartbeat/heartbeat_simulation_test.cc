#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/base/log.h"
#include "tests/simulation/heartbeat/heartbeat_run.h"
#include "tests/support/number_from_environment.h"

namespace baton::test {
namespace {

class NoWebhooks final : public master::api::WebhookPort {
 public:
  void send(master::api::Webhook, std::function<void(Status)> done) override { done({}); }
  Status checkReceiver(const std::string&) const override { return {}; }
};

// BATON_SIM_SEED repeats one run, BATON_SIM_RUNS changes their number, BATON_SIM_LOG shows the
// story of a run.
class HeartbeatSimulationTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const bool tell = std::getenv("BATON_SIM_LOG") != nullptr;
    ASSERT_TRUE(openLog({.file = tell ? "" : "/dev/null", .level = LogLevel::Info}).ok());
  }

  // Seeds that have shown a fault beyond the usual number of runs are run each time.
  void runSeeds(const RunScenario& scenario, uint64_t runs_by_default,
                const std::vector<uint64_t>& known = {}) {
    const uint64_t only = numberFromEnvironment("BATON_SIM_SEED", 0);
    const uint64_t runs = numberFromEnvironment("BATON_SIM_RUNS", runs_by_default);
    const uint64_t first = only != 0 ? only : 1;
    const uint64_t last = only != 0 ? only : runs;
    whole_ = only == 0 && runs >= 100;
    for (uint64_t seed = first; seed <= last; ++seed) {
      const RunCounts counts = HeartbeatRun(seed, scenario, metrics_, webhooks_).run();
      ASSERT_EQ(counts.failure, "") << "repeat with BATON_SIM_SEED=" << seed;
      sum_.tasks += counts.tasks;
      sum_.starts += counts.starts;
      sum_.takeovers += counts.takeovers;
      sum_.repeated_daemons += counts.repeated_daemons;
      sum_.lost += counts.lost;
      sum_.stopped += counts.stopped;
      sum_.resets += counts.resets;
    }
    for (const uint64_t seed : known) {
      const RunCounts counts = HeartbeatRun(seed, scenario, metrics_, webhooks_).run();
      ASSERT_EQ(counts.failure, "") << "repeat with BATON_SIM_SEED=" << seed;
    }
    runs_ = last - first + 1;
    fmt::print(
        "{} seeds: {} tasks, {} starts, {} takeovers, {} daemon restarts, {} lost, {} stopped, {} "
        "reset\n",
        runs_, sum_.tasks, sum_.starts, sum_.takeovers, sum_.repeated_daemons, sum_.lost,
        sum_.stopped, sum_.resets);
  }

  master::Metrics metrics_{"simulation"};
  NoWebhooks webhooks_;
  RunCounts sum_;
  uint64_t runs_ = 0;
  bool whole_ = false;
};

// With journals kept no fault of masters, daemons, network and database ever makes two copies of
// a task live, starts an attempt twice, loses a task or a result, or changes what has ended.
TEST_F(HeartbeatSimulationTest, EveryTaskRunsOnceAndEndsUnderLateLostAndDoubledMessages) {
  runSeeds({}, 3'000, {20'300});
  if (!whole_) return;
  // The faults must have bitten.
  EXPECT_GT(sum_.tasks, 8 * runs_);
  EXPECT_GT(sum_.takeovers, 2 * runs_);
  EXPECT_GT(sum_.repeated_daemons, runs_);
  EXPECT_GT(sum_.lost, runs_ / 10);
  EXPECT_GT(sum_.stopped, runs_ / 2);
}

// A shepherd that dies takes its processes with it; what it ran is failed, never doubled.
TEST_F(HeartbeatSimulationTest, ADeadShepherdCostsAttemptsAndNeverDoublesATask) {
  runSeeds({.shepherds_die = true}, 1'500);
  if (whole_) {
    EXPECT_GT(sum_.resets, runs_ / 10);
  }
}

// A worker that lost its journal is not believed: its attempts end as lost, and nothing doubles.
TEST_F(HeartbeatSimulationTest, ALostJournalProvesNothingAndNeverDoublesATask) {
  runSeeds({.shepherds_die = true, .journals_are_lost = true}, 1'500, {21'505});
  if (whole_) {
    EXPECT_GT(sum_.lost, runs_ / 4);
  }
}

}  // namespace
}  // namespace baton::test
