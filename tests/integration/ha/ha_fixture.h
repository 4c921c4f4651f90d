#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ha/cluster_init.h"
#include "ha/zk_failover.h"
#include "tests/support/fake_epoch_store.h"
#include "tests/support/zookeeper_server.h"

namespace baton::test {

// A service that remembers what it was told. Any thread.
class FakeService final : public ha::IMasterActiveService {
 public:
  Status promote(const ha::Leadership& leadership, std::stop_token) override {
    const std::lock_guard lock(mutex_);
    leadership_ = leadership;
    ++promotes_;
    return fail_promote_ ? Status(Error::unavailable("told to fail")) : Status();
  }
  void freeze(const std::string&) noexcept override { ++freezes_; }
  void resume(const ha::Leadership&) noexcept override { ++resumes_; }
  bool drain(BootTime) override {
    ++drains_;
    return true;
  }
  void demote(const std::string&, BootTime) override { ++demotes_; }
  ha::Health health() const noexcept override { return {}; }

  int promotes() const { return promotes_; }
  int demotes() const { return demotes_; }
  int drains() const { return drains_; }
  int resumes() const { return resumes_; }
  void failPromote(bool fail) { fail_promote_ = fail; }

 private:
  std::mutex mutex_;
  ha::Leadership leadership_;
  std::atomic<int> promotes_{0}, demotes_{0}, drains_{0}, freezes_{0}, resumes_{0};
  std::atomic<bool> fail_promote_{false};
};

// Polls until the condition holds; false after `limit`.
inline bool eventually(const std::function<bool()>& condition, Millis limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(Millis(2));
  }
  return true;
}

// One master: a ZkFailover with a fake service on a shared epoch table.
struct TestMaster {
  TestMaster(const std::string& node, const std::string& hosts, FakeEpochTable& table,
             const std::string& cluster = "it", const std::string& credentials = {}) {
    ha::ZkFailover::Options options;
    options.node_id = node;
    options.address = node + ":8080";
    options.cluster = cluster;
    options.zk_hosts = hosts;
    options.session_ms = 2000;
    options.credentials = credentials;
    options.version = "test";
    failover = std::make_unique<ha::ZkFailover>(
        options, clock, [&table]() -> Result<std::unique_ptr<dao::EpochStore>> {
          return std::unique_ptr<dao::EpochStore>(std::make_unique<FakeEpochStore>(table));
        });
    started = failover->start(service);
  }
  ~TestMaster() { failover->stop(); }

  ha::FailoverState state() const { return failover->stats().state; }
  bool active() const { return state() == ha::FailoverState::Active; }
  bool standby() const { return state() == ha::FailoverState::Standby; }
  bool mayAct() const { return failover->permission().may_act; }
  uint64_t epoch() const { return failover->permission().epoch; }

  SystemClock clock;
  FakeService service;
  std::unique_ptr<ha::ZkFailover> failover;
  Status started;
};

inline Status initTestCluster(const std::string& hosts, FakeEpochTable& table,
                              const std::string& cluster = "it", bool adopt = false,
                              const std::string& credentials = {}) {
  FakeEpochStore store(table);
  SystemClock clock;
  ha::ClusterInitOptions options;
  options.zk_hosts = hosts;
  options.cluster = cluster;
  options.adopt = adopt;
  options.credentials = credentials;
  return ha::initCluster(options, store, clock);
}

// One server for all tests of the program; each test takes a cluster name of its own.
ZookeeperServer& sharedZookeeper();

}  // namespace baton::test
