#include "master/state/async_updater.h"

#include <algorithm>

namespace baton::master {
namespace {

// Rows of one turn: a small part of what the writer commits in a second.
constexpr size_t kRowsMax = 2'000;
constexpr Millis kPeriodMin{5'000};

}  // namespace

AsyncUpdater::AsyncUpdater(TermContext& context) : context_(context) {}

void AsyncUpdater::start() {
  running_ = true;
  written_until_ = context_.clock.wallNow();
  arm();
}

void AsyncUpdater::arm() {
  const Millis period = std::max(kPeriodMin, context_.options.heartbeat);
  context_.dispatcher.callAt(context_.clock.bootNow() + period, [this] {
    if (!running_) return;
    update();
    arm();
  });
}

void AsyncUpdater::update() {
  if (context_.writer.pendingOperations() > 0 || !context_.writer.acceptsWork()) return;
  Operation operation;
  for (const auto& [id, runner] : context_.live.runners) {
    if (runner.record.last_seen <= written_until_) continue;
    operation.store(runner.record);
    if (operation.changes.runners.size() == kRowsMax) break;
  }
  written_until_ = context_.clock.wallNow();
  context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
