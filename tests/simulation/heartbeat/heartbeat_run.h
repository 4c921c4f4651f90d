#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/heartbeat/sim_ledger.h"
#include "tests/simulation/heartbeat/sim_term.h"
#include "tests/simulation/heartbeat/sim_worker.h"

namespace baton::test {

// What a run allows to go wrong.
struct RunScenario {
  bool takeovers = true;
  bool daemons_die = true;
  bool shepherds_die = false;
  bool journals_are_lost = false;
  bool bad_network = true;
  bool long_cuts = true;  // Longer than lost_after.
  bool bad_database = true;
};

struct RunCounts {
  std::string failure;
  size_t tasks = 0;
  size_t starts = 0;
  size_t takeovers = 0;
  size_t repeated_daemons = 0;
  size_t lost = 0;
  size_t stopped = 0;
  size_t resets = 0;
};

// One cluster under random faults, then peace until every task has ended. The seed decides all.
class HeartbeatRun {
 public:
  HeartbeatRun(uint64_t seed, RunScenario scenario, master::Metrics& metrics,
               master::api::WebhookPort& webhooks);
  RunCounts run();

 private:
  // --- masters
  void takeOver();
  void loseMaster();
  SimTerm* leader();

  // --- the network
  void send(SimWorker& from, size_t slot, HeartbeatRequest request);
  void deliver(SimWorker& from, size_t slot, const HeartbeatRequest& request, SimTerm* to);
  void answer(SimWorker& to, size_t slot, uint64_t generation, uint64_t seq,
              const Result<HeartbeatReply>& result);
  // How long one message takes; nothing: it is lost.
  std::optional<Micros> passage(const SimWorker& worker);
  void find(size_t worker);

  // --- people
  void submitLoop();
  void submit();
  void commandLoop();
  void command(TaskId id, master::api::TaskCommand command);

  // --- faults
  void faultLoop();
  void oneFault(int64_t kind);
  void restartDaemon(SimWorker& worker);
  void databaseLoop();
  bool chaos() const { return world_.now() < chaos_end_; }
  void calmDown();

  SimWorld world_;
  SimClock clock_;
  const RunScenario scenario_;
  FakeDatabase database_;
  SimLedger ledger_;
  master::Metrics& metrics_;
  master::api::WebhookPort& webhooks_;
  BootTime chaos_end_{};
  // All terms of the run: what a dead one has posted may still come.
  std::vector<std::unique_ptr<SimTerm>> terms_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<SimTerm*> known_;  // The master in which each worker believes.
  size_t submitted_ = 0;
  RunCounts counts_;
};

}  // namespace baton::test
