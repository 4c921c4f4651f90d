#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/async_http_client.h"
#include "worker/durable_queue.h"
#include "worker/master_finder.h"
#include "worker/runner.h"

namespace baton::worker {

// What the slots of a worker share. All of it outlives the slots.
struct SlotContext {
  net::EventLoop& loop;
  net::Resolver& resolver;
  Journal& journal;
  DurableQueue& queue;
  MasterFinder& finder;
  std::string token;
  std::function<void(const Order& order, Epoch epoch, const std::string& runner_id)> start;
  std::function<void(const StopRequest& request)> stop;
  std::function<void(const AttemptKey& key)> result_kept;  // It is on our disk.
  std::function<std::optional<HostFigures>()> take_figures;
  std::function<LabelMap()> labels;  // Of this moment.
  std::function<std::string(const Order& order)> final_args;
};

// Makes of a report that a master refused with this status one that it can take: without figures,
// command and outputs; a result says so in its text. The result itself is never given up.
void leaveOutOptional(HeartbeatRequest& request, int status);

// Drives one pure Runner: its timer, its connections to the active master, its journal entries.
// Thread: the loop's.
class RunnerSlot {
 public:
  RunnerSlot(SlotContext& context, RunnerOptions options, const RestoredSlot& restored);
  ~RunnerSlot();

  void start();
  const std::string& runnerId() const { return runner_id_; }
  const Runner& runner() const { return runner_; }
  void onMaster(bool known);
  void onStarted(const StartedNote& note);
  void onEnded(const EndedNote& note);
  void onLeaving(Millis leaving);

 private:
  struct Link {
    MasterAddress master;
    std::unique_ptr<net::AsyncHttpConnection> connection;
    uint64_t seq = 0;  // In flight.
    BootTime last_used{};
  };

  void perform(RunnerActions actions);
  void perform(SendHeartbeat action);
  void perform(const AbandonHeartbeat& action);
  void perform(const PersistEpoch& action);
  void perform(const PersistAccept& action);
  void perform(const StartAttempt& action);
  void perform(const StopAttempt& action);
  void perform(const PersistResult& action);
  void perform(const Settle& action);
  void perform(const Alarm& action);
  void send(HeartbeatRequest request);
  Link& linkFor(const MasterAddress& master);
  void onAnswer(uint64_t seq, const MasterAddress& master, Result<net::HttpResponse> answer);
  void onRefusal(uint64_t seq, const MasterAddress& master, const net::HttpResponse& response);
  void closeSpareLinks();
  void armTimer();
  BootTime now() const { return clock_.bootNow(); }

  SlotContext& context_;
  const SystemClock clock_;
  const std::string runner_id_;
  Runner runner_;
  std::array<Link, 2> links_;
  net::EventLoop::TimerId timer_ = 0;
  int last_refusal_ = 0;  // HTTP status that was logged last.
  AttemptKey sent_key_;   // What the newest report was about.
  // A report about that attempt was answered 400 or 413: further ones go without their optional
  // parts. 0: none was.
  int refused_report_ = 0;
  AttemptKey refused_key_;
};

}  // namespace baton::worker
