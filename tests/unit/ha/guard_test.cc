#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "common/base/stop_point.h"
#include "ha/liveness_guard.h"
#include "ha/permission_cell.h"
#include "ha/time_jump_detector.h"
#include "tests/support/fake_service.h"

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
  std::atomic<uint64_t> turns{0};
  std::atomic<int> stops{0};
  ha::LivenessGuard::Hooks hooks;
  hooks.jumped = [](Millis) {};
  hooks.progress = [&] { return ++turns; };
  hooks.hard_limit = [&] { return BootTime(Micros(limit_us.load())); };
  hooks.fail_stop = [&](const std::string&) { ++stops; };
  hooks.healthy = [] { return true; };
  const ha::LivenessGuard guard(clock, std::move(hooks));
  EXPECT_TRUE(eventually([&] { return turns > 8; }, Millis(5000)));
  EXPECT_EQ(stops, 0);
  limit_us = toMicros(clock.bootNow());
  EXPECT_TRUE(eventually([&] { return stops > 0; }, Millis(5000)));
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
