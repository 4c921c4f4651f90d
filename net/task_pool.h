#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/named_thread.h"

namespace baton::net {

// A fixed number of threads that work off one bounded queue, first come first served.
class TaskPool {
 public:
  using Task = std::function<void()>;

  // Threads are named "<name>-0", …; they start here.
  TaskPool(const std::string& name, size_t threads, size_t queue_max);
  ~TaskPool();

  // False when the queue is full or the pool has stopped. Any thread.
  bool tryPost(Task task);
  // Past the cap of the queue, for work that is bounded elsewhere; false when stopped.
  bool post(Task task);
  // Drops what is queued, waits for what runs. Any number of times; not from a task.
  void stop() noexcept;

 private:
  bool push(Task task, size_t max);
  void work();

  const size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable changed_;  // A task came, or the pool stops.
  std::deque<Task> queue_;           // Guarded by mutex_.
  bool stopped_ = false;             // Guarded by mutex_.
  std::vector<NamedThread> threads_;
};

}  // namespace baton::net
