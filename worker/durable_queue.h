#pragma once

#include <functional>
#include <vector>

#include "net/event_loop.h"
#include "worker/journal.h"

namespace baton::worker {

// Lets what must be durable first go first: work that was added after something was noted in the
// journal runs once that is on disk. One sync at the end of a turn of the loop serves everything
// of that turn. While the disk refuses, the work waits and the sync is tried again.
// Thread: the loop's.
class DurableQueue {
 public:
  using Task = std::function<void()>;

  // References outlive this.
  DurableQueue(net::EventLoop& loop, Journal& journal) : loop_(loop), journal_(journal) {}
  ~DurableQueue();

  // Runs `task` at once if nothing waits to become durable, else when it is. Keeps the order.
  void run(Task task);
  // To be called after a note in the journal.
  void noteWritten();

 private:
  void flush();

  net::EventLoop& loop_;
  Journal& journal_;
  std::vector<Task> waiting_;
  bool flush_due_ = false;
  bool failing_ = false;
  net::EventLoop::TimerId retry_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace baton::worker
