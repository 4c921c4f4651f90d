#include "ha/local/local_failover.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/stop_point.h"
#include "ha/election_state.h"

namespace baton::ha {
namespace {

constexpr Millis kLocalPollPeriod{250};
constexpr Millis kLocalDrainLimit{1000};
constexpr Millis kLocalDemoteLimit{3000};
constexpr std::array kLocalHoldOffs{Millis(2000), Millis(5000), Millis(10'000)};

}  // namespace

LocalFailover::LocalFailover(Options options, const Clock& clock, EpochStoreFactory make_store)
    : options_(std::move(options)),
      clock_(clock),
      make_store_(std::move(make_store)),
      incarnation_(makeUuid()),
      hard_limit_us_(toMicros(kNever)) {
  stats_.session_state = "local";
}

LocalFailover::~LocalFailover() { stop(); }

Status LocalFailover::start(IMasterActiveService& service) {
  if (service_ != nullptr) return Error::conflict("the failover was started before");
  ASSIGN_OR_RETURN(directory_, DirectoryLock::take(options_.data_directory));
  service_ = &service;
  thread_ = NamedThread("ha_local", [this](std::stop_token stop) { run(stop); });
  LivenessGuard::Hooks hooks;
  hooks.jumped = [this](Millis gap) {
    suspend(fmt::format("the clock jumped by {} ms", gap.count()));
  };
  // Nobody could take over from a thread that is silent; only an end that hangs is cut short.
  hooks.progress = [count = uint64_t{0}]() mutable { return ++count; };
  hooks.healthy = [this] { return service_->health().loop_ok; };
  hooks.hard_limit = [this] { return BootTime(Micros(hard_limit_us_.load())); };
  hooks.fail_stop = options_.fail_stop;
  guard_ = std::make_unique<LivenessGuard>(clock_, std::move(hooks));
  return {};
}

void LocalFailover::stop() noexcept {
  const std::lock_guard lock(stop_mutex_);
  thread_.requestStopAndJoin();
  guard_.reset();
  directory_.reset();
}

void LocalFailover::run(const std::stop_token& stop) {
  size_t failures = 0;
  const auto holdOffBehind = [&](const std::string& failure) {
    if (stop.stop_requested()) return;
    setState(FailoverState::Standby, failure);
    holdOff(stop, kLocalHoldOffs[std::min(failures++, kLocalHoldOffs.size() - 1)]);
  };
  while (!stop.stop_requested()) {
    if (const Status taken = takeRole(stop); !taken.ok()) {
      logWarn("ha_local_promotion_failed", field("error", taken.text()));
      holdOffBehind(taken.text());
      continue;
    }
    const RoleEnd end = holdRole(stop);
    endRole(end);
    if (end.failed_again) {
      holdOffBehind(end.why);
    } else {
      failures = 0;
    }
  }
  setState(FailoverState::Stopped, {});
}

void LocalFailover::holdOff(const std::stop_token& stop, Millis time) {
  const BootTime end = clock_.bootNow() + time;
  while (!stop.stop_requested() && clock_.bootNow() < end) {
    {
      const std::lock_guard lock(mutex_);
      requests_ = {};  // Nothing is held that they could concern.
    }
    waitFor(stop, std::chrono::duration_cast<Millis>(end - clock_.bootNow()) + Millis(1));
  }
}

Result<dao::EpochStore*> LocalFailover::store() {
  if (!store_) {
    ASSIGN_OR_RETURN(store_, make_store_());
  }
  return store_.get();
}

Status LocalFailover::takeRole(const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    requests_ = {};  // What comes from here on concerns the new role.
    seen_suspension_ = suspension_;
  }
  setState(FailoverState::Promoting, {});
  const BootTime began = clock_.bootNow();
  ASSIGN_OR_RETURN(dao::EpochStore* const rows, store());
  ASSIGN_OR_RETURN(const dao::ClusterRow cluster, rows->readCluster());
  ASSIGN_OR_RETURN(const dao::EpochRow row, rows->read());
  dao::EpochClaim claim;
  claim.prev_epoch = row.epoch;
  claim.epoch = row.epoch + 1;
  claim.node_id = options_.node_id;
  claim.incarnation = incarnation_;
  claim.address = options_.address;
  claim.reason = row.epoch == 0 ? "first" : "restart";
  stopPoint("before_bump");
  RETURN_IF_ERROR(rows->bump(claim));
  stopPoint("after_bump");
  const BootTime bumped = clock_.bootNow();
  leadership_ = {};
  leadership_.epoch = claim.epoch;
  leadership_.incarnation = incarnation_;
  leadership_.cluster_guid = cluster.guid;
  leadership_.reason = claim.reason;
  leadership_.bumped_at = bumped;
  leadership_.bump_ms = std::chrono::duration_cast<Millis>(bumped - began).count();
  RETURN_IF_ERROR(service_->promote(leadership_, stop));
  const Status stored = rows->setState(leadership_.epoch, dao::EpochState::Active);
  if (!stored.ok() && stored.error().code() == ErrorCode::Fenced) {
    endRole({.why = stored.text()});
    return stored;
  }
  {
    const std::lock_guard lock(mutex_);
    ++stats_.leader_changes;
    leader_ = {.known = true,
               .epoch = leadership_.epoch,
               .node_id = options_.node_id,
               .address = options_.address,
               .since = clock_.wallNow()};
  }
  logInfo("ha_local_active", field("epoch", leadership_.epoch));
  setState(FailoverState::Active, {});
  return {};
}

LocalFailover::RoleEnd LocalFailover::holdRole(const std::stop_token& stop) {
  bool frozen = false;
  while (!stop.stop_requested()) {
    Requests requests;
    uint64_t suspension = 0;
    {
      const std::lock_guard lock(mutex_);
      requests = std::exchange(requests_, {});
      suspension = suspension_;
    }
    if (requests.reload) {
      return {.why = *requests.reload, .failed_again = requests.failed_again};
    }
    if (requests.hand_over && !frozen) return {.why = *requests.hand_over, .in_order = true};
    if (requests.verify && !frozen) {
      frozen = true;
      setState(FailoverState::Frozen, {});
    }
    const Result<dao::EpochRow> row = store_->read();
    if (row.ok()) {
      if (row->epoch != leadership_.epoch || row->incarnation != incarnation_) {
        return {.why = fmt::format("the epoch row says epoch {} of {}", row->epoch, row->node_id)};
      }
      if (frozen) {
        frozen = false;
        seen_suspension_ = suspension;
        if (!resumeUnless(suspension)) {
          return {.why = "the service cannot go on with what it knows"};
        }
        setState(FailoverState::Active, {});
      }
    }
    waitFor(stop, kLocalPollPeriod);
  }
  return {.why = "stop", .in_order = true};
}

// Of what took the permission away since `suspension` the next turn knows. False: the service
// can't go on.
bool LocalFailover::resumeUnless(uint64_t suspension) {
  const std::lock_guard lock(mutex_);
  return suspension_ != suspension || service_->resume(leadership_);
}

void LocalFailover::endRole(const RoleEnd& end) {
  suspend(end.why);
  setState(end.in_order ? FailoverState::Draining : FailoverState::Demoting, {});
  const BootTime now = clock_.bootNow();
  hard_limit_us_ = toMicros(now + kLocalDrainLimit + kLocalDemoteLimit + Millis(100));
  if (end.in_order && !service_->drain(now + kLocalDrainLimit)) {
    logWarn("drain_incomplete", field("limit_ms", kLocalDrainLimit.count()));
  }
  setState(FailoverState::Demoting, {});
  service_->demote(end.why, clock_.bootNow() + kLocalDemoteLimit);
  hard_limit_us_ = toMicros(kNever);
  logInfo("ha_local_demoted", field("epoch", leadership_.epoch), field("why", end.why));
  if (end.in_order) {
    const Status status = store_->setState(leadership_.epoch, dao::EpochState::Released);
    if (!status.ok()) logWarn("release_not_stored", field("error", status.text()));
  }
  const std::lock_guard lock(mutex_);
  leadership_ = {};
  leader_ = {};
  ++stats_.leader_changes;
}

void LocalFailover::setState(FailoverState state, const std::string& alarm) {
  const std::lock_guard lock(mutex_);
  stats_.state = state;
  stats_.alarm = alarm;
  permission_.publish(leadership_.epoch, state == FailoverState::Active, seen_suspension_);
}

// Takes the permission away before anything else happens; the role thread verifies and gives it
// back.
void LocalFailover::suspend(const std::string& why) {
  const std::lock_guard lock(mutex_);
  suspension_ = permission_.suspend();
  requests_.verify = true;
  if (stats_.state == FailoverState::Active) ++stats_.freezes;
  service_->freeze(why);
  wake_.notify_all();
}

void LocalFailover::waitFor(const std::stop_token& stop, Millis time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, time,
                 [this] { return requests_.verify || requests_.reload || requests_.hand_over; });
}

void LocalFailover::onFenced(uint64_t seen_epoch) noexcept {
  suspend(fmt::format("the database named epoch {}", seen_epoch));
}

void LocalFailover::onHigherEpoch(uint64_t seen_epoch) noexcept {
  if (seen_epoch > permission_.read().epoch) {
    suspend(fmt::format("a peer named epoch {}", seen_epoch));
  }
}

// There is no other master to give the lock to, so both kinds mean: reload under a new epoch, but
// where another one should try, this one tries later.
void LocalFailover::onServiceFailure(const std::string& why, bool give_up_lock) noexcept {
  suspend(why);
  const std::lock_guard lock(mutex_);
  requests_.reload = why;
  requests_.failed_again = give_up_lock;
  wake_.notify_all();
}

void LocalFailover::handOver(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  requests_.hand_over = why;
  wake_.notify_all();
}

LeaderInfo LocalFailover::leader() const {
  const std::lock_guard lock(mutex_);
  return leader_;
}

std::vector<MemberInfo> LocalFailover::members() const {
  const std::lock_guard lock(mutex_);
  return {{.node_id = options_.node_id,
           .role = leader_.known ? "active" : "standby",
           .state = std::string(toString(stats_.state)),
           .address = options_.address,
           .version = options_.version,
           .database_ok = true,
           .heard = true}};
}

FailoverStats LocalFailover::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace baton::ha
