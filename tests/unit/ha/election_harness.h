#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ha/election_step.h"

namespace baton::test {

// Drives the step function by hand: events in, the last actions out, time as told.
class ElectionHarness {
 public:
  static constexpr int64_t kSessionMs = 3000;
  static constexpr int64_t kSessionId = 77;

  ElectionHarness() {
    config.self.node_id = "m1";
    config.self.incarnation = "inc-1";
    config.self.address = "m1:8080";
    row.cluster_guid = "guid";
  }

  void send(const ha::Event& event) {
    ha::StepResult result = ha::step(config, std::move(state), event, now);
    state = std::move(result.state);
    actions = std::move(result.actions);
    all.insert(all.end(), actions.begin(), actions.end());
  }
  // Moves time and fires what is due on the way, like the elector does.
  void advance(Micros by) {
    const BootTime end = now + by;
    while (state.nextTimer() <= end) {
      now = std::max(now, state.nextTimer());
      send(ha::Tick{});
    }
    now = end;
  }
  // The newest action of that kind since the last forget().
  template <typename T>
  std::optional<T> last() const {
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (const T* found = std::get_if<T>(&*it)) return *found;
    }
    return std::nullopt;
  }
  template <typename T>
  size_t count() const {
    size_t number = 0;
    for (const ha::Action& action : all) number += std::holds_alternative<T>(action) ? 1 : 0;
    return number;
  }
  void forget() { all.clear(); }
  uint64_t g() const { return state.generation; }

  // Answers.
  void joinAnswer(ha::CoordCode code = ha::CoordCode::Ok, const std::string& guid = "guid") {
    send(ha::JoinReply{g(), last<ha::SendJoin>()->id, code, guid});
  }
  void viewAnswer(ha::CoordCode code = ha::CoordCode::Ok) {
    send(ha::ViewReply{g(), last<ha::SendView>()->id, code, view});
  }
  void probeAnswer() {
    ha::ProbeReply reply;
    reply.id = last<ha::SendProbe>()->id;
    reply.row = row;
    reply.cluster_guid = row.cluster_guid;
    send(reply);
  }
  void probeFails() {
    ha::ProbeReply reply;
    reply.id = last<ha::SendProbe>()->id;
    reply.error = ErrorCode::Unavailable;
    send(reply);
  }
  void membersAnswer() {
    send(ha::MembersReply{g(), last<ha::SendMembers>()->id, ha::CoordCode::Ok, members});
  }
  void acquireAnswer(ha::CoordCode code) {
    if (code == ha::CoordCode::Ok) lockIsMine();
    send(ha::AcquireReply{g(), last<ha::SendAcquire>()->id, code});
  }
  void bumpAnswer(std::optional<ErrorCode> error = std::nullopt) {
    const ha::StartBump job = *last<ha::StartBump>();
    if (!error) rowIsMine(job.claim.epoch);
    send(ha::BumpReply{job.id, error, "told to fail"});
  }
  void promoteAnswer(std::optional<ErrorCode> error = std::nullopt) {
    send(ha::PromoteReply{last<ha::StartPromote>()->id, error, "told to fail"});
  }
  void renewAnswer(ha::CoordCode code = ha::CoordCode::Ok) {
    send(ha::RenewReply{g(), last<ha::SendRenew>()->id, code});
  }
  void demoteAnswer() { send(ha::DemoteReply{last<ha::StartDemote>()->id}); }

  // The world as the next answers show it.
  void lockIsMine() {
    const ha::SendAcquire request = *last<ha::SendAcquire>();
    view.epoch = request.request.lock.epoch;
    view.epoch_version = request.request.epoch_version + 1;
    view.lock = ha::LockView{};
    view.lock->owner_session = kSessionId;
    view.lock->czxid = 5;
    view.lock->record = request.request.lock;
  }
  void lockIsOthers(uint64_t epoch = 5) {
    view.epoch = epoch;
    view.lock = ha::LockView{};
    view.lock->owner_session = 1234;
    view.lock->record.who.node_id = "m2";
    view.lock->record.who.incarnation = "inc-2";
    view.lock->record.epoch = epoch;
  }
  void lockIsAbsent() { view.lock.reset(); }
  void rowIsMine(uint64_t epoch) {
    row.epoch = epoch;
    row.node_id = "m1";
    row.incarnation = "inc-1";
  }
  void addMember(const std::string& node, int32_t priority, int64_t czxid) {
    ha::MemberRecord member;
    member.who.node_id = node;
    member.priority = priority;
    member.czxid = czxid;
    members.push_back(member);
  }

  // Ways into a state.
  void toConnecting() { send(ha::StartRequested{}); }
  void toJoining() {
    toConnecting();
    send(ha::SessionUp{g(), kSessionId, kSessionMs});
  }
  void toStandby() {
    toJoining();
    probeAnswer();
    lockIsOthers();
    joinAnswer();
    membersAnswer();
    viewAnswer();
    ASSERT_EQ(state.phase, ha::FailoverState::Standby);
  }
  void toContending() {
    toStandby();
    lockIsAbsent();
    send(ha::ViewChanged{g()});
    viewAnswer();
    ASSERT_TRUE(state.phase == ha::FailoverState::Contending) << ha::toString(state.phase);
  }
  void toAcquiring() {
    toContending();
    probeAnswer();
    ASSERT_EQ(state.phase, ha::FailoverState::Acquiring);
  }
  void toPromoting() {
    toAcquiring();
    acquireAnswer(ha::CoordCode::Ok);
    viewAnswer();
    ASSERT_EQ(state.phase, ha::FailoverState::Promoting);
  }
  void toActive() {
    toPromoting();
    bumpAnswer();
    promoteAnswer();
    ASSERT_EQ(state.phase, ha::FailoverState::Active);
  }
  void toIsolated() {
    toActive();
    send(ha::SessionDown{g()});
    advance(ha::leaseLength(kSessionMs) + Millis(1));
    ASSERT_EQ(state.phase, ha::FailoverState::ActiveIsolated);
  }

  ha::ElectionConfig config;
  ha::ElectionState state;
  BootTime now{Seconds(1000)};
  std::vector<ha::Action> actions;  // Of the last event.
  std::vector<ha::Action> all;
  ha::ElectionView view{.epoch = 5, .epoch_version = 3, .paused = false, .lock = std::nullopt};
  std::vector<ha::MemberRecord> members;
  dao::EpochRow row;
};

}  // namespace baton::test
