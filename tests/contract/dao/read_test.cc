// Lists, counts and the recovery scan.
#include <thread>

#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

std::vector<TaskId> idsOf(const Result<TaskPage>& page) {
  EXPECT_OK(page);
  std::vector<TaskId> ids;
  if (page.ok()) {
    for (const TaskRecord& task : page->items) ids.push_back(task.state.id);
  }
  return ids;
}

using Ids = std::vector<TaskId>;

// Pages go by the last id, newest first, and say whether more follows.
TEST_P(DaoContract, ListPagesByKeysetNewestFirst) {
  std::vector<TaskRecord> tasks;
  for (TaskId id = 1; id <= 7; ++id) tasks.push_back(sampleTask(id));
  insert(tasks);
  const auto first = reader_->tasks({}, 0, 3);
  EXPECT_EQ(idsOf(first), (Ids{7, 6, 5}));
  EXPECT_TRUE(first->more);
  EXPECT_TRUE(first->items.front().spec.empty());
  EXPECT_EQ(first->items.front().tags, tasks[6].tags);
  EXPECT_EQ(idsOf(reader_->tasks({}, 5, 3)), (Ids{4, 3, 2}));
  const auto last = reader_->tasks({}, 2, 3);
  EXPECT_EQ(idsOf(last), (Ids{1}));
  EXPECT_FALSE(last->more);
  EXPECT_FALSE(reader_->tasks({}, 4, 3)->more);
  EXPECT_TRUE(idsOf(reader_->tasks({}, 1, 3)).empty());
}

// Every filter alone, and together.
TEST_P(DaoContract, ListFiltersByEveryMember) {
  std::vector<TaskRecord> tasks;
  for (TaskId id = 1; id <= 6; ++id) {
    tasks.push_back(sampleTask(id));
    tasks.back().tags = {"common"};
  }
  tasks[0].state.status = TaskStatus::Failed;
  tasks[0].state.reason = FailureReason::Timeout;
  tasks[0].state.ignored = true;
  tasks[1].state.status = TaskStatus::Finished;
  tasks[2].state.status = TaskStatus::Running;
  tasks[2].state.priority = Priority::Low;
  tasks[3].name = "report 100%_done";
  tasks[4].name = "Report 🚀";
  tasks[4].tags = {"common", "weekly"};
  tasks[5].state.runner_id = "r1";
  tasks[5].state.attempt = 1;
  tasks[1].group = "g";
  tasks[4].group = "g";
  tasks[5].group = "G";
  tasks[0].state.runner_id = "r1";
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(tasks));
  AttemptRecord old_attempt = sampleAttempt(2, 1, "r1");
  old_attempt.status = AttemptStatus::Finished;
  AttemptRecord ended = sampleAttempt(1, 1, "r1");
  ended.status = AttemptStatus::Failed;
  ASSERT_OK(txn->storeAttempts(std::vector{sampleAttempt(6, 1, "r1"), old_attempt, ended}));
  ASSERT_OK(txn->storeRunners(std::vector{sampleRunner("r1"), sampleRunner("r2")}));
  ASSERT_OK(txn->commit());

  const auto expect = [&](const TaskFilter& filter, const Ids& ids) {
    EXPECT_EQ(idsOf(reader_->tasks(filter, 0, 10)), ids);
    const auto count = reader_->countTasks(filter);
    EXPECT_OK(count);
    EXPECT_EQ(*count, ids.size());
  };
  TaskFilter f;
  expect(f, {6, 5, 4, 3, 2, 1});
  f.statuses = {TaskStatus::Failed};
  expect(f, {1});
  f.statuses = {TaskStatus::Failed, TaskStatus::Running, TaskStatus::Finished};
  expect(f, {3, 2, 1});
  f.statuses = {TaskStatus::Skipped};
  expect(f, {});
  f = {};
  f.priorities = {Priority::Low, Priority::Critical};
  expect(f, {3});
  f = {};
  f.reason = FailureReason::Timeout;
  expect(f, {1});
  f = {};
  f.ignored = true;
  expect(f, {1});
  f.ignored = false;
  expect(f, {6, 5, 4, 3, 2});
  f = {};
  f.name = "Report 🚀";
  expect(f, {5});
  f.name = "report 🚀";  // Exact: case matters.
  expect(f, {});
  f = {};
  f.text = "%_d";  // No wildcard.
  expect(f, {4});
  f.text = "eport";
  expect(f, {5, 4});
  f = {};
  f.tag = "weekly";
  expect(f, {5});
  f.tag = "common";
  expect(f, {6, 5, 4, 3, 2, 1});
  f = {};
  f.group = "g";
  expect(f, {5, 2});
  f.tag = "weekly";
  expect(f, {5});
  f.group = "G";
  expect(f, {});
  f = {};
  f.runner_id = "r1";
  expect(f, {6, 1});
  f = {};
  f.host = "host-r1";
  expect(f, {6, 1});
  f.host = "host-r2";
  expect(f, {});
  f = {};
  f.created_from = tasks[2].created_at;
  expect(f, {6, 5, 4, 3});
  f.created_before = tasks[4].created_at;
  expect(f, {4, 3});
  f.tag = "common";
  f.statuses = {TaskStatus::Queued, TaskStatus::Running};
  f.priorities = {Priority::High};
  f.text = "report";
  expect(f, {4});
}

// Words of a filter are values, never SQL.
TEST_P(DaoContract, FilterTextIsNeverSql) {
  insert({sampleTask(1)});
  const std::string evil = "x' OR '1'='1\\' -- ?; DROP TABLE task";
  TaskFilter filter;
  filter.name = evil;
  EXPECT_TRUE(idsOf(reader_->tasks(filter, 0, 10)).empty());
  filter = {};
  filter.text = evil;
  EXPECT_TRUE(idsOf(reader_->tasks(filter, 0, 10)).empty());
  filter = {};
  filter.tag = evil;
  EXPECT_TRUE(idsOf(reader_->tasks(filter, 0, 10)).empty());
  EXPECT_FALSE(reader_->idempotency(evil, evil)->has_value());
  EXPECT_TRUE(reader_->task(1)->has_value());
}

TEST_P(DaoContract, CountsByStatus) {
  EXPECT_TRUE(reader_->taskCounts()->by_status.empty());
  std::vector<TaskRecord> tasks;
  for (TaskId id = 1; id <= kTaskStatusCount; ++id) {
    tasks.push_back(sampleTask(id));
    tasks.back().state.status = static_cast<TaskStatus>(id - 1);
  }
  tasks.push_back(sampleTask(100));
  insert(tasks);
  const auto counts = reader_->taskCounts();
  ASSERT_OK(counts);
  EXPECT_EQ(counts->by_status.size(), kTaskStatusCount);
  for (const auto& [status, count] : counts->by_status) {
    EXPECT_EQ(count, status == TaskStatus::Queued ? 2u : 1u) << toString(status);
  }
}

// Recovery sees each live task once, whole, with its open attempt, in rising order.
TEST_P(DaoContract, LiveScanGivesEveryLiveTaskOnceInRanges) {
  EXPECT_TRUE(reader_->liveRanges(4)->empty());
  std::vector<TaskRecord> tasks;
  std::vector<AttemptRecord> attempts;
  for (TaskId id = 1; id <= 500; ++id) {
    TaskRecord task = sampleTask(id * 3);
    if (id % 5 == 0) task.state.status = TaskStatus::Finished;
    if (id % 7 == 0) {
      AttemptRecord closed = sampleAttempt(id * 3, 1, "r" + std::to_string(id));
      closed.status = AttemptStatus::Failed;
      attempts.push_back(closed);
      AttemptRecord open = sampleAttempt(id * 3, 2, "r" + std::to_string(id));
      if (id % 5 == 0) open.status = AttemptStatus::Finished;
      attempts.push_back(open);
    }
    tasks.push_back(task);
  }
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(tasks));
  ASSERT_OK(txn->storeAttempts(attempts));
  ASSERT_OK(txn->commit());

  const auto ranges = reader_->liveRanges(4);
  ASSERT_OK(ranges);
  ASSERT_EQ(ranges->size(), 4u);
  EXPECT_EQ(ranges->front().from, 3u);
  TaskId last = 0;
  size_t seen = 0;
  for (const LiveRange& range : *ranges) {
    EXPECT_TRUE(range.dense);
    size_t in_range = 0;
    ASSERT_OK(reader_->liveTasks(range, [&](const LiveTask& live) {
      const TaskId id = live.state.id;
      EXPECT_GT(id, last);
      last = id;
      ++seen;
      ++in_range;
      EXPECT_NE((id / 3) % 5, 0u);
      EXPECT_EQ(dumpState(live.state), dumpState(sampleTask(id).state));
      EXPECT_EQ(live.policy, sampleTask(id).policy);
      EXPECT_EQ(live.created_at, sampleTask(id).created_at);
      EXPECT_EQ(live.open_attempt.has_value(), (id / 3) % 7 == 0);
      if (live.open_attempt) {
        EXPECT_EQ(dumpAttempt(*live.open_attempt),
                  dumpAttempt(sampleAttempt(id, 2, "r" + std::to_string(id / 3))));
      }
      return true;
    }));
    EXPECT_NEAR(static_cast<double>(in_range), 100, 2);
  }
  EXPECT_EQ(seen, 400u);
  EXPECT_EQ(reader_->liveRanges(1'000)->size(), 400u);
}

// Few live tasks among many that ended are found by the index, and found all the same.
TEST_P(DaoContract, LiveScanFindsFewAmongMany) {
  std::vector<TaskRecord> tasks;
  for (TaskId id = 1; id <= 300; ++id) {
    TaskRecord task = sampleTask(id);
    if (id % 100 != 0) task.state.status = TaskStatus::Finished;
    tasks.push_back(task);
  }
  auto txn = begin();
  ASSERT_OK(txn->insertTasks(tasks));
  ASSERT_OK(txn->commit());
  const auto ranges = reader_->liveRanges(3);
  ASSERT_OK(ranges);
  ASSERT_EQ(ranges->size(), 3u);
  std::vector<TaskId> seen;
  for (LiveRange range : *ranges) {
    EXPECT_EQ(range.dense, range.from == 300) << range.from;
    for (const bool dense : {false, true}) {
      range.dense = dense;
      ASSERT_OK(reader_->liveTasks(range, [&seen](const LiveTask& live) {
        seen.push_back(live.state.id);
        return true;
      }));
    }
  }
  EXPECT_EQ(seen, (std::vector<TaskId>{100, 100, 200, 200, 300, 300}));
}

// A scan that its caller stops leaves the connection usable.
TEST_P(DaoContract, LiveScanStopsWhenAsked) {
  insert({sampleTask(1), sampleTask(2), sampleTask(3)});
  int seen = 0;
  EXPECT_CODE(reader_->liveTasks({}, [&seen](const LiveTask&) { return ++seen < 2; }), Cancelled);
  EXPECT_EQ(seen, 2);
  EXPECT_OK(reader_->task(1));
  EXPECT_OK(reader_->liveTasks({.before = UINT64_MAX}, [](const LiveTask&) { return true; }));
}

// A stored number that no enumerator has is reported with the row's name, not guessed.
TEST_P(DaoContract, UnknownStoredEnumerationIsCorruptAndNamed) {
  insert({sampleTask(1), sampleTask(2)});
  raw("UPDATE task SET status=77 WHERE task_id=2");
  const auto page = reader_->tasks({}, 0, 10);
  EXPECT_CODE(page, Corrupt);
  EXPECT_NE(page.error().message().find("task 2"), std::string::npos);
  EXPECT_CODE(reader_->liveTasks({}, [](const LiveTask&) { return true; }), Corrupt);
  EXPECT_OK(reader_->task(1));
}

// Readers can't write, whatever the user's rights.
TEST_P(DaoContract, ReaderSessionsRefuseWrites) {
  const auto session = backend_->connect(SessionKind::Reader);
  ASSERT_OK(session);
  EXPECT_FALSE((*session)->execute("DELETE FROM task").ok());
  if (!isMysql()) return;
  DatabaseOptions options = options_;
  options.reader_user.clear();
  auto same_user = openDatabase(options);
  ASSERT_OK(same_user);
  EXPECT_OK((*same_user)->makeReader()->taskCounts());
}

// What is committed is seen by the next read, also while others write.
TEST_P(DaoContract, ReaderSeesOnlyCommittedState) {
  insert({sampleTask(1)});
  auto txn = begin();
  TaskState state = sampleTask(1).state;
  state.hold = true;
  ASSERT_OK(txn->storeTaskStates(std::vector{state}));
  EXPECT_FALSE((*reader_->task(1))->state.hold);
  ASSERT_OK(txn->commit());
  EXPECT_TRUE((*reader_->task(1))->state.hold);
}

}  // namespace
}  // namespace baton::dao
