#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "master/api/ports.h"
#include "net/task_pool.h"
#include "webapi/call.h"
#include "webapi/delayer.h"
#include "webapi/worker_log_reader.h"

namespace baton::webapi {

// Where following begins.
struct FollowStart {
  TaskId task = 0;
  int32_t attempt = 0;  // 0: none yet.
  bool only = false;    // The stream ends with this attempt; else it goes on with the next ones.
  std::string stream = {};
  uint64_t offset = 0;
};

// Follows outputs as they grow: each is a body that ends when the task (or the one attempt) has
// ended and all was given. A body that is cut instead is not whole: the master stops, leads no
// more, or the worker of an ended attempt does not answer. Who waits for output holds no thread:
// workers are asked in growing intervals, on two threads for all.
class LogFollower {
 public:
  struct Options {
    std::string worker_token;
    Micros worker_timeout{5'000'000};  // For one read.
    size_t followers_max = 256;        // Past it 503.
    Millis pause_min{100};             // Between two looks while there is nothing new.
    Millis pause_max{1'000};
  };

  // `tasks` outlives this.
  LogFollower(master::api::TaskPort& tasks, Options options);
  // Errors: Overloaded.
  Result<net::BodySource> follow(const FollowStart& start);
  // Cuts what is followed. Any thread.
  void beginStop() noexcept { stopping_ = true; }
  // Waits for reads in flight. Any number of times.
  void stop() noexcept;

 private:
  struct Follow;
  using FollowRef = std::shared_ptr<Follow>;
  // What one look came to.
  enum class Found : uint8_t { Bytes, Nothing, End, Cut };

  void next(const FollowRef& follow, net::BodyDone done);
  void look(const FollowRef& follow, const net::BodyDone& done);
  void later(const FollowRef& follow, net::BodyDone done);
  Found read(Follow& follow, std::string& bytes);
  // Nothing new is there: whether more can come, and from where.
  Found advance(Follow& follow, std::string& bytes);

  master::api::TaskPort& tasks_;
  const Options options_;
  const std::shared_ptr<std::atomic<size_t>> open_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<bool> stopping_{false};
  net::TaskPool pool_;
  Delayer delayer_;
};

}  // namespace baton::webapi
