#include <signal.h>

#include <fstream>
#include <thread>

#include "tests/bench/bench_case.h"
#include "tests/bench/process_figures.h"
#include "worker/shepherd_records.h"

namespace baton::bench {
namespace {

constexpr uint64_t kQueuedTasks = 200'000;
constexpr auto kCalm = std::chrono::seconds(3);

void addProcess(Report& report, const std::string& name, const Memory& memory,
                std::optional<double> must, std::optional<double> goal) {
  report.add({.name = "p9." + name,
              .value = memory.rss,
              .unit = "MB",
              .must = must,
              .goal = goal,
              .low_is_good = true,
              .note = fmt::format("resident; proportional {:.1f} MB", memory.pss)});
}

pid_t shepherdOf(const std::string& worker_dir) {
  std::ifstream in(worker_dir + "/" + worker::kShepherdLockName);
  pid_t pid = 0;
  in >> pid;
  return pid;
}

void addPerTask(Report& report, const std::string& name, double grown_mb, uint64_t tasks) {
  report.add({.name = "p9." + name,
              .value = grown_mb * 1024 * 1024 / static_cast<double>(tasks),
              .unit = "B",
              .must = 1024,
              .goal = 400,
              .low_is_good = true,
              .note = fmt::format("{} QUEUED tasks, {:.0f} MB more than idle", tasks, grown_mb)});
}

}  // namespace

Status benchMemory(BenchRun& run) {
  ASSIGN_OR_RETURN(const auto cluster,
                   run.cluster({.masters = 1, .workers = 1, .runners = run.options.runners}));
  std::this_thread::sleep_for(kCalm);
  const Memory idle = memoryOf(cluster->master(0).pid());
  addProcess(run.report, "idle_master", idle, 60, 25);
  addProcess(run.report, "idle_worker", memoryOf(cluster->worker(0).pid()), 25, 10);
  addProcess(run.report, "shepherd", memoryOf(shepherdOf(cluster->workerDirs().front())),
             std::nullopt, std::nullopt);
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  const TaskLoad load{
      .count = run.tasksOr(kQueuedTasks),
      .tag = freshTag("p9"),
      .task = R"({"name":"never","command":["/bin/true"],"labels":{"bench-nobody":"yes"})",
      .at_once = 5'000};
  ASSIGN_OR_RETURN([[maybe_unused]] const auto ids, submitLoad(client, load));
  std::this_thread::sleep_for(kCalm);
  const Memory full = memoryOf(cluster->master(0).pid());
  addPerTask(run.report, "per_queued_task", full.rss - idle.rss, load.count);
  // The same tasks as a takeover loads them.
  cluster->master(0).end(SIGTERM);
  RETURN_IF_ERROR(cluster->startMaster(0));
  ASSIGN_OR_RETURN([[maybe_unused]] const std::string active, cluster->activeMaster());
  std::this_thread::sleep_for(kCalm);
  const Memory loaded = memoryOf(cluster->master(0).pid());
  addPerTask(run.report, "per_loaded_task", loaded.rss - idle.rss, load.count);
  return {};
}

}  // namespace baton::bench
