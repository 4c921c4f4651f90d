#include "worker/durable_queue.h"

#include "common/base/log.h"

namespace baton::worker {
namespace {

constexpr Millis kSyncRetry{500};

}  // namespace

DurableQueue::~DurableQueue() {
  if (retry_ != 0) loop_.cancel(retry_);
}

void DurableQueue::run(Task task) {
  if (waiting_.empty() && !journal_.needsSync()) return task();
  waiting_.push_back(std::move(task));
  noteWritten();
}

void DurableQueue::noteWritten() {
  if (std::exchange(flush_due_, true)) return;
  loop_.post([this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) flush();
  });
}

void DurableQueue::flush() {
  flush_due_ = false;
  if (const Status synced = journal_.sync(); !synced.ok()) {
    if (!std::exchange(failing_, true)) {
      logError("journal_not_synced", field("error", synced.text()));
    }
    flush_due_ = true;
    retry_ = loop_.callAfter(kSyncRetry, [this] {
      retry_ = 0;
      flush();
    });
    return;
  }
  if (std::exchange(failing_, false)) logInfo("journal_synced_again");
  std::vector<Task> ready;
  ready.swap(waiting_);
  for (Task& task : ready) {
    // A task may note something: those behind it wait for the next sync, in their order.
    run(std::move(task));
  }
}

}  // namespace baton::worker
