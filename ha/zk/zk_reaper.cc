#include "ha/zk/zk_reaper.h"

#include <utility>

namespace baton::ha {

ZkReaper::ZkReaper() : thread_("zk_reaper", [this](std::stop_token stop) { run(stop); }) {}

ZkReaper::~ZkReaper() { thread_.requestStopAndJoin(); }

void ZkReaper::bury(std::unique_ptr<ZkSession> session) {
  const std::lock_guard lock(mutex_);
  sessions_.push_back(std::move(session));
  wake_.notify_one();
}

void ZkReaper::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, stop, [this] { return !sessions_.empty(); });
    if (sessions_.empty()) return;
    std::unique_ptr<ZkSession> session = std::move(sessions_.front());
    sessions_.pop_front();
    lock.unlock();
    session.reset();
    lock.lock();
  }
}

}  // namespace baton::ha
