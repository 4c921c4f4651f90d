#include "master/state/state_writer.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/base/mutant.h"
#include "common/base/stop_point.h"

namespace baton::master {
namespace {

constexpr int kBusyTriesMax = 3;
// When so many of a batch are refused, it is not about the operations.
constexpr int kRefusedMax = 8;

size_t countRows(const ChangeSet& changes) {
  return changes.new_tasks.size() + changes.task_states.size() + changes.outputs.size() +
         changes.attempts.size() + changes.runners.size() + changes.outbox.size() +
         changes.idempotency.size() + changes.specs.size() + changes.flows.size() +
         changes.flow_versions.size() + changes.new_runs.size() + changes.run_states.size() +
         changes.missed.size() + changes.events.size() + changes.backfills.size() +
         changes.calendars.size() + changes.params.size() + changes.host.hosts.size() +
         changes.host.settings.size() + changes.host.gone_hosts.size() +
         changes.host.gone_runners.size() + changes.audit.size();
}

// Afterwards `number` and all below it are reserved.
Status reserveThrough(dao::FencedTxn& txn, const std::string& counter, uint64_t number) {
  ASSIGN_OR_RETURN(const uint64_t next, txn.reserveIds(counter, 1));
  if (next >= number) return {};
  return txn.reserveIds(counter, number - next).status();
}

}  // namespace

StateWriter::StateWriter(dao::Writer& writer, Clock& clock, const std::atomic<Epoch>& epoch,
                         WriterListener& listener, Options options)
    : Service("state writer"),
      writer_(writer),
      clock_(clock),
      epoch_(epoch),
      listener_(listener),
      options_(options) {}

StateWriter::~StateWriter() { stop(); }

Status StateWriter::onStart() {
  thread_ = NamedThread("state writer", [this](std::stop_token stop) { run(stop); });
  return {};
}

void StateWriter::onStop() noexcept {
  thread_.requestStop();
  wake_.notify_all();
  writer_.interrupt();
  thread_.requestStopAndJoin();
}

void StateWriter::submit(Operation operation) {
  if (!operation.writes() && operation.effects.empty()) return;
  if (!operation.writes() && uncommitted_.load(std::memory_order_acquire) == 0) {
    // Everything decided so far is durable: what this says may leave at once.
    for (auto& effect : operation.effects) effect();
    return;
  }
  if (mutant("reply_before_commit")) {
    for (auto& effect : operation.effects) effect();
    operation.effects.clear();
  }
  uncommitted_.fetch_add(1, std::memory_order_acq_rel);
  operation.decided = ++decisions_;
  collecting_.push_back(std::move(operation));
}

void StateWriter::publish() {
  if (collecting_.empty()) return;
  {
    std::lock_guard lock(mutex_);
    std::move(collecting_.begin(), collecting_.end(), std::back_inserter(published_));
  }
  collecting_.clear();
  wake_.notify_all();
}

void StateWriter::freeze() {
  std::lock_guard lock(mutex_);
  frozen_ = true;
}

void StateWriter::resume() {
  {
    std::lock_guard lock(mutex_);
    frozen_ = false;
  }
  wake_.notify_all();
}

bool StateWriter::flush(BootTime deadline) {
  std::unique_lock lock(mutex_);
  while (uncommitted_.load(std::memory_order_acquire) > 0) {
    const Micros left = deadline - clock_.bootNow();
    if (left <= Micros(0)) return false;
    wake_.wait_for(lock, std::min<Micros>(left, Millis(50)));
  }
  return true;
}

void StateWriter::run(std::stop_token stop) {
  while (!stop.stop_requested() && !halted_) {
    std::vector<Operation> batch = takeBatch(stop);
    progress_.fetch_add(1, std::memory_order_relaxed);
    if (!runOnce(std::move(batch), stop)) break;
  }
  // A halted writer keeps its thread until stop(), so that progress is still seen.
  while (!stop.stop_requested()) {
    pause(Millis(200), stop);
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool StateWriter::runOnce(std::vector<Operation> batch, std::stop_token stop) {
  if (!batch.empty()) {
    setAsideBlocked(batch);
    if (!batch.empty() && !writeBatch(std::move(batch), stop)) return false;
  }
  if (!blocked_.empty() && clock_.bootNow() >= blocked_due_) retryBlocked(stop);
  return true;
}

void StateWriter::runPendingForTest() {
  std::vector<Operation> batch;
  {
    std::lock_guard lock(mutex_);
    if (frozen_ || halted_) return;
    batch = takePublished();
  }
  runOnce(std::move(batch), {});
}

std::vector<Operation> StateWriter::takeBatch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (published_.empty() || frozen_) {
    wake_.wait_for(lock, Millis(250),
                   [&] { return stop.stop_requested() || (!published_.empty() && !frozen_); });
  }
  if (frozen_ || stop.stop_requested()) return {};
  return takePublished();
}

std::vector<Operation> StateWriter::takePublished() {
  std::vector<Operation> batch;
  const size_t count = std::min(published_.size(), options_.batch_operations_max);
  std::move(published_.begin(), published_.begin() + static_cast<ptrdiff_t>(count),
            std::back_inserter(batch));
  published_.erase(published_.begin(), published_.begin() + static_cast<ptrdiff_t>(count));
  return batch;
}

void StateWriter::block(Operation operation) {
  blocked_keys_.insert(operation.keys.begin(), operation.keys.end());
  // One that was set aside at once may have been decided behind one that turns out to be blocked.
  const auto behind = std::upper_bound(
      blocked_.begin(), blocked_.end(), operation.decided,
      [](uint64_t decided, const Operation& other) { return decided < other.decided; });
  blocked_.insert(behind, std::move(operation));
}

void StateWriter::setAsideBlocked(std::vector<Operation>& batch) {
  if (blocked_.empty()) return;
  std::vector<Operation> free;
  for (Operation& operation : batch) {
    const bool locked = std::any_of(operation.keys.begin(), operation.keys.end(),
                                    [&](uint64_t key) { return blocked_keys_.contains(key); });
    if (locked) {
      block(std::move(operation));
    } else {
      free.push_back(std::move(operation));
    }
  }
  batch = std::move(free);
}

bool StateWriter::writeBatch(std::vector<Operation> batch, std::stop_token stop) {
  switch (persist(batch, kBusyTriesMax, stop)) {
    case Outcome::Committed:
      return true;
    case Outcome::Busy:
      return writeOneByOne(std::move(batch), stop, "a row stays locked");
    case Outcome::Refused:
      if (batch.size() == 1 || !refusal_of_row_) return haltForBug();
      return writeOneByOne(std::move(batch), stop, "one of them is refused");
    case Outcome::Halt:
      return false;
  }
  return false;
}

bool StateWriter::haltForBug() {
  halted_ = true;
  listener_.onWriterBug(refusal_);
  return false;
}

bool StateWriter::writeOneByOne(std::vector<Operation> batch, std::stop_token stop,
                                std::string_view why) {
  logWarn("batch_split", field("operations", batch.size()), field("why", why));
  int refused = 0;
  for (Operation& operation : batch) {
    std::vector<Operation> one;
    one.push_back(std::move(operation));
    setAsideBlocked(one);
    if (one.empty()) continue;
    const Outcome outcome = persist(one, 1, stop);
    if (outcome == Outcome::Halt) return false;
    if (outcome == Outcome::Committed) continue;
    // A refused one keeps back what was decided on top of it; the rest becomes durable first.
    if (outcome == Outcome::Refused && ++refused == kRefusedMax) return haltForBug();
    if (blocked_.empty()) blocked_due_ = clock_.bootNow() + options_.blocked_retry;
    block(std::move(one.front()));
  }
  return refused == 0 || haltForBug();
}

void StateWriter::retryBlocked(std::stop_token stop) {
  std::vector<Operation> again = std::move(blocked_);
  blocked_.clear();
  blocked_keys_.clear();
  writeOneByOne(std::move(again), stop, "a row was locked");
}

StateWriter::Outcome StateWriter::persist(std::span<Operation> operations, int busy_tries,
                                          std::stop_token stop) {
  const ChangeSet changes = mergeChanges(operations);
  const bool writes = std::any_of(operations.begin(), operations.end(),
                                  [](const Operation& operation) { return operation.writes(); });
  const uint64_t batch = batch_number_.fetch_add(1) + 1;
  const BootTime began = clock_.bootNow();
  Millis delay = options_.retry_min;
  int busy = 0;
  while (!stop.stop_requested()) {
    waitWhileFrozen(stop);
    if (stop.stop_requested()) break;
    bool in_doubt = false;
    const Epoch epoch = epoch_.load();
    Status written = writes ? writeOnce(changes, operations, epoch, batch, in_doubt) : Status();
    if (in_doubt) {
      reportOutage(written.error());
      const Result<bool> inside = resolveDoubt(epoch, batch, stop);
      if (!inside.ok()) {
        written = inside.error();
      } else if (*inside) {
        written = {};
      } else {
        reportBack();
        continue;
      }
    }
    if (written.ok()) {
      reportBack();
      stopPoint("after_commit");
      release(operations);
      listener_.onCommitted(operations.size(), countRows(changes), clock_.bootNow() - began);
      if (writes) listener_.onChanged(epoch, batch, changes);
      return Outcome::Committed;
    }
    switch (written.error().code()) {
      case ErrorCode::Fenced:
        halted_ = true;
        listener_.onWriterFenced();
        return Outcome::Halt;
      case ErrorCode::Busy:
        if (++busy >= busy_tries) return Outcome::Busy;
        continue;
      case ErrorCode::Unavailable:
      case ErrorCode::StorageFull:
      case ErrorCode::DeadlineExceeded:
        reportOutage(written.error());
        pause(delay, stop);
        delay = std::min(delay * 2, options_.retry_max);
        continue;
      case ErrorCode::Cancelled:
        continue;  // Interrupted: the loop condition decides.
      default:
        refusal_ = written.text();
        refusal_of_row_ = written.error().code() == ErrorCode::Corrupt ||
                          written.error().code() == ErrorCode::Internal;
        logError("batch_refused", field("batch", batch), field("operations", operations.size()),
                 field("error", refusal_));
        return Outcome::Refused;
    }
  }
  return Outcome::Halt;
}

Status StateWriter::writeOnce(const ChangeSet& changes, std::span<Operation> operations,
                              Epoch epoch, uint64_t batch, bool& in_doubt) {
  auto begun = writer_.begin(epoch, batch);
  if (!begun.ok()) return begun.status();
  dao::FencedTxn& txn = **begun;
  // Runs reference flows, tasks reference runs, attempts reference tasks and the outbox references
  // both: parents first.
  RETURN_IF_ERROR(txn.storeCalendars(changes.calendars));
  RETURN_IF_ERROR(txn.storeParams(changes.params));
  RETURN_IF_ERROR(txn.storeFlows(changes.flows));
  RETURN_IF_ERROR(txn.insertFlowVersions(changes.flow_versions));
  RETURN_IF_ERROR(txn.insertBackfills(changes.backfills));
  RETURN_IF_ERROR(txn.insertRuns(changes.new_runs));
  RETURN_IF_ERROR(txn.storeRunStates(changes.run_states));
  RETURN_IF_ERROR(txn.storeMissed(changes.missed));
  RETURN_IF_ERROR(txn.insertEvents(changes.events));
  RETURN_IF_ERROR(txn.insertTasks(changes.new_tasks));
  RETURN_IF_ERROR(txn.storeTaskSpecs(changes.specs));
  RETURN_IF_ERROR(txn.storeTaskStates(changes.task_states));
  RETURN_IF_ERROR(txn.storeTaskOutputs(changes.outputs));
  RETURN_IF_ERROR(txn.storeAttempts(changes.attempts));
  // What is forgotten goes first: what is stored in the same batch came later.
  RETURN_IF_ERROR(txn.forgetRunners(changes.host.gone_runners));
  RETURN_IF_ERROR(txn.forgetHosts(changes.host.gone_hosts));
  RETURN_IF_ERROR(txn.storeHosts(changes.host.hosts));
  RETURN_IF_ERROR(txn.storeSettings(changes.host.settings));
  RETURN_IF_ERROR(txn.storeRunners(changes.runners));
  RETURN_IF_ERROR(txn.storeOutbox(changes.outbox));
  RETURN_IF_ERROR(txn.storeIdempotency(changes.idempotency));
  RETURN_IF_ERROR(txn.insertAudit(changes.audit));
  for (const auto& [counter, number] : mergeNumbers(operations)) {
    RETURN_IF_ERROR(reserveThrough(txn, counter, number));
  }
  for (Operation& operation : operations) {
    for (auto& statement : operation.statements) RETURN_IF_ERROR(statement(txn));
  }
  stopPoint("before_commit");
  const Status committed = txn.commit();
  in_doubt = !committed.ok() && committed.error().code() == ErrorCode::Unavailable;
  return committed;
}

Result<bool> StateWriter::resolveDoubt(Epoch epoch, uint64_t batch, std::stop_token stop) {
  Millis delay = options_.retry_min;
  while (!stop.stop_requested()) {
    waitWhileFrozen(stop);
    Result<bool> inside = writer_.wasCommitted(epoch, batch);
    if (inside.ok()) {
      logInfo("commit_resolved", field("batch", batch), field("committed", *inside));
      return inside;
    }
    if (!isRetryable(inside.error().code())) return inside;
    pause(delay, stop);
    delay = std::min(delay * 2, options_.retry_max);
  }
  return Error(ErrorCode::Cancelled, "stopped");
}

void StateWriter::release(std::span<Operation> operations) {
  for (Operation& operation : operations) {
    for (auto& effect : operation.effects) effect();
  }
  uncommitted_.fetch_sub(operations.size(), std::memory_order_acq_rel);
  wake_.notify_all();
}

Status StateWriter::acceptance() const {
  if (acceptsWork()) return {};
  if (storage_full_.load(std::memory_order_relaxed)) {
    return Error(ErrorCode::StorageFull, "the database has no room or is read-only");
  }
  return Error::unavailable("the database takes no writes at the moment");
}

void StateWriter::reportOutage(const Error& why) {
  storage_full_ = why.code() == ErrorCode::StorageFull;
  if (outage_.exchange(true)) return;
  outage_since_ = clock_.bootNow();
  logWarn("database_outage", field("error", why.text()));
  listener_.onDatabaseOutage(why);
}

void StateWriter::reportBack() {
  if (!outage_.exchange(false)) return;
  const Micros gap = clock_.bootNow() - outage_since_;
  logInfo("database_back", field("gap_ms", gap.count() / 1000));
  listener_.onDatabaseBack(gap);
}

void StateWriter::pause(Millis time, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [&] { return stop.stop_requested(); });
  progress_.fetch_add(1, std::memory_order_relaxed);
}

void StateWriter::waitWhileFrozen(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (frozen_ && !stop.stop_requested()) {
    wake_.wait_for(lock, Millis(200));
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace baton::master
