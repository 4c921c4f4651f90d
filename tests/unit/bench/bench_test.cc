#include <gtest/gtest.h>

#include <map>

#include "tests/bench/bench_case.h"

namespace baton::bench {
namespace {

using Executions = std::map<TaskId, uint32_t>;
const std::vector<TaskId> kIds{1, 2, 3};

TEST(BenchCounts, AgreeWhenEachTaskRanOnceAndIsFinished) {
  // Aim: the check does not refuse a good run.
  EXPECT_TRUE(checkCounts("p1", kIds, 3, Executions{{1, 1}, {2, 1}, {3, 1}}).ok());
}

TEST(BenchCounts, MissingFinishedRowIsAnError) {
  // Aim: no figure for a run that lost a task.
  EXPECT_FALSE(checkCounts("p1", kIds, 2, Executions{{1, 1}, {2, 1}, {3, 1}}).ok());
}

TEST(BenchCounts, TaskThatRanTwiceOrNeverIsAnError) {
  // Aim: FINISHED rows alone do not make a figure; what was executed has to agree.
  EXPECT_FALSE(checkCounts("p1", kIds, 3, Executions{{1, 1}, {2, 2}, {3, 1}}).ok());
  EXPECT_FALSE(checkCounts("p1", kIds, 3, Executions{{1, 1}, {3, 1}}).ok());
}

TEST(BenchOptions, RefusesCasesThatCannotBeCountedOnAGivenCluster) {
  // Aim: p1 needs the workers' folders, and p4 must not end somebody's masters.
  EXPECT_FALSE(parseBenchOptions({"--config", "f", "--masters", "a:1", "--case", "p1"}).ok());
  EXPECT_FALSE(parseBenchOptions({"--config", "f", "--masters", "a:1", "--case", "p4"}).ok());
  for (const char* name : {"p11", "p14", "p15"}) {
    EXPECT_FALSE(parseBenchOptions({"--config", "f", "--masters", "a:1", "--case", name}).ok());
  }
  EXPECT_FALSE(parseBenchOptions({"--config", "f"}).ok());
  EXPECT_TRUE(parseBenchOptions(
                  {"--config", "f", "--masters", "a:1,b:2", "--worker-dir", "d", "--case", "p1,p2"})
                  .ok());
}

TEST(BenchOptions, ReadsNumbersAndRefusesWhatIsNone) {
  // Aim: wrong usage is found before a cluster is started.
  const auto options = parseBenchOptions({"--tasks=12", "--case", "p10", "-o", "json"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->tasks, 12U);
  EXPECT_TRUE(options->json);
  EXPECT_FALSE(parseBenchOptions({"--tasks", "0"}).ok());
  EXPECT_FALSE(parseBenchOptions({"--case", "p5"}).ok());
  EXPECT_FALSE(parseBenchOptions({"--tasks"}).ok());
}

TEST(BenchReport, SaysForEachBoundWhetherItIsMet) {
  // Aim: the direction of a bound is not mixed up.
  Report report;
  report.add({.name = "rate", .value = 10, .unit = "1/s", .must = 20});
  report.add({.name = "time", .value = 10, .unit = "ms", .must = 20, .low_is_good = true});
  const Json figures = report.json().at("figures");
  EXPECT_FALSE(figures[0].at("must_met").get<bool>());
  EXPECT_TRUE(figures[1].at("must_met").get<bool>());
}

TEST(BenchQuantile, InterpolatesBetweenValues) {
  // Aim: medians of even counts and p99 of few values mean what they say.
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.99), 5);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace baton::bench
