#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "common/base/named_thread.h"
#include "ha/zk/zk_session.h"

namespace baton::ha {

// Closes handles where nobody waits for it: closing takes seconds with a frozen server and must
// never happen in a callback. The destructor closes what is left. Any thread.
class ZkReaper {
 public:
  ZkReaper();
  ~ZkReaper();
  // Takes a detached session.
  void bury(std::unique_ptr<ZkSession> session);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;  // Signalled when a session is added or the end is asked for.
  std::deque<std::unique_ptr<ZkSession>> sessions_;
  NamedThread thread_;
};

}  // namespace baton::ha
