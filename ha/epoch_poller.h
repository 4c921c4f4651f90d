#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "common/base/named_thread.h"
#include "ha/role_runner.h"

namespace baton::ha {

// Reads the epoch row when asked to, on its own thread and connection, so that a promotion that
// takes long or a database that hangs delays nobody else. Answers go to `sink` from that thread.
class EpochPoller {
 public:
  EpochPoller(EpochStoreFactory make_store, std::function<void(Event)> sink);
  ~EpochPoller();
  void probe(uint64_t id);

 private:
  void run(const std::stop_token& stop);
  ProbeReply read(uint64_t id);

  const EpochStoreFactory make_store_;
  const std::function<void(Event)> sink_;
  std::unique_ptr<dao::EpochStore> store_;  // The poller thread's.

  std::mutex mutex_;
  std::condition_variable_any wake_;  // Signalled when a probe is asked for, or the end.
  std::deque<uint64_t> wanted_;
  NamedThread thread_;  // Last member: gone before what it uses.
};

}  // namespace baton::ha
