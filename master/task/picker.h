#pragma once

#include <unordered_set>

#include "master/host/heartbeat_desk.h"
#include "master/state/read_worker.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Brings tasks and runners together: a runner that becomes free gets the first task in order that
// fits it; a task that becomes ready gets the least loaded waiting runner that fits. Tasks whose
// specification is not in memory are fetched first, a stretch of the queue at a time.
// Dispatcher thread only.
class Picker {
 public:
  Picker(TermContext& context, TaskEngine& engine, HeartbeatDesk& desk, ReadWorker& reads);

  // Until opened, and while the database takes no writes, nothing is picked.
  void open() { open_ = true; }
  void close() { open_ = false; }

  // The next task for this free runner, ready to be dispatched; null if there is none (yet).
  LiveTask* next(const Runner& runner);
  // What RUN_NEW carries for the task's open attempt. Its specification is in memory.
  Order orderOf(const LiveTask& task) const;
  // Gives tasks to waiting runners while there is any pair that fits; behind every burst.
  void match();
  // Calls `then` on the dispatcher thread when the task's specification is in memory.
  void withSpec(TaskId id, std::function<void()> then);

 private:
  bool mayPick() const;
  bool ensureSpec(const ReadyQueue::Candidate& candidate);
  void fetch(std::vector<TaskId> ids, std::function<void()> then);

  TermContext& context_;
  TaskEngine& engine_;
  HeartbeatDesk& desk_;
  ReadWorker& reads_;
  bool open_ = false;
  std::unordered_set<TaskId> fetching_;
};

}  // namespace baton::master
