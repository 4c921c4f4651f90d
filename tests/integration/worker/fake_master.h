#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/heartbeat.h"
#include "net/http_server.h"

namespace baton::worker {

// A master as a worker sees it: one queue of orders, the protocol's answers, and a memory of all
// that was said. Safe from any thread.
class FakeMaster {
 public:
  explicit FakeMaster(std::string token) : token_(std::move(token)) {}
  ~FakeMaster() { server_->stop(Micros(0)); }

  void start();
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }

  void lead(bool active, Epoch epoch);
  void answerWith(int status);      // All heartbeats; 0: as the protocol says.
  void refuseOptional(int status);  // Heartbeats with outputs or a command.
  void submit(Order order);
  void stopAttempt(TaskId task);

  std::vector<HeartbeatRequest> reports() const;
  // The newest FINISHED or FAILED report of that task.
  std::optional<HeartbeatRequest> result(TaskId task) const;
  // The closing IDLE of that task.
  std::optional<HeartbeatRequest> closing(TaskId task) const;
  size_t timesRunning(TaskId task) const;
  // Heartbeats that got the status of answerWith().
  size_t refusals() const;

 private:
  void handle(const net::HttpRequest& request, const net::Responder& responder);
  HeartbeatReply reply(const HeartbeatRequest& request);

  const std::string token_;
  std::unique_ptr<net::HttpServer> server_;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  bool active_ = true;
  Epoch epoch_ = 1;
  int status_ = 0;
  int status_of_optional_ = 0;
  size_t refusals_ = 0;
  std::deque<Order> orders_;
  std::map<std::string, Order> open_;  // By runner: sent, and not known to have ended.
  std::set<TaskId> stops_;
  std::vector<HeartbeatRequest> reports_;
};

}  // namespace baton::worker
