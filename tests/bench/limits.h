#pragma once

#include <string>

#include "common/base/status.h"
#include "dao/sql_session.h"
#include "tests/bench/report.h"

// What the machine itself can do, measured in the same run as baton's figures.
namespace baton::bench {

// posix_spawn of /bin/true with waiting for its end, a second, on so many threads at once.
double measureSpawnRate(int threads);

// Durable commits of one small row each on one connection.
struct CommitLimit {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double rows_per_second = 0;  // Multi-row upserts of 1,000 rows, a transaction each.
};
Result<CommitLimit> measureCommits(dao::SqlSession& session);

// Our own HTTP front with a handler that answers at once on the I/O thread: requests a second over
// 16 keep-alive connections from one client thread of this process.
Result<double> measureEmptyHandler();

// Adds all of them as figures "limit.…".
Status addLimits(dao::SqlSession* session, Report& report);

}  // namespace baton::bench
