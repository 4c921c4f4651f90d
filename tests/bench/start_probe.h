#pragma once

#include <string>
#include <vector>

#include "tests/bench/bench_cluster.h"

namespace baton::bench {

// When the task's `date +%s%N` ran, in nanoseconds, from the log of whichever worker ran it.
Result<int64_t> printedTime(const BenchCluster& cluster, const std::string& id);

// Submits tasks one at a time to workers that are idle, and measures until they run. One thread.
class StartProbe {
 public:
  // Both outlive this; `tag` is that of the tasks.
  StartProbe(const BenchCluster& cluster, webapi::ApiClient& client, const std::string& tag);

  struct Sample {
    double submit_ms = 0;  // To the answer.
    double start_ms = 0;   // To `date` running.
  };
  Result<std::vector<Sample>> sample(uint64_t count);

 private:
  const BenchCluster& cluster_;
  webapi::ApiClient& client_;
  webapi::ApiRequest request_;
};

}  // namespace baton::bench
