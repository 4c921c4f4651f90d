#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/election/sim_world.h"
#include "tests/simulation/heartbeat/sim_ledger.h"
#include "worker/journal.h"
#include "worker/runner.h"

namespace baton::test {

// One worker host: real runners, driven as the daemon drives them, over a simulated journal (what
// is synced survives, the rest may), shepherd and processes. The daemon can die and come back.
class SimWorker {
 public:
  // Sends a request to the master that the daemon believes in.
  using Send = std::function<void(SimWorker& from, size_t slot, HeartbeatRequest request)>;

  SimWorker(SimWorld& world, SimLedger& ledger, std::string id, size_t slots, Millis heartbeat,
            Send send);

  void startDaemon();
  void stopDaemon();
  // The shepherd and all that it runs are gone too.
  void killAll();
  // The data directory is lost with all processes; only after killAll().
  void loseJournal();
  // SIGTERM: says that it is leaving; the caller stops the daemon soon after.
  void announceLeave(Millis leaving);

  bool running() const { return !slots_.empty(); }
  uint64_t generation() const { return generation_; }
  const std::string& id() const { return id_; }
  // Its network link is cut until then.
  void cutLink(BootTime until) { cut_until_ = until; }
  bool linkUp() const { return cut_until_ <= world_.now(); }

  // The finder's word: a master is known or not.
  void onMaster(bool known);
  bool knowsMaster() const { return master_known_; }
  void onReply(size_t slot, const HeartbeatReply& reply);
  void onNoReply(uint64_t generation, size_t slot, uint64_t seq, Millis pause);
  // A request was given up: its master is not to be relied on.
  std::function<void()> on_given_up;

 private:
  struct Disk {
    std::string journal_id;
    uint64_t incarnation = 0;
    std::string guid;
    Epoch epoch = 0;
    std::vector<worker::JournalSlot> slots;
  };
  struct Process {
    AttemptKey key;
    bool alive = false;
    bool fails_to_start = false;
    BootTime started{};
    BootTime ended{};
    worker::StopReason why = worker::StopReason::None;
    AttemptResult result;
  };
  using ProcessId = std::pair<TaskId, int32_t>;

  void perform(size_t slot, worker::RunnerActions actions);
  void performOne(size_t slot, worker::RunnerAction& action);
  void arm(size_t slot);
  void durable(std::function<void()> task);
  void noteWritten();
  void flush();
  std::function<void()> ofThisDaemon(std::function<void()> action);

  void toShepherd(std::function<void()> message);
  void drainPipe();
  void startProcess(const worker::StartAttempt& start, const std::string& runner);
  void stopProcess(const AttemptKey& key, worker::StopReason why, Millis grace);
  void endProcess(ProcessId id, AttemptResult result);
  void onStarted(const AttemptKey& key, BootTime started);
  void onEnded(const Process& process);
  std::optional<size_t> slotOf(const AttemptKey& key) const;
  void journalLostAttempts();
  worker::RestoredSlot restore(size_t slot) const;
  worker::RunnerOptions runnerOptions(size_t slot) const;

  SimWorld& world_;
  SimLedger& ledger_;
  const std::string id_;
  const size_t slot_count_;
  const Millis heartbeat_;
  const Send send_;
  BootTime cut_until_{};

  Disk disk_;     // Survives.
  Disk journal_;  // As the daemon has it in memory.
  uint64_t journals_ = 0;
  uint64_t generation_ = 0;  // Of the daemon.
  bool master_known_ = false;
  bool flush_due_ = false;
  std::vector<std::function<void()>> waiting_;  // For the journal to be synced.
  std::vector<std::unique_ptr<worker::Runner>> slots_;
  std::vector<uint64_t> timers_;

  bool shepherd_continued_ = false;
  uint64_t shepherd_generation_ = 0;
  std::vector<AttemptKey> lost_;  // Died with the shepherd.
  std::deque<std::function<void()>> pipe_;
  std::map<ProcessId, Process> processes_;
};

}  // namespace baton::test
