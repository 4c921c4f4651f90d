#include "tests/simulation/heartbeat/sim_worker.h"
#include "tests/support/chance.h"

#include <fmt/format.h>

#include <algorithm>

namespace baton::test {

using worker::RestoredSlot;
using worker::Runner;
using worker::StopReason;

SimWorker::SimWorker(SimWorld& world, SimLedger& ledger, std::string id, size_t slots,
                     Millis heartbeat, Send send)
    : world_(world),
      ledger_(ledger),
      id_(std::move(id)),
      slot_count_(slots),
      heartbeat_(heartbeat),
      send_(std::move(send)) {
  disk_.journal_id = fmt::format("{}-journal-{}", id_, ++journals_);
  disk_.slots.resize(slots);
}

// ------------------------------------------------------------------------------- the daemon

worker::RunnerOptions SimWorker::runnerOptions(size_t slot) const {
  worker::RunnerOptions options;
  options.runner_id = fmt::format("{}:{}", id_, slot);
  options.worker_id = id_;
  options.host = id_;
  options.journal_id = journal_.journal_id;
  options.incarnation = journal_.incarnation;
  options.heartbeat = heartbeat_;
  options.jitter_seed = world_.random.next();
  return options;
}

// The same decisions as WorkerDaemon::restoreOpen.
RestoredSlot SimWorker::restore(size_t slot) const {
  const worker::JournalSlot& kept = journal_.slots[slot];
  RestoredSlot restored;
  restored.cluster_guid = journal_.guid;
  restored.epoch = journal_.epoch;
  restored.has_last_order = kept.has_last_order;
  restored.last_order = kept.last_order;
  if (!kept.open) return restored;
  const AttemptKey& key = kept.open->key;
  restored.order = *kept.open;
  restored.order_epoch = kept.open_epoch;
  restored.phase = RestoredSlot::Phase::Ended;
  if (kept.result && kept.result->key == key) {
    restored.result = kept.result->result;
    restored.ended = kept.result->ended;
    restored.why = kept.result->why;
    return restored;
  }
  const auto process = processes_.find({key.task_id, key.attempt});
  if (process != processes_.end()) {
    restored.phase = RestoredSlot::Phase::Running;
    if (process->second.alive) {
      restored.started = process->second.started;
      restored.why = process->second.why;
    }
    return restored;
  }
  restored.phase = RestoredSlot::Phase::Accepted;
  return restored;
}

// As WorkerDaemon::journalLostAttempts: before there is a new shepherd.
void SimWorker::journalLostAttempts() {
  for (worker::JournalSlot& slot : disk_.slots) {
    if (!slot.open || slot.result) continue;
    const AttemptKey& key = slot.open->key;
    const bool started = std::find(lost_.begin(), lost_.end(), key) != lost_.end();
    AttemptResult result;
    result.reason = started ? FailureReason::RunnerReset : FailureReason::StartFailed;
    slot.result = worker::KeptResult{key, result, world_.now(), StopReason::None};
  }
}

void SimWorker::startDaemon() {
  drainPipe();  // What the daemon before has sent is read before the new one is answered.
  ++generation_;
  ++disk_.incarnation;
  ledger_.tell("{} daemon {} starts", id_, disk_.incarnation);
  if (!shepherd_continued_) journalLostAttempts();
  journal_ = disk_;
  flush_due_ = false;
  waiting_.clear();
  master_known_ = false;
  for (size_t i = 0; i < slot_count_; ++i) {
    slots_.push_back(std::make_unique<Runner>(runnerOptions(i), restore(i)));
  }
  timers_.assign(slot_count_, 0);
  const auto known = processes_;
  for (const auto& [id, process] : known) {
    if (!process.alive) {
      world_.after(Micros(0), ofThisDaemon([this, process] { onEnded(process); }));
    } else if (!slotOf(process.key)) {
      toShepherd([this, key = process.key] { stopProcess(key, StopReason::Reset, heartbeat_); });
    }
  }
  shepherd_continued_ = true;
  for (size_t i = 0; i < slot_count_; ++i) perform(i, slots_[i]->start(world_.now()));
}

void SimWorker::stopDaemon() {
  ledger_.tell("{} daemon {} is gone", id_, journal_.incarnation);
  // A sync that nobody acted on yet may have reached the disk.
  if (flush_due_ && test::chance(world_.random, 0.5)) disk_ = journal_;
  slots_.clear();
  ++generation_;
  master_known_ = false;
}

void SimWorker::announceLeave(Millis leaving) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    perform(i, slots_[i]->onLeaving(world_.now(), leaving));
  }
}

void SimWorker::onMaster(bool known) {
  ledger_.tell("{} {} a master", id_, known ? "knows" : "knows no");
  master_known_ = known;
  for (size_t i = 0; i < slots_.size(); ++i) perform(i, slots_[i]->onMaster(world_.now(), known));
}

void SimWorker::onReply(size_t slot, const HeartbeatReply& reply) {
  if (slots_.empty()) return;
  ledger_.tell("{}:{} hears ({}, {}) {} of epoch {}", id_, slot, reply.incarnation, reply.seq,
               toString(reply.command), reply.epoch);
  perform(slot, slots_[slot]->onReply(world_.now(), reply));
}

void SimWorker::onNoReply(uint64_t generation, size_t slot, uint64_t seq, Millis pause) {
  if (slots_.empty() || generation != generation_) return;
  perform(slot, slots_[slot]->onNoReply(world_.now(), seq, pause));
}

std::function<void()> SimWorker::ofThisDaemon(std::function<void()> action) {
  return [this, generation = generation_, action = std::move(action)] {
    if (generation == generation_ && running()) action();
  };
}

void SimWorker::arm(size_t slot) {
  const uint64_t timer = ++timers_[slot];
  const auto due = slots_[slot]->nextDue();
  if (!due) return;
  const Micros delay = std::max(Micros(0), *due - world_.now());
  world_.after(delay, ofThisDaemon([this, slot, timer] {
                 if (timers_[slot] != timer) return;
                 worker::RunnerActions actions = slots_[slot]->onTime(world_.now());
                 const bool given_up =
                     std::any_of(actions.begin(), actions.end(), [](const auto& action) {
                       return std::holds_alternative<worker::AbandonHeartbeat>(action);
                     });
                 perform(slot, std::move(actions));
                 if (given_up && on_given_up) on_given_up();
               }));
}

void SimWorker::perform(size_t slot, worker::RunnerActions actions) {
  for (worker::RunnerAction& action : actions) performOne(slot, action);
  arm(slot);
}

void SimWorker::performOne(size_t slot, worker::RunnerAction& action) {
  worker::JournalSlot& kept = journal_.slots[slot];
  if (const auto* send = std::get_if<worker::SendHeartbeat>(&action)) {
    durable([this, slot, request = send->request] {
      if (*request.seq != slots_[slot]->seq() || !slots_[slot]->awaitsReply()) return;
      ledger_.tell("{}:{} says ({}, {}) {} {}/{}, last {}/{}", id_, slot, *request.incarnation,
                   *request.seq, toString(request.status), request.current.task_id,
                   request.current.attempt, request.last_order.task_id, request.last_order.attempt);
      send_(*this, slot, request);
    });
  } else if (const auto* epoch = std::get_if<worker::PersistEpoch>(&action)) {
    journal_.guid = epoch->cluster_guid;
    journal_.epoch = std::max(journal_.epoch, epoch->epoch);
    noteWritten();
  } else if (const auto* accept = std::get_if<worker::PersistAccept>(&action)) {
    ledger_.onOrderAccepted(accept->order.key);
    kept = {true, accept->order.key, accept->order, accept->epoch, {}};
    noteWritten();
  } else if (const auto* start = std::get_if<worker::StartAttempt>(&action)) {
    durable([this, slot, start = *start] {
      toShepherd(
          [this, start, runner = fmt::format("{}:{}", id_, slot)] { startProcess(start, runner); });
    });
  } else if (const auto* stop = std::get_if<worker::StopAttempt>(&action)) {
    durable([this, stop = *stop] {
      toShepherd([this, stop] { stopProcess(stop.key, stop.why, stop.grace); });
    });
  } else if (const auto* result = std::get_if<worker::PersistResult>(&action)) {
    kept.result = worker::KeptResult{result->key, result->result, result->ended, result->why};
    noteWritten();
    durable([this, key = result->key] {
      toShepherd([this, key] { processes_.erase({key.task_id, key.attempt}); });
    });
  } else if (const auto* settle = std::get_if<worker::Settle>(&action)) {
    if (kept.open && kept.open->key == settle->key) {
      kept.open.reset();
      kept.result.reset();
    }
  } else if (const auto* alarm = std::get_if<worker::Alarm>(&action)) {
    ledger_.fail("alarm: " + alarm->text);
  }
}

// ------------------------------------------------------------------------------ the journal

void SimWorker::durable(std::function<void()> task) {
  if (flush_due_) {
    waiting_.push_back(std::move(task));
  } else {
    task();
  }
}

void SimWorker::noteWritten() {
  if (flush_due_) return;
  flush_due_ = true;
  const bool slow = test::chance(world_.random, 0.02);
  world_.after(world_.between(0, slow ? 300'000 : 2'000), ofThisDaemon([this] { flush(); }));
}

void SimWorker::flush() {
  disk_ = journal_;
  flush_due_ = false;
  std::vector<std::function<void()>> waiting;
  waiting.swap(waiting_);
  for (auto& task : waiting) durable(std::move(task));
}

// ----------------------------------------------------------------------------- the shepherd

void SimWorker::toShepherd(std::function<void()> message) {
  pipe_.push_back(std::move(message));
  world_.after(world_.between(0, 2'000), [this] {
    if (pipe_.empty()) return;
    auto next = std::move(pipe_.front());
    pipe_.pop_front();
    next();
  });
}

void SimWorker::drainPipe() {
  while (!pipe_.empty()) {
    auto next = std::move(pipe_.front());
    pipe_.pop_front();
    next();
  }
}

std::optional<size_t> SimWorker::slotOf(const AttemptKey& key) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i]->openOrder() && slots_[i]->openOrder()->key == key) return i;
  }
  return std::nullopt;
}

void SimWorker::startProcess(const worker::StartAttempt& start, const std::string& runner) {
  const AttemptKey& key = start.order.key;
  const ProcessId id{key.task_id, key.attempt};
  if (processes_.contains(id)) {
    return ledger_.fail(fmt::format("the shepherd was to start task {} twice", key.task_id));
  }
  Process& process = processes_[id];
  process.key = key;
  process.started = world_.now();
  if (test::chance(world_.random, 0.03)) {
    ledger_.onStartFailed(key);
    process.ended = world_.now();
    process.result.reason = FailureReason::StartFailed;
    const Process copy = process;
    return world_.after(world_.between(0, 2'000), ofThisDaemon([this, copy] { onEnded(copy); }));
  }
  process.alive = true;
  ledger_.onProcessStart(key, runner);
  world_.after(world_.between(0, 2'000),
               ofThisDaemon([this, key, at = process.started] { onStarted(key, at); }));
  // Most are short; some outlast every fault.
  const int64_t longest = test::chance(world_.random, 0.2) ? 8'000'000 : 600'000;
  AttemptResult result;
  result.return_code = test::chance(world_.random, 0.25) ? 1 : 0;
  if (*result.return_code != 0) result.reason = FailureReason::ExitCode;
  world_.after(world_.between(1'000, longest), [this, id, result, shepherd = shepherd_generation_] {
    if (shepherd == shepherd_generation_) endProcess(id, result);
  });
}

void SimWorker::stopProcess(const AttemptKey& key, StopReason why, Millis grace) {
  const ProcessId id{key.task_id, key.attempt};
  const auto it = processes_.find(id);
  if (it == processes_.end() || !it->second.alive || it->second.why != StopReason::None) return;
  it->second.why = why;
  AttemptResult result;
  result.signal = 15;
  result.reason = FailureReason::Signal;
  const Micros latest = std::max<Micros>(grace, Millis(1));
  world_.after(world_.between(500, latest.count()),
               [this, id, result, shepherd = shepherd_generation_] {
                 if (shepherd == shepherd_generation_) endProcess(id, result);
               });
}

void SimWorker::endProcess(ProcessId id, AttemptResult result) {
  const auto it = processes_.find(id);
  if (it == processes_.end() || !it->second.alive) return;
  Process& process = it->second;
  process.alive = false;
  process.ended = world_.now();
  result.run_ms = std::chrono::duration_cast<Millis>(process.ended - process.started).count();
  process.result = result;
  ledger_.onProcessEnd(process.key, result);
  world_.after(world_.between(0, 2'000), ofThisDaemon([this, copy = process] { onEnded(copy); }));
}

void SimWorker::onStarted(const AttemptKey& key, BootTime started) {
  if (const auto slot = slotOf(key)) {
    perform(*slot, slots_[*slot]->onStarted(world_.now(), key, started));
  }
}

void SimWorker::onEnded(const Process& process) {
  const auto slot = slotOf(process.key);
  if (!slot || slots_[*slot]->phase() == Runner::Phase::Ended) {
    toShepherd([this, key = process.key] { processes_.erase({key.task_id, key.attempt}); });
    return;
  }
  perform(*slot, slots_[*slot]->onEnded(world_.now(), process.key, process.result, process.ended,
                                        process.why));
}

void SimWorker::killAll() {
  stopDaemon();
  ++shepherd_generation_;
  shepherd_continued_ = false;
  lost_.clear();
  pipe_.clear();
  for (size_t i = 0; i < slot_count_; ++i) ledger_.excuseRunner(fmt::format("{}:{}", id_, i));
  for (auto& [id, process] : processes_) {
    ledger_.excuseLoss(process.key);
    if (!process.alive) continue;
    lost_.push_back(process.key);
    AttemptResult result;
    result.signal = 9;
    result.reason = FailureReason::RunnerReset;
    ledger_.onProcessEnd(process.key, result);
  }
  processes_.clear();
}

void SimWorker::loseJournal() {
  disk_ = {};
  disk_.journal_id = fmt::format("{}-journal-{}", id_, ++journals_);
  disk_.slots.resize(slot_count_);
}

}  // namespace baton::test
