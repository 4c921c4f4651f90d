#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "common/base/clock.h"

namespace baton::master {

// What a delivery that was handed to the senders still has of its term: whether it may be sent, and
// the way back for its outcome. Shared with them, so it outlives the term, which cuts both ways
// when it ends: a deposed master sends no callbacks, and no sender touches memory that is gone.
// Any thread.
class DeliveryPermit {
 public:
  // A claim older than this when it is about to be sent may belong to a deposed master.
  static constexpr Micros kClaimFresh = Seconds(2);

  // `clock` outlives this. `may_act`: does this process lead at this moment? Any thread, asked only
  // while the term lives.
  DeliveryPermit(const Clock& clock, std::function<bool()> may_act)
      : clock_(clock), may_act_(std::move(may_act)) {}

  void setOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
  }
  // The term is about to go; waits for a way back that is being taken.
  void end() {
    const std::lock_guard lock(mutex_);
    alive_ = open_ = false;
  }
  // To be asked right before the receiver is called.
  bool maySend(BootTime claimed_at) const {
    const std::lock_guard lock(mutex_);
    return open_ && may_act_() && clock_.bootNow() - claimed_at <= kClaimFresh;
  }
  // Runs `act`, which may touch the term but must not block, unless the term is gone.
  template <typename Act>
  void whileAlive(Act act) const {
    const std::lock_guard lock(mutex_);
    if (alive_) act();
  }

 private:
  const Clock& clock_;
  const std::function<bool()> may_act_;
  mutable std::mutex mutex_;
  bool alive_ = true;  // Guarded by mutex_.
  bool open_ = false;  // Guarded by mutex_.
};

}  // namespace baton::master
