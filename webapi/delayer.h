#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

#include "common/base/clock.h"
#include "common/base/named_thread.h"

namespace baton::webapi {

// Runs functions later, on one thread of its own; they must not block. Any thread.
class Delayer {
 public:
  explicit Delayer(const std::string& name);
  ~Delayer() { stop(); }

  // Dropped when this has stopped.
  void after(Millis pause, std::function<void()> fn);
  // Drops what has not run yet, waits for what runs. Any number of times.
  void stop() noexcept;

 private:
  void run();

  const SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<BootTime, std::function<void()>> due_;  // Guarded by mutex_.
  bool stopped_ = false;                                // Guarded by mutex_.
  NamedThread thread_;
};

}  // namespace baton::webapi
