#include <signal.h>

#include <algorithm>
#include <thread>

#include "tests/bench/bench_case.h"

namespace baton::bench {
namespace {

constexpr uint64_t kLiveTasks = 100'000;
constexpr int64_t kSessionMs = 3'000;  // zookeeper.session_ms by default
constexpr int64_t kTickMs = 500;       // Of private_zookeeper.sh.
constexpr auto kTakeoverPatience = std::chrono::seconds(60);

struct Takeover {
  double total_ms = 0;  // Kill to the first dispatch of the new epoch.
  dao::EpochLogRow phases;
  double dispatch_ms = 0;  // Gates open to that dispatch; what the phases leave over.
};

Result<uint64_t> newestEpoch(BenchCluster& cluster) {
  ASSIGN_OR_RETURN(const auto rows, cluster.database().makeEpochStore()->history(1));
  return rows.empty() ? 0 : rows.front().epoch;
}

Result<WallTime> firstDispatchBehind(dao::SqlSession& sql, uint64_t epoch) {
  WallTime first{};
  const auto until = std::chrono::steady_clock::now() + kTakeoverPatience;
  while (first == WallTime{} && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    RETURN_IF_ERROR(sql.query("SELECT MIN(dispatched_at) FROM attempt WHERE dispatch_epoch>?",
                              {epoch}, [&first](dao::SqlRow& row) {
                                first = wallFromMicros(row.integer(0));
                                return true;
                              }));
  }
  if (first != WallTime{}) return first;
  return Error::unavailable("p4: nothing was dispatched within a minute of the kill");
}

Result<Takeover> oneTakeover(BenchCluster& cluster) {
  ASSIGN_OR_RETURN(const std::string active, cluster.activeMaster());
  ASSIGN_OR_RETURN(const uint64_t epoch, newestEpoch(cluster));
  ASSIGN_OR_RETURN(const auto sql, cluster.readingSession());
  const auto& masters = cluster.masters();
  const auto index =
      static_cast<size_t>(std::find(masters.begin(), masters.end(), active) - masters.begin());
  const WallTime killed = SystemClock().wallNow();
  cluster.master(index).end(SIGKILL);
  ASSIGN_OR_RETURN(const WallTime first, firstDispatchBehind(*sql, epoch));
  Takeover takeover;
  takeover.total_ms = static_cast<double>((first - killed).count()) / 1e3;
  // The line of the takeover is completed a moment after the gates have opened.
  for (int i = 0; i < 100 && takeover.phases.tasks_loaded == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSIGN_OR_RETURN(const auto rows, cluster.database().makeEpochStore()->history(1));
    takeover.phases = rows.front();
  }
  const double bumped_ms = static_cast<double>((takeover.phases.bumped_at - killed).count()) / 1e3;
  takeover.dispatch_ms = takeover.total_ms - bumped_ms -
                         static_cast<double>(takeover.phases.load_ms + takeover.phases.active_ms);
  RETURN_IF_ERROR(cluster.startMaster(index));
  // The next kill must find a standby that is ready.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  return takeover;
}

}  // namespace

Status benchTakeover(BenchRun& run) {
  ASSIGN_OR_RETURN(const auto cluster,
                   run.cluster({.masters = 2, .workers = 1, .runners = run.options.runners}));
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  const uint64_t tasks = run.tasksOr(kLiveTasks);
  // Each lasts a while, so that the database has nothing to do but the takeover.
  const TaskLoad load{.count = tasks + 1'000,
                      .tag = freshTag("p4"),
                      .task = R"({"name":"nap","command":["sleep","0.5"])",
                      .at_once = 5'000};
  ASSIGN_OR_RETURN([[maybe_unused]] const auto ids, submitLoad(client, load));
  std::vector<double> totals, ours, locks;
  std::string phases;
  int64_t loaded = INT64_MAX;
  for (uint32_t i = 0; i < run.repeatOr(3); ++i) {
    ASSIGN_OR_RETURN(const Takeover one, oneTakeover(*cluster));
    const dao::EpochLogRow& row = one.phases;
    const double own = static_cast<double>(row.bump_ms + row.load_ms + row.active_ms);
    totals.push_back(one.total_ms);
    ours.push_back(own);
    loaded = std::min(loaded, row.tasks_loaded);
    phases += fmt::format("{}detect {} lock {} bump {} load {} active {} dispatch {:.0f}",
                          phases.empty() ? "" : "; ", row.detect_ms, row.lock_ms, row.bump_ms,
                          row.load_ms, row.active_ms, one.dispatch_ms);
  }
  if (loaded < static_cast<int64_t>(tasks)) {
    return Error::make(ErrorCode::Corrupt, "p4: {} tasks were loaded, fewer than {}", loaded,
                       tasks);
  }
  run.report.add({.name = "p4.kill_to_dispatch",
                  .value = quantile(totals, 0.5),
                  .unit = "ms",
                  .must = kSessionMs + 1.5 * kTickMs + 500,
                  .low_is_good = true,
                  .note = fmt::format("{} live tasks: {}", tasks, valuesText(totals))});
  run.report.add({.name = "p4.ours_behind_lock",
                  .value = quantile(ours, 0.5),
                  .unit = "ms",
                  .must = 300,
                  .low_is_good = true,
                  .note = phases});
  return {};
}

}  // namespace baton::bench
