#include <fmt/format.h>

#include <algorithm>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

constexpr Millis kReopenMin{200};
constexpr Millis kReopenMax{2000};
constexpr Millis kFatalRetry{30'000};
constexpr Millis kJoinRetry{300};

}  // namespace

void ElectionStepper::openSession() {
  ++s_.generation;
  s_.handle_open = true;
  disarm(TimerKind::Reopen);
  emit(OpenSession{s_.generation});
}

void ElectionStepper::closeSession() {
  if (s_.handle_open) emit(CloseSession{});
  if (s_.connected) s_.unheard_since = now_;
  s_.handle_open = s_.connected = s_.session_ready = s_.joined = false;
  s_.lock_confirmed = false;
  s_.view.reset();
  s_.view_stale = true;
  forgetCoordinatorRequests();
  disarm(TimerKind::JoinRetry);
  disarm(TimerKind::ViewRetry);
  disarm(TimerKind::Renew);
  disarm(TimerKind::MembersRefresh);
}

void ElectionStepper::reopenSession(Millis delay) {
  closeSession();
  arm(TimerKind::Reopen, delay);
}

void ElectionStepper::on(const SessionUp& event) {
  if (!fromCurrentHandle(event)) return;
  const bool resumed = s_.session_ready;
  s_.connected = s_.session_ready = true;
  s_.unheard_since = kNever;
  s_.session_id = event.session_id;
  s_.session_ms = event.timeout_ms;
  s_.reopen_delay_ms = 0;
  if (!resumed) {
    if (s_.phase == FailoverState::Connecting) enterJoining();
    return;  // DEMOTING: joins when the role has ended.
  }
  if (!s_.joined) {
    if (s_.phase == FailoverState::Joining) sendJoin({});
    return;
  }
  requestView(s_.phase == FailoverState::Verifying);
  requestMembers();
  arm(TimerKind::Renew, Millis(0));
}

void ElectionStepper::on(const SessionDown& event) {
  if (!fromCurrentHandle(event)) return;
  if (s_.connected) s_.unheard_since = now_;
  s_.connected = false;
  s_.lock_confirmed = false;  // Changes may pass unseen until the lock was read again.
  s_.view_stale = true;
}

void ElectionStepper::on(const SessionExpired& event) {
  if (fromCurrentHandle(event)) sessionLost("session expired");
}

void ElectionStepper::on(const SessionRefused& event) {
  if (fromCurrentHandle(event)) fatal("ZooKeeper refused the credentials (zookeeper.digest_file)");
}

void ElectionStepper::on(const SessionFailed& event) {
  if (!fromCurrentHandle(event)) return;
  s_.alarm = "no ZooKeeper handle: " + event.why;
  sessionLost("no handle");
}

// Everything that the old session owned is gone or goes with it.
void ElectionStepper::sessionLost(const std::string& why) {
  s_.reopen_delay_ms =
      std::clamp<int64_t>(s_.reopen_delay_ms * 2, kReopenMin.count(), kReopenMax.count());
  reopenSession(Millis(s_.reopen_delay_ms));
  s_.lock_owned = false;
  switch (s_.phase) {
    case FailoverState::Active:
    case FailoverState::ActiveIsolated:
    case FailoverState::Frozen:
      return loseRole(why);
    case FailoverState::Promoting:
      return demote(why, false, AfterDemote::Rejoin);
    case FailoverState::Demoting:
      if (!waiting(RequestKind::Demote)) finishDemote();  // Its release cannot be answered now.
      return;
    case FailoverState::Draining:
    case FailoverState::FatalConfig:
      return;
    default:
      disarm(TimerKind::Contend);
      enter(FailoverState::Connecting, why);
  }
}

void ElectionStepper::enterJoining() {
  enter(FailoverState::Joining, "connected");
  s_.joined = false;
  s_.joining_since = now_;
  sendProbe();
  sendJoin({});
}

void ElectionStepper::sendJoin(const std::string& create_guid) {
  if (waiting(RequestKind::Join)) return;
  if (!s_.connected) return arm(TimerKind::JoinRetry, kJoinRetry);
  JoinRequest request;
  request.create_guid = create_guid;
  if (s_.probe) {
    request.expected_guid = s_.probe->cluster_guid;
    request.epoch = s_.probe->row.epoch;
  }
  request.self = selfRecord();
  emit(SendJoin{ask(RequestKind::Join), std::move(request)});
}

void ElectionStepper::on(const JoinReply& event) {
  if (!fromCurrentHandle(event) || !answered(RequestKind::Join, event.id)) return;
  if (s_.stopping || commonFailure(event.code, "join")) return;
  joinAnswered(event);
}

void ElectionStepper::joinAnswered(const JoinReply& reply) {
  switch (reply.code) {
    case CoordCode::Ok:
      break;
    case CoordCode::Mismatch:
      return fatal(fmt::format(
          "ZooKeeper's root belongs to the cluster {}, the database to {}: wrong ensemble, wrong "
          "database or wrong cluster name",
          reply.guid, s_.probe ? s_.probe->cluster_guid : "another"));
    case CoordCode::Absent:
      if (reply.guid.empty()) return clusterAbsent();
      return arm(TimerKind::JoinRetry, kJoinRetry);  // A parent vanished between two requests.
    case CoordCode::Exists:
      // Our node of an earlier process goes with its session; for longer it is somebody else's.
      if (now_ - s_.joining_since > Millis(2 * s_.session_ms)) {
        s_.alarm = fmt::format("another process uses the node id {}", config_.self.node_id);
      }
      return arm(TimerKind::JoinRetry, kJoinRetry);
    default:
      return arm(TimerKind::JoinRetry, kJoinRetry);
  }
  s_.joined = true;
  s_.zk_guid = reply.guid;
  if (s_.probe && s_.probe->cluster_guid != s_.zk_guid) {
    return fatal(fmt::format("ZooKeeper says cluster {}, the database {}", s_.zk_guid,
                             s_.probe->cluster_guid));
  }
  if (s_.phase == FailoverState::Joining) s_.alarm.clear();
  requestView(false);
  requestMembers();
  arm(TimerKind::Renew, s_.hasRole() ? Millis(0) : Millis(2000));
}

// Only a database that never had a leader may give its guid to an empty ensemble by itself.
void ElectionStepper::clusterAbsent() {
  if (!s_.probe) {
    s_.alarm = "the cluster's root does not exist in ZooKeeper and the database cannot be read";
    sendProbe();
    return arm(TimerKind::JoinRetry, kJoinRetry);
  }
  if (s_.probe->row.epoch == 0) return sendJoin(s_.probe->cluster_guid);
  fatal(
      fmt::format("the cluster's root is absent in ZooKeeper while the database has had epoch "
                  "{}: if this ensemble is the right one, run `baton cluster init --adopt`",
                  s_.probe->row.epoch));
}

bool ElectionStepper::commonFailure(CoordCode code, const std::string& what) {
  if (code == CoordCode::SessionDead) {
    sessionLost("session is dead");
    return true;
  }
  if (code == CoordCode::Refused) {
    fatal(fmt::format("ZooKeeper refused the {} request: credentials or access list", what));
    return true;
  }
  return false;
}

void ElectionStepper::fatal(const std::string& why) {
  s_.alarm = why;
  if (s_.hasRole() || s_.phase == FailoverState::Promoting) {
    if (s_.hasRole()) freeze(why);
    return demote(why, true, AfterDemote::Fatal);
  }
  if (s_.phase == FailoverState::Draining) return;
  if (s_.phase == FailoverState::Demoting) {
    if (s_.after_demote == AfterDemote::Rejoin) s_.after_demote = AfterDemote::Fatal;
    if (!waiting(RequestKind::Demote)) finishDemote();
    return;
  }
  closeSession();
  disarm(TimerKind::Contend);
  disarm(TimerKind::HoldOff);
  disarm(TimerKind::Reopen);
  s_.probe.reset();  // The database may be what gets mended.
  arm(TimerKind::FatalRetry, kFatalRetry);
  enter(FailoverState::FatalConfig, why);
}

}  // namespace baton::ha
