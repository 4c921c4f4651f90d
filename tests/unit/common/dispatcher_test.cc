#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "common/event/async_dispatcher.h"
#include "tests/support/fake_clock.h"

namespace baton {
namespace {

using Story = std::vector<std::string>;

// Driven by hand, with a clock that a test moves.
class DispatcherTest : public testing::Test {
 protected:
  AsyncDispatcher::Event note(const std::string& word) {
    return [this, word] { story_.push_back(word); };
  }
  test::FakeClock clock_;
  Story story_;
  AsyncDispatcher dispatcher_{clock_, {.queue_max = 3, .burst_max = 2}, [this] { ++bursts_; }};
  int bursts_ = 0;
};

TEST_F(DispatcherTest, EventsRunInTheOrderInWhichTheyWerePosted) {
  // Aim: two consecutive events of one sender are never reordered; bursts end with their hook.
  for (const char* word : {"a", "b", "c", "d", "e"}) dispatcher_.post(note(word));
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(bursts_, 3);
}

TEST_F(DispatcherTest, TimersRunBehindWhatArrivedBeforeThem) {
  // Aim: a heartbeat that came in time is handled before the watchdog judges.
  dispatcher_.callAt(clock_.bootNow() + Millis(10), note("timer"));
  dispatcher_.runPendingForTest();
  EXPECT_TRUE(story_.empty());
  clock_.advance(Millis(20));
  dispatcher_.post(note("event"));
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"event", "timer"}));
}

TEST_F(DispatcherTest, TimersRunByTimeAndThenInTheOrderOfTheirMaking) {
  // Aim: two timers of one moment never change places.
  const BootTime now = clock_.bootNow();
  dispatcher_.callAt(now + Millis(2), note("late"));
  dispatcher_.callAt(now + Millis(1), note("first"));
  dispatcher_.callAt(now + Millis(1), note("second"));
  clock_.advance(Millis(5));
  dispatcher_.runPendingForTest();
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"first", "second", "late"}));
}

TEST_F(DispatcherTest, ProgressIsSeenBetweenTwoEventsAndTwoTimers) {
  // Aim: whoever watches the thread does not take one long queue for one long event.
  std::vector<uint64_t> seen;
  const auto look = [&] {
    clock_.advance(Millis(100));
    seen.push_back(dispatcher_.progress());
  };
  for (int i = 0; i < 70; ++i) dispatcher_.post(look);
  dispatcher_.runPendingForTest();
  for (int i = 0; i < 2; ++i) dispatcher_.callAt(clock_.bootNow(), look);
  dispatcher_.runPendingForTest();
  ASSERT_EQ(seen.size(), 72U);
  for (size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i], seen[i - 1]) << i;
}

TEST_F(DispatcherTest, ACancelledTimerDoesNotRun) {
  // Aim: what is taken back stays back, also at the moment it is due.
  const auto id = dispatcher_.callAt(clock_.bootNow(), note("x"));
  dispatcher_.callAt(clock_.bootNow(), note("y"));
  dispatcher_.cancel(id);
  dispatcher_.cancel(0);
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"y"}));
}

TEST_F(DispatcherTest, AFullQueueShedsWhatMayBeShedAndNothingElse) {
  // Aim: submissions are refused, results and heartbeats never.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(dispatcher_.tryPost(note("t")));
  EXPECT_FALSE(dispatcher_.tryPost(note("shed")));
  dispatcher_.post(note("result"));
  EXPECT_EQ(dispatcher_.queueLength(), 4U);
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"t", "t", "t", "result"}));
  EXPECT_TRUE(dispatcher_.tryPost(note("again")));
}

TEST_F(DispatcherTest, WhatAnEventPostsRunsInALaterTurn) {
  // Aim: a handler never runs inside another one.
  dispatcher_.post([this] {
    story_.push_back("outer");
    dispatcher_.post(note("inner"));
    story_.push_back("outer ends");
  });
  dispatcher_.runPendingForTest();
  dispatcher_.runPendingForTest();
  EXPECT_EQ(story_, (Story{"outer", "outer ends", "inner"}));
}

// With its own thread: waits for what the test is about and for nothing else.
class RunningDispatcherTest : public testing::Test {
 protected:
  void drain() {
    std::promise<void> done;
    dispatcher_.post([&] { done.set_value(); });
    done.get_future().wait();
  }
  SystemClock clock_;
  AsyncDispatcher dispatcher_{clock_, {}, [] {}};
};

TEST_F(RunningDispatcherTest, AFrozenDispatcherRunsNothingAndResumesWithWhatMustComeFirst) {
  // Aim: a master that may not act does nothing, and learns of the gap before anything else.
  ASSERT_TRUE(dispatcher_.start().ok());
  Story story;
  std::promise<void> frozen_inside;
  std::promise<void> go;
  dispatcher_.post([&] {
    story.push_back("before");
    frozen_inside.set_value();
    go.get_future().wait();
  });
  frozen_inside.get_future().wait();
  dispatcher_.freeze();
  std::promise<void> last;
  dispatcher_.post([&] { story.push_back("queued"); });
  dispatcher_.post([&] { last.set_value(); });
  go.set_value();
  auto ended = last.get_future();
  EXPECT_EQ(ended.wait_for(Millis(30)), std::future_status::timeout);
  dispatcher_.resume([&] { story.push_back("gap"); });
  ended.wait();
  EXPECT_EQ(story, (Story{"before", "gap", "queued"}));
  dispatcher_.stop();
}

TEST_F(RunningDispatcherTest, PostsOfManyThreadsAllArriveEachInItsOrder) {
  // Aim: nothing is lost between the front's threads and the one that owns the state.
  ASSERT_TRUE(dispatcher_.start().ok());
  std::array<std::vector<int>, 4> seen;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < seen.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2'000; ++i) {
          dispatcher_.post([&, t, i] { seen[t].push_back(i); });
        }
      });
    }
  }
  drain();
  for (const auto& numbers : seen) {
    ASSERT_EQ(numbers.size(), 2'000U);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
  dispatcher_.stop();
}

TEST_F(RunningDispatcherTest, ATimerWakesTheThreadByItself) {
  // Aim: nobody has to post for a timer to run.
  std::promise<std::thread::id> ran;
  dispatcher_.callAt(clock_.bootNow() + Millis(5),
                     [&] { ran.set_value(std::this_thread::get_id()); });
  ASSERT_TRUE(dispatcher_.start().ok());
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  dispatcher_.stop();
  dispatcher_.post([] { FAIL() << "an event after the stop"; });
  EXPECT_FALSE(dispatcher_.tryPost([] {}));
  EXPECT_EQ(dispatcher_.queueLength(), 0U);
}

}  // namespace
}  // namespace baton
