#include "ha/liveness_guard.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "common/base/log.h"
#include "ha/time_jump_detector.h"

namespace baton::ha {
namespace {

constexpr int kSilentTicksMax = 100;  // 5 s.
constexpr int kOverLimitTicksMax = 5;
// Long enough for the loop to move again in a process that was halted.
constexpr int kUnhealthyTicksMax = 40;

}  // namespace

void failStop(const std::string& why) {
  logError("ha_fail_stop", field("why", why));
  ::_exit(70);
}

LivenessGuard::LivenessGuard(const Clock& clock, Hooks hooks)
    : clock_(clock),
      hooks_(std::move(hooks)),
      thread_("ha_guard", [this](std::stop_token stop) { run(stop); }) {}

LivenessGuard::~LivenessGuard() { thread_.requestStopAndJoin(); }

void LivenessGuard::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  TimeJumpDetector jumps;
  uint64_t progress = 0;
  int silent_ticks = 0;
  int over_limit_ticks = 0;
  int unhealthy_ticks = 0;
  while (!stop.stop_requested()) {
    const BootTime now = clock_.bootNow();
    if (const auto gap = jumps.tick(now)) hooks_.jumped(*gap);
    const uint64_t seen = hooks_.progress();
    silent_ticks = seen == std::exchange(progress, seen) ? silent_ticks + 1 : 0;
    over_limit_ticks = now > hooks_.hard_limit() ? over_limit_ticks + 1 : 0;
    unhealthy_ticks = hooks_.healthy() ? 0 : unhealthy_ticks + 1;
    if (unhealthy_ticks >= kUnhealthyTicksMax) {
      unhealthy_ticks = 0;
      hooks_.fail_stop("the dispatcher has been silent for more than 5 s");
    }
    if (silent_ticks >= kSilentTicksMax) {
      silent_ticks = 0;
      hooks_.fail_stop("the elector has been silent for 5 s");
    }
    if (over_limit_ticks >= kOverLimitTicksMax) {
      over_limit_ticks = 0;
      hooks_.fail_stop("the active role could not be ended in time");
    }
    wake.wait_for(lock, stop, TimeJumpDetector::kTick, [] { return false; });
  }
}

}  // namespace baton::ha
