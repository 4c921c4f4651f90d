#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/clock.h"
#include "common/base/named_thread.h"
#include "master/api/flow_ports.h"
#include "master/api/ports.h"
#include "master/api/watch_port.h"
#include "webapi/router.h"

namespace baton::webapi {

// The stream of changes (server-sent events). A watcher is a place in the master's log and a
// filter: what it has not fetched yet waits there and not here, so that a slow one costs no memory,
// and is cut when the log has moved on. One thread serves all that wait for something new.
class WatchHandlers {
 public:
  struct Options {
    size_t watchers_max = 256;  // Past it 503.
    Millis heartbeat{15'000};   // A comment for whoever got nothing for so long.
    Millis round_min{10};       // Between two looks for everybody.
  };

  // The ports outlive this.
  WatchHandlers(master::api::WatchPort& watch, master::api::TaskPort& tasks,
                master::api::RunPort& runs, Options options);
  ~WatchHandlers();
  void bindTo(Router& router);
  // Streams that are open, and how many may be.
  size_t watchers() const { return open_->load(); }
  size_t watchersMax() const { return options_.watchers_max; }
  // Ends all streams in an orderly way and takes no more. Any number of times.
  void beginStop() noexcept;

 private:
  struct Watcher;
  using WatcherRef = std::shared_ptr<Watcher>;

  void open(const Call& call);
  // First words of a stream, which may move the watcher to `newest`.
  std::string beginning(Watcher& watcher, bool resumes, const master::api::WatchPosition& newest);
  // The connection has room: the next piece of the stream, now or when there is one.
  void next(const WatcherRef& watcher, net::BodyDone done);
  // What there is for the watcher now; empty: nothing.
  std::string fetch(Watcher& watcher);
  void run();
  void serveRound();
  // Ends streams that wait.
  void sayGoodbye(const std::vector<WatcherRef>& watchers);
  void onNews();

  master::api::WatchPort& watch_;
  master::api::TaskPort& tasks_;
  master::api::RunPort& runs_;
  const Options options_;
  const SystemClock clock_;
  const std::shared_ptr<std::atomic<size_t>> open_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<bool> waited_for_{false};  // Somebody waits for news.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;                // Guarded by mutex_.
  bool stopping_ = false;            // Guarded by mutex_. No stream is served any more.
  bool ending_ = false;              // Guarded by mutex_. The thread ends.
  std::vector<WatcherRef> waiting_;  // Guarded by mutex_.
  NamedThread thread_;
};

}  // namespace baton::webapi
