#include <gtest/gtest.h>

#include "recover/recover_service.h"
#include "tests/support/fake_database.h"

namespace baton::recover {
namespace {

// Keeps what it gets.
class Sink final : public RecoverySink {
 public:
  void expect(size_t) override {}  // A hint for room, no promise.
  void expectFlows(size_t) override {}
  void addSetting(const SettingRecord& setting) override { settings.push_back(setting.name); }
  void addHost(const HostRecord& host) override {
    EXPECT_TRUE(runners.empty()) << "what a host may do is known before its runners are";
    hosts.push_back(host.name);
  }
  void addLimit(const LimitRecord& limit) override { limits.push_back(limit.name); }
  void addRunner(const RunnerRecord& runner) override { runners.push_back(runner.runner_id); }
  Status addTask(RecoveredTask task) override {
    if (task.state.id == refuse) return Error(ErrorCode::Corrupt, "can't be understood");
    // Every runner comes before every task, because attempts point to them.
    runners_at_first_task = tasks.empty() ? runners.size() : runners_at_first_task;
    policies.push_back(*task.policy);
    tasks.push_back(std::move(task));
    if (stop_after != 0 && tasks.size() == stop_after) stop.request_stop();
    return {};
  }
  void addCallback(const OutboxRecord& callback) override { callbacks.push_back(callback.id); }
  Status addFlow(dao::FlowRow flow) override {
    return note(fmt::format("flow {} {}", flow.record.name, flow.record.version));
  }
  Status addVersion(const FlowVersionRecord& version) override {
    return note(fmt::format("version {} {}", version.flow, version.version));
  }
  void addCalendar(const CalendarRecord& calendar) override {
    (void)note(fmt::format("calendar {}", calendar.name));
  }
  void addParam(const ParamRecord& param) override {
    (void)note(fmt::format("param {}", param.name));
  }
  void addBackfill(const BackfillRecord& backfill) override {
    (void)note(fmt::format("backfill {}", backfill.id));
  }
  Status readDefinitions(std::span<const RunRecord>, uint32_t, std::stop_token) override {
    return {};
  }
  Status addRun(const RunRecord& run) override { return note(fmt::format("run {}", run.state.id)); }
  Status addRunTask(const TaskRecord& task) override {
    return note(fmt::format("task {} of run {}", task.state.id, task.run_id));
  }
  Status finish() override { return note("finish"); }
  Status note(std::string what) {
    flows.push_back(std::move(what));
    return {};
  }

  std::vector<std::string> flows;  // What came of flows, in order.
  size_t runners_at_first_task = 0;
  std::vector<std::string> settings;
  std::vector<std::string> hosts;
  std::vector<std::string> runners;
  std::vector<std::string> limits;
  std::vector<RecoveredTask> tasks;
  std::vector<std::string> policies;
  std::vector<uint64_t> callbacks;
  TaskId refuse = 0;
  size_t stop_after = 0;
  std::stop_source stop;
};

class RecoverTest : public testing::Test {
 protected:
  // Stores what a term before left behind.
  void store(TaskId id, TaskStatus status) {
    const auto writer = database_.makeWriter();
    auto txn = writer->begin(1, ++batch_);
    TaskRecord task;
    task.state.id = id;
    task.state.status = status;
    task.policy = id % 2 == 0 ? R"({"timeout":"5s"})" : "";
    task.spec = "spec " + std::to_string(id);
    ASSERT_TRUE((*txn)->insertTasks(std::span(&task, 1)).ok());
    if (hasOpenAttempt(status)) {
      AttemptRecord attempt;
      attempt.task_id = id;
      attempt.number = 1;
      attempt.nonce = "n";
      attempt.runner_id = "w:" + std::to_string(id);
      ASSERT_TRUE((*txn)->storeAttempts(std::span(&attempt, 1)).ok());
      RunnerRecord runner;
      runner.runner_id = attempt.runner_id;
      ASSERT_TRUE((*txn)->storeRunners(std::span(&runner, 1)).ok());
    }
    ASSERT_TRUE((*txn)->commit().ok());
  }
  void callback(uint64_t id, OutboxRecord::State state) {
    const auto writer = database_.makeWriter();
    auto txn = writer->begin(1, ++batch_);
    OutboxRecord record;
    record.id = id;
    record.state = state;
    ASSERT_TRUE((*txn)->storeOutbox(std::span(&record, 1)).ok());
    ASSERT_TRUE((*txn)->commit().ok());
  }
  Result<RecoveryCounts> recover(uint32_t threads = 4) {
    RecoverService service(database_, threads);
    return service.recover(sink_, sink_.stop.get_token());
  }

  test::FakeDatabase database_{1};
  uint64_t batch_ = 0;
  Sink sink_;
};

TEST_F(RecoverTest, AnEmptyDatabaseIsRecoveredToNothing) {
  // Aim: the first term of a cluster.
  const auto counts = recover();
  ASSERT_TRUE(counts.ok()) << counts.status().text();
  EXPECT_EQ(counts->tasks, 0U);
  EXPECT_TRUE(sink_.tasks.empty());
}

TEST_F(RecoverTest, EveryLiveTaskIsReadOnceInRisingOrderWhateverTheRanges) {
  // Aim: no row is missed or doubled at the edge of a range; ended tasks are left alone.
  for (TaskId id = 1; id <= 101; ++id) {
    const auto status = static_cast<TaskStatus>(id % kTaskStatusCount);
    store(id * 3, status);
  }
  std::vector<TaskId> expected;
  for (const auto& [id, task] : database_.rows().tasks) {
    if (!isTerminal(task.state.status)) expected.push_back(id);
  }
  for (const uint32_t threads : {1U, 2U, 7U, 64U, 200U}) {
    sink_ = Sink();
    const auto counts = recover(threads);
    ASSERT_TRUE(counts.ok()) << counts.status().text();
    std::vector<TaskId> seen;
    for (const RecoveredTask& task : sink_.tasks) seen.push_back(task.state.id);
    EXPECT_EQ(seen, expected) << threads;
    EXPECT_EQ(counts->tasks, expected.size());
    EXPECT_EQ(sink_.runners_at_first_task, sink_.runners.size());
  }
}

TEST_F(RecoverTest, OpenAttemptsAndTheOrdersThatMayBeRepeatedComeWithTheirTasks) {
  // Aim: a DISPATCHED task brings its specification; a RUNNING one needs none.
  store(1, TaskStatus::Dispatched);
  store(2, TaskStatus::Running);
  store(3, TaskStatus::Terminating);
  store(4, TaskStatus::Queued);
  const auto counts = recover();
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->attempts_in_doubt, 3U);
  EXPECT_EQ(counts->runners, 3U);
  EXPECT_EQ(sink_.tasks[0].spec, "spec 1");
  EXPECT_EQ(sink_.tasks[0].attempt->nonce, "n");
  EXPECT_TRUE(sink_.tasks[1].spec.empty());
  EXPECT_TRUE(static_cast<bool>(sink_.tasks[1].attempt));
  EXPECT_TRUE(static_cast<bool>(sink_.tasks[2].attempt));
  EXPECT_FALSE(static_cast<bool>(sink_.tasks[3].attempt));
  EXPECT_EQ(sink_.policies[1], R"({"timeout":"5s"})");
  EXPECT_EQ(sink_.policies[0], "");
}

TEST_F(RecoverTest, UndeliveredCallbacksAreReadPageByPage) {
  // Aim: all pending ones, in order, and no others.
  for (uint64_t id = 1; id <= 12'003; ++id) {
    callback(id, id % 4 == 0 ? OutboxRecord::State::Delivered : OutboxRecord::State::Pending);
  }
  const auto counts = recover();
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->callbacks, 9'003U);
  EXPECT_EQ(sink_.callbacks.size(), 9'003U);
  EXPECT_TRUE(std::is_sorted(sink_.callbacks.begin(), sink_.callbacks.end()));
}

TEST_F(RecoverTest, ARowThatCannotBeUnderstoodStopsTheRecovery) {
  // Aim: a master never leads with half of the state.
  store(1, TaskStatus::Queued);
  store(2, TaskStatus::Queued);
  sink_.refuse = 2;
  EXPECT_EQ(recover().error().code(), ErrorCode::Corrupt);
  sink_.refuse = 0;
  database_.failReads(ErrorCode::Corrupt);
  EXPECT_EQ(recover().error().code(), ErrorCode::Corrupt);
  database_.failReads(ErrorCode::Unavailable);
  EXPECT_EQ(recover().error().code(), ErrorCode::Unavailable);
}

TEST_F(RecoverTest, AStopEndsTheRecoveryBeforeAllIsRead) {
  // Aim: a promotion that is called off does not read a million rows first.
  for (TaskId id = 1; id <= 50; ++id) store(id, TaskStatus::Queued);
  sink_.stop_after = 3;
  EXPECT_EQ(recover().error().code(), ErrorCode::Cancelled);
  EXPECT_LT(sink_.tasks.size(), 50U);
  sink_ = Sink();
  sink_.stop.request_stop();
  EXPECT_EQ(recover().error().code(), ErrorCode::Cancelled);
  EXPECT_TRUE(sink_.tasks.empty());
}

TEST_F(RecoverTest, RunsComeBehindTheirFlowsAndTasksBehindTheirRuns) {
  // Aim: of a live run the ended tasks come too, and the version that it began with.
  const auto writer = database_.makeWriter();
  auto txn = writer->begin(1, ++batch_);
  FlowRecord flow;
  flow.name = "F";
  flow.version = 2;
  const FlowVersionRecord versions[] = {{"F", 1, "one", "p", {}}, {"F", 2, "two", "p", {}}};
  RunRecord live;
  live.flow = "F";
  live.version = 1;
  live.trigger_key = "a";
  live.state.id = 7;
  live.state.status = RunStatus::Running;
  RunRecord ended = live;
  ended.trigger_key = "b";
  ended.state.id = 6;
  ended.state.status = RunStatus::Finished;
  const RunRecord runs[] = {ended, live};
  std::vector<TaskRecord> tasks(3);
  for (TaskId id = 1; id <= 3; ++id) {
    tasks[id - 1].state.id = id;
    tasks[id - 1].run_id = id == 1 ? 6 : 7;
    tasks[id - 1].state.status = id == 3 ? TaskStatus::Queued : TaskStatus::Finished;
  }
  ASSERT_TRUE((*txn)->storeFlows(std::span(&flow, 1)).ok());
  ASSERT_TRUE((*txn)->insertFlowVersions(versions).ok());
  ASSERT_TRUE((*txn)->insertRuns(runs).ok());
  ASSERT_TRUE((*txn)->insertTasks(tasks).ok());
  ASSERT_TRUE((*txn)->commit().ok());
  const auto counts = recover();
  ASSERT_TRUE(counts.ok()) << counts.status().text();
  EXPECT_EQ(sink_.flows,
            (std::vector<std::string>{"flow F 2", "version F 1", "run 7", "task 2 of run 7",
                                      "task 3 of run 7", "finish"}));
  EXPECT_EQ(counts->flows, 1u);
  EXPECT_EQ(counts->runs, 1u);
}

}  // namespace
}  // namespace baton::recover
