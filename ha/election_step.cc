#include "ha/election_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ha/election_stepper.h"

namespace baton::ha {
namespace {

// A change of ZooKeeper's server takes less and is nobody's trouble.
constexpr Millis kUnheardTold{2000};

// The deadline timer of a coordinator request, Count for requests to the database and the role.
TimerKind deadlineOf(RequestKind kind) {
  const auto index = static_cast<size_t>(kind);
  if (index > static_cast<size_t>(RequestKind::Members)) return TimerKind::Count;
  return static_cast<TimerKind>(static_cast<size_t>(TimerKind::JoinDeadline) + index);
}

}  // namespace

StepResult step(const ElectionConfig& config, ElectionState state, const Event& event,
                BootTime now) {
  ElectionStepper stepper(config, state, now);
  stepper.handle(event);
  return {std::move(state), stepper.takeActions()};
}

Millis renewPeriod(int64_t session_ms) {
  return Millis(std::clamp<int64_t>(session_ms / 8, 200, 1000));
}

// The server's last sign of the session may be older than our send by a renewal and half a tick;
// 0.6 T stays below T even with the coarse ticks of a stock ensemble.
Millis leaseLength(int64_t session_ms) { return Millis(session_ms * 6 / 10); }

Millis requestDeadline(int64_t session_ms) { return Millis(std::max<int64_t>(session_ms / 3, 1)); }

uint32_t rankOf(const std::vector<MemberRecord>& members, const std::string& node_id,
                const std::string& excluded) {
  const auto order = [](const MemberRecord& m) { return std::make_tuple(-m.priority, m.czxid); };
  const auto self = std::find_if(members.begin(), members.end(),
                                 [&](const MemberRecord& m) { return m.who.node_id == node_id; });
  if (self == members.end()) return static_cast<uint32_t>(members.size());
  uint32_t rank = 0;
  for (const MemberRecord& member : members) {
    if (member.who.node_id == node_id || member.who.node_id == excluded) continue;
    if (!member.eligible || member.priority <= 0 || !member.database_ok) continue;
    if (order(member) < order(*self)) ++rank;
  }
  return rank;
}

BootTime ElectionState::nextTimer() const {
  return *std::min_element(timers.begin(), timers.end());
}

bool ElectionState::unheard(BootTime now) const {
  return unheard_since != kNever && now - unheard_since >= kUnheardTold;
}

std::string ElectionState::alarmAt(BootTime now) const {
  // Whose settings are wrong stays away from ZooKeeper by itself.
  if (!unheard(now) || phase == FailoverState::FatalConfig) return alarm;
  std::string text = fmt::format("ZooKeeper has not answered for {} s",
                                 std::chrono::duration_cast<Seconds>(now - unheard_since).count());
  if (!members.empty()) text += "; masters are shown as it last knew them";
  if (!alarm.empty()) text += "; " + alarm;
  return text;
}

void ElectionStepper::handle(const Event& event) {
  if (s_.phase == FailoverState::Stopped) return;
  std::visit([this](const auto& e) { on(e); }, event);
}

void ElectionStepper::on(const StartRequested&) {
  if (s_.phase != FailoverState::Init) return;
  s_.jitter = config_.jitter_seed | 1;
  s_.unheard_since = now_;
  enter(FailoverState::Connecting, "start");
  openSession();
}

void ElectionStepper::on(const StopRequested&) {
  if (s_.stopping) return;
  s_.stopping = true;
  switch (s_.phase) {
    case FailoverState::Active:
    case FailoverState::ActiveIsolated:
      return drain("stop");
    case FailoverState::Frozen:
    case FailoverState::Promoting:
      return demote("stop", true, AfterDemote::Stop);
    case FailoverState::Draining:
    case FailoverState::Demoting:
      s_.after_demote = AfterDemote::Stop;
      return;
    default:
      // A create that may still be under way goes with the session.
      closeSession();
      s_.timers.fill(kNever);
      enter(FailoverState::Stopped, "stop");
  }
}

void ElectionStepper::on(const Tick&) {
  for (size_t i = 0; i < kTimerCount; ++i) {
    if (s_.timers[i] > now_) continue;
    s_.timers[i] = kNever;
    fire(static_cast<TimerKind>(i));
    if (s_.phase == FailoverState::Stopped) return;
  }
}

void ElectionStepper::fire(TimerKind kind) {
  switch (kind) {
    case TimerKind::Reopen:
    case TimerKind::FatalRetry:
      if (s_.stopping || s_.handle_open) return;
      if (s_.phase == FailoverState::FatalConfig) {
        s_.unheard_since = now_;  // Nobody asked it before.
        enter(FailoverState::Connecting, "retry");
      }
      return openSession();
    case TimerKind::JoinRetry:
      if (s_.connected && !s_.joined) sendJoin({});
      return;
    case TimerKind::HoldOff:
      return decideIdle();
    case TimerKind::Contend:
      s_.contend_due = true;
      return tryAcquire();
    case TimerKind::ViewRetry:
      return requestView(s_.phase == FailoverState::Verifying);
    case TimerKind::Renew:
      return sendRenew();
    case TimerKind::LeaseEnd:
      return leaseEnded();
    case TimerKind::Poll:
      if (s_.hasRole()) sendProbe();
      return;
    case TimerKind::DatabaseLimit:
      return databaseLimit();
    case TimerKind::BumpRetry:
      if (s_.stage == PromoteStage::Bump) startBump();
      return;
    case TimerKind::PromoteLimit:
      return promoteFailed("promote took longer than 60 s");
    case TimerKind::MembersRefresh:
      requestMembers();
      // A watch that got lost in the client or a server must not cost the election.
      if (!waiting(RequestKind::View) && s_.phase != FailoverState::Verifying) requestView(false);
      return;
    case TimerKind::JoinDeadline:
      return requestTimedOut(RequestKind::Join);
    case TimerKind::ViewDeadline:
      return requestTimedOut(RequestKind::View);
    case TimerKind::AcquireDeadline:
      return requestTimedOut(RequestKind::Acquire);
    case TimerKind::RenewDeadline:
      return requestTimedOut(RequestKind::Renew);
    case TimerKind::ReleaseDeadline:
      return requestTimedOut(RequestKind::Release);
    case TimerKind::MembersDeadline:
      return requestTimedOut(RequestKind::Members);
    case TimerKind::Count:
      return;
  }
}

void ElectionStepper::requestTimedOut(RequestKind kind) {
  const uint64_t id = pending(kind).id;
  if (id == 0) return;
  constexpr CoordCode kCode = CoordCode::Ambiguous;
  switch (kind) {
    case RequestKind::Join:
      return on(JoinReply{s_.generation, id, kCode, {}});
    case RequestKind::View:
      return on(ViewReply{s_.generation, id, kCode, {}});
    case RequestKind::Acquire:
      return on(AcquireReply{s_.generation, id, kCode});
    case RequestKind::Renew:
      return on(RenewReply{s_.generation, id, kCode});
    case RequestKind::Release:
      return on(ReleaseReply{s_.generation, id, kCode});
    case RequestKind::Members:
      return on(MembersReply{s_.generation, id, kCode, {}});
    default:
      return;
  }
}

void ElectionStepper::enter(FailoverState phase, const std::string& reason) {
  s_.phase = phase;
  s_.reason = reason;
}

uint64_t ElectionStepper::ask(RequestKind kind) {
  const uint64_t id = s_.next_id++;
  pending(kind) = {id, now_};
  const TimerKind deadline = deadlineOf(kind);
  if (deadline != TimerKind::Count) arm(deadline, requestDeadline(s_.session_ms));
  return id;
}

bool ElectionStepper::answered(RequestKind kind, uint64_t id) {
  if (id == 0 || pending(kind).id != id) return false;
  forget(kind);
  return true;
}

void ElectionStepper::forget(RequestKind kind) {
  pending(kind).id = 0;  // The time of sending stays readable for the handler of the answer.
  const TimerKind deadline = deadlineOf(kind);
  if (deadline != TimerKind::Count) disarm(deadline);
}

void ElectionStepper::forgetCoordinatorRequests() {
  for (size_t i = 0; i <= static_cast<size_t>(RequestKind::Members); ++i) {
    forget(static_cast<RequestKind>(i));
  }
}

bool ElectionStepper::isIdle() const {
  return s_.phase == FailoverState::Standby || s_.phase == FailoverState::Observer ||
         s_.phase == FailoverState::Joining || s_.phase == FailoverState::Contending;
}

bool sendToCoordinator(const Action& action, Coordinator& coordinator) {
  if (const auto* open = std::get_if<OpenSession>(&action)) {
    coordinator.open(open->generation);
  } else if (std::holds_alternative<CloseSession>(action)) {
    coordinator.close();
  } else if (const auto* join = std::get_if<SendJoin>(&action)) {
    coordinator.join(join->id, join->request);
  } else if (const auto* view = std::get_if<SendView>(&action)) {
    coordinator.readView(view->id, view->sync);
  } else if (const auto* acquire = std::get_if<SendAcquire>(&action)) {
    coordinator.acquire(acquire->id, acquire->request);
  } else if (const auto* renew = std::get_if<SendRenew>(&action)) {
    coordinator.renew(renew->id, renew->self);
  } else if (const auto* release = std::get_if<SendRelease>(&action)) {
    coordinator.release(release->id, release->epoch_version);
  } else if (const auto* members = std::get_if<SendMembers>(&action)) {
    coordinator.readMembers(members->id);
  } else {
    return false;
  }
  return true;
}

}  // namespace baton::ha
