#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/simulation/election/sim_world.h"
#include "tests/support/term_rig.h"

namespace baton::test {

// Both times of the simulated world.
class SimClock final : public Clock {
 public:
  explicit SimClock(const SimWorld& world) : world_(world) {}
  WallTime wallNow() const override {
    return wallFromMicros(1'700'000'000'000'000 + toMicros(world_.now()));
  }
  BootTime bootNow() const override { return world_.now(); }

 private:
  const SimWorld& world_;
};

// One term of one master: the real parts, each run at times of its own.
class SimTerm {
 public:
  enum class State : uint8_t { Recovering, Open, Dead };

  SimTerm(SimWorld& world, TermRig::Setup setup);

  // Recovers and opens the gates after `delay`. If that fails for a reason that may pass, the term
  // ends and `failed` is called.
  void openAfter(Micros delay, std::function<void()> failed);
  // The process is gone: nothing leaves it any more.
  void crash() { state_ = State::Dead; }
  // The process dies in its next commit: that is kept, but nobody hears of it.
  void crashInCommit() { crash_in_commit_ = true; }
  // It gives the role up as it should, and is gone.
  void close();
  // It does nothing for so long and knows nothing of it.
  void pause(Micros length) { paused_until_ = std::max(paused_until_, world_.now() + length); }
  // The database takes so long for each commit until then.
  void slowDatabase(BootTime until) { slow_until_ = until; }

  bool dead() const { return state_ == State::Dead; }
  bool open() const { return state_ == State::Open; }
  Epoch epoch() const { return epoch_; }
  TermRig& rig() { return *rig_; }
  const std::string& failure() const { return failure_; }

  // A request reaches the process. `reply` is not called if it dies first.
  void heartbeat(HeartbeatRequest request, master::api::HeartbeatReplyFn reply);
  // Runs on the dispatcher.
  void post(std::function<void()> event);

 private:
  void tick();
  void runDispatcher();
  void runWriter();
  // Calls `step` after `delay`, or when a pause is over; not in a dead process.
  void later(Micros delay, std::function<void()> step);

  SimWorld& world_;
  FakeDatabase& database_;
  const Epoch epoch_;
  std::unique_ptr<TermRig> rig_;
  State state_ = State::Recovering;
  BootTime paused_until_{};
  BootTime slow_until_{};
  bool crash_in_commit_ = false;
  bool dispatcher_due_ = false;
  bool writer_due_ = false;
  std::string failure_;
};

}  // namespace baton::test
