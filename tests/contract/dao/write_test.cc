// What a committed transaction stores is what readers see, unchanged.
#include "tests/contract/dao/dao_contract.h"

namespace baton::dao {
namespace {

TaskState endedState(TaskId id) {
  return {.id = id,
          .status = TaskStatus::Failed,
          .reason = FailureReason::ExitCode,
          .reason_text = "exit code 3: it's 🚀",
          .priority = Priority::Critical,
          .attempt = 4,
          .retries_used = 3,
          .queued_at = wallFromMicros(1),
          .not_before = wallFromMicros(2),
          .started_at = wallFromMicros(3),
          .finished_at = wallFromMicros(1'700'000'009'999'999),
          .runner_id = "w1:2",
          .return_code = -7,
          .signal = 9,
          .cause = StopCause::Timeout,
          .hold = true,
          .forced = true,
          .ignored = true,
          .unproven = true};
}

// Every member of a new task comes back as it was stored.
TEST_P(DaoContract, TaskReadsBackAsInserted) {
  TaskRecord task = sampleTask(7);
  task.state = endedState(7);
  task.outputs = R"({"rows":"12"})";
  insert({task, sampleTask(8)});
  const auto found = reader_->task(7);
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ(dumpTask(**found), dumpTask(task));
  EXPECT_FALSE(reader_->task(9)->has_value());
}

// The changing part overwrites all of itself and leaves the rest alone.
TEST_P(DaoContract, StateOverwritesOnlyItself) {
  TaskRecord task = sampleTask(7);
  insert({task});
  task.state = endedState(7);
  task.outputs = R"({"a":"b"})";
  auto txn = begin();
  ASSERT_OK(txn->storeTaskStates(std::vector{task.state}));
  ASSERT_OK(txn->storeTaskOutputs(std::vector<FencedTxn::TaskOutputs>{{7, task.outputs}}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(dumpTask(**reader_->task(7)), dumpTask(task));
  // And back to what has no value.
  task.state = sampleTask(7).state;
  txn = begin();
  ASSERT_OK(txn->storeTaskStates(std::vector{task.state}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(dumpTask(**reader_->task(7)), dumpTask(task));
}

// A state of a task that does not exist is a bug that must not pass unseen, wherever it stands.
TEST_P(DaoContract, StateOfUnknownTaskIsCorruptAndNamed) {
  insert({sampleTask(1), sampleTask(2)});
  for (const size_t place : {size_t{0}, size_t{1}, size_t{2}}) {
    std::vector<TaskState> states{endedState(1), endedState(2)};
    states.insert(states.begin() + static_cast<std::ptrdiff_t>(place), endedState(999));
    const auto txn = begin();
    const Status status = txn->storeTaskStates(states);
    EXPECT_CODE(status, Corrupt);
    EXPECT_NE(status.text().find("task 999"), std::string::npos) << status.text();
    EXPECT_CODE(txn->commit(), Corrupt);  // Dead.
  }
  EXPECT_CODE(begin()->storeTaskOutputs(std::vector<FencedTxn::TaskOutputs>{{999, "{}"}}), Corrupt);
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM task"), 2);
  EXPECT_EQ((*reader_->task(1))->state.status, TaskStatus::Queued);
}

// The same rows twice in one batch, or a batch repeated, do no harm.
TEST_P(DaoContract, RepeatedBatchDoesNoHarm) {
  const std::vector<TaskRecord> tasks{sampleTask(1), sampleTask(2)};
  for (int round = 0; round < 2; ++round) {
    auto txn = writer_->begin(1, 5);
    ASSERT_OK(txn);
    ASSERT_OK((*txn)->insertTasks(tasks));
    ASSERT_OK((*txn)->insertTasks(tasks));
    ASSERT_OK((*txn)->storeTaskStates(std::vector{endedState(1), endedState(1)}));
    ASSERT_OK((*txn)->storeTaskStates(std::vector{endedState(1)}));
    ASSERT_OK((*txn)->storeAttempts(std::vector{sampleAttempt(1, 1, "r1")}));
    ASSERT_OK((*txn)->storeOutbox(std::vector{sampleOutbox(1)}));
    ASSERT_OK((*txn)->commit());
  }
  EXPECT_EQ(dumpState((*reader_->task(1))->state), dumpState(endedState(1)));
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM task"), 2);
}

// An id that exists from another batch is a bug: never overwritten.
TEST_P(DaoContract, DuplicateTaskOfAnotherBatchIsCorrupt) {
  insert({sampleTask(1), sampleTask(2)});
  TaskRecord other = sampleTask(2);
  other.name = "impostor";
  const auto txn = begin();
  const Status status = txn->insertTasks(std::vector{sampleTask(3), other});
  EXPECT_CODE(status, Corrupt);
  EXPECT_NE(status.text().find("task 2"), std::string::npos) << status.text();
}

// Rolled back by destruction: nothing stays.
TEST_P(DaoContract, DestroyedTransactionLeavesNothing) {
  {
    const auto txn = begin();
    ASSERT_OK(txn->insertTasks(std::vector{sampleTask(1)}));
  }
  EXPECT_FALSE(reader_->task(1)->has_value());
  insert({sampleTask(1)});
  EXPECT_TRUE(reader_->task(1)->has_value());
}

// A second transaction beside an open one would silently commit the first.
TEST_P(DaoContract, SecondTransactionBesideAnOpenOneIsRefused) {
  auto first = begin();
  ASSERT_OK(first->insertTasks(std::vector{sampleTask(1)}));
  EXPECT_CODE(writer_->begin(1, 90), Internal);
  EXPECT_CODE(writer_->wasCommitted(1, 90), Internal);
  first.reset();
  EXPECT_FALSE(reader_->task(1)->has_value());
  // An error ends it at once: its locks are gone although the object lives.
  first = begin();
  ASSERT_OK(first->insertTasks(std::vector{sampleTask(1)}));
  EXPECT_CODE(first->storeTaskStates(std::vector{endedState(99)}), Corrupt);
  insert({sampleTask(2)});
  EXPECT_CODE(first->commit(), Corrupt);
  EXPECT_FALSE(reader_->task(1)->has_value());
  EXPECT_TRUE(reader_->task(2)->has_value());
}

// Attempts read back whole, oldest first.
TEST_P(DaoContract, AttemptsReadBackOldestFirst) {
  AttemptRecord first = sampleAttempt(3, 1, "r1");
  first.status = AttemptStatus::Failed;
  first.reason = FailureReason::Signal;
  first.reason_text = "signal 9 💥";
  first.return_code = 137;
  first.signal = 9;
  first.started_at = wallFromMicros(10);
  first.finished_at = wallFromMicros(20);
  first.stdout_bytes = 5'000'000'000;
  first.stderr_bytes = 3;
  first.late_report = R"({"result":"late"})";
  const AttemptRecord second = sampleAttempt(3, 2, "r1");
  const auto txn = begin();
  ASSERT_OK(txn->storeAttempts(std::vector{second, first}));
  ASSERT_OK(txn->commit());
  const auto found = reader_->attempts(3);
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(dumpAttempt((*found)[0]), dumpAttempt(first));
  EXPECT_EQ(dumpAttempt((*found)[1]), dumpAttempt(second));
}

// The schema itself forbids two open attempts of a task, and no other row is overwritten by it.
TEST_P(DaoContract, SecondOpenAttemptOfTaskIsRefused) {
  auto txn = begin();
  ASSERT_OK(txn->storeAttempts(std::vector{sampleAttempt(1, 1, "r1")}));
  ASSERT_OK(txn->commit());
  txn = begin();
  const Status status = txn->storeAttempts(std::vector{sampleAttempt(1, 2, "r2")});
  EXPECT_CODE(status, Corrupt);
  EXPECT_NE(status.text().find("attempt 1/2"), std::string::npos) << status.text();
  txn.reset();
  ASSERT_EQ(reader_->attempts(1)->size(), 1u);
  EXPECT_EQ(dumpAttempt(reader_->attempts(1)->front()), dumpAttempt(sampleAttempt(1, 1, "r1")));
}

// Nor two open attempts on a runner.
TEST_P(DaoContract, SecondOpenAttemptOnRunnerIsRefused) {
  auto txn = begin();
  ASSERT_OK(txn->storeAttempts(std::vector{sampleAttempt(1, 1, "r1")}));
  ASSERT_OK(txn->commit());
  txn = begin();
  EXPECT_CODE(txn->storeAttempts(std::vector{sampleAttempt(2, 1, "r1")}), Corrupt);
  txn.reset();
  EXPECT_TRUE(reader_->attempts(2)->empty());
}

// Closing and opening in one batch works whatever the order of the rows.
TEST_P(DaoContract, AttemptClosesAndAnotherOpensInOneBatch) {
  auto txn = begin();
  ASSERT_OK(txn->storeAttempts(std::vector{sampleAttempt(1, 1, "r1"), sampleAttempt(2, 1, "r2")}));
  ASSERT_OK(txn->commit());
  AttemptRecord closed_1 = sampleAttempt(1, 1, "r1");
  AttemptRecord closed_2 = sampleAttempt(2, 1, "r2");
  closed_1.status = AttemptStatus::Undelivered;
  closed_2.status = AttemptStatus::Failed;
  txn = begin();
  ASSERT_OK(txn->storeAttempts(
      std::vector{sampleAttempt(1, 2, "r2"), closed_1, sampleAttempt(2, 2, "r1"), closed_2}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(reader_->attempts(1)->back().runner_id, "r2");
  EXPECT_EQ(reader_->attempts(2)->back().runner_id, "r1");
}

// Runners, callbacks and idempotency keys overwrite by their key and read back whole.
TEST_P(DaoContract, RunnersReadBackAndOverwrite) {
  RunnerRecord runner = sampleRunner("a:1");
  auto txn = begin();
  ASSERT_OK(txn->storeRunners(std::vector{sampleRunner("b:1"), runner}));
  ASSERT_OK(txn->commit());
  runner.conflict = true;
  runner.plain = false;
  runner.host = "häuschen";
  txn = begin();
  ASSERT_OK(txn->storeRunners(std::vector{runner}));
  ASSERT_OK(txn->commit());
  const auto found = reader_->runners();
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 2u);
  const RunnerRecord& first = found->front();
  EXPECT_EQ(first.runner_id, "a:1");
  EXPECT_EQ(first.worker_id, "worker-a:1");
  EXPECT_EQ(first.host, "häuschen");
  EXPECT_EQ(first.boot_id, "boot");
  EXPECT_EQ(first.version, "0.1.0");
  EXPECT_EQ(first.worker_address, "10.0.0.1:8081");
  EXPECT_EQ(first.journal_id, "journal");
  EXPECT_EQ(first.incarnation, 0x8000'0000'0000'0001ULL);
  EXPECT_EQ(first.labels, runner.labels);
  EXPECT_FALSE(first.plain);
  EXPECT_TRUE(first.conflict);
  EXPECT_EQ(first.last_seen, runner.last_seen);
}

TEST_P(DaoContract, OutboxGivesPendingInOrderAndDeadNewestFirst) {
  std::vector<OutboxRecord> records;
  for (const uint64_t id : {5, 3, 9, 7, 8}) records.push_back(sampleOutbox(id));
  records[3].state = OutboxRecord::State::Dead;
  records[4].state = OutboxRecord::State::Dead;
  auto txn = begin();
  ASSERT_OK(txn->storeOutbox(records));
  ASSERT_OK(txn->commit());
  const auto pending = reader_->pendingOutbox(3, 10);
  ASSERT_OK(pending);
  ASSERT_EQ(pending->size(), 2u);
  EXPECT_EQ((*pending)[0].id, 5u);
  EXPECT_EQ((*pending)[1].id, 9u);
  const OutboxRecord& one = pending->front();
  EXPECT_EQ(one.task_id, 5u);
  EXPECT_EQ(one.attempt, 2);
  EXPECT_EQ(one.event, "finished");
  EXPECT_EQ(one.url, records[0].url);
  EXPECT_EQ(one.payload, records[0].payload);
  EXPECT_TRUE(one.awaited);
  EXPECT_EQ(one.tries, 1);
  EXPECT_EQ(one.next_at, wallFromMicros(5));
  EXPECT_EQ(one.created_at, wallFromMicros(4));
  EXPECT_EQ(one.last_error, "HTTP 500");
  EXPECT_EQ(reader_->pendingOutbox(0, 1)->size(), 1u);
  ASSERT_EQ(reader_->deadOutbox(0, 10)->size(), 2u);
  EXPECT_EQ(reader_->deadOutbox(0, 1)->front().id, 8u);
  const auto older = reader_->deadOutbox(8, 10);
  ASSERT_EQ(older->size(), 1u);
  EXPECT_LT(older->front().id, 8u);
  EXPECT_TRUE(reader_->deadOutbox(older->front().id, 10)->empty());
  EXPECT_EQ((*reader_->outboxRow(8))->state, OutboxRecord::State::Dead);
  EXPECT_FALSE(reader_->outboxRow(8'000)->has_value());
}

TEST_P(DaoContract, IdempotencyKeysAreFoundExactlyAndPurgedByAge) {
  std::vector<IdempotencyRecord> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back({.principal = "alice",
                       .key = "key-" + std::to_string(i),
                       .request_hash = std::string(64, 'a'),
                       .answer = R"({"id":"1"})",
                       .created_at = wallFromMicros(100 + i)});
  }
  auto txn = begin();
  ASSERT_OK(txn->storeIdempotency(records));
  ASSERT_OK(txn->commit());
  const auto found = reader_->idempotency("alice", "key-2");
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->answer, R"({"id":"1"})");
  EXPECT_EQ((*found)->request_hash, std::string(64, 'a'));
  EXPECT_EQ((*found)->created_at, wallFromMicros(102));
  EXPECT_FALSE(reader_->idempotency("alice", "KEY-2")->has_value());
  EXPECT_FALSE(reader_->idempotency("bob", "key-2")->has_value());
  txn = begin();
  EXPECT_EQ(*txn->purgeIdempotency(wallFromMicros(104), 2), 2u);
  ASSERT_OK(txn->commit());
  EXPECT_FALSE(reader_->idempotency("alice", "key-0")->has_value());
  EXPECT_FALSE(reader_->idempotency("alice", "key-1")->has_value());
  EXPECT_TRUE(reader_->idempotency("alice", "key-2")->has_value());
  txn = begin();
  EXPECT_EQ(*txn->purgeIdempotency(wallFromMicros(104), 100), 2u);
  ASSERT_OK(txn->commit());
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM idempotency"), 1);
}

// Limits overwrite by kind and name, read back whole, and go one by one.
TEST_P(DaoContract, LimitsReadBackOverwriteAndGo) {
  LimitRecord group{.kind = LimitKind::Group, .name = "Größe", .max = 0};
  group.window = "22:00-06:00";
  group.time_zone = "America/Argentina/ComodRivadavia";
  group.min_priority = Priority::Low;
  group.description = "line 1 'quoted' 🚀";
  group.changed_at = wallFromMicros(1'700'000'000'123'456);
  LimitRecord unlimited{.kind = LimitKind::Group, .name = "größe"};
  LimitRecord host{.kind = LimitKind::Host, .name = std::string(255, 'h'), .max = kLimitMax};
  LimitRecord cluster{.kind = LimitKind::Cluster};
  const auto store = [&](std::vector<LimitRecord> rows) {
    auto txn = begin();
    ASSERT_OK(txn->storeLimits(rows));
    ASSERT_OK(txn->commit());
  };
  const auto shown = [&] {
    std::vector<std::string> texts;
    const auto rows = reader_->limits();
    EXPECT_OK(rows);
    for (const LimitRecord& row : *rows) {
      texts.push_back(fmt::format("{} {} {} {} {} {} {} {}", toString(row.kind), row.name,
                                  row.max ? *row.max : -1,
                                  row.min_priority ? toString(*row.min_priority) : "-", row.window,
                                  row.time_zone, row.description, toMicros(row.changed_at)));
    }
    return texts;
  };
  EXPECT_TRUE(shown().empty());
  store({group, unlimited, host, cluster});
  const std::string group_text =
      "group Größe 0 low 22:00-06:00 America/Argentina/ComodRivadavia line 1 'quoted' 🚀 "
      "1700000000123456";
  EXPECT_EQ(shown(),
            (std::vector<std::string>{"cluster  -1 -    0", group_text, "group größe -1 -    0",
                                      fmt::format("host {} {} -    0", host.name, kLimitMax)}));
  group.max = 7;
  group.min_priority.reset();
  group.window.clear();
  group.time_zone.clear();
  group.description.clear();
  group.changed_at = {};
  store({group});
  auto txn = begin();
  ASSERT_OK(txn->removeLimit(LimitKind::Host, host.name));
  ASSERT_OK(txn->removeLimit(LimitKind::Cluster, ""));
  ASSERT_OK(txn->removeLimit(LimitKind::Flow, "never there"));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(shown(), (std::vector<std::string>{"group Größe 7 -    0", "group größe -1 -    0"}));
  EXPECT_CODE(begin()->storeLimits(
                  std::vector{LimitRecord{.kind = LimitKind::Host, .name = std::string(256, 'x')}}),
              Corrupt);
}

// Ids are never given twice; a reservation that was rolled back may be given again.
TEST_P(DaoContract, ReservedIdsNeverOverlap) {
  auto txn = begin();
  EXPECT_EQ(*txn->reserveIds("task_id", 10'000), 1u);
  EXPECT_EQ(*txn->reserveIds("task_id", 10), 10'001u);
  EXPECT_EQ(*txn->reserveIds("outbox_id", 5), 1u);
  ASSERT_OK(txn->commit());
  txn = begin();
  EXPECT_EQ(*txn->reserveIds("task_id", 100), 10'011u);
  txn.reset();
  txn = begin();
  EXPECT_EQ(*txn->reserveIds("task_id", 100), 10'011u);
  ASSERT_OK(txn->commit());
  bumpTo(2);
  auto next = writer_->begin(2, 1);
  ASSERT_OK(next);
  EXPECT_EQ(*(*next)->reserveIds("task_id", 1), 10'111u);
}

// Many rows in one call are cut into statements and all arrive.
TEST_P(DaoContract, ThousandsOfRowsInOneCall) {
  std::vector<TaskRecord> tasks;
  std::vector<TaskState> states;
  for (TaskId id = 1; id <= 5'000; ++id) {
    tasks.push_back(sampleTask(id));
    tasks.back().spec += std::string(2'000, 'x');
    states.push_back(endedState(id));
  }
  insert(tasks);
  const auto txn = begin();
  ASSERT_OK(txn->storeTaskStates(states));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM task WHERE status=6"), 5'000);
  const auto specs = reader_->specs(std::vector<TaskId>{4'999, 5'001});
  ASSERT_OK(specs);
  ASSERT_EQ(specs->size(), 1u);
  EXPECT_EQ(specs->front().second, tasks[4'998].spec);
}

// Every row names the transaction that wrote it.
TEST_P(DaoContract, RowsCarryEpochAndBatch) {
  insert({sampleTask(1)});
  bumpTo(7);
  auto txn = writer_->begin(7, 33);
  ASSERT_OK(txn);
  ASSERT_OK((*txn)->storeTaskStates(std::vector{endedState(1)}));
  ASSERT_OK((*txn)->storeAttempts(std::vector{sampleAttempt(1, 1, "r")}));
  ASSERT_OK((*txn)->storeRunners(std::vector{sampleRunner("r")}));
  ASSERT_OK((*txn)->storeOutbox(std::vector{sampleOutbox(1)}));
  ASSERT_OK((*txn)->commit());
  for (const std::string table : {"task", "attempt", "runner", "outbox"}) {
    EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM " + table + " WHERE epoch=7 AND batch_id=33"), 1)
        << table;
  }
}

}  // namespace
}  // namespace baton::dao
