#include <map>

#include "tests/bench/bench_case.h"
#include "tests/bench/flow_load.h"
#include "tests/bench/process_figures.h"
#include "tests/bench/sim_runners.h"

namespace baton::bench {
namespace {

constexpr uint64_t kLargestRun = 10'000;
constexpr uint64_t kLayerWidth = 50;
constexpr Millis kRunsPoll{100};
constexpr const char* kNodeLabel = "bench-nodes";

using Needs = std::vector<uint64_t>;

// One after the other.
Needs chainNeeds(uint64_t node, uint64_t) { return node == 0 ? Needs{} : Needs{node - 1}; }

// All between the first and the last.
Needs wideNeeds(uint64_t node, uint64_t nodes) {
  if (node == 0) return {};
  if (node + 1 < nodes) return {0};
  Needs all;
  for (uint64_t i = 1; i < node; ++i) all.push_back(i);
  return all;
}

// Layers in which each node waits for three of the layer before.
Needs layeredNeeds(uint64_t node, uint64_t) {
  if (node < kLayerWidth) return {};
  const uint64_t before = node / kLayerWidth * kLayerWidth - kLayerWidth;
  const uint64_t at = node % kLayerWidth;
  return {before + at, before + (at + 1) % kLayerWidth, before + (at + 7) % kLayerWidth};
}

using Shape = Needs (*)(uint64_t node, uint64_t nodes);

std::string flowOf(const std::string& name, Shape needs, uint64_t nodes) {
  std::string tasks;
  for (uint64_t i = 0; i < nodes; ++i) {
    std::string upstream;
    for (const uint64_t node : needs(i, nodes)) {
      upstream += fmt::format(R"({}"n{}")", upstream.empty() ? "" : ",", node);
    }
    if (!upstream.empty()) upstream = fmt::format(R"(,"needs":[{}])", upstream);
    tasks += fmt::format(R"({}"n{}":{{"command":["true"]{}}})", i == 0 ? "" : ",", i, upstream);
  }
  return fmt::format(R"({{"flow":"{}","overlap":{{"policy":"queue","max_queued":10000}},)"
                     R"("defaults":{{"labels":{{"{}":"yes"}}}},"tasks":{{{}}}}})",
                     name, kNodeLabel, tasks);
}

// What runs of one size cost, for each task that ended.
struct RunCost {
  double dispatcher_us = 0;  // Processor time of the thread that decides.
  double master_us = 0;      // Of the whole process.
  double rate = 0;           // Tasks a second.
  double apply_ms = 0;
  std::vector<TaskId> ids;
};

Result<RunCost> costOf(BenchCluster& cluster, webapi::ApiClient& client, const std::string& name,
                       Shape shape, uint64_t nodes, uint64_t runs) {
  const SystemClock clock;
  const std::string flow = freshTag(fmt::format("{}-{}", name, nodes));
  const pid_t pid = cluster.master(0).pid();
  RunCost cost;
  const WallTime sent = clock.wallNow();
  RETURN_IF_ERROR(applyFlow(client, flow, flowOf(flow, shape, nodes)));
  const WallTime began = clock.wallNow();
  cost.apply_ms = static_cast<double>((began - sent).count()) / 1e3;
  const double process = cpuSecondsOf(pid);
  const double dispatcher = cpuSecondsOf(pid, "dispatcher");
  RETURN_IF_ERROR(triggerRuns(client, flow, runs).status());
  RETURN_IF_ERROR(awaitRuns(cluster, flow, runs, kRunsPoll));
  const auto tasks = static_cast<double>(nodes * runs);
  cost.rate = tasks * 1e6 / static_cast<double>((clock.wallNow() - began).count());
  cost.dispatcher_us = (cpuSecondsOf(pid, "dispatcher") - dispatcher) * 1e6 / tasks;
  cost.master_us = (cpuSecondsOf(pid) - process) * 1e6 / tasks;
  ASSIGN_OR_RETURN(RunTasks rows, tasksOfRuns(cluster, flow));
  if (rows.ids.size() != nodes * runs || rows.finished != nodes * runs) {
    return Error::make(ErrorCode::Corrupt, "p15: {} runs of {} nodes have {} tasks, {} FINISHED",
                       runs, nodes, rows.ids.size(), rows.finished);
  }
  cost.ids = std::move(rows.ids);
  return cost;
}

}  // namespace

Status benchRunSize(BenchRun& run) {
  ASSIGN_OR_RETURN(const auto cluster, run.cluster({.masters = 1}));
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  ASSIGN_OR_RETURN(const std::string active, cluster->activeMaster());
  SimRunners runners({.master = active,
                      .token = cluster->workerToken(),
                      .count = run.options.sim_runners,
                      .label = kNodeLabel});
  RETURN_IF_ERROR(runners.start());
  RETURN_IF_ERROR(cluster->awaitRunners(run.options.sim_runners));
  const uint64_t largest = std::max<uint64_t>(kLayerWidth * 2, run.tasksOr(kLargestRun));
  std::vector<TaskId> all;
  const std::pair<const char*, Shape> shapes[] = {
      {"wide", wideNeeds}, {"layered", layeredNeeds}, {"chain", chainNeeds}};
  // What is done for the first time costs more.
  RETURN_IF_ERROR(costOf(*cluster, client, "warm", wideNeeds, 100, 10).status());
  for (const auto& [name, shape] : shapes) {
    std::vector<RunCost> costs;
    std::string note;
    for (const uint64_t part : {100, 10, 1}) {
      const uint64_t nodes = largest / part;
      ASSIGN_OR_RETURN(RunCost cost, costOf(*cluster, client, name, shape, nodes, part));
      note += fmt::format("{}{} x {} nodes: {:.1f} us, {:.0f}/s", note.empty() ? "" : "; ", part,
                          nodes, cost.dispatcher_us, cost.rate);
      all.insert(all.end(), cost.ids.begin(), cost.ids.end());
      costs.push_back(std::move(cost));
    }
    run.report.add({.name = fmt::format("p15.{}_per_end", name),
                    .value = costs.back().dispatcher_us,
                    .unit = "us",
                    .low_is_good = true,
                    .note = fmt::format("dispatcher's processor time for each ended task of a run "
                                        "of {}; the whole master {:.0f} us; applied in {:.0f} ms",
                                        largest, costs.back().master_us, costs.back().apply_ms)});
    run.report.add({.name = fmt::format("p15.{}_growth", name),
                    .value = costs.back().dispatcher_us / costs.front().dispatcher_us,
                    .unit = "ratio",
                    .must = 1.5,
                    .goal = 1.1,
                    .low_is_good = true,
                    .note = note});
  }
  runners.stop();
  if (runners.failures() > 0) {
    return Error::make(ErrorCode::Corrupt, "p15: {} heartbeats had no good answer",
                       runners.failures());
  }
  return checkCounts("p15", all, all.size(), runners.executed());
}

}  // namespace baton::bench
