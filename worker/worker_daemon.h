#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/base/named_thread.h"
#include "net/event_loop.h"
#include "net/resolver.h"
#include "worker/log_server.h"
#include "worker/plug_ins.h"
#include "worker/runner_slot.h"
#include "worker/shepherd_client.h"
#include "worker/shepherd_launcher.h"
#include "worker/task_environment.h"
#include "worker/worker_config.h"

namespace baton::worker {

// The daemon of one host: N execution slots on one event loop, the journal, the shepherd's other
// end and the log server. Tasks belong to the shepherd: they outlive this, however it ends.
// Started and stopped once; whoever wants it again makes another.
// Thread: start and stop are the owner's; everything else lives on the thread "worker".
class WorkerDaemon {
 public:
  explicit WorkerDaemon(WorkerOptions options);
  ~WorkerDaemon();  // stop().

  // Opens the journal, finds or starts the shepherd, takes back what runs, and begins to beat.
  // Errors: InvalidArgument (options), Conflict (another worker has the directory, the port is
  // taken), Unavailable, StorageFull.
  Status start();
  // Announces that it leaves, and ends; tasks go on. Any number of times.
  void stop() noexcept;

  uint16_t logPort() const { return log_server_ == nullptr ? 0 : log_server_->port(); }
  // What the slots are doing, for a person; any thread, while started.
  size_t openAttempts() const;

 private:
  class OpenAttempts;

  Status checkOptions() const;
  Status openJournal();
  Status startLogServer();
  Status attachShepherd();
  Status stopShepherdOfLostJournal();
  Result<pid_t> launch() const;
  Status awaitHello();
  void buildSlots();
  RestoredSlot restore(const std::string& runner_id) const;
  void restoreOpen(const JournalSlot& slot, RestoredSlot& restored) const;
  Status journalLostAttempts();
  std::string logAddress() const;
  RunnerOptions runnerOptions(const std::string& runner_id) const;
  SlotContext slotContext();

  void onNote(ShepherdNote note);
  void onHello(const HelloNote& hello);
  void settleStrangers(const HelloNote& hello);
  void onShepherdLost();
  void reattach();
  void onEnded(const EndedNote& note);
  RunnerSlot* slotOf(const AttemptKey& key);
  void startAttempt(const Order& order, Epoch epoch, const std::string& runner_id);
  Result<std::vector<std::string>> argumentsOf(const TaskSpec& spec) const;
  // What the heartbeats announce: the operator's labels and the kinds that can be carried now.
  LabelMap labels();
  EndedNote endedNote(const AttemptKey& key, FailureReason reason, std::string text) const;
  void failStart(const Order& order, std::string text);
  std::optional<HostFigures> takeFigures();
  void noteOpenAttempts();
  void leave();

  const WorkerOptions options_;
  const SystemClock clock_;
  const TaskIdentity identity_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<net::Resolver> resolver_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<DurableQueue> queue_;
  std::unique_ptr<OpenAttempts> open_attempts_;
  std::unique_ptr<LogServer> log_server_;
  std::unique_ptr<ShepherdClient> shepherd_;
  std::unique_ptr<MasterFinder> finder_;
  std::unique_ptr<SlotContext> context_;
  std::vector<std::unique_ptr<RunnerSlot>> slots_;

  pid_t shepherd_pid_ = 0;                 // Of one that we started: to be reaped.
  std::optional<HelloNote> hello_;         // The shepherd's picture at the start.
  std::vector<ShepherdNote> early_notes_;  // Behind the hello, until there are slots.
  bool shepherd_continued_ = false;    // It lived before us: what it has no record of never ran.
  std::vector<AttemptKey> lost_;       // On record by a shepherd that is dead.
  bool shepherd_takes_input_ = false;  // Else it can't run requests and plug-ins.
  PlugInFolder plug_ins_;
  bool leaving_ = false;
  BootTime figures_due_{};
  NamedThread thread_;  // Last: gone before anything it uses.
};

}  // namespace baton::worker
