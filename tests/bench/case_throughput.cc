#include "tests/bench/bench_case.h"
#include "tests/bench/execution_watch.h"
#include "tests/bench/limits.h"
#include "tests/bench/sim_runners.h"

namespace baton::bench {
namespace {

constexpr uint64_t kP1Tasks = 6'000;
constexpr uint64_t kP2Tasks = 30'000;
constexpr const char* kSimLabel = "bench-sim";

// Tasks a second from the first byte of the first submission to the last end.
double rateOf(uint64_t tasks, WallTime began, WallTime ended) {
  return static_cast<double>(tasks) * 1e6 / static_cast<double>((ended - began).count());
}

Result<double> oneThroughput(BenchRun& run, BenchCluster& cluster, ExecutionWatch& watch) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(auto client, cluster.makeClient());
  const TaskLoad load{.count = run.tasksOr(kP1Tasks),
                      .tag = freshTag("p1"),
                      .task = R"({"name":"true","command":["/bin/true"])"};
  const WallTime began = clock.wallNow();
  ASSIGN_OR_RETURN(const std::vector<TaskId> ids, submitLoad(client, load));
  ASSIGN_OR_RETURN(const uint64_t finished, awaitFinished(cluster, load.tag, load.count));
  RETURN_IF_ERROR(checkCounts("p1", ids, finished, watch.executions()));
  ASSIGN_OR_RETURN(const WallTime ended, lastFinishedAt(cluster, load.tag));
  return rateOf(load.count, began, ended);
}

Result<double> oneSimulated(BenchRun& run, BenchCluster& cluster) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(auto client, cluster.makeClient());
  ASSIGN_OR_RETURN(const std::string active, cluster.activeMaster());
  SimRunners runners({.master = active,
                      .token = cluster.workerToken(),
                      .count = run.options.sim_runners,
                      .label = kSimLabel});
  RETURN_IF_ERROR(runners.start());
  RETURN_IF_ERROR(cluster.awaitRunners(run.options.sim_runners));
  const TaskLoad load{
      .count = run.tasksOr(kP2Tasks),
      .tag = freshTag("p2"),
      .task = fmt::format(R"({{"name":"true","command":["/bin/true"],"labels":{{"{}":"yes"}})",
                          kSimLabel)};
  const WallTime began = clock.wallNow();
  ASSIGN_OR_RETURN(const std::vector<TaskId> ids, submitLoad(client, load));
  ASSIGN_OR_RETURN(const uint64_t finished, awaitFinished(cluster, load.tag, load.count));
  ASSIGN_OR_RETURN(const WallTime ended, lastFinishedAt(cluster, load.tag));
  runners.stop();
  RETURN_IF_ERROR(checkCounts("p2", ids, finished, runners.executed()));
  if (runners.failures() > 0) {
    return Error::make(ErrorCode::Corrupt, "p2: {} heartbeats had no good answer",
                       runners.failures());
  }
  return rateOf(load.count, began, ended);
}

}  // namespace

Status benchThroughput(BenchRun& run) {
  ASSIGN_OR_RETURN(
      const auto cluster,
      run.cluster({.masters = 1, .workers = run.options.workers, .runners = run.options.runners}));
  ExecutionWatch watch(cluster->workerDirs());
  std::vector<double> rates, ratios, spawns;
  for (uint32_t i = 0; i < run.repeatOr(3); ++i) {
    // The machine is shared with others: the limit is taken on both sides of each run.
    const double before = measureSpawnRate(2);
    ASSIGN_OR_RETURN(const double rate, oneThroughput(run, *cluster, watch));
    const double spawn = (before + measureSpawnRate(2)) / 2;
    rates.push_back(rate);
    spawns.push_back(spawn);
    ratios.push_back(rate / spawn);
  }
  run.report.add({.name = "p1.tasks",
                  .value = quantile(rates, 0.5),
                  .unit = "1/s",
                  .note = fmt::format("{} x {} tasks: {}", rates.size(), run.tasksOr(kP1Tasks),
                                      valuesText(rates))});
  run.report.add({.name = "p1.of_spawn_2_threads",
                  .value = quantile(ratios, 0.5),
                  .unit = "ratio",
                  .must = 0.21,
                  .goal = 0.5,
                  .note = "around each run: " + valuesText(spawns) + " spawns/s"});
  return {};
}

Status benchSimulatedThroughput(BenchRun& run) {
  ASSIGN_OR_RETURN(const auto cluster, run.cluster({.masters = 1}));
  std::vector<double> rates;
  for (uint32_t i = 0; i < run.repeatOr(3); ++i) {
    ASSIGN_OR_RETURN(const double rate, oneSimulated(run, *cluster));
    rates.push_back(rate);
  }
  run.report.add({.name = "p2.tasks",
                  .value = quantile(rates, 0.5),
                  .unit = "1/s",
                  .must = 3'000,
                  .goal = 6'900,
                  .note = fmt::format("{} runners, {} x {} tasks: {}", run.options.sim_runners,
                                      rates.size(), run.tasksOr(kP2Tasks), valuesText(rates))});
  ASSIGN_OR_RETURN(const auto session, cluster->writingSession());
  ASSIGN_OR_RETURN(const CommitLimit commits, measureCommits(*session));
  run.report.add({.name = "p2.of_upsert_rows",
                  .value = quantile(rates, 0.5) / commits.rows_per_second,
                  .unit = "ratio",
                  .note = fmt::format("{:.0f} rows/s just behind it", commits.rows_per_second)});
  return {};
}

}  // namespace baton::bench
