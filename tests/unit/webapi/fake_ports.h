#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "master/api/audit_port.h"
#include "master/api/group_port.h"
#include "master/api/ports.h"
#include "master/api/watch_port.h"

// Ports of a master that only remembers what it was asked and answers what the test has set.
namespace baton::webapi::test {

class FakeTasks final : public master::api::TaskPort {
 public:
  void submit(master::api::Submission submission,
              master::api::Callback<master::api::SubmitAnswer> done) override {
    std::optional<Error> failure;
    {
      std::lock_guard lock(mutex_);
      failure = fail;
      if (!failure) submissions.push_back(submission);
    }
    if (failure) return done(*failure);
    master::api::SubmitAnswer answer = submit_answer;
    if (answer.body.empty())
      answer.body = submission.bulk ? R"({"ids":["7","8"]})" : R"({"id":"7"})";
    done(std::move(answer));
  }
  void command(TaskId id, master::api::TaskCommand command, bool force,
               master::api::Request request,
               master::api::Callback<master::api::TaskView> done) override {
    if (fail) return done(*fail);
    commands.push_back({id, command, force, std::move(request)});
    done(known.at(id));
  }
  Result<master::api::TaskView> task(TaskId id) override {
    if (fail) return *fail;
    const auto it = known.find(id);
    if (it == known.end()) return Error::notFound("there is no task {}", id);
    return it->second;
  }
  Result<master::api::TaskListView> tasks(const master::api::TaskListQuery& query) override {
    if (fail) return *fail;
    last_query = query;
    return list;
  }
  Result<std::vector<AttemptRecord>> attempts(TaskId id) override {
    if (fail) return *fail;
    const auto it = tries.find(id);
    if (it == tries.end()) return Error::notFound("there is no task {}", id);
    return it->second;
  }

  struct Asked {
    TaskId id;
    master::api::TaskCommand command;
    bool force;
    master::api::Request request;
  };

  // Set before a request, read after its answer.
  std::optional<Error> fail;
  master::api::SubmitAnswer submit_answer;
  std::vector<master::api::Submission> submissions;
  std::vector<Asked> commands;
  std::map<TaskId, master::api::TaskView> known;
  std::map<TaskId, std::vector<AttemptRecord>> tries;
  master::api::TaskListQuery last_query;
  master::api::TaskListView list;

 private:
  std::mutex mutex_;
};

class FakeHeartbeats final : public master::api::HeartbeatPort {
 public:
  void heartbeat(HeartbeatRequest request, master::api::HeartbeatReplyFn done) override {
    std::unique_lock lock(mutex_);
    seen.push_back(std::move(request));
    if (hold) {
      held.push_back(std::move(done));
      changed_.notify_all();
      return;
    }
    lock.unlock();
    done(answer());
  }
  void heartbeatGone(const std::string& runner_id, uint64_t incarnation, uint64_t seq) override {
    std::lock_guard lock(mutex_);
    gone.push_back({runner_id, incarnation, seq});
    changed_.notify_all();
  }

  Result<HeartbeatReply> answer() {
    if (fail) return *fail;
    return reply;
  }
  // The replies of held heartbeats, once there are `count`.
  std::vector<master::api::HeartbeatReplyFn> takeHeld(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return held.size() >= count; });
    return std::exchange(held, {});
  }
  bool waitGone(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return gone.size() >= count; });
  }

  struct Gone {
    std::string runner_id;
    uint64_t incarnation;
    uint64_t seq;
  };

  bool hold = false;
  std::optional<Error> fail;
  HeartbeatReply reply;
  std::vector<HeartbeatRequest> seen;
  std::vector<Gone> gone;
  std::vector<master::api::HeartbeatReplyFn> held;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeHosts final : public master::api::HostPort {
 public:
  Result<std::vector<master::api::RunnerView>> runners() override { return runner_list; }
  Result<std::vector<master::api::HostView>> hosts() override { return host_list; }

  Result<master::api::HostPolicy> policy() override { return host_policy; }
  void change(master::api::HostChange change,
              master::api::Callback<std::vector<master::api::HostView>> done) override {
    if (fail) return done(*fail);
    changes.push_back(std::move(change));
    done(host_list);
  }
  void setPolicy(master::api::HostPolicyChange change,
                 master::api::Callback<master::api::HostPolicy> done) override {
    policy_changes.push_back(std::move(change));
    done(host_policy);
  }

  std::optional<Error> fail;
  std::vector<master::api::HostChange> changes;
  std::vector<master::api::HostPolicyChange> policy_changes;
  master::api::HostPolicy host_policy;
  std::vector<master::api::RunnerView> runner_list;
  std::vector<master::api::HostView> host_list;
};

class FakeCluster final : public master::api::ClusterPort {
 public:
  master::api::ClusterView cluster() override { return view; }
  bool isActive() const override { return active; }
  Result<std::vector<master::api::TakeoverView>> history(uint32_t limit) override {
    last_limit = limit;
    return takeovers;
  }
  Result<master::api::StatsView> stats() override { return stats_view; }
  Result<std::string> internals() override { return std::string(R"({"queues":{}})"); }
  Result<master::api::VerifyView> verify() override { return verify_view; }
  void sync(master::api::Request request,
            master::api::Callback<master::api::SyncBegun> done) override {
    syncs.push_back(std::move(request));
    done(master::api::SyncBegun{view.epoch});
  }
  std::string metrics() override { return "# TYPE baton_epoch gauge\nbaton_epoch 3\n"; }

  bool active = true;
  uint32_t last_limit = 0;
  master::api::ClusterView view{.cluster = "c1",
                                .guid = "g-1",
                                .node_id = "m1",
                                .role = "active",
                                .state = "ACTIVE",
                                .epoch = 3,
                                .active_known = true,
                                .active_node_id = "m1",
                                .active_address = "127.0.0.1:1",
                                .active_since = wallFromMicros(1'700'000'000'000'000),
                                .masters = {{"m1", "active", "ACTIVE", "127.0.0.1:1", "0.1.0"}},
                                .alarm = {}};
  std::vector<master::api::TakeoverView> takeovers;
  master::api::StatsView stats_view;
  master::api::VerifyView verify_view;
  std::vector<master::api::Request> syncs;
};

class FakeCallbacks final : public master::api::CallbackPort {
 public:
  Result<std::vector<OutboxRecord>> dead(uint64_t before, uint32_t limit) override {
    last_before = before;
    last_limit = limit;
    return std::vector<OutboxRecord>(
        records.begin(), records.begin() + std::min<ptrdiff_t>(limit, std::ssize(records)));
  }
  void resend(uint64_t id, master::api::Request request,
              master::api::Callback<OutboxRecord> done) override {
    last_request = std::move(request);
    for (const OutboxRecord& record : records) {
      if (record.id == id && record.state == OutboxRecord::State::Dead) return done(record);
      if (record.id == id) return done(Error::conflict("callback {} is not dead", id));
    }
    done(Error::notFound("there is no callback {}", id));
  }

  uint64_t last_before = 0;
  uint32_t last_limit = 0;
  master::api::Request last_request;
  std::vector<OutboxRecord> records;
};

class FakeGroups final : public master::api::GroupPort {
 public:
  void changeLimit(master::api::LimitChange change,
                   master::api::Callback<master::api::LimitView> done) override {
    if (fail) return done(*fail);
    changes.push_back(change);
    master::api::LimitView view;
    view.record = change.record;
    done(view);
  }
  Result<std::vector<master::api::LimitView>> limits(LimitKind kind) override {
    if (fail) return *fail;
    std::vector<master::api::LimitView> found;
    for (const auto& view : views) {
      if (view.record.kind == kind) found.push_back(view);
    }
    return found;
  }
  Result<master::api::LimitView> limit(LimitKind kind, const std::string& name) override {
    if (fail) return *fail;
    for (const auto& view : views) {
      if (view.record.kind == kind && view.record.name == name) return view;
    }
    return Error::notFound("no limit is set for {} \"{}\"", toString(kind), name);
  }

  std::optional<Error> fail;
  std::vector<master::api::LimitChange> changes;
  std::vector<master::api::LimitView> views;
};

class FakeAudit final : public master::api::AuditPort {
 public:
  Result<master::api::ListOf<AuditRecord>> audit(
      const master::api::AuditListQuery& query) override {
    if (fail) return *fail;
    asked = query;
    return list;
  }

  std::optional<Error> fail;
  master::api::AuditListQuery asked;
  master::api::ListOf<AuditRecord> list;
};

// A log of changes to which the test adds; it keeps all, or what the test says.
class FakeWatch final : public master::api::WatchPort {
 public:
  using Position = master::api::WatchPosition;

  Result<Position> newest() override {
    std::lock_guard lock(mutex_);
    if (!leading_) return Error(ErrorCode::NotActive, "");
    return events_.empty() ? begun_ : events_.back()->at();
  }
  Look look(const master::api::WatchFilter& filter, Position& at, size_t max) override {
    Look found;
    std::lock_guard lock(mutex_);
    last_filter_ = filter;
    if (at < floor_) found.end = at < begun_ ? Look::End::Takeover : Look::End::Lost;
    for (const auto& event : events_) {
      if (found.end != Look::End::Open || event->at() <= at || found.events.size() == max) continue;
      at = event->at();
      found.events.push_back(event);
    }
    if (found.end == Look::End::Open && !leading_) found.end = Look::End::Left;
    return found;
  }
  void setNews(std::function<void()> news) override {
    std::lock_guard lock(mutex_);
    news_ = std::move(news);
  }

  void add(uint64_t batch, RunId run, std::string flow, master::api::WatchEvent::Body body) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::make_shared<const master::api::WatchEvent>(
        Position{begun_.epoch, batch, 1}, run, std::move(flow), std::move(body)));
    if (news_) news_();
  }
  void leave() {
    std::lock_guard lock(mutex_);
    leading_ = false;
    if (news_) news_();
  }
  void forgetUntil(Position floor) {
    std::lock_guard lock(mutex_);
    floor_ = floor;
    if (news_) news_();
  }

  // What the newest look asked for.
  master::api::WatchFilter lastFilter() {
    std::lock_guard lock(mutex_);
    return last_filter_;
  }

 private:
  std::mutex mutex_;
  master::api::WatchFilter last_filter_;
  Position begun_{3, 0, 0};
  Position floor_{3, 0, 0};
  bool leading_ = true;
  std::vector<std::shared_ptr<const master::api::WatchEvent>> events_;
  std::function<void()> news_;
};

}  // namespace baton::webapi::test
