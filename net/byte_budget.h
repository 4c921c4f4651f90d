#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace baton::net {

// A cap on what many holders keep in memory together. Any thread.
class ByteBudget {
 public:
  explicit ByteBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // False when there is not so much left; nothing is taken then.
  bool take(size_t bytes) {
    const size_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= bytes_max_ && bytes <= bytes_max_ - before) return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> used_{0};
};

// What one holder has taken; gives it back at its end. One thread at a time.
class ByteLease {
 public:
  explicit ByteLease(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ~ByteLease() { budget_->give(bytes_); }
  ByteLease(const ByteLease&) = delete;
  ByteLease& operator=(const ByteLease&) = delete;

  // Holds `bytes` in all from now on (never fewer than before). False: the budget is spent.
  bool growTo(size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!budget_->take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  const std::shared_ptr<ByteBudget> budget_;
  size_t bytes_ = 0;
};

}  // namespace baton::net
