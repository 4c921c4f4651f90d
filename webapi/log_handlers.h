#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "master/api/ports.h"
#include "net/task_pool.h"
#include "webapi/log_follow.h"
#include "webapi/router.h"
#include "webapi/worker_log_reader.h"

namespace baton::webapi {

// Shows outputs of attempts, fetched from the workers that have them. Workers may hang, so they
// are asked on threads of their own; when all of these wait, further requests get 503 and every
// other address goes on.
class LogHandlers {
 public:
  struct Options {
    std::string worker_token;
    Micros worker_timeout{5'000'000};  // For one read.
    size_t threads = 4;
    size_t queue_max = 64;
    size_t followers_max = 256;  // Outputs that are followed; past it 503.
  };

  // References outlive this.
  LogHandlers(master::api::TaskPort& tasks, master::api::HostPort& hosts, Options options);
  void bindTo(Router& router);
  // From now on no read begins; what would need one is refused. Any thread.
  void beginStop() noexcept {
    stopping_ = true;
    follower_.beginStop();
  }
  // Waits for reads in flight. Any number of times.
  void stop() noexcept {
    follower_.stop();
    pool_.stop();
  }

 private:
  void get(const Call& call);
  void download(const Call& call);
  void follow(const Call& call, int64_t offset, int64_t tail);
  void replyFollowing(const Call& call, const FollowStart& start);
  Result<AttemptRecord> findAttempt(const Call& call, int64_t number);
  Result<std::shared_ptr<WorkerLogReader>> readerFor(const Call& call, AttemptRecord& attempt);
  void ask(const Call& call, std::function<void()> work);
  void startDownload(const Call& call, const std::shared_ptr<WorkerLogReader>& reader,
                     const AttemptRecord& attempt);
  void failRead(const Call& call, const Error& error, const std::string& runner_id);
  std::string lastSeen(const std::string& runner_id);

  master::api::TaskPort& tasks_;
  master::api::HostPort& hosts_;
  const Options options_;
  std::atomic<bool> stopping_{false};
  net::TaskPool pool_;
  LogFollower follower_;
};

}  // namespace baton::webapi
