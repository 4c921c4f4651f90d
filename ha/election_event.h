#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "dao/epoch_store.h"
#include "ha/active_service.h"
#include "ha/coordinator.h"

namespace baton::ha {

// The committed epoch row and the cluster's guid, or why they could not be read.
struct ProbeReply {
  uint64_t id = 0;
  std::optional<ErrorCode> error;
  std::string message;
  dao::EpochRow row;
  std::string cluster_guid;
};
struct BumpReply {
  uint64_t id;
  std::optional<ErrorCode> error;
  std::string message;
};
struct PromoteReply {
  uint64_t id;
  std::optional<ErrorCode> error;
  std::string message;
};
struct DrainReply {
  uint64_t id;
};
struct DemoteReply {
  uint64_t id;
};

struct StartRequested {};
struct StopRequested {};
struct Tick {};  // A timer of the state is due.
struct TimeJumped {
  int64_t gap_ms;
};
struct EpochDoubted {
  uint64_t seen_epoch;
  std::string source;
};  // onFenced, onHigherEpoch.
struct ServiceFailed {
  std::string why;
  bool give_up_lock;
};
struct HandOverAsked {
  std::string why;
};

using Event = std::variant<StartRequested, StopRequested, Tick, SessionUp, SessionDown,
                           SessionExpired, SessionRefused, SessionFailed, JoinReply, ViewReply,
                           AcquireReply, RenewReply, ReleaseReply, MembersReply, ViewChanged,
                           MembersChanged, ProbeReply, BumpReply, PromoteReply, DrainReply,
                           DemoteReply, TimeJumped, EpochDoubted, ServiceFailed, HandOverAsked>;

// What a step asks for. Requests are answered by the event of the same name and id.
struct OpenSession {
  uint64_t generation;
};
struct CloseSession {};
struct SendJoin {
  uint64_t id;
  JoinRequest request;
};
struct SendView {
  uint64_t id;
  bool sync;
};
struct SendAcquire {
  uint64_t id;
  AcquireRequest request;
};
struct SendRenew {
  uint64_t id;
  MemberRecord self;
};
struct SendRelease {
  uint64_t id;
  int32_t epoch_version;
};
struct SendMembers {
  uint64_t id;
};
struct SendProbe {
  uint64_t id;
};
struct StartBump {
  uint64_t id;
  dao::EpochClaim claim;
};
struct StartPromote {
  uint64_t id;
  Leadership leadership;
};
struct StartDrain {
  uint64_t id;
};
// Ends the role; a promote that still runs is cancelled first. `released_epoch` above 0: the role
// is given up in order, so the epoch row says Released afterwards.
struct StartDemote {
  uint64_t id;
  std::string why;
  uint64_t released_epoch;
};
struct FreezeService {
  std::string why;
};
struct ResumeService {
  Leadership leadership;
};

using Action = std::variant<OpenSession, CloseSession, SendJoin, SendView, SendAcquire, SendRenew,
                            SendRelease, SendMembers, SendProbe, StartBump, StartPromote,
                            StartDrain, StartDemote, FreezeService, ResumeService>;

// Hands an action that is the coordinator's to it; false for all others.
bool sendToCoordinator(const Action& action, Coordinator& coordinator);

}  // namespace baton::ha
