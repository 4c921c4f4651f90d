#include "common/event/async_dispatcher.h"

namespace baton {

AsyncDispatcher::AsyncDispatcher(Clock& clock, Options options, Event after_burst)
    : Service("dispatcher"),
      clock_(clock),
      options_(options),
      after_burst_(std::move(after_burst)) {}

AsyncDispatcher::~AsyncDispatcher() { stop(); }

Status AsyncDispatcher::onStart() {
  thread_ = NamedThread("dispatcher", [this](std::stop_token stop) { run(stop); });
  return {};
}

void AsyncDispatcher::onStop() noexcept {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  thread_.requestStop();
  wake_.notify_all();
  thread_.requestStopAndJoin();
  std::lock_guard lock(mutex_);
  queue_.clear();
}

void AsyncDispatcher::post(Event event) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(event));
    if (queue_.size() > 1) return;  // The thread was woken for the first one.
  }
  wake_.notify_one();
}

bool AsyncDispatcher::tryPost(Event event) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= options_.queue_max) return false;
    queue_.push_back(std::move(event));
    if (queue_.size() > 1) return true;
  }
  wake_.notify_one();
  return true;
}

AsyncDispatcher::TimerId AsyncDispatcher::callAt(BootTime at, Event event) {
  const TimerId id = next_timer_++;
  timers_.push({at, id, std::move(event)});
  return id;
}

void AsyncDispatcher::cancel(TimerId id) {
  if (id != 0) cancelled_.insert(id);
}

void AsyncDispatcher::freeze() {
  std::lock_guard lock(mutex_);
  frozen_ = true;
  maybe_frozen_.store(true, std::memory_order_release);
}

void AsyncDispatcher::resume(Event first) {
  {
    std::lock_guard lock(mutex_);
    frozen_ = false;
    maybe_frozen_.store(false, std::memory_order_release);
    if (first) first_.push_back(std::move(first));
  }
  wake_.notify_all();
}

size_t AsyncDispatcher::queueLength() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

void AsyncDispatcher::runPendingForTest() {
  std::vector<Event> events;
  {
    std::lock_guard lock(mutex_);
    events.swap(queue_);
  }
  runBursts(events);
  if (runTimers() > 0) after_burst_();
}

void AsyncDispatcher::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<Event> events = takeEvents(stop);
    runBursts(events);
    if (runTimers() > 0) after_burst_();
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::vector<AsyncDispatcher::Event> AsyncDispatcher::takeEvents(std::stop_token stop) {
  constexpr Micros kLongestWait{500'000};  // The progress counter moves at least this often.
  std::unique_lock lock(mutex_);
  const auto something = [&] {
    return stop.stop_requested() || (!frozen_ && (!queue_.empty() || !first_.empty()));
  };
  if (!something()) {
    Micros wait = kLongestWait;
    if (!timers_.empty() && !frozen_) {
      wait = std::min(wait, std::max(Micros(0), timers_.top().at - clock_.bootNow()));
    }
    wake_.wait_for(lock, wait, something);
  }
  std::vector<Event> events;
  if (frozen_ || stop.stop_requested()) return events;
  events.swap(first_);
  if (events.empty()) {
    events.swap(queue_);
  } else {
    events.insert(events.end(), std::make_move_iterator(queue_.begin()),
                  std::make_move_iterator(queue_.end()));
    queue_.clear();
  }
  return events;
}

void AsyncDispatcher::runBursts(std::vector<Event>& events) {
  size_t in_burst = 0;
  for (Event& event : events) {
    if (maybe_frozen_.load(std::memory_order_acquire)) waitWhileFrozen();
    event();
    event = nullptr;  // What it captured goes now, not at the end of a long queue.
    progress_.fetch_add(1, std::memory_order_relaxed);
    if (++in_burst == options_.burst_max) {
      after_burst_();
      in_burst = 0;
    }
  }
  if (in_burst > 0) after_burst_();
}

void AsyncDispatcher::waitWhileFrozen() {
  std::unique_lock lock(mutex_);
  while (frozen_ && !stopping_) {
    wake_.wait_for(lock, Millis(500));
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
  std::vector<Event> first;
  first.swap(first_);
  lock.unlock();
  for (Event& event : first) {
    event();
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

size_t AsyncDispatcher::runTimers() {
  size_t ran = 0;
  while (!timers_.empty() && ran < options_.burst_max) {
    if (maybe_frozen_.load(std::memory_order_acquire)) return ran;
    if (timers_.top().at > clock_.bootNow()) break;
    Event event = std::move(const_cast<Timer&>(timers_.top()).event);
    const TimerId id = timers_.top().id;
    timers_.pop();
    if (cancelled_.erase(id) > 0) continue;
    event();
    progress_.fetch_add(1, std::memory_order_relaxed);
    ++ran;
  }
  return ran;
}

}  // namespace baton
