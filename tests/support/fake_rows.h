#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

  Result<std::vector<OutboxRecord>> pendingOutbox(uint64_t after, uint32_t limit) const {
    std::vector<OutboxRecord> found;
    for (auto it = outbox.upper_bound(after); it != outbox.end() && found.size() < limit; ++it) {
      if (it->second.state == OutboxRecord::State::Pending) found.push_back(it->second);
    }
    return found;
  }
  Result<std::vector<OutboxRecord>> deadOutbox(uint64_t before, uint32_t limit) const {
    std::vector<OutboxRecord> found;
    for (auto it = outbox.rbegin(); it != outbox.rend() && found.size() < limit; ++it) {
      const bool older = before == 0 || it->first < before;
      if (older && it->second.state == OutboxRecord::State::Dead) found.push_back(it->second);
    }
    return found;
  }
  Result<std::optional<OutboxRecord>> outboxRow(uint64_t id) const {
    const auto it = outbox.find(id);
    if (it == outbox.end()) return std::optional<OutboxRecord>();
    return std::optional<OutboxRecord>(it->second);
  }
};

}  // namespace baton::test
