#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dao/epoch_store.h"
#include "ha/election_step.h"
#include "tests/simulation/election/sim_zookeeper.h"

namespace baton::test {

// The database as the election sees it: one row, moved and checked in the order of arrival.
struct SimDatabase {
  dao::EpochRow row;
  bool up = true;
  std::string guid = "sim-guid";
  std::vector<dao::EpochClaim> bumps;
  uint64_t highest_write = 0;  // Epoch of the newest committed write.
  uint64_t writes = 0;
  uint64_t refused = 0;
  BootTime bumped_at{};
};

// What a run found to be wrong; the first one ends it.
class SimVerdict {
 public:
  void fail(const std::string& why) {
    if (text_.empty()) text_ = why;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// One master: the step function, its timers, a fake service and writes through the fence.
class SimMaster {
 public:
  SimMaster(SimWorld& world, SimZookeeper& zookeeper, SimDatabase& database, SimVerdict& verdict,
            std::string node, uint32_t incarnation);

  void start() { post(ha::StartRequested{}); }
  void stop() { post(ha::StopRequested{}); }
  // The process stands still (SIGSTOP) until `resume`.
  void pause();
  void resume();
  bool paused() const { return paused_; }
  void kill();
  bool alive() const { return alive_; }
  void setDatabaseReachable(bool reachable) { database_reachable_ = reachable; }

  SimCoordinator& link() { return *coordinator_; }
  const ha::ElectionState& state() const { return state_; }
  const std::string& node() const { return node_; }
  bool mayAct() const { return alive_ && !paused_ && state_.mayAct(); }
  // Compares what this master believes with the row; called often.
  void check();

 private:
  void post(ha::Event event);
  void process(const ha::Event& event);
  void armTimer();
  void execute(const ha::Action& action);
  void probe(uint64_t id);
  void bump(const ha::StartBump& job);
  void promote(const ha::StartPromote& job);
  void demote(const ha::StartDemote& job);
  // Runs when the role thread is free; its jobs keep their order.
  void onRoleThread(Micros duration, std::function<void()> job);
  // Runs `action` unless the process has died; later if it stands still.
  void later(Micros delay, std::function<void()> action);
  void writeLoop();
  bool databaseReachable() const { return database_.up && database_reachable_; }

  SimWorld& world_;
  SimZookeeper& zookeeper_;
  SimDatabase& database_;
  SimVerdict& verdict_;
  const std::string node_;
  ha::ElectionConfig config_;
  ha::ElectionState state_;
  std::unique_ptr<SimCoordinator> coordinator_;
  bool alive_ = true;
  bool paused_ = false;
  bool database_reachable_ = true;
  BootTime paused_at_{};
  std::deque<std::function<void()>> held_;  // What happened while the process stood still.
  std::deque<ha::Event> events_;
  bool processing_ = false;
  BootTime timer_at_ = ha::kNever;
  BootTime role_free_at_{};
  BootTime superseded_since_ = ha::kNever;
  bool service_running_ = false;
  uint64_t cancelled_promote_ = 0;
  uint64_t running_promote_ = 0;
};

}  // namespace baton::test
