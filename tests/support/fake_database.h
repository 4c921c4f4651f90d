#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dao/database.h"
#include "tests/support/fake_epoch_store.h"
#include "tests/support/fake_flow_reader.h"
#include "tests/support/fake_rows.h"

namespace baton::test {

// A database in memory with the promises of dao/*.h: fenced transactions that are kept whole or
// not at all, and faults on demand. It outlives every master of a test, as a real one does.
// What a real schema would refuse is refused as Corrupt. Any thread.
class FakeDatabase final : public dao::Database {
  template <typename F>
  auto locked(F f) const {
    const std::lock_guard lock(mutex_);
    return f();
  }

 public:
  using Rows = FakeRows;
  // What happens to one call of the writer.
  enum class Point : uint8_t {
    Begin,
    Commit,         // Refused; nothing is kept.
    CommitDropped,  // The link breaks before the commit arrives.
    CommitLost,     // The link breaks behind it: it is kept.
    WasCommitted,
  };

  explicit FakeDatabase(Epoch epoch = 1) { rule(epoch); }

  // Another term begins: older transactions are refused from now on.
  void rule(Epoch epoch) {
    const std::lock_guard lock(mutex_);
    epoch_ = epoch;
    dao::EpochRow row;
    row.epoch = epoch;
    epochs_.setRow(row);
  }
  Epoch epoch() const {
    return locked([&] { return epoch_; });
  }

  // The next `times` calls that reach this point fail with `code`; in order of the calls to fail().
  void fail(Point point, ErrorCode code, int times = 1) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) faults_.push_back({point, code});
  }
  bool faultsLeft() const {
    return locked([&] { return !faults_.empty(); });
  }
  // Whatever touches this task's rows is Busy until it is unlocked.
  void lockTask(TaskId id) {
    locked([&] { locked_.insert(id); });
  }
  void unlockTask(TaskId id) {
    locked([&] { locked_.erase(id); });
  }
  // As a server's max_allowed_packet has it.
  void limitRows(size_t bytes_max) {
    locked([&] { row_bytes_max_ = bytes_max; });
  }
  // Every read fails with this code; nothing ends that.
  void failReads(std::optional<ErrorCode> code) {
    locked([&] { read_failure_ = code; });
  }

  Rows rows() const {
    return locked([&] { return rows_; });
  }
  // For tests of one thread: the rows themselves.
  Rows& direct() { return rows_; }
  TaskState state(TaskId id) const {
    return locked([&] { return rows_.tasks.at(id).state; });
  }
  AttemptRecord attempt(TaskId id, int32_t number) const {
    return locked([&] { return rows_.attempts.at({id, number}); });
  }
  uint64_t commits() const {
    return locked([&] { return commits_; });
  }
  uint64_t begins() const {
    return locked([&] { return begins_; });
  }
  uint64_t fenced() const {
    return locked([&] { return fenced_; });
  }
  // What a real schema would have refused; empty if nothing was.
  std::string violation() const {
    return locked([&] { return violation_; });
  }

  // Told of every row that a commit changes; `before` null: new. Under the lock.
  std::function<void(const TaskState* before, const TaskState& after)> on_task;
  std::function<void(const AttemptRecord* before, const AttemptRecord& after)> on_attempt;
  // Told when a commit is kept, before whoever asked for it knows. Under the lock.
  std::function<void()> on_commit;

  Status migrate() override { return {}; }
  Status checkSchema() override { return {}; }
  Result<dao::ClusterRow> initCluster(const dao::ClusterInit&) override {
    return dao::ClusterRow{};
  }
  Result<std::vector<std::string>> durabilityWarnings() override {
    return std::vector<std::string>{};
  }
  std::unique_ptr<dao::Writer> makeWriter() override { return std::make_unique<Writer>(*this); }
  std::unique_ptr<dao::Reader> makeReader() override { return std::make_unique<Reader>(*this); }
  std::unique_ptr<dao::EpochStore> makeEpochStore() override {
    return std::make_unique<FakeEpochStore>(epochs_);
  }

 private:
  struct Fault {
    Point point;
    ErrorCode code;
  };
  struct Pending {
    std::vector<TaskRecord> inserts;
    std::vector<TaskState> states;
    std::vector<dao::FencedTxn::TaskOutputs> outputs;
    std::vector<dao::FencedTxn::TaskSpecText> specs;
    std::vector<AttemptRecord> attempts;
    std::vector<RunnerRecord> runners;
    std::vector<OutboxRecord> outbox;
    std::vector<IdempotencyRecord> idempotency;
    std::vector<std::pair<std::string, std::string>> purged;
    std::map<std::string, uint64_t> counters;
  };

  Status take(std::initializer_list<Point> points, Point* taken = nullptr) {
    if (faults_.empty()) return {};
    const Fault fault = faults_.front();
    if (std::find(points.begin(), points.end(), fault.point) == points.end()) return {};
    faults_.pop_front();
    if (taken != nullptr) *taken = fault.point;
    return Error(fault.code, "a fault of the fake database");
  }

  Status corrupt(std::string what) {
    if (violation_.empty()) violation_ = what;
    return Error(ErrorCode::Corrupt, std::move(what));
  }

  Status applyTasks(Pending& pending) {
    // First, because nothing may be kept of what is refused.
    for (const TaskState& state : pending.states) {
      const auto is_it = [&](const TaskRecord& row) { return row.state.id == state.id; };
      if (!rows_.tasks.contains(state.id) &&
          std::none_of(pending.inserts.begin(), pending.inserts.end(), is_it)) {
        return corrupt(fmt::format("there is no task {}", state.id));
      }
    }
    for (TaskRecord& row : pending.inserts) {
      const TaskId id = row.state.id;
      if (rows_.tasks.contains(id)) return corrupt(fmt::format("task {} is there twice", id));
      if (on_task) on_task(nullptr, row.state);
      rows_.tasks.emplace(id, std::move(row));
    }
    for (TaskState& state : pending.states) {
      const auto it = rows_.tasks.find(state.id);
      if (on_task) on_task(&it->second.state, state);
      it->second.state = std::move(state);
    }
    for (const auto& row : pending.outputs) rows_.tasks.at(row.task_id).outputs = row.outputs;
    for (const auto& row : pending.specs) rows_.tasks.at(row.task_id).spec = row.spec;
    return {};
  }

  Status applyAttempts(Pending& pending) {
    for (const bool open : {false, true}) {
      for (const AttemptRecord& row : pending.attempts) {
        if (isOpen(row.status) != open) continue;
        if (!rows_.tasks.contains(row.task_id)) {
          return corrupt(fmt::format("an attempt of task {}, which is not there", row.task_id));
        }
        const std::pair key{row.task_id, row.number};
        const auto it = rows_.attempts.find(key);
        if (on_attempt) on_attempt(it == rows_.attempts.end() ? nullptr : &it->second, row);
        if (open) RETURN_IF_ERROR(claimOpen(row));
        if (!open) {
          if (const auto by = open_by_task_.find(row.task_id);
              by != open_by_task_.end() && by->second == row.number) {
            open_by_task_.erase(by);
            open_by_runner_.erase(row.runner_id);
          }
        }
        rows_.attempts[key] = row;
      }
    }
    return {};
  }

  // One open attempt a task and a runner, as the unique keys of the schema have it.
  Status claimOpen(const AttemptRecord& row) {
    const auto [by_task, new_task] = open_by_task_.try_emplace(row.task_id, row.number);
    if (by_task->second != row.number) {
      return corrupt(fmt::format("attempts {} and {} of task {} are open", by_task->second,
                                 row.number, row.task_id));
    }
    const auto [by_runner, new_runner] = open_by_runner_.try_emplace(row.runner_id, row.task_id);
    if (by_runner->second != row.task_id) {
      return corrupt(fmt::format("tasks {} and {} are open on runner {}", by_runner->second,
                                 row.task_id, row.runner_id));
    }
    return {};
  }

  Status apply(Pending& pending, FakeFlowChanges& flow_changes, FakeHostChanges& host_changes,
               const FakeLimitChanges& limits) {
    for (std::string why :
         {whyUnfit(pending.runners, dao::putRunner), whyUnfit(pending.attempts, dao::putAttempt),
          whyUnfit(host_changes.hosts, dao::putHost), whyUnfit(limits.stored(), dao::putLimit),
          whyRefused(rows_, flow_changes)}) {
      if (!why.empty()) return corrupt(std::move(why));
    }
    RETURN_IF_ERROR(applyTasks(pending));
    RETURN_IF_ERROR(applyAttempts(pending));
    applyChanges(rows_, flow_changes);
    applyChanges(rows_.host, rows_.runners, host_changes);
    for (RunnerRecord& row : pending.runners) rows_.runners[row.runner_id] = std::move(row);
    for (OutboxRecord& row : pending.outbox) rows_.outbox[row.id] = std::move(row);
    for (const auto& key : pending.purged) rows_.idempotency.erase(key);
    for (IdempotencyRecord& row : pending.idempotency) {
      rows_.idempotency[{row.principal, row.key}] = std::move(row);
    }
    limits.applyTo(rows_.limits);
    for (const auto& [name, next] : pending.counters) rows_.counters[name] = next;
    return {};
  }

  class Txn final : public FakeLimitTxn {
   public:
    Txn(FakeDatabase& database, Epoch epoch, uint64_t batch)
        : database_(database), epoch_(epoch), batch_(batch) {}

    Status insertTasks(std::span<const TaskRecord> rows) override {
      return gather(pending_.inserts, rows);
    }
    Status storeTaskStates(std::span<const TaskState> rows) override {
      for (const TaskState& row : rows) RETURN_IF_ERROR(wait(row.id));
      return gather(pending_.states, rows);
    }
    Status storeTaskOutputs(std::span<const TaskOutputs> rows) override {
      return gather(pending_.outputs, rows);
    }
    Status storeTaskSpecs(std::span<const TaskSpecText> rows) override {
      return gather(pending_.specs, rows);
    }
    Status storeAttempts(std::span<const AttemptRecord> rows) override {
      for (const AttemptRecord& row : rows) RETURN_IF_ERROR(wait(row.task_id));
      return gather(pending_.attempts, rows);
    }
    Status storeRunners(std::span<const RunnerRecord> rows) override {
      return gather(pending_.runners, rows);
    }
    Status storeOutbox(std::span<const OutboxRecord> rows) override {
      return gather(pending_.outbox, rows);
    }
    Status storeIdempotency(std::span<const IdempotencyRecord> rows) override {
      return gather(pending_.idempotency, rows);
    }
    Result<uint64_t> purgeIdempotency(WallTime before, uint32_t limit) override {
      const std::lock_guard lock(database_.mutex_);
      auto& purged = pending_.purged;
      for (const auto& [key, row] : database_.rows_.idempotency) {
        if (row.created_at < before && purged.size() < limit) purged.push_back(key);
      }
      return purged.size();
    }
    Result<uint64_t> purgeAudit(WallTime before, uint32_t limit) override {
      const std::lock_guard lock(database_.mutex_);
      const auto& audit = database_.rows_.audit;
      size_t& purged = flow_changes_.audit_purged;
      while (purged < audit.size() && purged < limit && audit[purged].at < before) ++purged;
      return purged;
    }
    Result<uint64_t> reserveIds(std::string_view counter, uint64_t count) override {
      const std::lock_guard lock(database_.mutex_);
      const auto stored = database_.rows_.counters.find(std::string(counter));
      uint64_t& next = pending_.counters[std::string(counter)];
      if (next == 0) next = stored == database_.rows_.counters.end() ? 1 : stored->second;
      return std::exchange(next, next + count);
    }
    Status commit() override {
      const std::lock_guard lock(database_.mutex_);
      // The epoch row stays locked from begin on: a takeover kills or awaits us.
      if (database_.epoch_ != epoch_) return Error::unavailable("killed by a takeover");
      Point point{};
      const Status fault =
          database_.take({Point::Commit, Point::CommitDropped, Point::CommitLost}, &point);
      if (!fault.ok() && point != Point::CommitLost) return fault;
      RETURN_IF_ERROR(database_.apply(pending_, flow_changes_, host_changes_, limit_changes_));
      database_.last_batch_[epoch_] = batch_;
      ++database_.commits_;
      if (database_.on_commit) database_.on_commit();
      return fault;
    }

   private:
    Status wait(TaskId id) const {
      const std::lock_guard lock(database_.mutex_);
      if (!database_.locked_.contains(id)) return {};
      return Error::make(ErrorCode::Busy, "task {} is locked", id);
    }

    FakeDatabase& database_;
    const Epoch epoch_;
    const uint64_t batch_;
    Pending pending_;
  };

  class Writer final : public dao::Writer {
   public:
    explicit Writer(FakeDatabase& database) : database_(database) {}
    Result<std::unique_ptr<dao::FencedTxn>> begin(Epoch epoch, uint64_t batch) override {
      const std::lock_guard lock(database_.mutex_);
      ++database_.begins_;
      RETURN_IF_ERROR(database_.take({Point::Begin}));
      if (database_.epoch_ != epoch) {
        ++database_.fenced_;
        return Error::make(ErrorCode::Fenced, "epoch {} rules, not {}", database_.epoch_, epoch);
      }
      return std::unique_ptr<dao::FencedTxn>(std::make_unique<Txn>(database_, epoch, batch));
    }
    Result<bool> wasCommitted(Epoch epoch, uint64_t batch) override {
      const std::lock_guard lock(database_.mutex_);
      RETURN_IF_ERROR(database_.take({Point::WasCommitted}));
      const auto last = database_.last_batch_.find(epoch);
      return last != database_.last_batch_.end() && last->second >= batch;
    }
    void interrupt() noexcept override {}
    size_t rowBytesMax() const override {
      return database_.locked([&] { return database_.row_bytes_max_; });
    }

   private:
    FakeDatabase& database_;
  };

  class Reader final : public FakeFlowReader {
   public:
    explicit Reader(FakeDatabase& database) : database_(database) {}

    Result<std::optional<TaskRecord>> task(TaskId id) override {
      return read([&](const Rows& rows) -> Result<std::optional<TaskRecord>> {
        const auto it = rows.tasks.find(id);
        if (it == rows.tasks.end()) return std::optional<TaskRecord>();
        TaskRecord task = it->second;
        task.flow = flowOf(rows, task.run_id);
        return std::optional(std::move(task));
      });
    }
    Result<dao::TaskPage> tasks(const dao::TaskFilter&, TaskId, uint32_t) override {
      return dao::TaskPage{};
    }
    Result<uint64_t> countTasks(const dao::TaskFilter&) override { return uint64_t{0}; }
    Result<dao::TaskCounts> taskCounts() override { return dao::TaskCounts{}; }
    Result<std::vector<AttemptRecord>> attempts(TaskId id) override {
      return read([&](const Rows& rows) -> Result<std::vector<AttemptRecord>> {
        std::vector<AttemptRecord> found;
        for (auto it = rows.attempts.lower_bound({id, 0});
             it != rows.attempts.end() && it->first.first == id; ++it) {
          found.push_back(it->second);
        }
        return found;
      });
    }
    Result<std::optional<IdempotencyRecord>> idempotency(std::string_view principal,
                                                         std::string_view key) override {
      return read([&](const Rows& rows) -> Result<std::optional<IdempotencyRecord>> {
        const auto it = rows.idempotency.find({std::string(principal), std::string(key)});
        return it == rows.idempotency.end() ? std::nullopt : std::optional(it->second);
      });
    }
    Result<std::vector<std::pair<TaskId, std::string>>> specs(
        std::span<const TaskId> ids) override {
      return read([&](const Rows& rows) -> Result<std::vector<std::pair<TaskId, std::string>>> {
        std::vector<std::pair<TaskId, std::string>> found;
        for (const TaskId id : ids) {
          const auto it = rows.tasks.find(id);
          if (it != rows.tasks.end()) found.emplace_back(id, it->second.spec);
        }
        return found;
      });
    }
    Result<std::vector<dao::LiveRange>> liveRanges(uint32_t count) override {
      return read([&](const Rows& rows) -> Result<std::vector<dao::LiveRange>> {
        std::vector<TaskId> ids;
        for (const auto& [id, task] : rows.tasks) {
          if (!isTerminal(task.state.status)) ids.push_back(id);
        }
        std::vector<dao::LiveRange> ranges;
        for (uint32_t i = 0; i < count; ++i) {
          const size_t at = ids.size() * i / count;
          if (at >= ids.size() || (!ranges.empty() && ranges.back().from == ids[at])) continue;
          if (!ranges.empty()) ranges.back().before = ids[at];
          ranges.push_back({.from = ids[at]});
        }
        return ranges;
      });
    }
    Status liveTasks(const dao::LiveRange& range,
                     const std::function<bool(const dao::LiveTask&)>& take) override {
      return read([&](const Rows& rows) -> Result<int> {
               for (auto it = rows.tasks.lower_bound(range.from);
                    it != rows.tasks.end() && it->first < range.before; ++it) {
                 if (isTerminal(it->second.state.status)) continue;
                 dao::LiveTask live;
                 live.state = it->second.state;
                 live.policy = it->second.policy;
                 live.created_at = it->second.created_at;
                 const auto open = database_.open_by_task_.find(it->first);
                 if (open != database_.open_by_task_.end()) {
                   live.open_attempt = rows.attempts.at({it->first, open->second});
                 }
                 if (!take(live)) return Error(ErrorCode::Cancelled, "stopped");
               }
               return 0;
             })
          .status();
    }
    Result<std::vector<RunnerRecord>> runners() override { return all(database_.rows_.runners); }
    Result<std::vector<HostRecord>> hosts() override { return all(database_.rows_.host.hosts); }
    Result<std::vector<SettingRecord>> settings() override {
      return all(database_.rows_.host.settings);
    }
    Result<std::vector<LimitRecord>> limits() override { return all(database_.rows_.limits); }
    Result<std::vector<OutboxRecord>> pendingOutbox(uint64_t after, uint32_t limit) override {
      return read([&](const Rows& rows) { return rows.pendingOutbox(after, limit); });
    }
    Result<std::vector<OutboxRecord>> deadOutbox(uint64_t before, uint32_t limit) override {
      return read([&](const Rows& rows) { return rows.deadOutbox(before, limit); });
    }
    Result<std::optional<OutboxRecord>> outboxRow(uint64_t id) override {
      return read([&](const Rows& rows) { return rows.outboxRow(id); });
    }

   private:
    Status look(const std::function<void(const FakeFlowTables&, const Tasks&)>& see) override {
      return read([&](const Rows& rows) -> Result<int> {
               see(rows, rows.tasks);
               return 0;
             })
          .status();
    }
    template <typename F>
    auto read(F f) -> decltype(f(std::declval<const Rows&>())) {
      const std::lock_guard lock(database_.mutex_);
      if (database_.read_failure_) return Error(*database_.read_failure_, "the read failed");
      return f(database_.rows_);
    }
    template <typename Key, typename Row>
    Result<std::vector<Row>> all(const std::map<Key, Row>& table) {
      return read([&](const Rows&) -> Result<std::vector<Row>> { return rowsOf(table); });
    }

    FakeDatabase& database_;
  };

  mutable std::mutex mutex_;
  Rows rows_;
  std::map<TaskId, int32_t> open_by_task_;
  std::map<std::string, TaskId> open_by_runner_;
  Epoch epoch_ = 0;
  FakeEpochTable epochs_;
  std::map<Epoch, uint64_t> last_batch_;
  std::deque<Fault> faults_;
  std::set<TaskId> locked_;
  std::optional<ErrorCode> read_failure_;
  size_t row_bytes_max_ = SIZE_MAX;
  std::string violation_;
  uint64_t commits_ = 0;
  uint64_t begins_ = 0;
  uint64_t fenced_ = 0;
};

}  // namespace baton::test
