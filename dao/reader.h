#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/audit_record.h"
#include "common/model/host_records.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"
#include "dao/flow_reader.h"

namespace baton::dao {

// Which tasks a list shows; empty members do not filter.
struct TaskFilter {
  std::vector<TaskStatus> statuses;
  std::vector<Priority> priorities;
  FailureReason reason = FailureReason::None;
  std::optional<bool> ignored;  // Whether it failed and its flow ignores that.
  std::string name;             // Exact.
  std::string text;             // Part of the name.
  std::string tag;
  std::string group;
  std::string host;  // Host of the newest attempt's runner.
  std::string runner_id;
  RunId run_id = 0;           // 0: any.
  std::string flow;           // Key (nameKey) of the flow of its run; empty: any.
  WallTime created_from{};    // Inclusive; zero: open.
  WallTime created_before{};  // Exclusive; zero: open.
};

// One page, newest task first, by keyset: `before` is the last id of the page before (0: first).
struct TaskPage {
  std::vector<TaskRecord> items;  // Without spec.
  bool more = false;
};

// An open attempt of a live task as recovery loads it.
struct LiveTask {
  TaskState state;
  std::string_view policy;  // Valid during the callback only.
  WallTime created_at{};
  std::optional<AttemptRecord> open_attempt;
};

// A part of the live tasks: ids from `from` up to, not including, `before`.
struct LiveRange {
  TaskId from = 0;
  TaskId before = std::numeric_limits<int64_t>::max();  // Ids are signed in some databases.
  // Most rows in between are live: to read all and leave out the others is quicker.
  bool dense = false;
};

// Which audit rows a list shows; empty members do not filter.
struct AuditFilter {
  std::string principal = {};
  std::string action = {};  // Exact.
  std::string kind = {};    // First word of the action.
  std::string object = {};
  std::string request_id = {};
  std::optional<bool> refused = {};
  WallTime from{};   // Inclusive; zero: open.
  WallTime until{};  // Exclusive; zero: open.
};

struct TaskCounts {
  std::map<TaskStatus, uint64_t> by_status;
};

// Reads committed state under the read-only database user; reconnects by itself. One thread at a
// time; make one a thread (ReaderPool).
// Errors of all: Unavailable, Corrupt (a row that can't be understood; it is named).
class Reader : public FlowReader {
 public:
  virtual Result<std::optional<TaskRecord>> task(TaskId id) = 0;  // With spec and outputs.
  virtual Result<TaskPage> tasks(const TaskFilter& filter, TaskId before, uint32_t limit) = 0;
  virtual Result<uint64_t> countTasks(const TaskFilter& filter) = 0;
  virtual Result<TaskCounts> taskCounts() = 0;
  virtual Result<std::vector<AttemptRecord>> attempts(TaskId id) = 0;  // Oldest first.
  virtual Result<std::optional<IdempotencyRecord>> idempotency(std::string_view principal,
                                                               std::string_view key) = 0;
  // Newest first by id, `before` exclusive (0: from the newest).
  virtual Result<PageOf<AuditRecord>> audit(const AuditFilter& filter, uint64_t before,
                                            uint32_t limit) = 0;
  virtual Result<uint64_t> countAudit(const AuditFilter& filter) = 0;
  // The run parts (JSON text) of the given tasks; ids without a row are left out.
  virtual Result<std::vector<std::pair<TaskId, std::string>>> specs(
      std::span<const TaskId> ids) = 0;

  // Recovery. Live = not terminal. Rows come in rising id order within a range; the callback
  // returns false to stop early (Cancelled).
  // At most `count` parts of about the same number of live tasks, in rising order.
  virtual Result<std::vector<LiveRange>> liveRanges(uint32_t count) = 0;
  virtual Status liveTasks(const LiveRange& range,
                           const std::function<bool(const LiveTask&)>& take) = 0;
  virtual Result<std::vector<RunnerRecord>> runners() = 0;
  virtual Result<std::vector<HostRecord>> hosts() = 0;
  virtual Result<std::vector<SettingRecord>> settings() = 0;
  virtual Result<std::vector<LimitRecord>> limits() = 0;
  virtual Result<std::vector<OutboxRecord>> pendingOutbox(uint64_t after_id, uint32_t limit) = 0;
  // Newest first by id, `before` exclusive (0: from the newest).
  virtual Result<std::vector<OutboxRecord>> deadOutbox(uint64_t before, uint32_t limit) = 0;
  virtual Result<std::optional<OutboxRecord>> outboxRow(uint64_t id) = 0;
};

}  // namespace baton::dao
