#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "ha/cluster_init.h"
#include "ha/zk_failover.h"
#include "tests/support/fake_epoch_store.h"
#include "tests/support/fake_service.h"
#include "tests/support/zookeeper_server.h"

namespace baton::test {

// One master: a ZkFailover with a fake service on a shared epoch table.
struct TestMaster {
  TestMaster(const std::string& node, const std::string& hosts, FakeEpochTable& table,
             const std::string& cluster = "it", const std::string& credentials = {},
             std::function<void()> during_promote = {}, ha::ZkFailover** made = nullptr) {
    service.duringPromote(std::move(during_promote));
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
    if (made != nullptr) *made = failover.get();
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

// Polls until the condition holds; false after `limit`.
inline bool eventually(const std::function<bool()>& condition, Millis limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(Millis(2));
  }
  return true;
}

inline Status initTestCluster(const std::string& hosts, FakeEpochTable& table,
                              const std::string& cluster = "it", bool adopt = false,
                              const std::string& credentials = {}, bool demand_stopped = false) {
  FakeEpochStore store(table);
  SystemClock clock;
  ha::ClusterInitOptions options;
  options.zk_hosts = hosts;
  options.cluster = cluster;
  options.adopt = adopt;
  options.credentials = credentials;
  options.demand_stopped = demand_stopped;
  return ha::initCluster(options, store, clock);
}

// One server for all tests of the program; each test takes a cluster name of its own.
ZookeeperServer& sharedZookeeper();

}  // namespace baton::test
