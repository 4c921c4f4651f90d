#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "master/host/runner.h"
#include "master/state/live_task.h"
#include "master/task/label_classes.h"
#include "master/task/ready_queue.h"

namespace baton::master {

// The end of a task on its way into the database. Copies speak of the same end. Any thread.
class RecentEnd {
 public:
  // A row read at `read_at` may not show the end yet: it was not durable by then.
  bool mayBeMissingIn(BootTime read_at) const {
    return durable_at_us_->load() >= toMicros(read_at);
  }
  bool durableFor(Micros time, BootTime now) const {
    const int64_t at = durable_at_us_->load();
    return at != kPending && toMicros(now) - at > time.count();
  }
  void becameDurable(BootTime now) const { durable_at_us_->store(toMicros(now)); }

 private:
  static constexpr int64_t kPending = INT64_MAX;
  std::shared_ptr<std::atomic<int64_t>> durable_at_us_ =
      std::make_shared<std::atomic<int64_t>>(kPending);
};

// All that the active master holds in memory: tasks that are not terminal, runners and workers,
// and the indexes over them. Passive: the engines change it. Dropped whole at the end of a term.
// Dispatcher thread only (before it starts: the promoter's).
struct LiveState {
  LiveState() : ready(classes, gates, usable) {}

  LabelClasses classes;
  LimitGates gates;
  PolicyPool policies;
  ReadyQueue ready;
  std::unordered_map<TaskId, LiveTask> tasks;
  std::unordered_map<std::string, Runner> runners;
  std::unordered_map<std::string, Worker> workers;  // By worker id.
  HostRules host_rules;
  // Kept with every change, so that a million tasks are counted without a look at them.
  std::array<uint64_t, kTaskStatusCount> by_status{};
  std::array<uint64_t, kPriorityCount> by_priority{};
  uint64_t held = 0;           // Of the CREATED, those that wait for the end of a hold.
  uint64_t gated = 0;          // Of the CREATED, those that their run holds back.
  uint64_t open_attempts = 0;  // Counted against the cluster limit.
  std::unordered_map<std::string, HostUse> host_use;  // By host; never removed within a term.
  // Runner classes with a runner that reports; kept by the registry and the watchdog.
  std::vector<bool> present;
  // Those of them whose worker takes tasks, and for the others who holds back and why (a few).
  std::vector<bool> usable;
  std::map<LabelClasses::ClassId, std::vector<std::string>> withheld;
  // Tasks in the statuses that should pass soon (DISPATCHED, TERMINATING, CALLBACK), and since
  // when.
  struct Passing {
    BootTime since;
    bool stuck = false;  // For too long; it was logged.
  };
  std::unordered_map<TaskId, Passing> passing;
  // Tasks that became terminal lately, so that a row loaded before that is known to be stale.
  std::unordered_map<TaskId, RecentEnd> recently_ended;
  // The same of runs, with those whose end was amended.
  std::unordered_map<RunId, RecentEnd> recently_ended_runs;

  LiveTask* findTask(TaskId id) {
    const auto it = tasks.find(id);
    return it == tasks.end() ? nullptr : &it->second;
  }
  // The worker is on this host, and what it runs counts there.
  void setHost(Worker& worker, const std::string& host) {
    if (worker.use != nullptr && worker.host == host) return;
    if (worker.use != nullptr) worker.use->running -= worker.busy;
    worker.host = host;
    worker.use = &host_use[host];
    worker.use->running += worker.busy;
  }
  Runner* findRunner(const std::string& id) {
    const auto it = runners.find(id);
    return it == runners.end() ? nullptr : &it->second;
  }
};

}  // namespace baton::master
