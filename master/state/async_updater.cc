#include "master/state/async_updater.h"

#include <algorithm>

namespace baton::master {
namespace {

// Rows of one turn: a small part of what the writer commits in a second.
constexpr size_t kRowsMax = 2'000;
constexpr Millis kPeriodMin{5'000};
constexpr Millis kNextTurn{500};  // While a round is not done.

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
    arm();
  });
}

void AsyncUpdater::beginRound() {
  for (const auto& [id, runner] : context_.live.runners) {
    if (runner.record.last_seen > written_until_) unwritten_.push_back(id);
  }
  written_until_ = context_.clock.wallNow();
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
