#include "master/state/async_updater.h"

#include <algorithm>
#include <memory>

namespace baton::master {
namespace {

// Rows of one turn: a small part of what the writer commits in a second.
constexpr size_t kRowsMax = 2'000;
constexpr Millis kPeriodMin{5'000};
constexpr Millis kNextTurn{500};  // While more is left than one turn may do.
// Keys of one turn: more than submissions can add in the time of a turn.
constexpr uint32_t kKeysMax = 1'000;

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
  const WallTime before = context_.clock.wallNow() - kIdempotencyKept;
  const auto purged = std::make_shared<uint64_t>(0);
  Operation operation;
  operation.statements.push_back([before, purged](dao::FencedTxn& txn) -> Status {
    ASSIGN_OR_RETURN(*purged, txn.purgeIdempotency(before, kKeysMax));
    return {};
  });
  operation.then([this, purged] {
    context_.dispatcher.post([this, more = *purged == kKeysMax] {
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
