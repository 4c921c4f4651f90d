#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <utility>

#include "common/base/stop_point.h"
#include "ha/liveness_guard.h"
#include "ha/permission_cell.h"
#include "ha/time_jump_detector.h"

namespace baton::test {
namespace {

// 2.7: a gap of more than 250 ms between two ticks is a time jump, the first tick never is.
TEST(TimeJumpDetectorTest, OnlyLongGapsAreJumps) {
  ha::TimeJumpDetector jumps;
  BootTime now{Seconds(100)};
  EXPECT_FALSE(jumps.tick(now));
  EXPECT_FALSE(jumps.tick(now += Millis(50)));
  EXPECT_FALSE(jumps.tick(now += Millis(250)));
  EXPECT_EQ(jumps.tick(now += Millis(251)), Millis(251));
  EXPECT_FALSE(jumps.tick(now += Millis(50)));
}

// A role that does not end in time takes the process with it; what is in time does not.
TEST(LivenessGuardTest, OverrunLimitStopsTheProcess) {
  SystemClock clock;
  std::atomic<int64_t> limit_us{toMicros(BootTime::max())};
  uint64_t turns = 0;  // The guard's.
  std::promise<void> turned;
  std::promise<void> stopped;
  ha::LivenessGuard::Hooks hooks;
  hooks.jumped = [](Millis) {};
  hooks.progress = [&] {
    if (++turns == 9) turned.set_value();
    return turns;
  };
  hooks.hard_limit = [&] { return BootTime(Micros(limit_us.load())); };
  // Which ends a real process: here it comes again and again.
  hooks.fail_stop = [&, is_first = true](const std::string&) mutable {
    if (std::exchange(is_first, false)) stopped.set_value();
  };
  hooks.healthy = [] { return true; };
  const ha::LivenessGuard guard(clock, std::move(hooks));
  ASSERT_EQ(turned.get_future().wait_for(Millis(5000)), std::future_status::ready);
  auto end = stopped.get_future();
  EXPECT_EQ(end.wait_for(Millis(0)), std::future_status::timeout);
  limit_us = toMicros(clock.bootNow());
  EXPECT_EQ(end.wait_for(Millis(5000)), std::future_status::ready);
}

// A grant that was decided before a suspension was seen must not undo it.
TEST(PermissionCellTest, StaleGrantDoesNotUndoASuspension) {
  ha::PermissionCell cell;
  cell.publish(7, true, 0);
  EXPECT_TRUE(cell.read().may_act);
  EXPECT_EQ(cell.read().epoch, 7U);
  const uint64_t suspension = cell.suspend();
  EXPECT_FALSE(cell.read().may_act);
  EXPECT_EQ(cell.read().epoch, 7U);
  cell.publish(7, true, suspension - 1);
  EXPECT_FALSE(cell.read().may_act);
  cell.publish(7, true, suspension);
  EXPECT_TRUE(cell.read().may_act);
}

// The process halts once at each name that was asked for, and goes on after SIGCONT.
TEST(StopPointTest, NamedPointsHaltOnce) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("BATON_STOP_POINT", "here,there", 1);
    detail::stop_points_armed = true;
    stopPoint("elsewhere");
    stopPoint("here");
    stopPoint("here");
    stopPoint("there");
    ::_exit(0);
  }
  int status = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status)) << i;
    EXPECT_EQ(WSTOPSIG(status), SIGSTOP);
    ::kill(child, SIGCONT);
  }
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace baton::test
