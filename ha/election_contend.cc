#include <fmt/format.h>

#include <algorithm>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

constexpr Millis kRankStep{150};
constexpr Millis kLossPenalty{2000};
constexpr Millis kLossPenaltyMax{30'000};
constexpr Micros kLossWindow{Seconds(600)};
constexpr Millis kViewRetry{100};
constexpr Millis kMembersPeriod{2000};

}  // namespace

void ElectionStepper::requestView(bool sync) {
  if (!s_.connected || !s_.joined) return;
  disarm(TimerKind::ViewRetry);
  s_.view_stale = false;
  emit(SendView{ask(RequestKind::View), sync});  // An older request under way becomes stale.
}

void ElectionStepper::requestMembers() {
  if (!s_.connected || !s_.joined) return;
  arm(TimerKind::MembersRefresh, kMembersPeriod);
  emit(SendMembers{ask(RequestKind::Members)});
}

void ElectionStepper::on(const ViewChanged& event) {
  if (!fromCurrentHandle(event)) return;
  s_.lock_confirmed = false;
  s_.view_stale = true;
  requestView(s_.phase == FailoverState::Verifying);
}

void ElectionStepper::on(const MembersChanged& event) {
  if (fromCurrentHandle(event)) requestMembers();
}

void ElectionStepper::on(const MembersReply& event) {
  if (!fromCurrentHandle(event) || !answered(RequestKind::Members, event.id)) return;
  if (event.code == CoordCode::Ok) {
    s_.members = event.members;
    hastenContending();
    return databaseLost();
  }
  if (commonFailure(event.code, "members")) return;
  if (event.code == CoordCode::Absent) sendJoin({});
}

void ElectionStepper::on(const ViewReply& event) {
  if (!fromCurrentHandle(event) || !answered(RequestKind::View, event.id)) return;
  if (commonFailure(event.code, "read")) return;
  if (event.code == CoordCode::Absent) {  // An operator deleted /epoch or its parents.
    sendJoin({});
    return;
  }
  if (event.code != CoordCode::Ok) return arm(TimerKind::ViewRetry, kViewRetry);
  s_.view = event.view;
  if (s_.view->lock && s_.view->lock->parsed) s_.last_leader = s_.view->lock->record.who.node_id;
  s_.lock_confirmed = lockIsMine() && !s_.view_stale;
  switch (s_.phase) {
    case FailoverState::Verifying:
      return decideVerifying();
    case FailoverState::Promoting:
      return promoteView();
    case FailoverState::Active:
    case FailoverState::ActiveIsolated:
    case FailoverState::Frozen:
      return roleView();
    case FailoverState::Draining:
    case FailoverState::Demoting:
      s_.lock_owned = lockIsMine();
      return;
    default:
      return decideIdle();
  }
}

bool ElectionStepper::lockIsMine() const {
  return s_.view && s_.view->lock && s_.session_ready &&
         s_.view->lock->owner_session == s_.session_id;
}

// Standing by or contending: what the last view asks for.
void ElectionStepper::decideIdle() {
  if (!isIdle() || !s_.view || !s_.joined || s_.view_stale) return;
  if (lockIsMine()) {
    // A request that was given up as lost came through after all.
    if (config_.observer() || timer(TimerKind::HoldOff) != kNever || !s_.view->lock->parsed) {
      reopenSession(Millis(0));  // Gives the lock back; nobody but this session can hold it.
      return enter(FailoverState::Connecting, "gives back an unwanted lock");
    }
    return enterPromoting(s_.view->lock->record.epoch, "the lock is ours already");
  }
  if (s_.view->lock) {
    if (!s_.view->lock->parsed) {
      s_.alarm = "the lock holds foreign data; it is left alone until its session ends";
    } else {
      s_.alarm.clear();
    }
    disarm(TimerKind::Contend);
    return becomeIdle("the lock is held");
  }
  if (config_.observer() || s_.view->paused) {
    disarm(TimerKind::Contend);
    return becomeIdle(s_.view->paused ? "automatic failover is paused" : "observer");
  }
  if (timer(TimerKind::HoldOff) != kNever) return becomeIdle("holds off");
  if (s_.phase != FailoverState::Contending) return beginContending();
  tryAcquire();
}

void ElectionStepper::becomeIdle(const std::string& why) {
  const FailoverState idle = config_.observer() ? FailoverState::Observer : FailoverState::Standby;
  if (s_.phase != idle) enter(idle, why);
}

void ElectionStepper::holdOff(Millis delay) {
  const BootTime until = now_ + delay;
  BootTime& current = timer(TimerKind::HoldOff);
  if (current == kNever || current < until) current = until;
}

void ElectionStepper::beginContending() {
  enter(FailoverState::Contending, "the lock is absent");
  s_.contending_since = now_;
  s_.contend_due = false;
  sendFreshProbe();
  const Millis delay = rankDelay();
  if (delay > Millis(0)) return arm(TimerKind::Contend, delay);
  s_.contend_due = true;
  tryAcquire();
}

// The dead leader's member node goes with its lock, and often is seen to go a moment later: who
// waited for its sake need not wait any longer.
void ElectionStepper::hastenContending() {
  if (s_.phase != FailoverState::Contending || s_.contend_due) return;
  BootTime& due = timer(TimerKind::Contend);
  due = std::min<BootTime>(due, s_.contending_since + rankDelay());
}

Millis ElectionStepper::rankDelay() const {
  const uint32_t rank = rankOf(s_.members, config_.self.node_id, s_.last_leader);
  Millis delay = kRankStep * std::min<uint32_t>(rank, 20);
  if (!otherCandidateExists()) return delay;
  const auto recent = std::count_if(s_.losses.begin(), s_.losses.end(),
                                    [&](BootTime at) { return now_ - at < kLossWindow; });
  return delay + std::min(kLossPenalty * recent, kLossPenaltyMax);
}

bool ElectionStepper::otherCandidateExists() const {
  return std::any_of(s_.members.begin(), s_.members.end(), [&](const MemberRecord& m) {
    return m.who.node_id != config_.self.node_id && m.eligible && m.priority > 0 && m.database_ok;
  });
}

// Sends the multi once the rank delay is over and the database has answered since it began: a
// master without a database could not use the lock.
void ElectionStepper::tryAcquire() {
  if (s_.phase != FailoverState::Contending || !s_.contend_due) return;
  if (!s_.connected || !s_.view || s_.view->lock || s_.view_stale) return;
  if (!s_.probe || s_.probe->id < s_.probe_min_id) return;
  const dao::EpochRow& row = s_.probe->row;
  LockRecord lock;
  lock.who = config_.self;
  lock.prev_epoch = std::max(s_.view->epoch, row.epoch);
  lock.epoch = lock.prev_epoch + 1;
  lock.attempt = fmt::format("{}-{}", config_.self.incarnation, ++s_.attempts);
  if (lock.prev_epoch == 0) {
    lock.reason = "first";
  } else if (row.node_id == config_.self.node_id) {
    lock.reason = "restart";
  } else {
    lock.reason = row.state == dao::EpochState::Released ? "deleted" : "expired";
  }
  s_.claim = {.epoch = lock.epoch,
              .prev_epoch = lock.prev_epoch,
              .node_id = config_.self.node_id,
              .incarnation = config_.self.incarnation,
              .address = config_.self.address,
              .reason = lock.reason,
              .lock_czxid = 0};
  s_.acquire_started = now_;
  disarm(TimerKind::Contend);
  enter(FailoverState::Acquiring, lock.reason);
  emit(SendAcquire{ask(RequestKind::Acquire), {s_.view->epoch_version, std::move(lock)}});
}

void ElectionStepper::on(const AcquireReply& event) {
  if (!fromCurrentHandle(event) || !answered(RequestKind::Acquire, event.id)) return;
  if (commonFailure(event.code, "acquire")) return;
  switch (event.code) {
    case CoordCode::Ok:
      return enterPromoting(s_.claim.epoch, "lock acquired");
    case CoordCode::Ambiguous:
      // Never tried again before it is known what became of it.
      enter(FailoverState::Verifying, "no answer to the acquire request");
      return requestView(true);
    case CoordCode::BadVersion:
    case CoordCode::Exists:
      becomeIdle("lost the election");
      s_.view_stale = true;
      return requestView(false);
    case CoordCode::Absent:
      enter(FailoverState::Joining, "nodes are missing");
      return sendJoin({});
    default:
      becomeIdle("the acquire request failed");
      holdOff(jitterBackoff());
      return requestView(false);
  }
}

void ElectionStepper::decideVerifying() {
  if (s_.view_stale) return;  // A newer view is under way.
  if (lockIsMine() && s_.view->lock->parsed) {
    return enterPromoting(s_.view->lock->record.epoch, "read back: the lock is ours");
  }
  enter(FailoverState::Joining, "read back: the lock is not ours");
  decideIdle();
}

// 200 ms to 2 s, from the seed alone.
Millis ElectionStepper::jitterBackoff() {
  s_.jitter ^= s_.jitter << 13;
  s_.jitter ^= s_.jitter >> 7;
  s_.jitter ^= s_.jitter << 17;
  return Millis(200 + static_cast<int64_t>(s_.jitter % 1800));
}

}  // namespace baton::ha
