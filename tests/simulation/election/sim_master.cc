#include "tests/simulation/election/sim_master.h"
#include "tests/support/chance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace baton::test {

namespace {

// A superseded master that runs and reaches the database stops acting within a poll and a round
// trip; the rest is what the simulated delays may add.
constexpr Millis kSupersededMax{1200};

// BATON_SIM_TRACE prints every change of state.
bool traced() {
  static const bool value = std::getenv("BATON_SIM_TRACE") != nullptr;
  return value;
}

}  // namespace

SimMaster::SimMaster(SimWorld& world, SimZookeeper& zookeeper, SimDatabase& database,
                     SimVerdict& verdict, std::string node, uint32_t incarnation)
    : world_(world),
      zookeeper_(zookeeper),
      database_(database),
      verdict_(verdict),
      node_(std::move(node)) {
  config_.self.node_id = node_;
  config_.self.incarnation = fmt::format("{}-inc-{}", node_, incarnation);
  config_.jitter_seed = world_.random.next();
  coordinator_ = std::make_unique<SimCoordinator>(
      world_, zookeeper_, node_, [this](ha::Event event) { post(std::move(event)); },
      [this] { return alive_ && !paused_; });
  writeLoop();
}

void SimMaster::later(Micros delay, std::function<void()> action) {
  world_.after(delay, [this, action = std::move(action)] {
    if (!alive_) return;
    if (paused_) {
      held_.push_back(action);
    } else {
      action();
    }
  });
}

void SimMaster::post(ha::Event event) {
  if (!alive_) return;
  if (paused_) {
    held_.push_back([this, event = std::move(event)] { post(event); });
    return;
  }
  events_.push_back(std::move(event));
  if (processing_) return;
  processing_ = true;
  while (!events_.empty()) {
    const ha::Event next = std::move(events_.front());
    events_.pop_front();
    process(next);
  }
  processing_ = false;
}

void SimMaster::process(const ha::Event& event) {
  const ha::FailoverState before = state_.phase;
  ha::StepResult result = ha::step(config_, std::move(state_), event, world_.now());
  state_ = std::move(result.state);
  if (traced() && before != state_.phase) {
    fmt::print("{:>12} {} {} -> {} ({})\n", toMicros(world_.now()), node_, ha::toString(before),
               ha::toString(state_.phase), state_.reason);
  }
  for (const ha::Action& action : result.actions) execute(action);
  armTimer();
}

void SimMaster::armTimer() {
  const BootTime next = state_.nextTimer();
  if (next == timer_at_ || next == ha::kNever) return;
  timer_at_ = next;
  later(std::max(next - world_.now(), Micros(0)), [this, next] {
    if (timer_at_ != next) return;
    timer_at_ = ha::kNever;
    if (state_.nextTimer() <= world_.now()) {
      post(ha::Tick{});
    } else {
      armTimer();
    }
  });
}

void SimMaster::pause() {
  if (paused_ || !alive_) return;
  paused_ = true;
  paused_at_ = world_.now();
}

void SimMaster::resume() {
  if (!paused_ || !alive_) return;
  paused_ = false;
  // The guard wakes up with everybody else; what it says is seen before anything acts.
  if (world_.now() - paused_at_ > Millis(250)) {
    post(ha::TimeJumped{std::chrono::duration_cast<Millis>(world_.now() - paused_at_).count()});
  }
  auto held = std::exchange(held_, {});
  for (const auto& action : held) action();
}

void SimMaster::kill() {
  alive_ = false;
  coordinator_->kill();
}

void SimMaster::execute(const ha::Action& action) {
  if (ha::sendToCoordinator(action, *coordinator_)) return;
  if (const auto* probe_job = std::get_if<ha::SendProbe>(&action)) {
    probe(probe_job->id);
  } else if (const auto* bump_job = std::get_if<ha::StartBump>(&action)) {
    bump(*bump_job);
  } else if (const auto* promote_job = std::get_if<ha::StartPromote>(&action)) {
    promote(*promote_job);
  } else if (const auto* drain = std::get_if<ha::StartDrain>(&action)) {
    onRoleThread(world_.between(1000, 100'000),
                 [this, id = drain->id] { post(ha::DrainReply{id}); });
  } else if (const auto* demote_job = std::get_if<ha::StartDemote>(&action)) {
    demote(*demote_job);
  } else if (std::holds_alternative<ha::ResumeService>(action)) {
    if (!service_running_) verdict_.fail(node_ + ": resume of a service that does not run");
  }
}

void SimMaster::onRoleThread(Micros duration, std::function<void()> job) {
  role_free_at_ = std::max(role_free_at_, world_.now()) + duration;
  later(role_free_at_ - world_.now(), std::move(job));
}

void SimMaster::probe(uint64_t id) {
  // The row is read on the way; the answer may be old when it arrives.
  world_.after(world_.between(200, 20'000), [this, id] {
    ha::ProbeReply reply;
    reply.id = id;
    if (databaseReachable()) {
      reply.row = database_.row;
      reply.cluster_guid = database_.guid;
    } else {
      reply.error = ErrorCode::Unavailable;
    }
    later(world_.between(200, databaseReachable() ? 20'000 : 1'000'000),
          [this, reply] { post(reply); });
  });
}

void SimMaster::bump(const ha::StartBump& job) {
  onRoleThread(world_.between(1000, 50'000), [this, job] {
    ha::BumpReply reply{job.id, std::nullopt, {}};
    if (!databaseReachable()) {
      reply.error = ErrorCode::Unavailable;
    } else if (database_.row.epoch >= job.claim.epoch) {
      reply.error = ErrorCode::Fenced;
    } else {
      if (!zookeeper_.grants().contains({job.claim.epoch, node_})) {
        verdict_.fail(fmt::format("{} bumps to {} without ever having had that lock", node_,
                                  job.claim.epoch));
      }
      database_.row.epoch = job.claim.epoch;
      database_.row.node_id = node_;
      database_.row.incarnation = config_.self.incarnation;
      database_.bumps.push_back(job.claim);
      database_.bumped_at = world_.now();
      if (test::chance(world_.random, 0.05))
        reply.error = ErrorCode::Unavailable;  // Lost in the commit.
    }
    later(world_.between(200, 5000), [this, reply] { post(reply); });
  });
}

void SimMaster::promote(const ha::StartPromote& job) {
  if (service_running_) verdict_.fail(node_ + ": promoted while the role has not ended");
  running_promote_ = job.id;
  onRoleThread(world_.between(10'000, 500'000), [this, job] {
    ha::PromoteReply reply{job.id, std::nullopt, {}};
    if (cancelled_promote_ == job.id) {
      reply.error = ErrorCode::Cancelled;
    } else if (!databaseReachable()) {
      reply.error = ErrorCode::Unavailable;
    } else if (database_.row.epoch != job.leadership.epoch) {
      reply.error = ErrorCode::Fenced;
    } else {
      service_running_ = true;
    }
    post(reply);
  });
}

void SimMaster::demote(const ha::StartDemote& job) {
  cancelled_promote_ = running_promote_;
  onRoleThread(world_.between(1000, 200'000), [this, job] {
    service_running_ = false;
    if (job.released_epoch == database_.row.epoch && databaseReachable()) {
      database_.row.state = dao::EpochState::Released;
    }
    post(ha::DemoteReply{job.id});
  });
}

// Whoever may act writes; what is on its way when the process stops still arrives.
void SimMaster::writeLoop() {
  later(world_.between(20'000, 150'000), [this] {
    if (state_.mayAct()) {
      if (!service_running_) verdict_.fail(node_ + ": may act without a running service");
      const uint64_t epoch = state_.leadership.epoch;
      world_.after(world_.between(200, 400'000), [this, epoch] {
        if (!database_.up) return;
        if (database_.row.epoch != epoch) {
          ++database_.refused;
          return;
        }
        if (epoch < database_.highest_write) {
          verdict_.fail(fmt::format("a write of epoch {} was committed after one of {}", epoch,
                                    database_.highest_write));
        }
        database_.highest_write = epoch;
        ++database_.writes;
      });
    }
    writeLoop();
  });
}

void SimMaster::check() {
  const bool superseded =
      mayAct() && databaseReachable() && database_.row.epoch != state_.leadership.epoch;
  if (!superseded) {
    superseded_since_ = ha::kNever;
    return;
  }
  if (superseded_since_ == ha::kNever) superseded_since_ = world_.now();
  if (world_.now() - superseded_since_ > kSupersededMax) {
    verdict_.fail(fmt::format("{} still acts under epoch {} while the row is at {}", node_,
                              state_.leadership.epoch, database_.row.epoch));
  }
}

}  // namespace baton::test
