#include <gtest/gtest.h>

#include "master/state/id_allocator.h"
#include "master/task/ready_queue.h"
#include "tests/support/fake_database.h"

namespace baton::master {
namespace {

TEST(LabelClassesTest, ARunnerFitsWhenItHasEveryLabelThatIsWanted) {
  // Aim: more labels do no harm, another value does; sets made later are related too.
  LabelClasses classes;
  const auto any = classes.signatureOf({});
  const auto gpu = classes.signatureOf({{"gpu", "yes"}});
  const auto plain = classes.classOf({});
  const auto strong = classes.classOf({{"gpu", "yes"}, {"zone", "a"}});
  const auto other = classes.classOf({{"gpu", "no"}});
  const auto both = classes.signatureOf({{"gpu", "yes"}, {"zone", "a"}});
  EXPECT_TRUE(classes.fits(any, plain));
  EXPECT_FALSE(classes.fits(gpu, plain));
  EXPECT_TRUE(classes.fits(gpu, strong));
  EXPECT_FALSE(classes.fits(gpu, other));
  EXPECT_TRUE(classes.fits(both, strong));
  EXPECT_FALSE(classes.fits(both, plain));
  EXPECT_EQ(classes.servedBy(strong), (std::set<LabelClasses::Signature>{any, gpu, both}));
  EXPECT_EQ(classes.signatureOf({{"gpu", "yes"}}), gpu);
  EXPECT_EQ(classes.classOf({}), plain);
}

TEST(LabelClassesTest, ASetIsForgottenWithItsLastUserAndItsNumberIsUsedAgain) {
  // Aim: label sets that come and go cost no memory, and nothing of the old one sticks to a number.
  LabelClasses classes;
  const auto strong = classes.classOf({{"gpu", "yes"}});
  const auto gpu = classes.signatureOf({{"gpu", "yes"}});
  EXPECT_EQ(classes.signatureOf({{"gpu", "yes"}}), gpu);
  classes.dropSignature(gpu);
  EXPECT_TRUE(classes.fits(gpu, strong));
  classes.dropSignature(gpu);
  EXPECT_FALSE(classes.fits(gpu, strong));
  EXPECT_TRUE(classes.servedBy(strong).empty());
  EXPECT_EQ(classes.signatureCount(), 0U);
  EXPECT_EQ(classes.signatureOf({{"zone", "a"}}), gpu);
  EXPECT_FALSE(classes.fits(gpu, strong));
  classes.dropClass(strong);
  EXPECT_EQ(classes.classCount(), 0U);
  EXPECT_EQ(classes.classOf({{"zone", "a"}}), strong);
  EXPECT_TRUE(classes.fits(gpu, strong));
  EXPECT_EQ(classes.signatureLimit(), 1U);
  EXPECT_EQ(classes.classLimit(), 1U);
}

TEST(ReadyQueueTest, TheOrderIsPriorityThenAgeThenNumber) {
  // Aim: the documented picking order.
  LabelClasses classes;
  ReadyQueue queue(classes);
  const auto any = classes.signatureOf({});
  const auto runner = classes.classOf({});
  queue.add(any, Priority::Normal, {100, 3});
  queue.add(any, Priority::Normal, {100, 2});
  queue.add(any, Priority::Normal, {50, 9});
  queue.add(any, Priority::Low, {1, 1});
  queue.add(any, Priority::Critical, {900, 8});
  std::vector<TaskId> order;
  while (const auto first = queue.first(runner)) {
    order.push_back(first->entry.id);
    queue.remove(first->signature, first->priority, first->entry);
  }
  EXPECT_EQ(order, (std::vector<TaskId>{8, 9, 2, 3, 1}));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(ReadyQueueTest, ATaskThatNobodyCanRunStandsInNobodysWay) {
  // Aim: an older task with labels that no runner has does not block younger ones.
  LabelClasses classes;
  ReadyQueue queue(classes);
  const auto any = classes.signatureOf({});
  const auto gpu = classes.signatureOf({{"gpu", "yes"}});
  const auto plain = classes.classOf({});
  const auto strong = classes.classOf({{"gpu", "yes"}});
  queue.add(gpu, Priority::Normal, {1, 1});
  queue.add(any, Priority::Normal, {2, 2});
  EXPECT_EQ(queue.first(plain)->entry.id, 2U);
  EXPECT_EQ(queue.first(strong)->entry.id, 1U);
  EXPECT_EQ(queue.sizeOf(gpu), 1U);
}

TEST(ReadyQueueTest, WhatStandsAheadIsOneLaneInOrder) {
  // Aim: specifications are fetched for those that come next.
  LabelClasses classes;
  ReadyQueue queue(classes);
  const auto any = classes.signatureOf({});
  classes.classOf({});
  for (TaskId id = 1; id <= 5; ++id) queue.add(any, Priority::Normal, {int64_t(id), id});
  EXPECT_EQ(queue.ahead(*queue.first(0), 3), (std::vector<TaskId>{1, 2, 3}));
}

TEST(IdAllocatorTest, NumbersOfTwoTermsNeverMeet) {
  // Aim: what a dead master had in hand is never given again.
  test::FakeDatabase database(1);
  const auto writer = database.makeWriter();
  IdAllocator first("task_id", 10);
  ASSERT_TRUE(first.prime(*writer, 1, 1).ok());
  EXPECT_EQ(first.take(), 1U);
  database.rule(2);
  IdAllocator second("task_id", 10);
  ASSERT_TRUE(second.prime(*writer, 2, 1).ok());
  EXPECT_EQ(second.take(), 11U);
  EXPECT_EQ(first.prime(*writer, 1, 2).error().code(), ErrorCode::Fenced);
}

TEST(IdAllocatorTest, TheStockIsRefilledAtHalfAndOnlyOnceAtATime) {
  // Aim: submissions never wait for a number in normal operation.
  test::FakeDatabase database(1);
  const auto writer = database.makeWriter();
  IdAllocator ids("task_id", 10);
  ASSERT_TRUE(ids.prime(*writer, 1, 1).ok());
  std::vector<std::function<void()>> posted;
  const auto post = [&](std::function<void()> event) { posted.push_back(std::move(event)); };
  EXPECT_FALSE(ids.refill(post).has_value());
  for (int i = 0; i < 5; ++i) ids.take();
  auto operation = ids.refill(post);
  ASSERT_TRUE(operation.has_value());
  EXPECT_FALSE(ids.refill(post).has_value());
  auto txn = writer->begin(1, 2);
  for (auto& statement : operation->statements) ASSERT_TRUE(statement(**txn).ok());
  ASSERT_TRUE((*txn)->commit().ok());
  for (auto& effect : operation->effects) effect();
  EXPECT_EQ(ids.available(), 5U);
  for (auto& event : posted) event();
  EXPECT_EQ(ids.available(), 10U);
  for (TaskId next = 6; next <= 15; ++next) EXPECT_EQ(ids.take(), next);
}

TEST(IdAllocatorTest, WithoutAStockANumberIsReservedByTheOperationThatTakesIt) {
  // Aim: nobody waits for a number, none is given twice, and the next term begins behind all.
  test::FakeDatabase database(1);
  const auto writer = database.makeWriter();
  IdAllocator ids("run_id", 4);
  ASSERT_TRUE(ids.prime(*writer, 1, 1).ok());
  std::vector<std::function<void()>> posted;
  const auto post = [&](std::function<void()> event) { posted.push_back(std::move(event)); };
  Operation operation;
  for (uint64_t next = 1; next <= 4; ++next) EXPECT_EQ(ids.take(operation), next);
  EXPECT_FALSE(operation.writes());
  auto refill = ids.refill(post);
  ASSERT_TRUE(refill.has_value());
  // Its numbers are under way, and the operation comes before them.
  for (uint64_t next = 5; next <= 7; ++next) EXPECT_EQ(ids.take(operation), next);
  EXPECT_EQ(operation.numbers, (std::map<std::string, uint64_t>{{"run_id", 7}}));
  EXPECT_TRUE(operation.writes());
  auto txn = writer->begin(1, 2);
  for (auto& statement : refill->statements) ASSERT_TRUE(statement(**txn).ok());
  ASSERT_TRUE((*txn)->commit().ok());
  for (auto& effect : refill->effects) effect();
  for (auto& event : posted) event();
  for (uint64_t next = 8; next <= 10; ++next) EXPECT_EQ(ids.take(operation), next);
  EXPECT_EQ(mergeNumbers({&operation, 1}).at("run_id"), 10U);
}

}  // namespace
}  // namespace baton::master
