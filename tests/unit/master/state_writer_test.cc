#include "master/state/state_writer.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_database.h"

namespace baton::test {
namespace {

using master::Operation;
using Point = FakeDatabase::Point;

// The writer, its database and what it tells, driven by hand.
class StateWriterTest : public testing::Test, protected master::WriterListener {
 protected:
  void SetUp() override { writer_.setFirstBatch(1); }

  // A new task; its id is said when it is durable.
  Operation newTask(TaskId id) {
    Operation operation;
    TaskRecord task;
    task.state.id = id;
    operation.touchTask(id);
    operation.changes.new_tasks.push_back(task);
    operation.then([this, id] {
      // No reply leaves before what it says is durable.
      EXPECT_TRUE(database_.rows().tasks.contains(id));
      told_.push_back(id);
    });
    return operation;
  }
  Operation change(TaskId id, int32_t attempt) {
    Operation operation;
    TaskState state;
    state.id = id;
    state.attempt = attempt;
    operation.store(state);
    operation.then([this, id, attempt] {
      EXPECT_GE(database_.state(id).attempt, attempt);
      told_.push_back(id * 100 + static_cast<TaskId>(attempt));
    });
    return operation;
  }
  void write() {
    writer_.publish();
    writer_.runPendingForTest();
  }

  void onWriterFenced() override { ++fenced_; }
  void onWriterBug(const std::string& what) override { bug_ = what; }
  void onDatabaseOutage(const Error& why) override { outages_.push_back(why.code()); }
  void onDatabaseBack(Micros) override { ++backs_; }
  void onCommitted(size_t operations, size_t, Micros) override { committed_.push_back(operations); }

  using Told = std::vector<TaskId>;
  test::FakeClock clock_;
  FakeDatabase database_{1};
  std::unique_ptr<dao::Writer> link_ = database_.makeWriter();
  std::atomic<Epoch> epoch_{1};
  Told told_;
  int fenced_ = 0;
  int backs_ = 0;
  std::string bug_;
  std::vector<ErrorCode> outages_;
  std::vector<size_t> committed_;
  master::StateWriter writer_{
      *link_, clock_, epoch_, *this, {.retry_min = Millis(1), .retry_max = Millis(2)}};
};

TEST_F(StateWriterTest, WhatGatheredIsOneTransactionAndIsToldBehindIt) {
  // Aim: one commit serves many decisions, effects come in their order and only afterwards.
  const uint64_t before = database_.commits();
  for (TaskId id = 1; id <= 3; ++id) writer_.submit(newTask(id));
  EXPECT_TRUE(told_.empty());
  write();
  EXPECT_EQ(told_, (Told{1, 2, 3}));
  EXPECT_EQ(database_.commits(), before + 1);
  EXPECT_EQ(committed_, std::vector<size_t>{3});
  EXPECT_EQ(writer_.pendingOperations(), 0U);
}

TEST_F(StateWriterTest, TheNewestValueOfARowIsStoredAndNoneIsLost) {
  // Aim: two consecutive writes to one task keep their order within and over batches.
  writer_.submit(newTask(1));
  writer_.submit(change(1, 1));
  writer_.submit(change(1, 2));
  write();
  EXPECT_EQ(database_.state(1).attempt, 2);
  writer_.submit(change(1, 3));
  write();
  EXPECT_EQ(database_.state(1).attempt, 3);
  EXPECT_EQ(told_, (Told{1, 101, 102, 103}));
}

TEST_F(StateWriterTest, AnswersWithoutChangesLeaveAtOnceWhenIdleAndNeverOvertake) {
  // Aim: GO_ON costs no commit; but it waits behind what was decided before it.
  Operation answer;
  answer.then([this] { told_.push_back(7); });
  writer_.submit(std::move(answer));
  EXPECT_EQ(told_, Told{7});
  writer_.submit(newTask(1));
  Operation behind;
  behind.then([this] { told_.push_back(8); });
  writer_.submit(std::move(behind));
  EXPECT_EQ(told_, Told{7});
  write();
  EXPECT_EQ(told_, (Told{7, 1, 8}));
}

TEST_F(StateWriterTest, AFencedWriterHaltsAndTellsNothingOfWhatItDecided) {
  // Aim: a deposed master's decisions leave no trace, in the database or outside.
  writer_.submit(newTask(1));
  database_.rule(2);
  write();
  EXPECT_EQ(fenced_, 1);
  EXPECT_TRUE(told_.empty());
  writer_.submit(newTask(2));
  write();
  EXPECT_EQ(fenced_, 1);
  EXPECT_TRUE(database_.rows().tasks.empty());
  EXPECT_TRUE(told_.empty());
}

TEST_F(StateWriterTest, ALostLinkBeforeTheCommitIsAnOutageAndTheBatchIsRepeated) {
  // Aim: nothing is lost, new work is refused meanwhile, and the end of the outage is told.
  database_.fail(Point::Begin, ErrorCode::Unavailable, 2);
  writer_.submit(newTask(1));
  write();
  EXPECT_EQ(told_, Told{1});
  EXPECT_EQ(outages_, std::vector<ErrorCode>{ErrorCode::Unavailable});
  EXPECT_EQ(backs_, 1);
  EXPECT_TRUE(writer_.acceptsWork());
}

TEST_F(StateWriterTest, ACommitInDoubtThatArrivedIsNotRepeated) {
  // Aim: the batch number tells; a repeat would be refused by the schema.
  database_.fail(Point::CommitLost, ErrorCode::Unavailable);
  writer_.submit(newTask(1));
  write();
  EXPECT_EQ(told_, Told{1});
  EXPECT_EQ(database_.begins(), 1U);
  EXPECT_TRUE(bug_.empty());
}

TEST_F(StateWriterTest, ACommitInDoubtThatNeverArrivedIsRepeated) {
  // Aim: the other answer to the same question; also when the question itself fails at first.
  database_.fail(Point::CommitDropped, ErrorCode::Unavailable);
  database_.fail(Point::WasCommitted, ErrorCode::Unavailable, 2);
  writer_.submit(newTask(1));
  write();
  EXPECT_EQ(told_, Told{1});
  EXPECT_EQ(database_.begins(), 2U);
  EXPECT_EQ(database_.commits(), 1U);
}

TEST_F(StateWriterTest, ALockedRowDelaysItsOwnTaskAloneAndKeepsItsOrder) {
  // Aim: after three tries the batch is split; what is about the locked row waits in order.
  for (TaskId id = 1; id <= 3; ++id) writer_.submit(newTask(id));
  write();
  told_.clear();
  database_.lockTask(2);
  for (TaskId id = 1; id <= 3; ++id) writer_.submit(change(id, 1));
  write();
  EXPECT_EQ(told_, (Told{101, 301}));
  writer_.submit(change(2, 2));
  writer_.submit(change(3, 2));
  write();
  EXPECT_EQ(told_, (Told{101, 301, 302}));
  EXPECT_EQ(writer_.pendingOperations(), 2U);
  database_.unlockTask(2);
  write();
  EXPECT_EQ(told_.size(), 3U);  // Its next try is not due yet.
  clock_.advance(Seconds(3));
  write();
  EXPECT_EQ(told_, (Told{101, 301, 302, 201, 202}));
  EXPECT_EQ(database_.state(2).attempt, 2);
  EXPECT_EQ(writer_.pendingOperations(), 0U);
}

TEST_F(StateWriterTest, WhatIsSetAsideAtOnceStaysBehindWhatIsBlockedLater) {
  // Aim: a decision about a blocked task and a new one never overtakes the new one's insertion.
  writer_.submit(newTask(1));
  write();
  database_.lockTask(1);
  writer_.submit(change(1, 1));
  write();
  ASSERT_EQ(writer_.pendingOperations(), 1U);
  writer_.submit(newTask(2));
  Operation both = change(1, 2);
  TaskState second;
  second.id = 2;
  second.attempt = 1;
  both.store(second);
  writer_.submit(std::move(both));
  database_.fail(Point::Begin, ErrorCode::Busy, 3);  // The insertion is blocked as well.
  write();
  database_.unlockTask(1);
  clock_.advance(Seconds(3));
  write();
  EXPECT_EQ(bug_, "");
  EXPECT_EQ(told_, (Told{1, 101, 2, 102}));
  EXPECT_EQ(database_.state(2).attempt, 1);
}

TEST_F(StateWriterTest, ARowThatIsUnlockedAfterADeadlockCostsNoSplit) {
  // Aim: Busy twice is repeated as one batch.
  database_.fail(Point::Begin, ErrorCode::Busy, 2);
  writer_.submit(newTask(1));
  writer_.submit(newTask(2));
  write();
  EXPECT_EQ(told_, (Told{1, 2}));
  EXPECT_EQ(database_.commits(), 1U);
}

TEST_F(StateWriterTest, AFullDiskKeepsTheBatchAndRefusesNewWorkMeanwhile) {
  // Aim: what was accepted is written when there is room again.
  database_.fail(Point::Commit, ErrorCode::StorageFull, 3);
  writer_.submit(newTask(1));
  write();
  EXPECT_EQ(outages_, std::vector<ErrorCode>{ErrorCode::StorageFull});
  EXPECT_EQ(told_, Told{1});
  EXPECT_TRUE(writer_.acceptsWork());
}

TEST_F(StateWriterTest, AnythingElseIsABugThatHaltsTheWriter) {
  // Aim: the memory can't be trusted any more; nothing is told of the batch.
  database_.fail(Point::Commit, ErrorCode::Corrupt);
  writer_.submit(newTask(1));
  write();
  EXPECT_FALSE(bug_.empty());
  EXPECT_TRUE(told_.empty());
  writer_.submit(newTask(2));
  write();
  EXPECT_TRUE(database_.rows().tasks.empty());
}

TEST_F(StateWriterTest, ARefusedRowCostsOnlyWhatIsAboutItBeforeTheWriterHalts) {
  // Aim: decisions of others that shared the batch are durable and told; nothing overtakes the bad.
  writer_.submit(newTask(1));
  writer_.submit(change(99, 1));  // There is no such task.
  writer_.submit(newTask(2));
  Operation both = change(99, 2);
  both.touchTask(2);
  writer_.submit(std::move(both));
  writer_.submit(change(1, 1));
  write();
  EXPECT_EQ(told_, (Told{1, 2, 101}));
  EXPECT_NE(bug_.find("99"), std::string::npos) << bug_;
  writer_.submit(newTask(3));
  write();
  EXPECT_FALSE(database_.rows().tasks.contains(3));
}

TEST_F(StateWriterTest, ARefusalOfTheWriterItselfIsNotTriedWithEachOperation) {
  // Aim: a password that is wrong since a minute is asked about once.
  database_.fail(Point::Begin, ErrorCode::PermissionDenied);
  writer_.submit(newTask(1));
  writer_.submit(newTask(2));
  write();
  EXPECT_EQ(database_.begins(), 1U);
  EXPECT_FALSE(bug_.empty());
  EXPECT_TRUE(told_.empty());
}

TEST_F(StateWriterTest, AFrozenWriterBeginsNoTransaction) {
  // Aim: a master that may not act writes nothing; what it had decided is kept for later.
  writer_.freeze();
  writer_.submit(newTask(1));
  write();
  EXPECT_EQ(database_.begins(), 0U);
  writer_.resume();
  write();
  EXPECT_EQ(told_, Told{1});
}

TEST_F(StateWriterTest, ABatchIsNeverLargerThanItsCap) {
  // Aim: one transaction stays within what a server takes.
  master::StateWriter small(*link_, clock_, epoch_, *this, {.batch_operations_max = 2});
  small.setFirstBatch(1);
  for (TaskId id = 1; id <= 5; ++id) small.submit(newTask(id));
  small.publish();
  for (int i = 0; i < 3; ++i) small.runPendingForTest();
  EXPECT_EQ(committed_, (std::vector<size_t>{2, 2, 1}));
}

TEST_F(StateWriterTest, ItsThreadWritesWhatIsPublishedAndFlushWaitsForIt) {
  // Aim: the same over the real thread, and an end within the deadline while the database is away.
  ASSERT_TRUE(writer_.start().ok());
  SystemClock real;
  for (TaskId id = 1; id <= 50; ++id) {
    writer_.submit(newTask(id));
    writer_.publish();
  }
  EXPECT_TRUE(writer_.flush(clock_.bootNow() + Seconds(60)));
  EXPECT_EQ(told_.size(), 50U);
  database_.fail(Point::Begin, ErrorCode::Unavailable, 1'000'000);
  writer_.submit(newTask(51));
  writer_.publish();
  EXPECT_FALSE(writer_.flush(clock_.bootNow()));
  const BootTime before = real.bootNow();
  writer_.stop();
  EXPECT_LT(real.bootNow() - before, Micros(Seconds(2)));
}

}  // namespace
}  // namespace baton::test
