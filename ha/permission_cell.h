#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "ha/failover.h"

namespace baton::ha {

// The permission to act as one atomic word. Reading is lock-free. `suspend` may come from any
// thread and wins over every grant that was decided before it was seen.
class PermissionCell {
 public:
  Permission read() const noexcept {
    const uint64_t word = word_.load(std::memory_order_acquire);
    return {word >> 1, (word & 1) != 0};
  }
  // Takes the permission away until a grant that knows of this suspension (its return value).
  uint64_t suspend() noexcept {
    const std::lock_guard lock(mutex_);
    word_.store(word_.load(std::memory_order_relaxed) & ~uint64_t{1}, std::memory_order_release);
    return ++suspensions_;
  }
  uint64_t suspensions() const noexcept {
    const std::lock_guard lock(mutex_);
    return suspensions_;
  }
  // `seen`: the newest suspension that the decision behind this has taken into account.
  void publish(uint64_t epoch, bool may_act, uint64_t seen) noexcept {
    const std::lock_guard lock(mutex_);
    const bool act = may_act && seen == suspensions_;
    word_.store(epoch << 1 | (act ? 1 : 0), std::memory_order_release);
  }

 private:
  std::atomic<uint64_t> word_{0};
  mutable std::mutex mutex_;  // Between writers only.
  uint64_t suspensions_ = 0;
};

}  // namespace baton::ha
