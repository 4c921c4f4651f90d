#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "common/base/clock.h"
#include "common/base/named_thread.h"
#include "dao/epoch_store.h"
#include "ha/active_service.h"
#include "ha/election_event.h"

namespace baton::ha {

using EpochStoreFactory = std::function<Result<std::unique_ptr<dao::EpochStore>>()>;

// The role thread: moves the epoch row and drives the service, one job at a time, in order.
// Answers go to `sink` from the role thread. Jobs are given from the elector.
class RoleRunner {
 public:
  RoleRunner(IMasterActiveService& service, const Clock& clock, EpochStoreFactory make_store,
             std::function<void(Event)> sink);
  ~RoleRunner();

  void bump(const StartBump& job);
  void promote(const StartPromote& job);
  // `go` resumes the service, unless that is out of date; false: the service can't go on.
  void resume(std::function<bool()> go);
  void drain(const StartDrain& job);
  // Also cancels a promote that runs or waits.
  void demote(const StartDemote& job);

  // The time at which a job that must end has not; kNever if there is none. Any thread.
  BootTime hardLimit() const { return BootTime(Micros(hard_limit_us_.load())); }

 private:
  using Job = std::function<void()>;
  void enqueue(Job job);
  void run(const std::stop_token& stop);
  void runBump(const StartBump& job);
  void runPromote(const StartPromote& job, const std::stop_token& cancelled);
  void runDemote(const StartDemote& job);
  Result<dao::EpochStore*> store();
  void limitFrom(BootTime now, Millis limit);
  void clearLimit();

  IMasterActiveService& service_;
  const Clock& clock_;
  const EpochStoreFactory make_store_;
  const std::function<void(Event)> sink_;
  std::unique_ptr<dao::EpochStore> store_;  // The role thread's.
  std::atomic<int64_t> hard_limit_us_;
  std::stop_source promote_stop_;  // The elector's.

  std::mutex mutex_;
  std::condition_variable_any wake_;  // Signalled when a job is added or the end is asked for.
  std::deque<Job> jobs_;
  NamedThread thread_;  // Last member: gone before what it uses.
};

}  // namespace baton::ha
