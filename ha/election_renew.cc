#include <algorithm>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

constexpr Millis kStandbyRenewPeriod{1000};

}  // namespace

MemberRecord ElectionStepper::selfRecord() const {
  return {.who = config_.self,
          .state = s_.phase,
          .priority = config_.priority,
          .eligible = config_.eligible,
          .seen_epoch = s_.view ? s_.view->epoch : 0,
          .database_ok = databaseOk(),
          .czxid = 0};
}

void ElectionStepper::sendRenew() {
  const bool leading = s_.hasRole() || s_.phase == FailoverState::Promoting;
  if (s_.phase == FailoverState::FatalConfig) return;
  arm(TimerKind::Renew, leading ? renewPeriod(s_.session_ms) : kStandbyRenewPeriod);
  if (!leading) sendProbe();  // Keeps the published database_ok true to life.
  if (!s_.connected || !s_.joined || waiting(RequestKind::Renew)) return;
  emit(SendRenew{ask(RequestKind::Renew), selfRecord()});
}

void ElectionStepper::on(const RenewReply& event) {
  const BootTime sent = pending(RequestKind::Renew).sent;
  if (!fromCurrentHandle(event) || !answered(RequestKind::Renew, event.id)) return;
  if (commonFailure(event.code, "renew")) return;
  if (event.code == CoordCode::Absent) {  // Somebody deleted the own member node.
    s_.joining_since = now_;
    return sendJoin({});
  }
  if (event.code != CoordCode::Ok) return;
  if (!s_.hasRole() && s_.phase != FailoverState::Promoting) return;
  // The write proves the session; the lock is proven by the absence of an earlier change event.
  if (!s_.lock_confirmed) {
    if (!waiting(RequestKind::View)) requestView(false);
    return;
  }
  s_.lease_until = std::max(s_.lease_until, sent + leaseLength(s_.session_ms));
  if (s_.lease_until <= now_) return;
  if (s_.phase == FailoverState::ActiveIsolated) {
    s_.alarm.clear();
    enter(FailoverState::Active, "the lease was renewed");
    timer(TimerKind::LeaseEnd) = s_.lease_until;
  }
}

void ElectionStepper::on(const ReleaseReply& event) {
  if (!fromCurrentHandle(event) || !answered(RequestKind::Release, event.id)) return;
  if (event.code != CoordCode::Ok && event.code != CoordCode::BadVersion) {
    reopenSession(Millis(0));  // In doubt the lock goes with the session.
  }
  finishDemote();
}

}  // namespace baton::ha
