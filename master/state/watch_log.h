#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "master/api/watch_port.h"
#include "master/state/operation.h"

namespace baton::master {

// The newest changes of tasks, runs and flows, in the order in which they became durable. The
// writer's thread appends; watchers look on their own threads and keep nothing here, so that
// neither their number nor their speed matters to the master. Outlives the terms of a process; only
// what belongs to one term is kept, because what happened between two terms is not known.
class WatchLog final : public api::WatchPort {
 public:
  // `kept`: events at most.
  explicit WatchLog(size_t kept = 65'536) : kept_(kept) {}

  // A term begins, which will commit under this epoch; what was kept is dropped.
  void begin(Epoch epoch);
  // The term has ended: watchers are told when they have seen the rest.
  void end();
  // What a transaction changed.
  void append(Epoch epoch, uint64_t batch, const ChangeSet& changes);
  size_t keptEvents();

  Result<api::WatchPosition> newest() override;
  Look look(const api::WatchFilter& filter, api::WatchPosition& at, size_t max) override;
  void setNews(std::function<void()> news) override;

 private:
  using EventRef = std::shared_ptr<const api::WatchEvent>;
  void tell();  // mutex_ is held.

  const size_t kept_;
  std::mutex mutex_;
  // All below: guarded by mutex_.
  bool leading_ = false;
  api::WatchPosition begun_;  // Of the term.
  api::WatchPosition floor_;  // What stands at it or before is not kept.
  api::WatchPosition head_;   // Of the newest event, or of the term's beginning.
  std::deque<EventRef> events_;
  std::function<void()> news_;
};

}  // namespace baton::master
