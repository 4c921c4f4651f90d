#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "tests/bench/bench_cluster.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/report.h"
#include "tests/bench/task_load.h"

namespace baton::bench {

// What all cases of one call share. One thread.
struct BenchRun {
  const BenchOptions& options;
  Report& report;
  std::filesystem::path root;  // Folder for clusters.
  uint32_t clusters = 0;

  uint64_t tasksOr(uint64_t fallback) const { return options.tasks > 0 ? options.tasks : fallback; }
  uint32_t repeatOr(uint32_t fallback) const {
    return options.repeat > 0 ? options.repeat : fallback;
  }
  // The given cluster, or a new one of our own.
  Result<std::unique_ptr<BenchCluster>> cluster(const ClusterPlan& plan);
};

// An error unless each of the tasks was executed exactly once and all are FINISHED.
template <typename Executions>
Status checkCounts(const std::string& figure, std::span<const TaskId> ids, uint64_t finished,
                   const Executions& executions) {
  if (finished != ids.size()) {
    return Error::make(ErrorCode::Corrupt, "{}: {} tasks submitted, {} FINISHED in the database",
                       figure, ids.size(), finished);
  }
  for (const TaskId id : ids) {
    const auto found = executions.find(id);
    const uint32_t times = found == executions.end() ? 0 : found->second;
    if (times != 1) {
      return Error::make(ErrorCode::Corrupt, "{}: task {} was executed {} times", figure, id,
                         times);
    }
  }
  return {};
}

// Each measures its figures and adds them to the report. Errors: whatever kept it from doing so,
// and Corrupt when the counts do not add up.
Status benchThroughput(BenchRun& run);           // p1
Status benchSimulatedThroughput(BenchRun& run);  // p2
Status benchStartLatency(BenchRun& run);         // p3
Status benchTakeover(BenchRun& run);             // p4
Status benchMemory(BenchRun& run);               // p9
Status benchPicker(BenchRun& run);               // p10
Status benchPlanner(BenchRun& run);              // p11
Status benchNodeLatency(BenchRun& run);          // p14
Status benchRunSize(BenchRun& run);              // p15

}  // namespace baton::bench
