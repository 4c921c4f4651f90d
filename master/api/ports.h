#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/records.h"
#include "common/model/task_spec.h"
#include "common/protocol/heartbeat.h"
#include "master/api/host_port.h"
#include "master/api/request.h"

// What the web API may ask of the master. Commands are asynchronous: the callback comes on some
// thread, after what it says is durable. Queries block (database reads): pool threads only.
// Every call on a master that does not lead gives NotActive; clusterView().active says who does.
namespace baton::master::api {

template <typename T>
using Callback = std::function<void(Result<T>)>;

// A page of a list.
template <typename View>
struct ListOf {
  std::vector<View> items = {};
  bool more = false;
  std::optional<uint64_t> total = {};  // Of all that match, if it was asked for.
};

// A task as read: the row, and why it waits.
struct TaskView {
  TaskRecord record;
  WaitingCode waiting_for = WaitingCode::None;
  std::string waiting_text;
  bool stuck = false;  // Too long in DISPATCHED, TERMINATING or CALLBACK.
};

struct TaskListQuery {
  std::vector<TaskStatus> statuses;
  std::vector<Priority> priorities;
  FailureReason reason = FailureReason::None;
  std::optional<bool> ignored;  // Whether it failed and its flow ignores that.
  std::string name;             // Exact.
  std::string text;             // Part of the name.
  std::string tag;
  std::string group;
  std::string host;
  std::string runner_id;
  RunId run_id = 0;           // 0: any.
  std::string flow;           // Of its run, in any case; empty: any.
  WallTime created_from{};    // Zero: open.
  WallTime created_before{};  // Zero: open.
  TaskId before = 0;          // Cursor: the last id of the page before; 0: first page.
  uint32_t limit = 50;        // 1 to 1,000.
  bool total = false;
};

using TaskListView = ListOf<TaskView>;  // Newest first, without spec.

struct Submission {
  std::vector<TaskSpec> tasks;  // 1 to 10,000; all are accepted or none.
  bool bulk = false;            // Shapes the answer: {"ids": [...]} or the task.
  Request request;              // The hash is of the body alone.
  size_t body_bytes = 0;        // Of the body: no task has a longer specification.
};

struct SubmitAnswer {
  std::string body;       // JSON.
  bool replayed = false;  // The first answer to the same key, given again.
};

enum class TaskCommand : uint8_t { Stop, Skip, Hold, Release, Rerun, ForceSuccess };

class TaskPort {
 public:
  virtual ~TaskPort() = default;
  // Errors: Conflict (key used with another body), TooLarge (the database does not take it),
  // Overloaded (queue.max or event queue full), StorageFull, NotActive.
  virtual void submit(Submission submission, Callback<SubmitAnswer> done) = 0;
  // `force`: rerun a task whose stop was never proved. Answers the task as it then is; Stop of a
  // running task answers at TERMINATING. Errors: NotFound, Conflict (state; names it), NotActive.
  virtual void command(TaskId id, TaskCommand command, bool force, Request request,
                       Callback<TaskView> done) = 0;
  // Queries: pool threads.
  virtual Result<TaskView> task(TaskId id) = 0;
  virtual Result<TaskListView> tasks(const TaskListQuery& query) = 0;
  virtual Result<std::vector<AttemptRecord>> attempts(TaskId id) = 0;
};

// Answer to one heartbeat. Errors reach the runner as: NotActive 503 not_active, Conflict 409
// runner_conflict, PermissionDenied 403, InvalidArgument 400.
using HeartbeatReplyFn = std::function<void(Result<HeartbeatReply>)>;

class HeartbeatPort {
 public:
  virtual ~HeartbeatPort() = default;
  // Does not block: I/O thread. The reply may be held for up to request.wait_ms.
  virtual void heartbeat(HeartbeatRequest request, HeartbeatReplyFn reply) = 0;
  // The peer closed while its heartbeat was held. Does not block.
  virtual void heartbeatGone(const std::string& runner_id, uint64_t incarnation, uint64_t seq) = 0;
};

struct MemberView {
  std::string node_id;
  std::string role;   // active | standby
  std::string state;  // FailoverState name
  std::string address;
  std::string version;
  bool database_ok = true;
  bool heard = true;  // False: as it was when ZooKeeper last answered.
};

struct ClusterView {
  std::string cluster;
  std::string guid;
  std::string node_id;  // Of this process.
  std::string role;     // Of this process.
  std::string state;    // Of this process.
  Epoch epoch = 0;
  bool active_known = false;
  std::string active_node_id;
  std::string active_address;
  WallTime active_since{};
  std::vector<MemberView> masters;
  std::string alarm;  // What needs a person; empty if nothing does.
  // Of the master that leads, degraded by an operator: only tasks of that priority and above start.
  std::optional<Priority> min_priority = {};
};

struct TakeoverView {
  Epoch epoch = 0;
  std::string node_id;
  std::string reason;
  WallTime at{};
  WallTime released_at{};
  int64_t detect_ms = 0;
  int64_t lock_ms = 0;
  int64_t bump_ms = 0;
  int64_t load_ms = 0;
  int64_t active_ms = 0;
  int64_t tasks_loaded = 0;
  int64_t attempts_in_doubt = 0;
};

struct WorkerCounts {
  uint64_t finished = 0;  // Attempts in this term.
  uint64_t failed = 0;
  uint64_t running = 0;
};

struct GroupCounts {
  uint64_t running = 0;
  uint64_t queued = 0;
};

struct StatsView {
  std::map<std::string, uint64_t> by_status;
  std::map<std::string, uint64_t> live_by_priority;
  std::map<std::string, uint64_t> waiting_by_reason;
  std::map<std::string, GroupCounts> groups;  // Those with tasks that run or are queued.
  std::map<std::string, WorkerCounts> workers;
  std::map<std::string, uint64_t> runs_by_status;
  uint64_t schedules = 0;       // Online flows whose schedule has a next instant.
  uint64_t planner_behind = 0;  // Flows with missed instants that are still to be dealt with.
  int64_t planner_lag_ms = 0;   // For how long the oldest instant that is due has not been begun.
  std::map<std::string, uint64_t> missed_by_reason;  // Instants in this term.
};

// A difference between memory and database, for people.
struct VerifyView {
  uint64_t tasks_compared = 0;
  std::vector<std::string> differences;  // At most 100, of tasks and runs.
  uint64_t differences_total = 0;
  uint64_t runs_compared = 0;
};

// All that is held in memory is read again: the term of `epoch` ends for it.
struct SyncBegun {
  Epoch epoch = 0;
};

class ClusterPort {
 public:
  virtual ~ClusterPort() = default;
  // Cheap, any thread, any role.
  virtual ClusterView cluster() = 0;
  virtual bool isActive() const = 0;  // /readyz of the active role.
  virtual Result<std::vector<TakeoverView>> history(uint32_t limit) = 0;  // Any role.
  virtual Result<StatsView> stats() = 0;
  virtual Result<std::string> internals() = 0;  // JSON text.
  virtual Result<VerifyView> verify() = 0;
  // Answered when the order is durable, before the term ends. Errors: Conflict (the role can't be
  // given up, or nobody could take it).
  virtual void sync(Request request, Callback<SyncBegun> done) = 0;
  virtual std::string metrics() = 0;  // Prometheus text, any role.
};

class CallbackPort {
 public:
  virtual ~CallbackPort() = default;
  // Given up; newest first by id, `before` exclusive (0: from the newest).
  virtual Result<std::vector<OutboxRecord>> dead(uint64_t before, uint32_t limit) = 0;
  // Tries one of them again, from the beginning. Errors: NotFound, Conflict (it is not dead).
  virtual void resend(uint64_t id, Request request, Callback<OutboxRecord> done) = 0;
};

}  // namespace baton::master::api
