#include "net/event_loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <array>

#include "common/base/log.h"

namespace baton::net {
namespace {

// Keys of the loop's own descriptors; watched ones carry (generation << 32 | fd), never these.
constexpr uint64_t kWakeKey = 0;
constexpr uint64_t kTimerKey = 1;

uint64_t watchKey(int fd, uint32_t generation) {
  return uint64_t{generation} << 32 | static_cast<uint32_t>(fd);
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // A timer descriptor, because epoll's own timeout does not count the time of a suspension.
  FileDescriptor timer(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll || !wake || !timer) {
    return Error::unavailable("no event loop: {}", strerror(errno));
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeKey;
  int failed = epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event);
  event.data.u64 = kTimerKey;
  failed |= epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event);
  if (failed != 0) return Error::unavailable("no event loop: {}", strerror(errno));
  return std::unique_ptr<EventLoop>(
      new EventLoop(std::move(epoll), std::move(wake), std::move(timer)));
}

EventLoop::EventLoop(FileDescriptor epoll, FileDescriptor wake, FileDescriptor timer)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), timer_(std::move(timer)) {
  refreshNow();
}

EventLoop::~EventLoop() = default;

void EventLoop::refreshNow() { now_ = clock_.bootNow(); }

Status EventLoop::add(int fd, uint32_t events, Callback callback) {
  CHECK(fd >= 0);
  if (watches_.size() <= static_cast<size_t>(fd)) watches_.resize(static_cast<size_t>(fd) + 1);
  if (watches_[static_cast<size_t>(fd)] != nullptr) {
    return Error::conflict("descriptor {} is watched already", fd);
  }
  auto watch = std::make_unique<Watch>(Watch{next_generation_, std::move(callback)});
  if (++next_generation_ == 0) next_generation_ = 1;  // Generation 0 would look like kWakeKey.
  epoll_event event{};
  event.events = events;
  event.data.u64 = watchKey(fd, watch->generation);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Error::unavailable("descriptor {} can't be watched: {}", fd, strerror(errno));
  }
  watches_[static_cast<size_t>(fd)] = std::move(watch);
  return {};
}

Status EventLoop::modify(int fd, uint32_t events) {
  if (fd < 0 || static_cast<size_t>(fd) >= watches_.size() || !watches_[static_cast<size_t>(fd)]) {
    return Error::internal("descriptor {} is not watched", fd);
  }
  epoll_event event{};
  event.events = events;
  event.data.u64 = watchKey(fd, watches_[static_cast<size_t>(fd)]->generation);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    return Error::unavailable("descriptor {} can't be watched: {}", fd, strerror(errno));
  }
  return {};
}

void EventLoop::remove(int fd) {
  if (fd < 0 || static_cast<size_t>(fd) >= watches_.size() || !watches_[static_cast<size_t>(fd)]) {
    return;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  // The callback may be the one that is running: it is destroyed when the turn is over.
  retired_.push_back(std::move(watches_[static_cast<size_t>(fd)]));
}

void EventLoop::post(Task task) {
  bool must_wake = false;
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    must_wake = sleeping_;
    sleeping_ = false;
  }
  if (must_wake) wake();
}

void EventLoop::wake() {
  const uint64_t one = 1;
  // EAGAIN means that a wake-up is pending already.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

EventLoop::TimerId EventLoop::callAfter(Micros delay, Task task) {
  refreshNow();
  const TimerId id = next_timer_++;
  const BootTime due = now_ + std::max(delay, Micros(0));
  timers_.emplace(TimerKey{due, id}, std::move(task));
  timer_due_.emplace(id, due);
  armTimer();
  return id;
}

bool EventLoop::cancel(TimerId timer) {
  const auto due = timer_due_.find(timer);
  if (due == timer_due_.end()) return false;
  timers_.erase(TimerKey{due->second, timer});
  timer_due_.erase(due);
  return true;  // The descriptor may fire for nothing; setting it anew would cost more.
}

void EventLoop::armTimer() {
  if (timers_.empty()) return;
  const BootTime due = timers_.begin()->first.first;
  if (due >= armed_for_) return;
  // Not by the absolute time, which libraries that fake the wall clock move as well.
  const int64_t us = std::max<int64_t>(Micros(due - clock_.bootNow()).count(), 1);  // 0 disarms.
  itimerspec spec{};
  spec.it_value.tv_sec = us / 1'000'000;
  spec.it_value.tv_nsec = us % 1'000'000 * 1'000;
  CHECK(timerfd_settime(timer_.get(), 0, &spec, nullptr) == 0);
  armed_for_ = due;
}

void EventLoop::runTimers() {
  while (!timers_.empty() && timers_.begin()->first.first <= now_) {
    auto entry = timers_.extract(timers_.begin());
    timer_due_.erase(entry.key().second);
    entry.mapped()();
  }
  armTimer();
}

void EventLoop::runPosted() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    task();
    task = nullptr;  // What it captured dies in order, before later tasks run.
  }
}

void EventLoop::dispatch(uint64_t key, uint32_t events) {
  const auto fd = static_cast<uint32_t>(key);
  if (fd >= watches_.size() || watches_[fd] == nullptr) return;
  // A new watch on the same number must not get the events of the old one.
  Watch& watch = *watches_[fd];
  if (watch.generation != static_cast<uint32_t>(key >> 32)) return;
  watch.callback(events);
}

void EventLoop::turn() {
  std::array<epoll_event, 256> events;
  bool may_sleep = false;
  {
    std::lock_guard lock(mutex_);
    may_sleep = posted_.empty();
    sleeping_ = may_sleep;
  }
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               /*timeout=*/may_sleep ? -1 : 0);
  if (may_sleep) {
    std::lock_guard lock(mutex_);
    sleeping_ = false;
  }
  refreshNow();
  bool timer_fired = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    uint64_t counter = 0;
    if (event.data.u64 == kWakeKey) {
      [[maybe_unused]] const ssize_t got = read(wake_.get(), &counter, sizeof(counter));
    } else if (event.data.u64 == kTimerKey) {
      [[maybe_unused]] const ssize_t got = read(timer_.get(), &counter, sizeof(counter));
      timer_fired = true;
    } else {
      dispatch(event.data.u64, event.events);
    }
  }
  if (timer_fired) {
    armed_for_ = BootTime::max();
    runTimers();
  }
  runPosted();
  retired_.clear();
}

void EventLoop::run(std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] { this->stop(); });
  thread_.store(std::this_thread::get_id());
  while (!stopping_.load(std::memory_order_acquire)) turn();
  runPosted();
  retired_.clear();
  thread_.store(std::thread::id());
  stopping_.store(false);
}

void EventLoop::stop() {
  stopping_.store(true, std::memory_order_release);
  wake();
}

bool EventLoop::onLoopThread() const { return thread_.load() == std::this_thread::get_id(); }

}  // namespace baton::net
