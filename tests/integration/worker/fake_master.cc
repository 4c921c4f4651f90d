#include "tests/integration/worker/fake_master.h"

#include <gtest/gtest.h>

namespace baton::worker {

void FakeMaster::start() {
  net::HttpServer::Options options;
  options.pool_threads = 1;
  server_ = std::make_unique<net::HttpServer>(
      options, [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
      [this](const net::HttpRequest& request, const net::Responder& responder) {
        handle(request, responder);
      });
  const Status started = server_->start();
  ASSERT_TRUE(started.ok()) << started.text();
}

void FakeMaster::lead(bool active, Epoch epoch) {
  std::lock_guard lock(mutex_);
  active_ = active;
  epoch_ = epoch;
}

void FakeMaster::answerWith(int status) {
  std::lock_guard lock(mutex_);
  status_ = status;
}

void FakeMaster::submit(Order order) {
  std::lock_guard lock(mutex_);
  orders_.push_back(std::move(order));
}

void FakeMaster::refuseOptional(int status) {
  std::lock_guard lock(mutex_);
  status_of_optional_ = status;
}

void FakeMaster::stopAttempt(TaskId task) {
  std::lock_guard lock(mutex_);
  stops_.insert(task);
}

void FakeMaster::handle(const net::HttpRequest& request, const net::Responder& responder) {
  std::lock_guard lock(mutex_);
  if (request.headers.get("Authorization") != "Bearer " + token_) {
    return responder.reply(net::HttpResponse::problem(401, "unauthenticated", "no token"));
  }
  if (request.path == "/api/v1/cluster") {
    return responder.reply(
        net::HttpResponse::json(200, fmt::format(R"({{"guid":"guid","role":"{}","epoch":{}}})",
                                                 active_ ? "active" : "standby", epoch_)));
  }
  if (!active_) {
    return responder.reply(net::HttpResponse::problem(503, "not_active", "standby"));
  }
  if (status_ != 0) {
    ++refusals_;
    return responder.reply(net::HttpResponse::problem(status_, "refused", "by the test"));
  }
  const std::string prefix = "/api/v1/runners/";
  const std::string runner =
      request.path.substr(prefix.size(), request.path.rfind('/') - prefix.size());
  const auto json = parseJson(request.body);
  ASSERT_TRUE(json.ok());
  const auto report = parseHeartbeatRequest(*json, runner);
  ASSERT_TRUE(report.ok()) << report.error().text();
  if (status_of_optional_ != 0 &&
      (!report->result.outputs.empty() || !report->final_args.empty())) {
    ++refusals_;
    return responder.reply(
        net::HttpResponse::problem(status_of_optional_, "refused", "by the test"));
  }
  reports_.push_back(*report);
  responder.reply(net::HttpResponse::json(200, heartbeatReplyToText(reply(*report))));
}

HeartbeatReply FakeMaster::reply(const HeartbeatRequest& request) {
  HeartbeatReply reply{.cluster_guid = "guid",
                       .epoch = epoch_,
                       .incarnation = request.incarnation.value_or(0),
                       .seq = request.seq.value_or(0),
                       .command = Command::GoOn,
                       .order = {},
                       .interval_ms = 200};
  if (request.status == RunnerStatus::Running) {
    if (stops_.contains(request.current.task_id)) reply.command = Command::Reset;
    return reply;
  }
  if (request.status != RunnerStatus::Idle) reply.command = Command::Reset;
  const auto open = open_.find(request.runner_id);
  if (open != open_.end()) {
    // An order that the runner never accepted goes out again; any other report ends it.
    if (request.last_order != open->second.key) {
      reply.command = Command::RunNew;
      reply.order = open->second;
      return reply;
    }
    open_.erase(open);
  }
  if (!orders_.empty()) {
    reply.command = Command::RunNew;
    reply.order = orders_.front();
    open_[request.runner_id] = orders_.front();
    orders_.pop_front();
  }
  return reply;
}

std::vector<HeartbeatRequest> FakeMaster::reports() const {
  std::lock_guard lock(mutex_);
  return reports_;
}

std::optional<HeartbeatRequest> FakeMaster::result(TaskId task) const {
  std::lock_guard lock(mutex_);
  for (auto one = reports_.rbegin(); one != reports_.rend(); ++one) {
    const bool ended = one->status == RunnerStatus::Finished || one->status == RunnerStatus::Failed;
    if (ended && one->current.task_id == task) return *one;
  }
  return std::nullopt;
}

std::optional<HeartbeatRequest> FakeMaster::closing(TaskId task) const {
  std::lock_guard lock(mutex_);
  for (const HeartbeatRequest& one : reports_) {
    if (one.status == RunnerStatus::Idle && one.current.task_id == task) return one;
  }
  return std::nullopt;
}

size_t FakeMaster::refusals() const {
  std::lock_guard lock(mutex_);
  return refusals_;
}

size_t FakeMaster::timesRunning(TaskId task) const {
  std::lock_guard lock(mutex_);
  size_t times = 0;
  for (const HeartbeatRequest& one : reports_) {
    if (one.status == RunnerStatus::Running && one.current.task_id == task) ++times;
  }
  return times;
}

}  // namespace baton::worker
