#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/model/records.h"
#include "tests/support/fake_limit_rows.h"

namespace baton::test {

// All that a FakeDatabase holds.
struct FakeRows : FakeFlowTables {
  std::map<TaskId, TaskRecord> tasks;
  std::map<std::pair<TaskId, int32_t>, AttemptRecord> attempts;
  std::map<std::string, RunnerRecord> runners;
  std::map<uint64_t, OutboxRecord> outbox;
  std::map<std::pair<std::string, std::string>, IdempotencyRecord> idempotency;
  std::map<std::string, uint64_t> counters;
  FakeHostRows host;
  FakeLimitTable limits;
};

}  // namespace baton::test
