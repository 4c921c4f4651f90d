#pragma once

#include <cstdint>
#include <deque>

#include "common/base/clock.h"

namespace baton::master {

// Whether tasks can be started on a worker at all: counts attempts that ended start_failed or
// resource_failed in a sliding window, and puts the worker into quarantine when there are too
// many. After the cool-down one task at a time may try; the first that starts ends it.
//
// So that bad work does not close good hosts, the same work (a task, or a node of a flow in all of
// its runs) counts once however often it is repeated, and each start that works takes the oldest
// failure back: only where most fail they add up.
// Pure but for the times it is given. One thread at a time.
class StartRecord {
 public:
  struct Rules {
    uint32_t failures_max = 5;  // 0: nobody is quarantined.
    Millis window{600'000};
    Millis cooldown{300'000};
  };
  enum class State : uint8_t { Open, Quarantined, Probing };

  // `may_quarantine` false: it is counted, but the worker stays open (the last one that takes
  // tasks). True if the state changed.
  bool failed(uint64_t work, BootTime now, const Rules& rules, bool may_quarantine);
  bool worked();
  // Goes on where an earlier term was: in quarantine until then.
  void resumeQuarantine(BootTime until);
  // Lets failures grow old and the quarantine end. True if the state changed.
  bool tick(BootTime now, const Rules& rules);

  State state() const { return state_; }
  uint32_t failures() const { return static_cast<uint32_t>(failures_.size()); }
  BootTime quarantinedUntil() const { return until_; }  // While quarantined.

 private:
  struct Failure {
    BootTime at;
    uint64_t work;
  };
  void forgetOld(BootTime now, const Rules& rules);

  std::deque<Failure> failures_;  // Oldest first; at most failures_max.
  State state_ = State::Open;
  BootTime until_{};
};

}  // namespace baton::master
