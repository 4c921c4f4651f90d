#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "common/base/clock.h"
#include "common/base/named_thread.h"

namespace baton::ha {

// Ends the process at once with exit code 70, for a supervisor to start it again.
[[noreturn]] void failStop(const std::string& why);

// The watchdog thread: notices that the process stood still (and says so before anybody acts on
// old beliefs), that a watched thread makes no progress for 5 s, and that a limit of the role
// thread is over. Counts its own ticks instead of comparing times, so that a process that was
// halted is not taken for one that hangs.
class LivenessGuard {
 public:
  struct Hooks {
    std::function<void(Millis gap)> jumped;
    std::function<uint64_t()> progress;    // Changes as long as the watched thread lives.
    std::function<bool()> healthy;         // False while the service's own loop stands still.
    std::function<BootTime()> hard_limit;  // Of the role thread; BootTime::max() for none.
    std::function<void(const std::string&)> fail_stop;
  };
  LivenessGuard(const Clock& clock, Hooks hooks);
  ~LivenessGuard();

 private:
  void run(const std::stop_token& stop);

  const Clock& clock_;
  const Hooks hooks_;
  NamedThread thread_;
};

}  // namespace baton::ha
