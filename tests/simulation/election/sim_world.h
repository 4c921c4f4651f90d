#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"

namespace baton::test {

// Virtual time and the order of events; the seed decides everything. One thread.
class SimWorld {
 public:
  explicit SimWorld(uint64_t seed) : random(seed) {}

  BootTime now() const { return now_; }
  void after(Micros delay, std::function<void()> action) {
    queue_.push({now_ + delay, next_++, std::move(action)});
  }
  void runUntil(BootTime end) {
    while (!queue_.empty() && queue_.top().at <= end) {
      Entry entry = std::move(const_cast<Entry&>(queue_.top()));
      queue_.pop();
      now_ = entry.at;
      entry.action();
    }
    now_ = end;
  }
  Micros between(int64_t low_us, int64_t high_us) {
    return Micros(random.between(low_us, high_us));
  }

  Random random;

 private:
  struct Entry {
    BootTime at;
    uint64_t order;
    std::function<void()> action;
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  BootTime now_{Micros(1'000'000)};
  uint64_t next_ = 0;
  std::priority_queue<Entry> queue_;
};

}  // namespace baton::test
