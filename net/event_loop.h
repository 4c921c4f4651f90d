#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/file_descriptor.h"
#include "common/base/status.h"

namespace baton::net {

// One thread that waits for descriptors (level-triggered epoll), timers and posted work.
// Thread: whoever calls run(). All but post, wake, stop and onLoopThread belong to that thread, or
// to the owner while nobody runs the loop. Callbacks may add and remove any descriptor and timer,
// their own included; they must not block and must not throw.
class EventLoop {
 public:
  using Callback = std::function<void(uint32_t events)>;  // EPOLLIN, EPOLLOUT, …
  using Task = std::function<void()>;
  using TimerId = uint64_t;  // Never 0, never used again.

  // Errors: Unavailable (no descriptors left).
  static Result<std::unique_ptr<EventLoop>> create();
  ~EventLoop();

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Watches a descriptor, which stays the caller's. EPOLLERR and EPOLLHUP are always reported.
  // Errors: Unavailable (the kernel refuses), Conflict (it is watched already).
  Status add(int fd, uint32_t events, Callback callback);
  Status modify(int fd, uint32_t events);
  // Call it before the descriptor is closed; does nothing if it is not watched.
  void remove(int fd);

  // Runs `task` on the loop's thread soon, in the order of the posts. Any thread. What is still
  // waiting when the loop has ended is dropped with the loop.
  void post(Task task);

  // Runs `task` once, not before `delay` (boot time, microseconds; negative counts as 0) is over.
  TimerId callAfter(Micros delay, Task task);
  // True when the timer had not fired and never will.
  bool cancel(TimerId timer);

  // Serves until stop() or the token asks to end. What was posted before is done first.
  void run(std::stop_token stop);
  void stop();  // Any thread.
  void wake();  // Any thread.
  bool onLoopThread() const;

  // Boot time of this turn of the loop: cheap, and as old as the turn.
  BootTime now() const { return now_; }

 private:
  struct Watch {
    uint32_t generation;
    Callback callback;
  };
  using TimerKey = std::pair<BootTime, TimerId>;

  EventLoop(FileDescriptor epoll, FileDescriptor wake, FileDescriptor timer);
  void turn();
  void dispatch(uint64_t key, uint32_t events);
  void runPosted();
  void runTimers();
  void armTimer();
  void refreshNow();

  const FileDescriptor epoll_;
  const FileDescriptor wake_;
  const FileDescriptor timer_;
  const SystemClock clock_;

  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;
  std::vector<Task> posted_;  // Guarded by mutex_.
  bool sleeping_ = false;     // Guarded by mutex_: only the first post to a sleeper wakes it.

  // The loop's thread only.
  BootTime now_{};
  std::vector<std::unique_ptr<Watch>> watches_;  // By descriptor.
  std::vector<std::unique_ptr<Watch>> retired_;  // Removed in this turn; may still be running.
  uint32_t next_generation_ = 1;
  std::map<TimerKey, Task> timers_;
  std::unordered_map<TimerId, BootTime> timer_due_;
  TimerId next_timer_ = 1;
  BootTime armed_for_ = BootTime::max();
};

}  // namespace baton::net
