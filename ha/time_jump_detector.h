#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "common/base/clock.h"

namespace baton::ha {

// Finds out that the process (or the machine) stood still: ticks that should be 50 ms apart came
// more than 250 ms apart. One thread.
class TimeJumpDetector {
 public:
  static constexpr Millis kTick{50};
  static constexpr Millis kGapMax{250};

  // The gap if it was too long.
  std::optional<Millis> tick(BootTime now) {
    const BootTime last = std::exchange(last_, now);
    if (last == BootTime{} || now - last <= kGapMax) return std::nullopt;
    return std::chrono::duration_cast<Millis>(now - last);
  }

 private:
  BootTime last_{};
};

}  // namespace baton::ha
