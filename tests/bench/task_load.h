#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/bench_cluster.h"

namespace baton::bench {

// Tasks that all look alike.
struct TaskLoad {
  uint64_t count = 0;
  std::string tag;           // Finds them again; no other tasks carry it.
  std::string task;          // JSON of one task without its closing brace and without tags.
  uint64_t at_once = 1'000;  // In one request of the bulk address.
};

// Submits them one request after the other; returns their ids. Errors: what the master says, or
// Corrupt (fewer ids than tasks).
Result<std::vector<TaskId>> submitLoad(webapi::ApiClient& client, const TaskLoad& load);

// Waits until so many tasks of that tag are FINISHED in the database; returns how many are then,
// also when nothing has changed for a minute.
Result<uint64_t> awaitFinished(BenchCluster& cluster, const std::string& tag, uint64_t count);

// When the last task of that tag ended, by its row.
Result<WallTime> lastFinishedAt(BenchCluster& cluster, const std::string& tag);

// A tag that no other run has.
std::string freshTag(const std::string& name);

}  // namespace baton::bench
