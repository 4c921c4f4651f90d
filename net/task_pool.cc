#include "net/task_pool.h"

#include <fmt/format.h>

#include <exception>

#include "common/base/log.h"

namespace baton::net {

TaskPool::TaskPool(const std::string& name, size_t threads, size_t queue_max)
    : queue_max_(queue_max) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back(fmt::format("{}-{}", name, i), [this](std::stop_token) { work(); });
  }
}

TaskPool::~TaskPool() { stop(); }

bool TaskPool::tryPost(Task task) { return push(std::move(task), queue_max_); }

bool TaskPool::post(Task task) { return push(std::move(task), SIZE_MAX); }

bool TaskPool::push(Task task, size_t max) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || queue_.size() >= max) return false;
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void TaskPool::work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (stopped_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& e) {
      logError("pool_task_threw", field("what", e.what()));
    } catch (...) {
      logError("pool_task_threw", field("what", "not a std::exception"));
    }
  }
}

void TaskPool::stop() noexcept {
  std::deque<Task> dropped;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
  for (NamedThread& thread : threads_) thread.requestStopAndJoin();
}

}  // namespace baton::net
