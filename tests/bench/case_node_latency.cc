#include "tests/bench/bench_case.h"
#include "tests/bench/flow_load.h"
#include "tests/bench/start_probe.h"

namespace baton::bench {
namespace {

constexpr uint64_t kPairs = 200;
constexpr uint64_t kChain = 50;  // Nodes of a run, each behind the one before.
constexpr Millis kChainPoll{100};

std::string chainFlow(const std::string& name, uint64_t nodes) {
  std::string tasks;
  for (uint64_t i = 0; i < nodes; ++i) {
    tasks += fmt::format(R"({}"n{}":{{"command":["date","+%s%N"]{}}})", i == 0 ? "" : ",", i,
                         i == 0 ? "" : fmt::format(R"(,"needs":["n{}"])", i - 1));
  }
  return fmt::format(R"({{"flow":"{}","tasks":{{{}}}}})", name, tasks);
}

}  // namespace

Status benchNodeLatency(BenchRun& run) {
  ASSIGN_OR_RETURN(
      const auto cluster,
      run.cluster({.masters = 1, .workers = run.options.workers, .runners = run.options.runners}));
  ASSIGN_OR_RETURN(auto client, cluster->makeClient());
  const uint64_t samples = run.tasksOr(kPairs);
  const std::string flow = freshTag("p14");
  RETURN_IF_ERROR(applyFlow(client, flow, chainFlow(flow, kChain)));
  StartProbe probe(*cluster, client, freshTag("p14"));
  RETURN_IF_ERROR(probe.sample(5).status());  // The first ones open connections.
  std::vector<double> starts, gaps;
  uint64_t runs = 0;
  // In turns, so that what else the machine does meets both.
  while (gaps.size() < samples) {
    ASSIGN_OR_RETURN(const auto some, probe.sample(kChain - 1));
    for (const StartProbe::Sample& one : some) starts.push_back(one.start_ms);
    ASSIGN_OR_RETURN(const auto ids, triggerRuns(client, flow, 1));
    RETURN_IF_ERROR(awaitRuns(*cluster, flow, ++runs, kChainPoll));
    ASSIGN_OR_RETURN(const Json page,
                     client.get(fmt::format("/api/v1/runs/{}/tasks", ids.front())));
    int64_t before = 0;
    for (const Json& task : page.at("items")) {
      ASSIGN_OR_RETURN(const int64_t at, printedTime(*cluster, task.at("id").get<std::string>()));
      if (before != 0) gaps.push_back(static_cast<double>(at - before) / 1e6);
      before = at;
    }
  }
  ASSIGN_OR_RETURN(const RunTasks tasks, tasksOfRuns(*cluster, flow));
  if (tasks.finished != runs * kChain) {
    return Error::make(ErrorCode::Corrupt, "p14: {} runs of {} tasks, {} FINISHED", runs, kChain,
                       tasks.finished);
  }
  const double gap = quantile(gaps, 0.5);
  const double start = quantile(starts, 0.5);
  run.report.add({.name = "p14.node_to_node_p50",
                  .value = gap,
                  .unit = "ms",
                  .low_is_good = true,
                  .note = fmt::format(
                      "{} pairs, from `date` of a task running to that of the next; p99 {:.2f} "
                      "ms",
                      gaps.size(), quantile(gaps, 0.99))});
  run.report.add({.name = "p14.of_submit_to_start",
                  .value = gap / start,
                  .unit = "ratio",
                  .must = 2,
                  .goal = 1,
                  .low_is_good = true,
                  .note = fmt::format("submit to start in turns with it: p50 {:.2f} ms", start)});
  return {};
}

}  // namespace baton::bench
