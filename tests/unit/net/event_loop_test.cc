#include "net/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <thread>

#include "common/base/named_thread.h"

namespace baton::net {
namespace {

constexpr std::chrono::seconds kLoopPatience{10};

class EventLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = EventLoop::create();
    ASSERT_TRUE(loop.ok());
    loop_ = std::move(*loop);
  }
  // Two connected sockets; the second already has a byte to read.
  static std::array<FileDescriptor, 2> readyPair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    EXPECT_EQ(send(fds[0], "x", 1, 0), 1);
    return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
  }
  void runUntilStopped() { loop_->run(std::stop_token()); }

  std::unique_ptr<EventLoop> loop_;
};

// Posts of one thread run in their order, on the loop's thread.
TEST_F(EventLoopTest, RunsPostsInOrderOnItsThread) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop_->post([&, i] {
      EXPECT_TRUE(loop_->onLoopThread());
      order.push_back(i);
    });
  }
  loop_->post([&] { loop_->stop(); });
  EXPECT_FALSE(loop_->onLoopThread());
  runUntilStopped();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Posts from many threads all run, none twice.
TEST_F(EventLoopTest, LosesNoPostOfManyThreads) {
  NamedThread runner("loop", [&](std::stop_token stop) { loop_->run(stop); });
  int count = 0;  // The loop's thread only.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) loop_->post([&] { ++count; });
    });
  }
  for (auto& thread : threads) thread.join();
  std::promise<int> total;
  loop_->post([&] { total.set_value(count); });
  auto future = total.get_future();
  ASSERT_EQ(future.wait_for(kLoopPatience), std::future_status::ready);
  EXPECT_EQ(future.get(), 20'000);
}

// Timers fire in the order of their times, those of one time in the order of their making.
TEST_F(EventLoopTest, FiresTimersInOrder) {
  std::string order;
  const BootTime begun = SystemClock().bootNow();
  loop_->callAfter(Micros(20'000), [&] {
    order += 'd';
    loop_->stop();
  });
  loop_->callAfter(Micros(5'000), [&] { order += 'b'; });
  loop_->callAfter(Micros(10'000), [&] { order += 'c'; });
  loop_->callAfter(Micros(-5), [&] { order += 'a'; });
  const auto cancelled = loop_->callAfter(Micros(7'000), [&] { order += 'X'; });
  EXPECT_TRUE(loop_->cancel(cancelled));
  EXPECT_FALSE(loop_->cancel(cancelled));
  runUntilStopped();
  EXPECT_EQ(order, "abcd");
  EXPECT_GE(SystemClock().bootNow() - begun, Micros(20'000));
}

// A timer may make and cancel timers, the one that is due next included.
TEST_F(EventLoopTest, ATimerMayCancelTheNext) {
  bool fired = false;
  EventLoop::TimerId second = 0;
  loop_->callAfter(Micros(0), [&] {
    EXPECT_TRUE(loop_->cancel(second));
    loop_->callAfter(Micros(1'000), [&] { loop_->stop(); });
  });
  second = loop_->callAfter(Micros(0), [&] { fired = true; });
  runUntilStopped();
  EXPECT_FALSE(fired);
}

// A callback may remove any descriptor, itself and others that are ready in the same turn.
TEST_F(EventLoopTest, ACallbackMayRemoveAllDescriptors) {
  std::vector<std::array<FileDescriptor, 2>> pairs;
  int calls = 0;
  for (int i = 0; i < 10; ++i) pairs.push_back(readyPair());
  for (auto& pair : pairs) {
    const auto guard = std::make_shared<int>(7);
    ASSERT_TRUE(loop_
                    ->add(pair[1].get(), EPOLLIN,
                          [&, guard](uint32_t) {
                            ++calls;
                            for (auto& other : pairs) loop_->remove(other[1].get());
                            EXPECT_EQ(*guard, 7);  // Our own captures live until we return.
                            loop_->post([&] { loop_->stop(); });
                          })
                    .ok());
  }
  runUntilStopped();
  EXPECT_EQ(calls, 1);
}

// A descriptor that takes the number of a removed one does not get the old one's events.
TEST_F(EventLoopTest, ANewWatchDoesNotGetEventsOfTheOld) {
  auto first = readyPair();
  auto second = readyPair();
  auto fresh = std::array<FileDescriptor, 2>();
  bool wrong = false;
  const auto replace = [&](std::array<FileDescriptor, 2>& other) {
    return [&](uint32_t) {
      if (fresh[0]) return;
      const int number = other[1].get();
      loop_->remove(number);
      other[1].reset();
      int fds[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
      fresh = {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
      const int reused = fds[0] == number ? fds[0] : fds[1];
      ASSERT_TRUE(loop_->add(reused, EPOLLIN, [&](uint32_t) { wrong = true; }).ok());
      loop_->callAfter(Micros(5'000), [&] { loop_->stop(); });
    };
  };
  ASSERT_TRUE(loop_->add(first[1].get(), EPOLLIN, replace(second)).ok());
  ASSERT_TRUE(loop_->add(second[1].get(), EPOLLIN, replace(first)).ok());
  runUntilStopped();
  EXPECT_TRUE(fresh[0].valid());
  EXPECT_FALSE(wrong);
}

// A descriptor is watched once; a second watch is an error and changes nothing.
TEST_F(EventLoopTest, RefusesASecondWatch) {
  auto pair = readyPair();
  ASSERT_TRUE(loop_->add(pair[1].get(), EPOLLIN, [&](uint32_t) { loop_->stop(); }).ok());
  const Status again = loop_->add(pair[1].get(), EPOLLIN, [](uint32_t) { FAIL(); });
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), ErrorCode::Conflict);
  EXPECT_FALSE(loop_->modify(9999, EPOLLIN).ok());
  runUntilStopped();
}

// The end is asked for from outside: by the token, or by stop() before the loop began.
TEST_F(EventLoopTest, StopsFromOutside) {
  loop_->stop();
  runUntilStopped();
  NamedThread runner("loop", [&](std::stop_token stop) { loop_->run(stop); });
  std::promise<void> running;
  loop_->post([&] { running.set_value(); });
  ASSERT_EQ(running.get_future().wait_for(kLoopPatience), std::future_status::ready);
  runner.requestStopAndJoin();
}

}  // namespace
}  // namespace baton::net
