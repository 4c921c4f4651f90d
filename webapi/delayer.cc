#include "webapi/delayer.h"

namespace baton::webapi {

Delayer::Delayer(const std::string& name)
    : thread_(name, [this](const std::stop_token&) { run(); }) {}

void Delayer::after(Millis pause, std::function<void()> fn) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    due_.emplace(clock_.bootNow() + pause, std::move(fn));
  }
  changed_.notify_all();
}

void Delayer::stop() noexcept {
  std::multimap<BootTime, std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(due_);
  }
  changed_.notify_all();
  thread_.requestStopAndJoin();
}

void Delayer::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Micros pause = due_.begin()->first - clock_.bootNow();
    if (pause > Micros(0)) {
      changed_.wait_for(lock, pause);
      continue;
    }
    const auto fn = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    lock.unlock();
    fn();
    lock.lock();
  }
}

}  // namespace baton::webapi
