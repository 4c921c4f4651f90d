#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

constexpr Millis kPromoteLimit{60'000};
constexpr Millis kBumpWindow{
    3000};  // The database may be away that long before the lock is given up.
constexpr Millis kBumpRetry{250};
constexpr Millis kDeletedLockGrace{1000};
constexpr Millis kGiveUpHoldOff{2000};
constexpr std::array kPromoteHoldOffs{Millis(2000), Millis(5000), Millis(10'000)};
constexpr size_t kLossesMax = 16;
constexpr Micros kLossMemory{Seconds(600)};

int64_t millisBetween(BootTime from, BootTime to) {
  return std::max<int64_t>(0, std::chrono::duration_cast<Millis>(to - from).count());
}

}  // namespace

void ElectionStepper::enterPromoting(uint64_t epoch, const std::string& how) {
  if (s_.claim.epoch != epoch) {  // An older attempt of ours that came through late.
    s_.claim.epoch = epoch;
    s_.claim.prev_epoch = s_.view && s_.view->lock ? s_.view->lock->record.prev_epoch : epoch - 1;
  }
  s_.lock_owned = true;
  s_.lock_at = now_;
  s_.lease_until = s_.acquire_started + leaseLength(s_.session_ms);
  s_.leadership = {.epoch = epoch,
                   .incarnation = config_.self.incarnation,
                   .cluster_guid = s_.zk_guid,
                   .reason = s_.claim.reason,
                   .bumped_at = BootTime{},
                   .detect_ms = millisBetween(s_.contending_since, s_.acquire_started),
                   .lock_ms = millisBetween(s_.acquire_started, now_),
                   .bump_ms = 0};
  s_.stage = PromoteStage::Confirm;
  s_.doubt.clear();
  disarm(TimerKind::Contend);
  disarm(TimerKind::HoldOff);
  arm(TimerKind::PromoteLimit, kPromoteLimit);
  arm(TimerKind::Renew, Millis(0));
  enter(FailoverState::Promoting, how);
  requestView(false);  // Arms the watch: from its answer on the lock cannot vanish unseen.
}

void ElectionStepper::promoteView() {
  if (s_.view_stale) return;
  if (!lockIsMine()) {
    s_.lock_owned = false;
    return demote("the lock was lost during the promotion", false, AfterDemote::Rejoin);
  }
  s_.lock_czxid = s_.view->lock->czxid;
  s_.epoch_version = s_.view->epoch_version;
  if (s_.stage != PromoteStage::Confirm) return;
  s_.claim.lock_czxid = s_.lock_czxid;
  s_.stage = PromoteStage::Bump;
  startBump();
}

void ElectionStepper::startBump() {
  disarm(TimerKind::BumpRetry);
  emit(StartBump{ask(RequestKind::Bump), s_.claim});
}

void ElectionStepper::on(const BumpReply& event) {
  if (!answered(RequestKind::Bump, event.id) || s_.stage != PromoteStage::Bump) return;
  if (!event.error) return bumped();
  if (*event.error == ErrorCode::Fenced) {
    // Either somebody is further, or an earlier try of ours was committed without an answer.
    s_.stage = PromoteStage::BumpVerify;
    return sendFreshProbe();
  }
  if (isRetryable(*event.error) && now_ - s_.lock_at < kBumpWindow) {
    return arm(TimerKind::BumpRetry, kBumpRetry);
  }
  s_.database_ok = *event.error != ErrorCode::Unavailable;
  promoteFailed("the epoch row cannot be moved: " + event.message);
}

void ElectionStepper::bumped() {
  s_.stage = PromoteStage::Recover;
  s_.leadership.bumped_at = now_;
  s_.leadership.bump_ms = millisBetween(s_.lock_at, now_);
  emit(StartPromote{ask(RequestKind::Promote), s_.leadership});
}

void ElectionStepper::on(const PromoteReply& event) {
  if (!answered(RequestKind::Promote, event.id) || s_.phase != FailoverState::Promoting) return;
  if (event.error) return promoteFailed("the promotion failed: " + event.message);
  becomeActive();
}

void ElectionStepper::promoteFailed(const std::string& why) {
  const size_t last = kPromoteHoldOffs.size() - 1;
  const Millis delay = kPromoteHoldOffs[std::min<size_t>(s_.promote_failures, last)];
  ++s_.promote_failures;
  s_.alarm = why;
  demote(why, true, AfterDemote::Rejoin);
  s_.rejoin_hold_off = delay;
}

void ElectionStepper::becomeActive() {
  disarm(TimerKind::PromoteLimit);
  s_.stage = PromoteStage::None;
  s_.promote_failures = 0;
  s_.alarm.clear();
  ++s_.leader_changes;
  enter(FailoverState::Active, s_.leadership.reason);
  arm(TimerKind::Renew, Millis(0));
  arm(TimerKind::Poll, Millis(0));
  databaseSeen(now_);
  timer(TimerKind::LeaseEnd) = s_.lease_until;
  if (s_.lease_until <= now_) leaseEnded();
  if (!s_.doubt.empty()) freeze(s_.doubt);
}

// The lock can no longer be proven; the epoch row alone says whether to go on.
void ElectionStepper::leaseEnded() {
  if (s_.phase != FailoverState::Active) return;
  if (s_.lease_until > now_) {
    timer(TimerKind::LeaseEnd) = s_.lease_until;
    return;
  }
  s_.alarm = "the lease in ZooKeeper ended: the role is held by the epoch row alone";
  enter(FailoverState::ActiveIsolated, "the lease ended");
  sendProbe();
}

void ElectionStepper::roleView() {
  if (s_.view_stale) return;
  if (lockIsMine()) {
    s_.epoch_version = s_.view->epoch_version;
    return;
  }
  s_.lock_owned = false;
  if (s_.view->lock) {
    return loseRole(fmt::format("the lock belongs to {}", s_.view->lock->record.who.node_id));
  }
  const bool others = otherCandidateExists();
  loseRole("the lock was deleted");
  // A person who deletes the lock wants another master.
  if (others) s_.rejoin_hold_off = kDeletedLockGrace;
}

void ElectionStepper::on(const TimeJumped& event) {
  doubtRole(fmt::format("the clock jumped by {} ms", event.gap_ms));
}

void ElectionStepper::on(const EpochDoubted& event) {
  doubtRole(fmt::format("{} named epoch {}", event.source, event.seen_epoch));
}

// During a promotion the service may have been frozen by whoever had the doubt, so this must lead
// to a resume later on.
void ElectionStepper::doubtRole(const std::string& why) {
  if (s_.phase == FailoverState::Promoting) s_.doubt = why;
  if (s_.hasRole()) freeze(why);
}

void ElectionStepper::on(const ServiceFailed& event) {
  if (s_.phase == FailoverState::Promoting) return promoteFailed(event.why);
  if (!s_.hasRole()) return;
  s_.alarm = event.why;
  freeze(event.why);
  demote(event.why, true, AfterDemote::Rejoin);
  s_.rejoin_hold_off = event.give_up_lock ? kGiveUpHoldOff : Millis(0);
}

void ElectionStepper::on(const HandOverAsked& event) {
  if (s_.phase != FailoverState::Active) return;
  drain(event.why);
}

void ElectionStepper::drain(const std::string& why) {
  enter(FailoverState::Draining, why);
  emit(StartDrain{ask(RequestKind::Drain)});
}

// Nothing acts until a read of the epoch row that starts from now on has shown it as ours.
void ElectionStepper::freeze(const std::string& why) {
  if (s_.phase != FailoverState::Frozen) {
    ++s_.freezes;
    enter(FailoverState::Frozen, why);
  }
  disarm(TimerKind::LeaseEnd);
  emit(FreezeService{why});
  sendFreshProbe();
}

void ElectionStepper::resumeRole() {
  emit(ResumeService{s_.leadership});
  enter(FailoverState::Active, "verified");
  timer(TimerKind::LeaseEnd) = s_.lease_until;
  if (s_.lease_until <= now_) return leaseEnded();
  s_.alarm.clear();
}

void ElectionStepper::loseRole(const std::string& why) {
  freeze(why);
  countLoss();
  demote(why, true, AfterDemote::Rejoin);
}

void ElectionStepper::countLoss() {
  std::erase_if(s_.losses, [&](BootTime at) { return now_ - at >= kLossMemory; });
  if (s_.losses.size() >= kLossesMax) s_.losses.erase(s_.losses.begin());
  s_.losses.push_back(now_);
}

void ElectionStepper::demote(const std::string& why, bool release, AfterDemote after) {
  if (s_.phase != FailoverState::Promoting) ++s_.leader_changes;
  const bool in_order = s_.phase == FailoverState::Draining;
  enter(FailoverState::Demoting, why);
  s_.stage = PromoteStage::None;
  s_.after_demote = s_.stopping ? AfterDemote::Stop : after;
  s_.release_wanted = release;
  s_.rejoin_hold_off = Millis(0);
  for (const TimerKind kind : {TimerKind::PromoteLimit, TimerKind::BumpRetry, TimerKind::LeaseEnd,
                               TimerKind::Poll, TimerKind::DatabaseLimit}) {
    disarm(kind);
  }
  forget(RequestKind::Bump);
  forget(RequestKind::Promote);
  emit(StartDemote{ask(RequestKind::Demote), why, in_order ? s_.leadership.epoch : 0});
}

void ElectionStepper::on(const DrainReply& event) {
  if (!answered(RequestKind::Drain, event.id)) return;
  demote(s_.reason, true, AfterDemote::Rejoin);  // Of a stop: demote() knows.
}

void ElectionStepper::on(const DemoteReply& event) {
  if (!answered(RequestKind::Demote, event.id)) return;
  s_.leadership = {};
  if (s_.release_wanted && s_.lock_owned && s_.connected) {
    emit(SendRelease{ask(RequestKind::Release), s_.epoch_version});
    return;
  }
  if (s_.lock_owned && s_.handle_open) reopenSession(Millis(0));  // The lock goes with the session.
  finishDemote();
}

void ElectionStepper::finishDemote() {
  s_.lock_owned = false;
  s_.view_stale = true;
  if (s_.rejoin_hold_off > Millis(0)) holdOff(s_.rejoin_hold_off);
  switch (s_.after_demote) {
    case AfterDemote::Stop:
      closeSession();
      s_.timers.fill(kNever);
      return enter(FailoverState::Stopped, "stop");
    case AfterDemote::Fatal:
      enter(FailoverState::Connecting, "demoted");
      return fatal(s_.alarm);
    case AfterDemote::Rejoin:
      break;
  }
  if (!s_.session_ready) return enter(FailoverState::Connecting, "demoted");
  if (!s_.joined) return enterJoining();
  enter(FailoverState::Joining, "demoted");
  requestView(false);
}

}  // namespace baton::ha
