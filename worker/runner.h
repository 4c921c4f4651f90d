#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/protocol/heartbeat.h"
#include "worker/shepherd_message.h"

// One execution slot as a pure state machine: events with the time go in, actions come out. It
// knows no socket, file, process or clock, so that the whole protocol can be simulated.
namespace baton::worker {

// What a runner asks its driver to do. The actions of one call are done in their order, and what
// a Persist action says is durable before the next action is begun: that is how a power loss can
// neither start an attempt twice nor make a runner forget an epoch that it acted on.
struct SendHeartbeat {
  HeartbeatRequest request;  // The driver adds labels and figures.
};
// The answer to that request is not wanted any more; its connection may be closed.
struct AbandonHeartbeat {
  uint64_t seq = 0;
};
struct PersistEpoch {
  std::string cluster_guid;
  Epoch epoch = 0;
};
struct PersistAccept {
  Order order;
  Epoch epoch = 0;
};
struct StartAttempt {
  Order order;
  Epoch epoch = 0;
};
// TERM to the tree, KILL after the grace.
struct StopAttempt {
  AttemptKey key;
  StopReason why = StopReason::Reset;
  Millis grace{0};
};
struct PersistResult {
  AttemptKey key;
  AttemptResult result;
  BootTime ended{};
  StopReason why = StopReason::None;
};
// The master has the result: it may leave the disk.
struct Settle {
  AttemptKey key;
};
// For the operator: something that must not happen.
struct Alarm {
  std::string text;
};
using RunnerAction = std::variant<SendHeartbeat, AbandonHeartbeat, PersistEpoch, PersistAccept,
                                  StartAttempt, StopAttempt, PersistResult, Settle, Alarm>;
using RunnerActions = std::vector<RunnerAction>;

// Shortest and longest heartbeat interval of a cluster.
inline constexpr Millis kHeartbeatMin{200};
inline constexpr Millis kHeartbeatMax{300'000};

struct RunnerOptions {
  std::string runner_id;
  std::string worker_id;
  std::string host;
  std::string boot_id;
  std::string version;
  std::string worker_address;
  std::string journal_id;
  uint64_t incarnation = 0;
  Millis heartbeat{30'000};  // H, until a reply tells the cluster's.
  uint64_t jitter_seed = 0;
};

// What is known of a slot when its daemon starts: the journal's word joined with the shepherd's.
struct RestoredSlot {
  enum class Phase : uint8_t {
    Idle,
    Accepted,  // Proved to have never been started: to be started now.
    Running,
    Ended,  // Its result was not yet taken by a master.
  };
  std::string cluster_guid;
  Epoch epoch = 0;
  bool has_last_order = false;
  AttemptKey last_order;
  Phase phase = Phase::Idle;
  Order order;  // Unless Idle.
  Epoch order_epoch = 0;
  BootTime started{};                 // Running.
  StopReason why = StopReason::None;  // Running: it is being stopped; Ended: it was.
  AttemptResult result;               // Ended.
  BootTime ended{};
};

class Runner {
 public:
  enum class Phase : uint8_t {
    Idle,
    Starting,  // Accepted; the shepherd has not said yet that it runs.
    Running,
    Stopping,  // A RESET was accepted: whatever comes, the attempt was stopped.
    Ended,     // FINISHED or FAILED, until a master has taken it.
  };

  Runner(RunnerOptions options, const RestoredSlot& restored);

  // All of these return what is to be done now.
  RunnerActions start(BootTime now);
  // Any 200 reply, late and doubled ones too.
  RunnerActions onReply(BootTime now, const HeartbeatReply& reply);
  // The request with that number will get no answer that counts (refused, broken, not a 200);
  // `pause` is how long to wait at least.
  RunnerActions onNoReply(BootTime now, uint64_t seq, Millis pause = Millis(0));
  RunnerActions onStarted(BootTime now, const AttemptKey& key, BootTime started);
  // Nothing of the attempt is left. `why`: the stop that had reached it before it ended.
  RunnerActions onEnded(BootTime now, const AttemptKey& key, AttemptResult result, BootTime ended,
                        StopReason why);
  // Whether a master is known to lead. A newly known one ends the request in flight and is told
  // the state at once; while none is known nothing is sent.
  RunnerActions onMaster(BootTime now, bool known);
  // The daemon is about to go for so long; tasks stay. No order is accepted from here on.
  RunnerActions onLeaving(BootTime now, Millis leaving);
  // To be called at nextDue(); earlier or later does no harm.
  RunnerActions onTime(BootTime now);
  std::optional<BootTime> nextDue() const;

  Phase phase() const { return phase_; }
  bool awaitsReply() const { return sent_.has_value(); }
  uint64_t seq() const { return seq_; }
  Epoch epoch() const { return epoch_; }
  const std::string& clusterGuid() const { return cluster_guid_; }
  Millis heartbeat() const { return heartbeat_; }
  // The accepted attempt whose end no master knows yet.
  const std::optional<Order>& openOrder() const { return order_; }
  Epoch openEpoch() const { return order_epoch_; }

 private:
  struct Sent {
    uint64_t seq = 0;
    BootTime at{};
    BootTime give_up{};
    bool carries_result = false;
    bool carries_closing = false;
  };
  struct Closing {
    AttemptKey key;
    AttemptResult result;
    BootTime ended{};
  };

  bool accepts(const HeartbeatReply& reply, RunnerActions& actions);
  void obey(BootTime now, const HeartbeatReply& reply, const Sent& sent, RunnerActions& actions);
  void acceptOrder(BootTime now, const HeartbeatReply& reply, const Sent& sent,
                   RunnerActions& actions);
  void beginStop(BootTime now, RunnerActions& actions);
  void settle(RunnerActions& actions);
  void beatAt(BootTime when) { next_beat_ = when; }
  void sendIfDue(BootTime now, RunnerActions& actions);
  HeartbeatRequest compose(BootTime now) const;
  Millis waitTime() const;
  void noteUnanswered(BootTime now, Millis pause);
  std::optional<BootTime> timeoutAt() const;

  const RunnerOptions options_;
  Random jitter_;
  Millis heartbeat_;
  std::string cluster_guid_;
  Epoch epoch_ = 0;
  bool has_last_order_ = false;
  AttemptKey last_order_;

  Phase phase_ = Phase::Idle;
  std::optional<Order> order_;
  Epoch order_epoch_ = 0;
  BootTime started_{};
  bool timeout_stop_ = false;  // The attempt is being stopped because its time is over.
  AttemptResult result_;       // With Ended.
  BootTime ended_{};
  std::optional<Closing> closing_;  // Of the stopped attempt, until an answer to it came.

  bool master_known_ = false;
  Millis leaving_{0};
  uint64_t seq_ = 0;
  std::optional<Sent> sent_;  // The newest request, while its answer is awaited.
  BootTime next_beat_ = BootTime::max();
};

}  // namespace baton::worker
