#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "common/base/named_thread.h"
#include "ha/coordinator.h"
#include "ha/election_event.h"
#include "ha/election_state.h"
#include "ha/epoch_poller.h"
#include "ha/failover.h"
#include "ha/liveness_guard.h"
#include "ha/permission_cell.h"
#include "ha/role_runner.h"

namespace baton::ha {

// Elects by ZooKeeper and the epoch row. Threads: the elector (all decisions, the only caller of
// ZooKeeper), the role thread, the poller, the guard, and the client's own. Nothing blocks the
// elector. The service given to start() outlives stop().
class ZkFailover final : public Failover {
 public:
  struct Options {
    std::string node_id;        // Unique among the masters of the cluster.
    std::string address;        // host:port of the own web server.
    std::string cluster;        // Names the root: <path of zk_hosts, or /baton>/<cluster>.
    std::string zk_hosts;       // "10.0.0.1:2181,10.0.0.2:2181/path".
    int32_t session_ms = 3000;  // As asked for; the ensemble decides.
    std::string credentials;    // "user:password" of the digest scheme; empty: open nodes.
    int32_t priority = 100;     // 0: observer.
    bool eligible = true;
    std::string version;
    // Ends the process when a role cannot be ended in time; replaced in tests.
    std::function<void(const std::string& why)> fail_stop = failStop;
  };

  // `make_store` is called on the role thread and on the poller thread, once each.
  ZkFailover(Options options, const Clock& clock, EpochStoreFactory make_store);
  ~ZkFailover() override;

  Status start(IMasterActiveService& service) override;
  void stop() noexcept override;
  Permission permission() const noexcept override { return permission_.read(); }
  void onFenced(uint64_t seen_epoch) noexcept override;
  void onHigherEpoch(uint64_t seen_epoch) noexcept override;
  void onServiceFailure(const std::string& why, bool give_up_lock) noexcept override;
  void handOver(const std::string& why) noexcept override;
  LeaderInfo leader() const override;
  std::vector<MemberInfo> members() const override;
  FailoverStats stats() const override;

 private:
  struct Item {
    std::variant<Event, std::function<void()>> what;
    uint64_t suspension = 0;  // Of the permission, if this event came with one.
  };
  struct Snapshot {
    LeaderInfo leader;
    std::vector<MemberInfo> members;
    FailoverStats stats;
  };

  void post(Item item);
  void postEvent(Event event) { post({std::move(event), 0}); }
  void doubtEpoch(uint64_t seen_epoch, const std::string& source);
  void run(const std::stop_token& stop);
  void process(const Event& event);
  void execute(const Action& action);
  // Takes the permission away; what was about to be resumed is not.
  uint64_t suspend(const std::string& freeze_why = {});
  void startResume(const Leadership& leadership);
  void logChange(const ElectionState& before) const;
  void publish();
  void refreshSnapshot();
  Snapshot makeSnapshot() const;
  void dismantle();

  const Options options_;
  const Clock& clock_;
  const EpochStoreFactory make_store_;
  const ElectionConfig config_;
  IMasterActiveService* service_ = nullptr;  // Set by start().
  PermissionCell permission_;
  std::atomic<uint64_t> elector_turns_{0};

  std::mutex freeze_mutex_;  // Held while the service is frozen or resumed.
  uint64_t freezes_ = 0;     // Guarded by freeze_mutex_: what makes a resume out of date.

  // The elector's.
  ElectionState state_;
  uint64_t seen_suspension_ = 0;
  std::unique_ptr<Coordinator> coordinator_;

  mutable std::mutex snapshot_mutex_;
  Snapshot snapshot_;  // Guarded by snapshot_mutex_.

  std::mutex queue_mutex_;
  std::condition_variable_any queue_wake_;  // Signalled when an item is added.
  std::deque<Item> queue_;                  // Guarded by queue_mutex_.

  std::mutex stop_mutex_;  // Held while stopping.
  std::mutex stopped_mutex_;
  std::condition_variable stopped_wake_;  // Signalled when the elector has ended.
  bool elector_ended_ = false;            // Guarded by stopped_mutex_.

  std::unique_ptr<RoleRunner> role_;
  std::unique_ptr<EpochPoller> poller_;
  NamedThread elector_;
  std::unique_ptr<LivenessGuard> guard_;
};

}  // namespace baton::ha
