#include "worker/runner.h"

#include <algorithm>

#include "common/base/mutant.h"

namespace baton::worker {
namespace {

// A process that ends within this time is reported by its end alone.
constexpr Millis kShortRun{20};
// However quick the answers, a slot does not beat faster than this without news.
constexpr Millis kPauseMin{5};
constexpr Millis kWaitMax{10'000};
constexpr Millis kPatienceMax{2'000};
constexpr int64_t kBackoffMinMs = 100;
constexpr int64_t kBackoffMaxMs = 500;

int64_t millisBetween(BootTime from, BootTime to) {
  return std::max<int64_t>(std::chrono::duration_cast<Millis>(to - from).count(), 0);
}

}  // namespace

Runner::Runner(RunnerOptions options, const RestoredSlot& restored)
    : options_(std::move(options)),
      jitter_(options_.jitter_seed),
      heartbeat_(std::clamp(options_.heartbeat, kHeartbeatMin, kHeartbeatMax)),
      cluster_guid_(restored.cluster_guid),
      epoch_(restored.epoch),
      has_last_order_(restored.has_last_order),
      last_order_(restored.last_order) {
  if (restored.phase == RestoredSlot::Phase::Idle) return;
  order_ = restored.order;
  order_epoch_ = restored.order_epoch;
  switch (restored.phase) {
    case RestoredSlot::Phase::Idle:
      break;
    case RestoredSlot::Phase::Accepted:
      phase_ = Phase::Starting;
      break;
    case RestoredSlot::Phase::Running:
      phase_ = restored.why == StopReason::Reset ? Phase::Stopping : Phase::Running;
      timeout_stop_ = restored.why == StopReason::Timeout;
      started_ = restored.started;
      break;
    case RestoredSlot::Phase::Ended:
      result_ = restored.result;
      ended_ = restored.ended;
      phase_ = Phase::Ended;
      if (restored.why == StopReason::Reset) {
        closing_ = Closing{order_->key, result_, ended_};
        order_.reset();
        phase_ = Phase::Idle;
      }
      break;
  }
}

RunnerActions Runner::start(BootTime now) {
  RunnerActions actions;
  if (phase_ == Phase::Starting) {
    actions.push_back(StartAttempt{.order = *order_, .epoch = order_epoch_});
    beatAt(now + heartbeat_);
  } else {
    beatAt(now);
  }
  sendIfDue(now, actions);
  return actions;
}

// A reply is obeyed only if it is the answer to the newest request of this very incarnation, from
// this cluster, and no older master's.
bool Runner::accepts(const HeartbeatReply& reply, RunnerActions& actions) {
  if (!cluster_guid_.empty() && reply.cluster_guid != cluster_guid_) {
    actions.push_back(Alarm{fmt::format("a master of cluster {} answered runner {} of cluster {}",
                                        reply.cluster_guid, options_.runner_id, cluster_guid_)});
    return false;
  }
  return reply.epoch >= epoch_ || mutant("old_epoch_accepted");
}

RunnerActions Runner::onReply(BootTime now, const HeartbeatReply& reply) {
  RunnerActions actions;
  if (!sent_ || reply.incarnation != options_.incarnation || reply.seq != sent_->seq) {
    return actions;
  }
  const Sent sent = *sent_;
  sent_.reset();
  if (!accepts(reply, actions)) {
    noteUnanswered(now, Millis(0));
    return actions;
  }
  if (reply.epoch > epoch_ || cluster_guid_.empty()) {
    epoch_ = std::max(epoch_, reply.epoch);
    cluster_guid_ = reply.cluster_guid;
    actions.push_back(PersistEpoch{.cluster_guid = cluster_guid_, .epoch = epoch_});
  }
  const Millis interval(reply.interval_ms);
  const Millis told(reply.heartbeat_ms > 0 ? reply.heartbeat_ms : reply.interval_ms);
  if (told.count() > 0) heartbeat_ = std::clamp(told, kHeartbeatMin, kHeartbeatMax);
  beatAt(now + std::clamp(interval, kPauseMin, kHeartbeatMax));
  obey(now, reply, sent, actions);
  sendIfDue(now, actions);
  return actions;
}

void Runner::obey(BootTime now, const HeartbeatReply& reply, const Sent& sent,
                  RunnerActions& actions) {
  if (sent.carries_closing && closing_) {
    actions.push_back(Settle{.key = closing_->key});
    closing_.reset();
  }
  if (reply.command == Command::GoOn) return;
  if (phase_ == Phase::Ended && sent.carries_result) {
    settle(actions);
    beatAt(now);
  }
  switch (phase_) {
    case Phase::Starting:
    case Phase::Running:
      // A RUN_NEW comes again when the slot says that it is idle: it was not accepted.
      beginStop(now, actions);
      return;
    case Phase::Stopping:
      beatAt(now + heartbeat_);
      return;
    case Phase::Ended:
      return;  // Not told yet, hence not acknowledged.
    case Phase::Idle:
      if (reply.command == Command::RunNew) acceptOrder(now, reply, sent, actions);
      return;
  }
}

void Runner::settle(RunnerActions& actions) {
  actions.push_back(Settle{.key = order_->key});
  order_.reset();
  result_ = {};
  phase_ = Phase::Idle;
}

void Runner::acceptOrder(BootTime now, const HeartbeatReply& reply, const Sent& sent,
                         RunnerActions& actions) {
  if (leaving_.count() > 0 || !reply.order) return;
  // The master may have given up on an order that took so long; it sends it again if not.
  if (now - sent.at >= heartbeat_) return beatAt(now);
  if (has_last_order_ && reply.order->key == last_order_) {
    actions.push_back(
        Alarm{fmt::format("runner {} was told to start attempt {} of task {} again",
                          options_.runner_id, last_order_.attempt, last_order_.task_id)});
    return beatAt(now + heartbeat_);
  }
  order_ = reply.order;
  order_epoch_ = reply.epoch;
  has_last_order_ = true;
  last_order_ = order_->key;
  started_ = BootTime{};
  timeout_stop_ = false;
  phase_ = Phase::Starting;
  actions.push_back(PersistAccept{.order = *order_, .epoch = order_epoch_});
  actions.push_back(StartAttempt{.order = *order_, .epoch = order_epoch_});
  beatAt(now + heartbeat_);
}

void Runner::beginStop(BootTime now, RunnerActions& actions) {
  phase_ = Phase::Stopping;
  actions.push_back(
      StopAttempt{.key = order_->key, .why = StopReason::Reset, .grace = order_->kill_grace});
  beatAt(now + heartbeat_);
}

RunnerActions Runner::onNoReply(BootTime now, uint64_t seq, Millis pause) {
  RunnerActions actions;
  if (sent_ && sent_->seq == seq) {
    sent_.reset();
    noteUnanswered(now, pause);
  }
  return actions;
}

void Runner::noteUnanswered(BootTime now, Millis pause) {
  const Millis backoff(jitter_.between(kBackoffMinMs, kBackoffMaxMs));
  beatAt(now + std::max(pause, backoff));
}

RunnerActions Runner::onStarted(BootTime now, const AttemptKey& key, BootTime started) {
  RunnerActions actions;
  if (!order_ || order_->key != key) return actions;
  started_ = started;
  if (phase_ == Phase::Starting) {
    phase_ = Phase::Running;
    beatAt(std::max(started + kShortRun, now));
  }
  sendIfDue(now, actions);
  return actions;
}

RunnerActions Runner::onEnded(BootTime now, const AttemptKey& key, AttemptResult result,
                              BootTime ended, StopReason why) {
  RunnerActions actions;
  if (!order_ || order_->key != key || phase_ == Phase::Ended || phase_ == Phase::Idle) {
    return actions;
  }
  const bool was_stopped = phase_ == Phase::Stopping || why == StopReason::Reset;
  if (!was_stopped && why == StopReason::Timeout) {
    result.reason = FailureReason::Timeout;
    if (result.reason_text.empty()) {
      result.reason_text = fmt::format("stopped after {} ms", order_->timeout.count());
    }
  }
  actions.push_back(PersistResult{
      .key = key, .result = result, .ended = ended, .why = was_stopped ? StopReason::Reset : why});
  timeout_stop_ = false;
  if (was_stopped) {
    closing_ = Closing{key, std::move(result), ended};
    order_.reset();
    phase_ = Phase::Idle;
  } else {
    result_ = std::move(result);
    ended_ = ended;
    phase_ = Phase::Ended;
  }
  beatAt(now);
  sendIfDue(now, actions);
  return actions;
}

RunnerActions Runner::onMaster(BootTime now, bool known) {
  RunnerActions actions;
  if (sent_) actions.push_back(AbandonHeartbeat{.seq = sent_->seq});
  sent_.reset();
  master_known_ = known;
  // A slot whose start is under way has nothing to tell yet.
  beatAt(phase_ == Phase::Starting ? now + heartbeat_ : now);
  sendIfDue(now, actions);
  return actions;
}

RunnerActions Runner::onLeaving(BootTime now, Millis leaving) {
  RunnerActions actions;
  leaving_ = leaving;
  beatAt(now);
  sendIfDue(now, actions);
  return actions;
}

std::optional<BootTime> Runner::timeoutAt() const {
  if (phase_ != Phase::Running || !order_ || order_->timeout.count() == 0 || timeout_stop_) {
    return std::nullopt;
  }
  return started_ + order_->timeout;
}

RunnerActions Runner::onTime(BootTime now) {
  RunnerActions actions;
  if (const auto timeout = timeoutAt(); timeout && *timeout <= now) {
    timeout_stop_ = true;
    actions.push_back(
        StopAttempt{.key = order_->key, .why = StopReason::Timeout, .grace = order_->kill_grace});
  }
  if (sent_ && sent_->give_up <= now) {
    actions.push_back(AbandonHeartbeat{.seq = sent_->seq});
    sent_.reset();
    noteUnanswered(now, Millis(0));
  }
  sendIfDue(now, actions);
  return actions;
}

std::optional<BootTime> Runner::nextDue() const {
  BootTime due = BootTime::max();
  if (const auto timeout = timeoutAt()) due = std::min(due, *timeout);
  if (sent_) due = std::min(due, sent_->give_up);
  if (master_known_) due = std::min(due, next_beat_);
  if (due == BootTime::max()) return std::nullopt;
  return due;
}

Millis Runner::waitTime() const {
  const bool may_be_held = phase_ == Phase::Idle || (phase_ == Phase::Running && !timeout_stop_);
  if (!may_be_held || leaving_.count() > 0) return Millis(0);
  return std::min(kWaitMax, heartbeat_ / 2);
}

void Runner::sendIfDue(BootTime now, RunnerActions& actions) {
  if (!master_known_ || next_beat_ > now) return;
  // A newer pair supersedes the one in flight: the master ends that one when it sees this.
  ++seq_;
  SendHeartbeat send{.request = compose(now)};
  const Millis wait(send.request.wait_ms);
  sent_ = Sent{.seq = seq_,
               .at = now,
               .give_up = now + wait + std::min(kPatienceMax, heartbeat_),
               .carries_result = phase_ == Phase::Ended,
               .carries_closing = closing_.has_value()};
  next_beat_ = BootTime::max();
  actions.push_back(std::move(send));
}

HeartbeatRequest Runner::compose(BootTime now) const {
  HeartbeatRequest request;
  request.runner_id = options_.runner_id;
  request.worker_id = options_.worker_id;
  request.host = options_.host;
  request.boot_id = options_.boot_id;
  request.version = options_.version;
  request.worker_address = options_.worker_address;
  request.cluster_guid = cluster_guid_;
  request.journal_id = options_.journal_id;
  request.incarnation = options_.incarnation;
  request.seq = seq_;
  request.has_last_order = has_last_order_;
  request.last_order = last_order_;
  request.epoch = epoch_;
  request.leaving_ms = leaving_.count();
  request.wait_ms = waitTime().count();
  switch (phase_) {
    case Phase::Idle:
      if (closing_) {
        request.current = closing_->key;
        request.result = closing_->result;
        request.result.ended_ms = millisBetween(closing_->ended, now);
      }
      break;
    case Phase::Starting:
    case Phase::Running:
    case Phase::Stopping:
      request.status = RunnerStatus::Running;
      request.current = order_->key;
      break;
    case Phase::Ended:
      request.status =
          result_.reason == FailureReason::None ? RunnerStatus::Finished : RunnerStatus::Failed;
      request.current = order_->key;
      request.result = result_;
      request.result.ended_ms = millisBetween(ended_, now);
      break;
  }
  return request;
}

}  // namespace baton::worker
