#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ha/election_event.h"
#include "ha/election_state.h"
#include "ha/election_step.h"

namespace baton::ha {

// One step under way: the state that is being changed and the actions gathered so far.
// Lives for one call of step(); split over election_*.cc by subject.
class ElectionStepper {
 public:
  ElectionStepper(const ElectionConfig& config, ElectionState& state, BootTime now)
      : config_(config), s_(state), now_(now) {}

  void handle(const Event& event);
  std::vector<Action> takeActions() { return std::move(actions_); }

 private:
  // Life and timers (election_step.cc).
  void on(const StartRequested& event);
  void on(const StopRequested& event);
  void on(const Tick& event);
  void fire(TimerKind kind);
  void requestTimedOut(RequestKind kind);

  // Session and joining (election_session.cc).
  void on(const SessionUp& event);
  void on(const SessionDown& event);
  void on(const SessionExpired& event);
  void on(const SessionRefused& event);
  void on(const SessionFailed& event);
  void on(const JoinReply& event);
  void openSession();
  void closeSession();
  void reopenSession(Millis delay);
  void sessionLost(const std::string& why);
  void enterJoining();
  void sendJoin(const std::string& create_guid);
  void joinAnswered(const JoinReply& reply);
  void clusterAbsent();
  void fatal(const std::string& why);
  // Handles the codes that mean the same for every request; true if it was one of them.
  bool commonFailure(CoordCode code, const std::string& what);

  // Reading and contending (election_contend.cc).
  void on(const ViewReply& event);
  void on(const ViewChanged& event);
  void on(const MembersReply& event);
  void on(const MembersChanged& event);
  void on(const AcquireReply& event);
  void requestView(bool sync);
  void requestMembers();
  void decideIdle();
  void beginContending();
  void tryAcquire();
  void decideVerifying();
  void becomeIdle(const std::string& why);
  void holdOff(Millis delay);
  void hastenContending();
  Millis rankDelay() const;
  Millis jitterBackoff();
  bool otherCandidateExists() const;
  bool lockIsMine() const;

  // The database's answers (election_probe.cc).
  void on(const ProbeReply& event);
  void sendProbe();
  void sendFreshProbe();
  bool rowIsMine(const dao::EpochRow& row) const;
  bool probeCounts(const ProbeReply& reply) const { return reply.id >= s_.probe_min_id; }
  void probedInPromote(const ProbeReply& reply);
  void probedInRole(const ProbeReply& reply);
  bool databaseOk() const;
  void databaseSeen(BootTime at);
  void databaseLimit();
  void databaseLost();

  // The role (election_role.cc).
  void on(const BumpReply& event);
  void on(const PromoteReply& event);
  void on(const DrainReply& event);
  void on(const DemoteReply& event);
  void on(const TimeJumped& event);
  void on(const EpochDoubted& event);
  void on(const ServiceFailed& event);
  void on(const HandOverAsked& event);
  void enterPromoting(uint64_t epoch, const std::string& how);
  void promoteView();
  void startBump();
  void bumped();
  void promoteFailed(const std::string& why);
  void roleView();
  void becomeActive();
  void resumeRole();
  void doubtRole(const std::string& why);
  void drain(const std::string& why);
  void freeze(const std::string& why);
  void loseRole(const std::string& why);
  void demote(const std::string& why, bool release, AfterDemote after);
  void finishDemote();
  void countLoss();
  void leaseEnded();

  // Renewals and release (election_renew.cc).
  void on(const RenewReply& event);
  void on(const ReleaseReply& event);
  void sendRenew();
  MemberRecord selfRecord() const;

  // Helpers.
  void enter(FailoverState phase, const std::string& reason);
  uint64_t ask(RequestKind kind);  // New id; arms the deadline of coordinator requests.
  bool answered(RequestKind kind, uint64_t id);  // Is it the awaited answer? Clears it.
  bool waiting(RequestKind kind) const { return pending(kind).id != 0; }
  void forget(RequestKind kind);
  void forgetCoordinatorRequests();
  PendingRequest& pending(RequestKind kind) { return s_.pending[static_cast<size_t>(kind)]; }
  const PendingRequest& pending(RequestKind kind) const {
    return s_.pending[static_cast<size_t>(kind)];
  }
  BootTime& timer(TimerKind kind) { return s_.timers[static_cast<size_t>(kind)]; }
  void arm(TimerKind kind, Micros delay) { timer(kind) = now_ + delay; }
  void disarm(TimerKind kind) { timer(kind) = kNever; }
  bool isIdle() const;
  void emit(Action action) { actions_.push_back(std::move(action)); }
  template <typename T>
  bool fromCurrentHandle(const T& event) const {
    return s_.handle_open && event.generation == s_.generation;
  }

  const ElectionConfig& config_;
  ElectionState& s_;
  const BootTime now_;
  std::vector<Action> actions_;
};

}  // namespace baton::ha
