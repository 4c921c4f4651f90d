#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/bench_cluster.h"

namespace baton::bench {

// Flows to be applied, each in a request of its own.
struct FlowLoad {
  uint64_t count = 0;
  std::function<std::string(uint64_t)> name;  // Of the one of that number, from 0.
  std::function<std::string(uint64_t)> text;  // Its definition as JSON.
  uint32_t connections = 16;                  // At once.
};
// Puts all of them online; returns flows a second. Errors: what the master says.
Result<double> applyFlows(const BenchCluster& cluster, const FlowLoad& load);

// Puts one online, and begins runs of it by hand, one behind the other.
Status applyFlow(webapi::ApiClient& client, const std::string& name, const std::string& text);
Result<std::vector<RunId>> triggerRuns(webapi::ApiClient& client, const std::string& flow,
                                       uint64_t runs);

// Waits until so many runs of the flow are FINISHED in the database, looking every `pause`.
// Errors: Corrupt (one ended otherwise), Unavailable (not within five minutes).
Status awaitRuns(BenchCluster& cluster, const std::string& flow, uint64_t runs, Millis pause);

// Of the tasks of the flow's runs: all ids in rising order, and how many are FINISHED.
struct RunTasks {
  std::vector<TaskId> ids;
  uint64_t finished = 0;
};
Result<RunTasks> tasksOfRuns(BenchCluster& cluster, const std::string& flow);

}  // namespace baton::bench
