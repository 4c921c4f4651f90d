#include "master/state/async_updater.h"

#include <algorithm>
#include <memory>

namespace baton::master {
namespace {

// Rows of one turn: a small part of what the writer commits in a second.
constexpr size_t kRowsMax = 2'000;
constexpr Millis kPeriodMin{5'000};
constexpr Millis kNextTurn{500};  // While more is left than one turn may do.
// Keys and audit rows of one turn: more than submissions can add in the time of a turn.
constexpr uint32_t kPurgedMax = 1'000;

}  // namespace

AsyncUpdater::AsyncUpdater(TermContext& context) : context_(context) {}

void AsyncUpdater::start() {
  running_ = true;
  written_until_ = context_.clock.wallNow();
  arm();
}

void AsyncUpdater::arm() {
  const Millis period = std::max(kPeriodMin, context_.options.heartbeat);
  const Millis pause = unwritten_.empty() ? period : kNextTurn;
  context_.dispatcher.callAt(context_.clock.bootNow() + pause, [this] {
    if (!running_) return;
    if (unwritten_.empty()) beginRound();
    writeSome();
    purgeSome();
    arm();
  });
}

void AsyncUpdater::beginRound() {
  for (const auto& [id, runner] : context_.live.runners) {
    if (runner.record.last_seen > written_until_) unwritten_.push_back(id);
  }
  written_until_ = context_.clock.wallNow();
}

void AsyncUpdater::purgeSome() {
  // Also while the writer is busy: a busy cluster is the one that makes many keys.
  if (!running_ || purging_ || !context_.writer.acceptsWork()) return;
  purging_ = true;
  const WallTime now = context_.clock.wallNow();
  const WallTime keys_from = now - kIdempotencyKept;
  const WallTime audit_from = now - context_.options.audit_keep;
  const auto left = std::make_shared<bool>(false);
  Operation operation;
  operation.statements.push_back([keys_from, audit_from, left](dao::FencedTxn& txn) -> Status {
    ASSIGN_OR_RETURN(const uint64_t keys, txn.purgeIdempotency(keys_from, kPurgedMax));
    ASSIGN_OR_RETURN(const uint64_t rows, txn.purgeAudit(audit_from, kPurgedMax));
    *left = keys == kPurgedMax || rows == kPurgedMax;
    return {};
  });
  operation.then([this, left] {
    context_.dispatcher.post([this, more = *left] {
      purging_ = false;
      if (more) {
        context_.dispatcher.callAt(context_.clock.bootNow() + kNextTurn, [this] { purgeSome(); });
      }
    });
  });
  context_.writer.submit(std::move(operation));
}

void AsyncUpdater::writeSome() {
  if (context_.writer.pendingOperations() > 0 || !context_.writer.acceptsWork()) return;
  Operation operation;
  while (!unwritten_.empty() && operation.changes.runners.size() < kRowsMax) {
    const Runner* runner = context_.live.findRunner(unwritten_.back());
    if (runner != nullptr) operation.store(runner->record);
    unwritten_.pop_back();
  }
  context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
