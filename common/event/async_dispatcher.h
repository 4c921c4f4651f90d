#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <unordered_set>
#include <vector>

#include "common/base/clock.h"
#include "common/base/named_thread.h"
#include "common/service/service.h"

namespace baton {

// One queue, one thread: whoever posts hands work to the thread that owns the state. Events run in
// the order in which they were posted; timers that are due run when the queue has been emptied
// once, so what arrived before a timer was due is handled before it. Handlers never block and never
// wait for another event.
class AsyncDispatcher final : public Service {
 public:
  using Event = std::function<void()>;
  using TimerId = uint64_t;

  struct Options {
    size_t queue_max = 100'000;  // Past it tryPost refuses; post does not.
    size_t burst_max = 512;      // Events handled between two calls of after_burst.
  };

  // `clock` outlives this. `after_burst` runs on the thread behind every burst of events or timers.
  AsyncDispatcher(Clock& clock, Options options, Event after_burst);
  ~AsyncDispatcher() override;

  // Any thread. After stop() events are dropped.
  void post(Event event);
  // Any thread. False when the queue is full: the caller sheds the work.
  [[nodiscard]] bool tryPost(Event event);

  // Dispatcher thread only (or before start). `at` in the past means as soon as possible.
  TimerId callAt(BootTime at, Event event);
  void cancel(TimerId id);

  // While frozen no event and no timer runs; posting goes on. Any thread.
  void freeze();
  // Runs `first` before anything that waits.
  void resume(Event first);

  size_t queueLength() const;
  // Rises with every event and timer, and while there are none; a watchdog sees that the thread is
  // alive, however much waits for it.
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

  // Runs what is due now on the calling thread; for tests that drive it without a thread.
  void runPendingForTest();

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  struct Timer {
    BootTime at;
    TimerId id;
    Event event;
  };
  struct Later {
    bool operator()(const Timer& a, const Timer& b) const {
      return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
  };

  void run(std::stop_token stop);
  // Takes what is queued, or waits until there is something to do.
  std::vector<Event> takeEvents(std::stop_token stop);
  size_t runTimers();
  void runBursts(std::vector<Event>& events);
  void waitWhileFrozen();

  Clock& clock_;
  const Options options_;
  const Event after_burst_;

  std::atomic<uint64_t> progress_{0};

  mutable std::mutex mutex_;
  // Signalled when: an event is posted, the thread shall stop, a freeze ends.
  std::condition_variable wake_;
  std::vector<Event> queue_;               // Guarded by mutex_.
  bool frozen_ = false;                    // Guarded by mutex_.
  bool stopping_ = false;                  // Guarded by mutex_.
  std::vector<Event> first_;               // Guarded by mutex_; runs first after a resume.
  std::atomic<bool> maybe_frozen_{false};  // Cheap check between two events.

  // Dispatcher thread only.
  std::priority_queue<Timer, std::vector<Timer>, Later> timers_;
  std::unordered_set<TimerId> cancelled_;
  TimerId next_timer_ = 1;

  NamedThread thread_;
};

}  // namespace baton
