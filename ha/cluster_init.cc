#include "ha/cluster_init.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "ha/zk/zk_coordinator.h"

namespace baton::ha {
namespace {

// The elector's place in a call that waits: one queue, served by the caller until an answer.
class InitQueue {
 public:
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }
  // The next task, or nothing when `wait` is over.
  std::optional<std::function<void()>> next(Millis wait) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, wait, [this] { return !tasks_.empty(); })) return std::nullopt;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;  // Signalled when a task is added.
  std::deque<std::function<void()>> tasks_;
};

// Runs one join of the common nodes to its end.
class ClusterInit {
 public:
  ClusterInit(const ClusterInitOptions& options, const Clock& clock, JoinRequest request)
      : options_(options), clock_(clock), request_(std::move(request)) {}

  Status run() {
    const BootTime deadline = clock_.bootNow() + options_.limit;
    ZkCoordinator::Options zk;
    zk.hosts = options_.zk_hosts;
    zk.cluster = options_.cluster;
    zk.credentials = options_.credentials;
    zk.node_id = "init";
    ASSIGN_OR_RETURN(const std::unique_ptr<ZkCoordinator> coordinator,
                     ZkCoordinator::create(
                         zk, [this](std::function<void()> task) { queue_.post(std::move(task)); },
                         [this](Event event) { events_.push_back(std::move(event)); }));
    coordinator->open(1);
    while (clock_.bootNow() < deadline) {
      const auto task = queue_.next(Millis(100));
      if (task) (*task)();
      while (!events_.empty()) {
        const Event event = std::move(events_.front());
        events_.pop_front();
        if (std::optional<Status> result = handle(event, *coordinator)) return *result;
      }
    }
    return Error::unavailable("ZooKeeper at {} did not answer within {} ms", options_.zk_hosts,
                              options_.limit.count());
  }

 private:
  std::optional<Status> handle(const Event& event, ZkCoordinator& coordinator) {
    if (std::holds_alternative<SessionUp>(event)) {
      coordinator.join(++asked_, request_);
      return std::nullopt;
    }
    if (std::holds_alternative<SessionRefused>(event)) return refused();
    if (const auto* failed = std::get_if<SessionFailed>(&event)) {
      return Error::unavailable("no ZooKeeper handle: {}", failed->why);
    }
    if (const auto* joined = std::get_if<JoinReply>(&event)) {
      if (joined->id != asked_) return std::nullopt;
      if (joined->code != CoordCode::Ok || !options_.demand_stopped) return verdict(*joined);
      coordinator.readView(++asked_, /*sync=*/true);
    } else if (const auto* read = std::get_if<ViewReply>(&event)) {
      if (read->id != asked_) return std::nullopt;
      if (read->code != CoordCode::Ok) return failed(read->code);
      if (read->view.lock) return runs(read->view.lock->record.who.node_id);
      coordinator.readMembers(++asked_);
    } else if (const auto* found = std::get_if<MembersReply>(&event)) {
      if (found->id != asked_) return std::nullopt;
      if (found->code != CoordCode::Ok) return failed(found->code);
      return found->members.empty() ? Status() : runs(found->members.front().who.node_id);
    }
    return std::nullopt;
  }

  static Status runs(const std::string& node_id) {
    return Error::conflict(
        "the master {} runs; stop all masters first (one that was killed is known to ZooKeeper for "
        "zookeeper.session_ms)",
        node_id);
  }

  std::optional<Status> verdict(const JoinReply& reply) const {
    switch (reply.code) {
      case CoordCode::Ok:
        return Status();
      case CoordCode::Mismatch:
        return Error::conflict(
            "ZooKeeper already holds the cluster {} under the name {}, the database's is {}",
            reply.guid, options_.cluster, request_.expected_guid);
      case CoordCode::Absent:
        if (!reply.guid.empty()) return Error::unavailable("ZooKeeper's nodes are being deleted");
        return Error::conflict(
            "ZooKeeper holds no cluster {} while the database has had epoch {}: if this ensemble "
            "is the right one, repeat with --adopt",
            options_.cluster, request_.epoch);
      default:
        return failed(reply.code);
    }
  }

  std::optional<Status> failed(CoordCode code) const {
    if (code == CoordCode::Refused) return refused();
    // Asked again when the connection is back; all of it is repeatable.
    if (code == CoordCode::Ambiguous) return std::nullopt;
    return Error::unavailable("ZooKeeper at {} refused to create or read the nodes",
                              options_.zk_hosts);
  }

  Status refused() const {
    return Error(ErrorCode::PermissionDenied,
                 "ZooKeeper refused: credentials (zookeeper.digest_file) or the access list of a "
                 "parent node");
  }

  const ClusterInitOptions& options_;
  const Clock& clock_;
  const JoinRequest request_;
  InitQueue queue_;
  std::deque<Event> events_;
  uint64_t asked_ = 0;
};

}  // namespace

Status initCluster(const ClusterInitOptions& options, dao::EpochStore& store, const Clock& clock) {
  ASSIGN_OR_RETURN(const dao::ClusterRow cluster, store.readCluster());
  ASSIGN_OR_RETURN(const dao::EpochRow row, store.read());
  JoinRequest request;
  request.expected_guid = cluster.guid;
  request.epoch = row.epoch;
  if (row.epoch == 0 || options.adopt) request.create_guid = cluster.guid;
  return ClusterInit(options, clock, std::move(request)).run();
}

}  // namespace baton::ha
