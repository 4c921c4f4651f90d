#pragma once

#include <cstdint>
#include <mutex>

#include "common/base/clock.h"

namespace baton::test {

// A clock that a test moves by hand; wall and boot time move together unless stepWall is called.
// Any thread.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(int64_t wall_us = 1'700'000'000'000'000, int64_t boot_us = 1'000'000'000)
      : wall_(Micros(wall_us)), boot_(Micros(boot_us)) {}
  WallTime wallNow() const override {
    const std::lock_guard lock(mutex_);
    return wall_;
  }
  BootTime bootNow() const override {
    const std::lock_guard lock(mutex_);
    return boot_;
  }
  void advance(Micros by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
    boot_ += by;
  }
  // Moves wall time alone, as an operator or NTP would.
  void stepWall(Micros by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
  }

 private:
  mutable std::mutex mutex_;
  WallTime wall_;  // Guarded by mutex_, as the next.
  BootTime boot_;
};

}  // namespace baton::test
