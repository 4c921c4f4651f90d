#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "master/host/runner.h"
#include "master/state/live_task.h"
#include "master/task/label_classes.h"
#include "master/task/ready_queue.h"

namespace baton::master {

// All that the active master holds in memory: tasks that are not terminal, runners and workers,
// and the indexes over them. Passive: the engines change it. Dropped whole at the end of a term.
// Dispatcher thread only (before it starts: the promoter's).
struct LiveState {
  LiveState() : ready(classes) {}

  LabelClasses classes;
  PolicyPool policies;
  ReadyQueue ready;
  std::unordered_map<TaskId, LiveTask> tasks;
  std::unordered_map<std::string, Runner> runners;
  std::unordered_map<std::string, Worker> workers;  // By worker id; never removed within a term.
  // Kept with every change, so that a million tasks are counted without a look at them.
  std::array<uint64_t, kTaskStatusCount> by_status{};
  std::array<uint64_t, kPriorityCount> by_priority{};
  uint64_t held = 0;           // Of the CREATED, those that wait for the end of a hold.
  uint64_t open_attempts = 0;  // Counted against the cluster limit.
  // Runner classes with a runner that reports; kept by the registry and the watchdog.
  std::vector<bool> present;
  // When tasks became terminal lately, so that a row loaded before that is known to be stale.
  std::unordered_map<TaskId, BootTime> recently_ended;

  LiveTask* findTask(TaskId id) {
    const auto it = tasks.find(id);
    return it == tasks.end() ? nullptr : &it->second;
  }
  Runner* findRunner(const std::string& id) {
    const auto it = runners.find(id);
    return it == runners.end() ? nullptr : &it->second;
  }
};

}  // namespace baton::master
