#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/election/sim_master.h"
#include "tests/support/number_from_environment.h"

namespace baton::test {
namespace {

constexpr Micros kChaos{Seconds(25)};
// Longest way back: hold-off 10 s, penalty for losses 30 s, a dead session, some attempts.
constexpr Micros kCalm{Seconds(60)};
constexpr size_t kMasters = 3;

struct RunResult {
  std::string failure;
  uint64_t epochs = 0;
  uint64_t writes = 0;
  uint64_t refused = 0;
};

// Three masters under random faults, then peace.
class ElectionRun {
 public:
  explicit ElectionRun(uint64_t seed) : world_(seed), zookeeper_(world_) {
    for (size_t i = 0; i < kMasters; ++i) addMaster(i);
  }

  RunResult run() {
    world_.after(Millis(100), [this] { expireLoop(); });
    world_.after(Millis(500), [this] { faultLoop(); });
    const BootTime chaos_end = world_.now() + kChaos;
    chaos_end_ = chaos_end;
    world_.runUntil(chaos_end);
    calmDown();
    // Ends as soon as the election has settled; the whole time only if it does not.
    for (int i = 0; i < 120 && verdict_.text().empty(); ++i) {
      world_.runUntil(world_.now() + kCalm / 120);
      if (settled().empty()) break;
    }
    if (verdict_.text().empty()) verdict_.fail(settled());
    checkHistory();
    return {verdict_.text(), database_.row.epoch, database_.writes, database_.refused};
  }

 private:
  void addMaster(size_t index) {
    masters_.resize(std::max(masters_.size(), index + 1));
    masters_[index] = std::make_unique<SimMaster>(world_, zookeeper_, database_, verdict_,
                                                  fmt::format("m{}", index + 1), ++incarnations_);
    masters_[index]->start();
  }

  void expireLoop() {
    zookeeper_.expireSilentSessions();
    for (const auto& master : masters_) {
      if (master->alive()) master->link().noticeExpiry();
      master->check();
    }
    world_.after(Millis(100), [this] { expireLoop(); });
  }

  void faultLoop() {
    if (world_.now() >= chaos_end_) return;
    oneFault(world_.random.between(0, 9));
    world_.after(world_.between(50'000, 3'000'000), [this] { faultLoop(); });
  }

  void oneFault(int64_t kind) {
    const auto index = static_cast<size_t>(world_.random.between(0, kMasters - 1));
    SimMaster* master = masters_[index].get();
    const Micros length = world_.between(20'000, 8'000'000);
    switch (kind) {
      case 0:
      case 1:
      case 2:
        master->link().cut();
        world_.after(length, [master] { master->link().heal(); });
        return;
      case 3:
      case 4:
        master->pause();
        world_.after(length, [master] { master->resume(); });
        return;
      case 5:
        return restart(index);
      case 6:
        master->setDatabaseReachable(false);
        world_.after(length, [master] { master->setDatabaseReachable(true); });
        return;
      case 7:
        database_.up = false;
        world_.after(length / 2, [this] { database_.up = true; });
        return;
      case 8:
        return ensembleOutage(length);
      default:
        return operatorDeletesLock();
    }
  }

  void restart(size_t index) {
    masters_[index]->kill();
    graveyard_.push_back(std::move(masters_[index]));
    addMaster(index);
  }

  void ensembleOutage(Micros length) {
    zookeeper_.up = false;
    for (const auto& master : masters_) {
      const bool was_up = master->link().linkUp();
      master->link().cut();
      if (was_up) master->link().heal();
    }
    world_.after(length, [this] { zookeeper_.up = true; });
  }

  void operatorDeletesLock() {
    if (!zookeeper_.up || !zookeeper_.data().lock) return;
    zookeeper_.change([](SimZookeeper::Data& data, uint64_t index) {
      data.lock.reset();
      data.lock_changed = index;
    });
  }

  void calmDown() {
    database_.up = zookeeper_.up = true;
    for (const auto& master : masters_) {
      master->link().heal();
      master->setDatabaseReachable(true);
      master->resume();
    }
  }

  // Empty if exactly one leads, rightly, and the others stand by.
  std::string settled() const {
    const SimMaster* leader = nullptr;
    std::string states;
    for (const auto& master : masters_) {
      states += fmt::format(" {}={}({})", master->node(), ha::toString(master->state().phase),
                            master->state().reason);
      if (master->state().phase == ha::FailoverState::Active) {
        if (leader != nullptr) return "two masters lead:" + states;
        leader = master.get();
      } else if (master->state().phase != ha::FailoverState::Standby) {
        return "not settled:" + states;
      }
    }
    if (leader == nullptr) return "nobody leads:" + states;
    const auto& lock = zookeeper_.data().lock;
    if (!lock || lock->owner_session != leader->state().session_id) {
      return "the leader does not own the lock:" + states;
    }
    if (database_.row.epoch != leader->state().leadership.epoch) {
      return "the leader does not own the row:" + states;
    }
    return {};
  }

  void checkHistory() {
    uint64_t last = 0;
    for (const dao::EpochClaim& claim : database_.bumps) {
      if (claim.epoch <= last) verdict_.fail(fmt::format("epoch {} after {}", claim.epoch, last));
      last = claim.epoch;
    }
    if (database_.writes == 0) verdict_.fail("nobody ever wrote");
  }

  SimWorld world_;
  SimZookeeper zookeeper_;
  SimDatabase database_;
  SimVerdict verdict_;
  std::vector<std::unique_ptr<SimMaster>> masters_;
  std::vector<std::unique_ptr<SimMaster>> graveyard_;  // Their events may still come.
  uint32_t incarnations_ = 0;
  BootTime chaos_end_{};
};

// Under cuts, pauses, crashes, outages and deleted locks the row's owner alone writes, epochs
// rise, a superseded master notices, and in the end one leads. BATON_SIM_SEED repeats one run,
// BATON_SIM_RUNS changes their number.
TEST(ElectionSimulationTest, SomebodyLeadsAndNobodyWritesUnderAnOldEpoch) {
  const uint64_t only = numberFromEnvironment("BATON_SIM_SEED", 0);
  const uint64_t runs = numberFromEnvironment("BATON_SIM_RUNS", 8000);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : runs;
  uint64_t epochs = 0;
  uint64_t refused = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const RunResult result = ElectionRun(seed).run();
    ASSERT_EQ(result.failure, "") << "repeat with BATON_SIM_SEED=" << seed;
    epochs += result.epochs;
    refused += result.refused;
  }
  // The faults must have bitten: leaders changed and late writes were refused.
  if (only == 0 && runs >= 100) {
    EXPECT_GT(epochs, 2 * runs);
    EXPECT_GT(refused, runs / 10);
  }
  fmt::print("{} seeds, {} takeovers, {} late writes refused\n", last - first + 1, epochs, refused);
}

}  // namespace
}  // namespace baton::test
