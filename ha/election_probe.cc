#include <fmt/format.h>

#include <utility>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

constexpr Millis kProbeHoldOff{1000};
constexpr Millis kPollPeriod{250};
// ha.md 3.6. Standbys publish once a second what a read showed that began at most a second before,
// so by then the list of members tells whether they miss the database as well.
constexpr Millis kDatabaseLimit{3000};
// A read that takes longer than this shows no working database: whoever sees it so slow could do no
// better than an active master that does.
constexpr Millis kProbeSlow{500};

}  // namespace

void ElectionStepper::sendProbe() {
  if (waiting(RequestKind::Probe)) return;
  emit(SendProbe{ask(RequestKind::Probe)});
}

// Asks for a read that starts from now on. One that is under way is let finish, but its answer
// no longer counts.
void ElectionStepper::sendFreshProbe() {
  s_.probe_min_id = s_.next_id;
  sendProbe();
}

bool ElectionStepper::rowIsMine(const dao::EpochRow& row) const {
  return row.epoch == s_.leadership.epoch && row.incarnation == config_.self.incarnation;
}

void ElectionStepper::on(const ProbeReply& event) {
  if (!answered(RequestKind::Probe, event.id)) return;
  s_.database_ok = !event.error.has_value();
  s_.database_took = now_ - pending(RequestKind::Probe).sent;
  if (s_.database_ok) {
    s_.probe = event;
    if (!s_.zk_guid.empty() && s_.joined && event.cluster_guid != s_.zk_guid) {
      return fatal(fmt::format("ZooKeeper says cluster {}, the database {}", s_.zk_guid,
                               event.cluster_guid));
    }
  }
  switch (s_.phase) {
    case FailoverState::Joining:
      if (!s_.joined && !waiting(RequestKind::Join)) sendJoin({});
      return;
    case FailoverState::Contending:
      if (!probeCounts(event)) return sendProbe();
      if (s_.database_ok) return tryAcquire();
      disarm(TimerKind::Contend);
      s_.alarm = "the database cannot be read: " + event.message;
      holdOff(kProbeHoldOff);
      return becomeIdle("the database cannot be read");
    case FailoverState::Promoting:
      return probedInPromote(event);
    case FailoverState::Active:
    case FailoverState::ActiveIsolated:
    case FailoverState::Frozen:
      return probedInRole(event);
    default:
      return;
  }
}

bool ElectionStepper::databaseOk() const {
  const PendingRequest& probe = s_.pending[static_cast<size_t>(RequestKind::Probe)];
  return s_.database_ok && s_.database_took <= kProbeSlow &&
         (probe.id == 0 || now_ - probe.sent <= kProbeSlow);
}

void ElectionStepper::databaseSeen(BootTime at) {
  timer(TimerKind::DatabaseLimit) = at + kDatabaseLimit;
  s_.database_lost = false;
}

void ElectionStepper::databaseLimit() {
  if (!s_.hasRole()) return;
  arm(TimerKind::DatabaseLimit, kPollPeriod * 4);
  s_.database_lost = true;
  requestMembers();
}

// Only if others can do better: a takeover would help nobody while the database is down for all.
void ElectionStepper::databaseLost() {
  if (!std::exchange(s_.database_lost, false) || !s_.hasRole() || !otherCandidateExists()) return;
  s_.alarm = "the database can be reached by others, but not from here";
  loseRole(s_.alarm);
  s_.rejoin_hold_off = kDatabaseLimit;
}

void ElectionStepper::probedInPromote(const ProbeReply& reply) {
  if (s_.stage != PromoteStage::BumpVerify) return;
  if (!probeCounts(reply)) return sendProbe();
  if (reply.error) return promoteFailed("the bump cannot be verified: " + reply.message);
  if (rowIsMine(reply.row)) return bumped();  // Its first answer got lost.
  promoteFailed(fmt::format("the epoch row is at {} already", reply.row.epoch));
}

void ElectionStepper::probedInRole(const ProbeReply& reply) {
  arm(TimerKind::Poll, kPollPeriod);
  if (reply.error) return;  // Who can't be read can't be written either: nothing can go wrong.
  if (!rowIsMine(reply.row)) {
    return loseRole(
        fmt::format("the epoch row says epoch {} of {}", reply.row.epoch, reply.row.node_id));
  }
  if (!probeCounts(reply)) {
    return arm(TimerKind::Poll, Millis(0));  // Started before the freeze.
  }
  databaseSeen(pending(RequestKind::Probe).sent);
  if (s_.phase == FailoverState::Frozen) resumeRole();
}

}  // namespace baton::ha
