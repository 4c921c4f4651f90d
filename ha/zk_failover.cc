#include "ha/zk_failover.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/stop_point.h"
#include "ha/election_step.h"
#include "ha/process_identity.h"
#include "ha/zk/zk_coordinator.h"

namespace baton::ha {
namespace {

constexpr Millis kElectorWaitMax{250};
constexpr Seconds kStopLimit{9};

ElectionConfig makeElectionConfig(const ZkFailover::Options& options) {
  const ProcessIdentity process = ownProcess();
  ElectionConfig config;
  config.self = {.node_id = options.node_id,
                 .incarnation = makeUuid(),
                 .address = options.address,
                 .version = options.version,
                 .boot_id = process.boot_id,
                 .pid = process.pid,
                 .start_ticks = process.start_ticks};
  config.priority = options.priority;
  config.eligible = options.eligible;
  config.jitter_seed = Random::fromKernel().next();
  return config;
}

MemberInfo infoOf(const MemberRecord& member, const LeaderInfo& leader) {
  return {.node_id = member.who.node_id,
          .role = leader.known && leader.node_id == member.who.node_id ? "active" : "standby",
          .state = std::string(toString(member.state)),
          .address = member.who.address,
          .version = member.who.version,
          .database_ok = member.database_ok,
          .heard = true};
}

}  // namespace

ZkFailover::ZkFailover(Options options, const Clock& clock, EpochStoreFactory make_store)
    : options_(std::move(options)),
      clock_(clock),
      make_store_(std::move(make_store)),
      config_(makeElectionConfig(options_)) {}

ZkFailover::~ZkFailover() { stop(); }

Status ZkFailover::start(IMasterActiveService& service) {
  if (service_ != nullptr) return Error::conflict("the failover was started before");
  ZkCoordinator::Options zk;
  zk.hosts = options_.zk_hosts;
  zk.cluster = options_.cluster;
  zk.session_ms = options_.session_ms;
  zk.credentials = options_.credentials;
  zk.node_id = options_.node_id;
  ASSIGN_OR_RETURN(coordinator_, ZkCoordinator::create(
                                     zk,
                                     [this](std::function<void()> task) {
                                       post({std::move(task), 0});
                                     },
                                     [this](Event event) { postEvent(std::move(event)); }));
  service_ = &service;
  const auto sink = [this](Event event) { postEvent(std::move(event)); };
  role_ = std::make_unique<RoleRunner>(service, clock_, make_store_, sink);
  poller_ = std::make_unique<EpochPoller>(make_store_, sink);
  postEvent(StartRequested{});
  elector_ = NamedThread("ha_elector", [this](std::stop_token stop) { run(stop); });
  LivenessGuard::Hooks hooks;
  hooks.jumped = [this](Millis gap) {
    const uint64_t suspension = suspend("time jump");
    post({TimeJumped{gap.count()}, suspension});
  };
  hooks.progress = [this] { return elector_turns_.load(std::memory_order_relaxed); };
  hooks.healthy = [this] { return service_->health().loop_ok; };
  hooks.hard_limit = [this] { return role_->hardLimit(); };
  hooks.fail_stop = options_.fail_stop;
  guard_ = std::make_unique<LivenessGuard>(clock_, std::move(hooks));
  return {};
}

void ZkFailover::stop() noexcept {
  const std::lock_guard lock(stop_mutex_);
  if (!elector_.running()) return;
  postEvent(StopRequested{});
  {
    std::unique_lock ended(stopped_mutex_);
    if (!stopped_wake_.wait_for(ended, kStopLimit, [this] { return elector_ended_; })) {
      logWarn("ha_stop_incomplete", field("limit_s", kStopLimit.count()));
    }
  }
  permission_.suspend();
  dismantle();
}

// In the reverse order of start(); the client's threads end with the coordinator.
void ZkFailover::dismantle() {
  guard_.reset();
  elector_.requestStopAndJoin();
  coordinator_.reset();
  poller_.reset();
  role_.reset();
}

void ZkFailover::onFenced(uint64_t seen_epoch) noexcept { doubtEpoch(seen_epoch, "the database"); }

void ZkFailover::onHigherEpoch(uint64_t seen_epoch) noexcept {
  if (seen_epoch > permission_.read().epoch) doubtEpoch(seen_epoch, "a peer");
}

void ZkFailover::doubtEpoch(uint64_t seen_epoch, const std::string& source) {
  const uint64_t suspension = suspend();
  post({EpochDoubted{seen_epoch, source}, suspension});
}

void ZkFailover::onServiceFailure(const std::string& why, bool give_up_lock) noexcept {
  const uint64_t suspension = suspend();
  post({ServiceFailed{why, give_up_lock}, suspension});
}

void ZkFailover::handOver(const std::string& why) noexcept { postEvent(HandOverAsked{why}); }

uint64_t ZkFailover::suspend(const std::string& freeze_why) {
  const std::lock_guard lock(freeze_mutex_);
  ++freezes_;
  const uint64_t suspension = permission_.suspend();
  if (!freeze_why.empty()) service_->freeze(freeze_why);
  return suspension;
}

void ZkFailover::post(Item item) {
  const std::lock_guard lock(queue_mutex_);
  queue_.push_back(std::move(item));
  queue_wake_.notify_one();
}

void ZkFailover::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && state_.phase != FailoverState::Stopped) {
    elector_turns_.fetch_add(1, std::memory_order_relaxed);
    std::optional<Item> item;
    {
      std::unique_lock lock(queue_mutex_);
      const Micros until_timer = state_.nextTimer() == kNever
                                     ? Micros(kElectorWaitMax)
                                     : state_.nextTimer() - clock_.bootNow();
      const Micros wait = std::clamp<Micros>(until_timer, Micros(0), kElectorWaitMax);
      queue_wake_.wait_for(lock, stop, wait, [this] { return !queue_.empty(); });
      if (!queue_.empty()) {
        item = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    if (item) {
      seen_suspension_ = std::max(seen_suspension_, item->suspension);
      if (const auto* event = std::get_if<Event>(&item->what)) {
        process(*event);
      } else {
        std::get<std::function<void()>>(item->what)();
      }
    }
    if (state_.nextTimer() <= clock_.bootNow()) process(Tick{});
    if (!state_.connected) refreshSnapshot();  // How long it has been away goes on without events.
  }
  const std::lock_guard lock(stopped_mutex_);
  elector_ended_ = true;
  stopped_wake_.notify_all();
}

void ZkFailover::process(const Event& event) {
  ElectionState before = state_;
  StepResult result = step(config_, std::move(state_), event, clock_.bootNow());
  state_ = std::move(result.state);
  logChange(before);
  publish();
  if (before.phase != state_.phase && state_.phase == FailoverState::Promoting) {
    stopPoint("after_lock");
  }
  for (const Action& action : result.actions) execute(action);
}

void ZkFailover::execute(const Action& action) {
  if (sendToCoordinator(action, *coordinator_)) return;
  if (const auto* probe = std::get_if<SendProbe>(&action)) {
    poller_->probe(probe->id);
  } else if (const auto* bump = std::get_if<StartBump>(&action)) {
    role_->bump(*bump);
  } else if (const auto* promote = std::get_if<StartPromote>(&action)) {
    role_->promote(*promote);
  } else if (const auto* drain = std::get_if<StartDrain>(&action)) {
    role_->drain(*drain);
  } else if (const auto* demote = std::get_if<StartDemote>(&action)) {
    role_->demote(*demote);
  } else if (const auto* freeze = std::get_if<FreezeService>(&action)) {
    const std::lock_guard lock(freeze_mutex_);
    ++freezes_;
    service_->freeze(freeze->why);
  } else if (const auto* resume = std::get_if<ResumeService>(&action)) {
    startResume(resume->leadership);
  }
}

// What was verified is out of date as soon as something newer took the permission away: that will
// be verified in its turn, and resumed then.
void ZkFailover::startResume(const Leadership& leadership) {
  const std::lock_guard lock(freeze_mutex_);
  if (permission_.suspensions() != seen_suspension_) return;
  role_->resume([this, leadership, known = freezes_] {
    const std::lock_guard inner(freeze_mutex_);
    return freezes_ != known || service_->resume(leadership);
  });
}

void ZkFailover::logChange(const ElectionState& before) const {
  if (before.phase != state_.phase) {
    const uint64_t epoch = std::max(before.leadership.epoch, state_.leadership.epoch);
    logInfo("ha_state", field("node", config_.self.node_id), field("from", toString(before.phase)),
            field("to", toString(state_.phase)), field("epoch", epoch),
            field("why", state_.reason));
  }
  if (before.alarm != state_.alarm && !state_.alarm.empty()) {
    logError("ha_alarm", field("node", config_.self.node_id), field("text", state_.alarm));
  }
  if (before.session_ms != state_.session_ms && state_.session_ms != options_.session_ms) {
    logWarn("zookeeper_session_timeout_differs", field("asked_ms", options_.session_ms),
            field("given_ms", state_.session_ms));
  }
}

void ZkFailover::publish() {
  permission_.publish(state_.leadership.epoch, state_.mayAct(), seen_suspension_);
  refreshSnapshot();
}

void ZkFailover::refreshSnapshot() {
  Snapshot snapshot = makeSnapshot();
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_ = std::move(snapshot);
}

ZkFailover::Snapshot ZkFailover::makeSnapshot() const {
  Snapshot snapshot;
  if (state_.view && state_.view->lock && state_.view->lock->parsed) {
    const LockView& lock = *state_.view->lock;
    snapshot.leader = {.known = true,
                       .epoch = lock.record.epoch,
                       .node_id = lock.record.who.node_id,
                       .address = lock.record.who.address,
                       .since = lock.since};
  }
  const BootTime now = clock_.bootNow();
  const bool unheard = state_.unheard(now);
  for (const MemberRecord& member : state_.members) {
    MemberInfo& info = snapshot.members.emplace_back(infoOf(member, snapshot.leader));
    if (member.who.node_id == config_.self.node_id) {
      info.state = toString(state_.phase);
      if (unheard) info.database_ok = state_.database_ok;
    } else {
      info.heard = !unheard;
    }
  }
  FailoverStats& stats = snapshot.stats;
  stats.state = state_.phase;
  stats.session_state =
      !state_.handle_open ? "expired" : (state_.connected ? "connected" : "connecting");
  stats.negotiated_session_ms = state_.session_ms;
  stats.leader_changes = state_.leader_changes;
  stats.freezes = state_.freezes;
  stats.alarm = state_.alarmAt(now);
  return snapshot;
}

LeaderInfo ZkFailover::leader() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_.leader;
}

std::vector<MemberInfo> ZkFailover::members() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_.members;
}

FailoverStats ZkFailover::stats() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_.stats;
}

}  // namespace baton::ha
