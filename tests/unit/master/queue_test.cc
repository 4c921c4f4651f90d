#include <gtest/gtest.h>

#include <map>

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
  EXPECT_EQ(classes.servedBy(strong), (std::vector<LabelClasses::Signature>{any, gpu, both}));
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

// A queue without limits.
struct PlainQueue {
  LaneId lane(Priority priority, const LabelMap& labels = {}) {
    TaskPolicy policy;
    policy.labels = labels;
    return queue.laneOf(policy, priority);
  }
  void add(LaneId lane, int64_t queued_us, TaskId id) {
    queue.add(lane, wallFromMicros(queued_us), id);
    at[id] = queued_us;
  }
  TaskId take(LabelClasses::ClassId runner) {
    const auto first = queue.first(runner);
    if (!first) return 0;
    queue.remove(first->lane, wallFromMicros(at.at(first->place.id)), first->place.id);
    return first->place.id;
  }
  LabelClasses classes;
  LimitGates gates;
  std::vector<bool> present;
  ReadyQueue queue{classes, gates, present};
  std::map<TaskId, int64_t> at;
};

TEST(ReadyQueueTest, TheOrderIsPriorityThenAgeThenNumber) {
  // Aim: the documented picking order.
  PlainQueue q;
  const auto runner = q.classes.classOf({});
  q.add(q.lane(Priority::Normal), 100, 3);
  q.add(q.lane(Priority::Normal), 100, 2);
  q.add(q.lane(Priority::Normal), 50, 9);
  q.add(q.lane(Priority::Low), 1, 1);
  q.add(q.lane(Priority::Critical), 900, 8);
  std::vector<TaskId> order;
  while (const TaskId id = q.take(runner)) order.push_back(id);
  EXPECT_EQ(order, (std::vector<TaskId>{8, 9, 2, 3, 1}));
  EXPECT_EQ(q.queue.size(), 0U);
}

TEST(ReadyQueueTest, AStepOfPriorityIsWorthSoMuchWaitingAndNoMore) {
  // Aim: nothing starves: what has waited longer than the steps between are worth goes first.
  PlainQueue q;
  q.queue.setAgeing(Millis(1'000));
  const auto runner = q.classes.classOf({});
  q.add(q.lane(Priority::Low), 0, 1);
  q.add(q.lane(Priority::Normal), 999'999, 2);      // Less than a step younger: before it.
  q.add(q.lane(Priority::Normal), 1'000'001, 3);    // More: behind it.
  q.add(q.lane(Priority::Critical), 2'999'999, 4);  // Less than three steps.
  q.add(q.lane(Priority::Critical), 3'000'001, 5);
  std::vector<TaskId> order;
  while (const TaskId id = q.take(runner)) order.push_back(id);
  EXPECT_EQ(order, (std::vector<TaskId>{2, 4, 1, 3, 5}));
}

TEST(ReadyQueueTest, ATaskThatNobodyCanRunStandsInNobodysWay) {
  // Aim: an older task with labels that no runner has does not block younger ones.
  PlainQueue q;
  const auto plain = q.classes.classOf({});
  const auto strong = q.classes.classOf({{"gpu", "yes"}});
  q.add(q.lane(Priority::Normal, {{"gpu", "yes"}}), 1, 1);
  q.add(q.lane(Priority::Normal), 2, 2);
  EXPECT_EQ(q.queue.first(plain)->place.id, 2U);
  EXPECT_EQ(q.queue.first(strong)->place.id, 1U);
}

TEST(ReadyQueueTest, WhatStandsAheadIsOneLaneInOrder) {
  // Aim: specifications are fetched for those that come next.
  PlainQueue q;
  const auto runner = q.classes.classOf({});
  for (TaskId id = 1; id <= 5; ++id) q.add(q.lane(Priority::Normal), int64_t(id), id);
  EXPECT_EQ(q.queue.ahead(*q.queue.first(runner), 3), (std::vector<TaskId>{1, 2, 3}));
}

TEST(ReadyQueueTest, ALaneGoesWithItsLastUser) {
  // Aim: groups and label sets that come and go cost no memory.
  PlainQueue q;
  TaskPolicy policy;
  policy.labels = {{"gpu", "yes"}};
  policy.scope = {.group = "g", .weight = 2, .flow = "f", .user = "u"};
  const LaneId lane = q.queue.laneOf(policy, Priority::Low);
  EXPECT_EQ(q.queue.laneOf(policy, Priority::Low), lane);
  EXPECT_NE(q.queue.laneOf(policy, Priority::High), lane);
  EXPECT_NE(q.gates.find(LimitKind::Group, "g"), nullptr);
  q.queue.dropLane(lane);
  q.queue.dropLane(lane);
  EXPECT_EQ(q.queue.laneCount(), 1U);
  q.queue.dropLane(lane + 1);
  EXPECT_EQ(q.queue.laneCount(), 0U);
  EXPECT_EQ(q.classes.signatureCount(), 0U);
  EXPECT_EQ(q.gates.find(LimitKind::Group, "g"), nullptr);
  EXPECT_EQ(q.gates.find(LimitKind::User, "u"), nullptr);
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
