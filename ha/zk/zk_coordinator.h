#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ha/coordinator.h"
#include "ha/election_event.h"
#include "ha/zk/zk_address.h"
#include "ha/zk/zk_reaper.h"
#include "ha/zk/zk_session.h"

namespace baton::ha {

// The election's view of a real ZooKeeper. Thread: the elector's only.
class ZkCoordinator final : public Coordinator {
 public:
  struct Options {
    std::string hosts;  // "host:port[,…][/path]"; see ZkAddress.
    std::string cluster;
    int session_ms = 3000;  // As asked for; the ensemble may give another.
    std::string credentials;
    std::string node_id;
  };
  // Errors: InvalidArgument. `post` brings a task to the elector thread and may be called from
  // any thread until the coordinator is gone; `sink` is called on the elector thread and must only
  // queue (a session cannot be closed from inside its own answer).
  static Result<std::unique_ptr<ZkCoordinator>> create(
      const Options& options, std::function<void(std::function<void()>)> post,
      std::function<void(Event)> sink);
  // Ends the session; waits until the client's threads are gone (some seconds at most).
  ~ZkCoordinator() override;

  void open(uint64_t generation) override;
  void close() override;
  void join(uint64_t id, const JoinRequest& request) override;
  void readView(uint64_t id, bool sync) override;
  void acquire(uint64_t id, const AcquireRequest& request) override;
  void renew(uint64_t id, const MemberRecord& self) override;
  void release(uint64_t id, int32_t epoch_version) override;
  void readMembers(uint64_t id) override;

 private:
  struct JoinWork;
  ZkCoordinator(const Options& options, const ZkAddress& address,
                std::function<void(std::function<void()>)> post, std::function<void(Event)> sink);
  void changed(const std::string& path);
  // The code for an answer that was not ZOK.
  static CoordCode codeOf(int rc);
  void finishJoin(const JoinWork& work, CoordCode code, const std::string& guid);
  void joinReadCluster(const std::shared_ptr<JoinWork>& work);
  void joinCreateRoot(const std::shared_ptr<JoinWork>& work);
  void joinCreateNodes(const std::shared_ptr<JoinWork>& work, const std::string& guid);
  void joinOwnNodeExists(const std::shared_ptr<JoinWork>& work, const std::string& guid);
  void readMember(const std::shared_ptr<struct MembersWork>& work, const std::string& name);

  const Options options_;
  const ZkAddress address_;
  const ZkPaths paths_;
  const std::function<void(Event)> sink_;
  const std::shared_ptr<ZkInbox> inbox_;
  uint64_t generation_ = 0;
  std::unique_ptr<ZkSession> session_;
  std::unique_ptr<ZkReaper> reaper_;  // Last member: gone (all closed) before the rest.
};

}  // namespace baton::ha
