#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/named_thread.h"
#include "ha/failover.h"
#include "ha/liveness_guard.h"
#include "ha/local/directory_lock.h"
#include "ha/permission_cell.h"
#include "ha/role_runner.h"

namespace baton::ha {

// The failover of `baton standalone`: the lock on the data directory in place of ZooKeeper, the
// same epoch row as arbiter. One thread moves the row and drives the service; a guard watches it.
// The service given to start() outlives stop().
class LocalFailover final : public Failover {
 public:
  struct Options {
    std::string node_id;
    std::string address;
    std::string data_directory;
    std::string version;
    std::function<void(const std::string& why)> fail_stop = failStop;
  };
  LocalFailover(Options options, const Clock& clock, EpochStoreFactory make_store);
  ~LocalFailover() override;

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
  // What others ask of the role thread; guarded by mutex_.
  struct Requests {
    bool verify = false;
    std::optional<std::string> reload;
    bool failed_again = false;
    std::optional<std::string> hand_over;  // The same in order.
  };

  void run(const std::stop_token& stop);
  // Bumps and promotes. Errors leave nothing running.
  Status takeRole(const std::stop_token& stop);
  struct RoleEnd {
    std::string why;
    bool in_order = false;      // What is decided is made durable first.
    bool failed_again = false;  // Not for the first time, so that it is not taken again at once.
  };
  // Returns when the role is to be given up.
  RoleEnd holdRole(const std::stop_token& stop);
  bool resumeUnless(uint64_t suspension);
  void endRole(const RoleEnd& end);
  void setState(FailoverState state, const std::string& alarm);
  void suspend(const std::string& why);
  Result<dao::EpochStore*> store();
  void holdOff(const std::stop_token& stop, Millis time);
  // Waits until something is asked for or the time is over.
  void waitFor(const std::stop_token& stop, Millis time);

  const Options options_;
  const Clock& clock_;
  const EpochStoreFactory make_store_;
  const std::string incarnation_;
  IMasterActiveService* service_ = nullptr;  // Set by start().
  PermissionCell permission_;
  std::atomic<int64_t> hard_limit_us_;

  // The role thread's.
  std::unique_ptr<dao::EpochStore> store_;
  Leadership leadership_;
  uint64_t seen_suspension_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;  // Signalled when requests_ changed, or the end is asked for.
  Requests requests_;                 // Guarded by mutex_, as all below.
  uint64_t suspension_ = 0;
  FailoverStats stats_;
  LeaderInfo leader_;

  std::mutex stop_mutex_;  // Held while stopping.
  std::optional<DirectoryLock> directory_;
  NamedThread thread_;
  std::unique_ptr<LivenessGuard> guard_;
};

}  // namespace baton::ha
