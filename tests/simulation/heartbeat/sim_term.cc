#include "tests/simulation/heartbeat/sim_term.h"

namespace baton::test {
namespace {

constexpr Millis kTick{25};

}  // namespace

SimTerm::SimTerm(SimWorld& world, TermRig::Setup setup)
    : world_(world),
      database_(setup.database),
      epoch_(setup.epoch),
      rig_(std::make_unique<TermRig>(std::move(setup))) {}

void SimTerm::openAfter(Micros delay, std::function<void()> failed) {
  later(delay, [this, failed = std::move(failed)] {
    const Status recovered = rig_->recover();
    if (!recovered.ok()) {
      const ErrorCode code = recovered.error().code();
      close();
      if (isRetryable(code)) return failed();
      // Somebody else took over meanwhile; anything else is a bug.
      if (code != ErrorCode::Fenced) failure_ = recovered.text();
      return;
    }
    state_ = State::Open;
    rig_->open();
    tick();
  });
}

void SimTerm::later(Micros delay, std::function<void()> step) {
  world_.after(delay, [this, step = std::move(step)] {
    if (dead()) return;
    if (paused_until_ > world_.now()) return later(paused_until_ - world_.now(), step);
    step();
  });
}

void SimTerm::tick() {
  runDispatcher();
  if (!dead()) later(kTick, [this] { tick(); });
}

void SimTerm::runDispatcher() {
  rig_->dispatcher.runPendingForTest();
  rig_->writer.publish();
  if (!writer_due_) {
    writer_due_ = true;
    const bool slow = slow_until_ > world_.now();
    later(world_.between(0, slow ? 700'000 : 4'000), [this] { runWriter(); });
  }
  if (rig_->higher_epoch != 0) close();
}

void SimTerm::runWriter() {
  writer_due_ = false;
  if (crash_in_commit_) database_.on_commit = [this] { crash(); };
  rig_->writer.runPendingForTest();
  database_.on_commit = {};
  if (dead()) return;
  rig_->reads.runPendingForTest();
  if (!rig_->bug.empty()) failure_ = rig_->bug;
  if (rig_->fenced) later(world_.between(0, 500'000), [this] { close(); });
  if (rig_->dispatcher.queueLength() > 0) post({});
}

void SimTerm::close() {
  if (dead()) return;
  rig_->close();
  state_ = State::Dead;
}

void SimTerm::heartbeat(HeartbeatRequest request, master::api::HeartbeatReplyFn reply) {
  auto guarded = [this, reply = std::move(reply)](Result<HeartbeatReply> result) {
    if (!dead()) reply(std::move(result));
  };
  post([this, request = std::move(request), guarded = std::move(guarded)]() mutable {
    rig_->heartbeats.handle(std::move(request), std::move(guarded));
  });
}

void SimTerm::post(std::function<void()> event) {
  if (dead()) return;
  if (event) rig_->dispatcher.post(std::move(event));
  if (dispatcher_due_ || state_ == State::Recovering) return;
  dispatcher_due_ = true;
  later(world_.between(0, 1'000), [this] {
    dispatcher_due_ = false;
    runDispatcher();
  });
}

}  // namespace baton::test
