#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "ha/active_service.h"

namespace baton::test {

// A service that remembers what it was told. Any thread.
class FakeService final : public ha::IMasterActiveService {
 public:
  Status promote(const ha::Leadership& leadership, std::stop_token) override {
    const std::lock_guard lock(mutex_);
    leadership_ = leadership;
    ++promotes_;
    if (during_promote_) std::exchange(during_promote_, nullptr)();
    return fail_promote_ ? Status(Error::unavailable("told to fail")) : Status();
  }
  void freeze(const std::string&) noexcept override { ++freezes_; }
  bool resume(const ha::Leadership&) noexcept override {
    ++resumes_;
    return !fail_resume_;
  }
  bool drain(BootTime) override {
    ++drains_;
    return true;
  }
  void demote(const std::string&, BootTime) override { ++demotes_; }
  ha::Health health() const noexcept override { return {}; }

  int promotes() const { return promotes_; }
  int demotes() const { return demotes_; }
  int drains() const { return drains_; }
  int resumes() const { return resumes_; }
  void failPromote(bool fail) { fail_promote_ = fail; }
  void failResume(bool fail) { fail_resume_ = fail; }
  // Runs inside promote(), as something that happens meanwhile.
  void duringPromote(std::function<void()> what) {
    const std::lock_guard lock(mutex_);
    during_promote_ = std::move(what);
  }

 private:
  std::mutex mutex_;
  ha::Leadership leadership_;
  std::atomic<int> promotes_{0}, demotes_{0}, drains_{0}, freezes_{0}, resumes_{0};
  std::atomic<bool> fail_promote_{false}, fail_resume_{false};
  std::function<void()> during_promote_;  // Guarded by mutex_.
};

}  // namespace baton::test
