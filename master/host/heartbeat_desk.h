#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "master/host/runner.h"
#include "master/state/operation.h"
#include "master/term_context.h"

namespace baton::master {

// Holds heartbeats until there is something to say, and answers them: every reply leaves as an
// effect of an operation, so never before what it says is durable. Knows which runners wait for
// work. Dispatcher thread only.
class HeartbeatDesk {
 public:
  explicit HeartbeatDesk(TermContext& context);

  // A reply that is ready to be given, whatever it will say.
  struct Ticket {
    HeartbeatPair pair;
    Epoch request_epoch = 0;
    bool held = false;
    api::HeartbeatReplyFn reply;
  };

  void answer(Operation& operation, Ticket ticket, Command command,
              std::optional<Order> order = std::nullopt);
  static void refuse(Operation& operation, Ticket ticket, Error error);

  // Keeps the ticket for at most `wait`; with `idle` it may be answered with a task.
  void hold(Runner& runner, Ticket ticket, Millis wait, bool idle);
  // Takes the held heartbeat back, if there is one.
  std::optional<Ticket> take(Runner& runner);
  // The peer of that very heartbeat is gone.
  void drop(Runner& runner, const HeartbeatPair& pair);
  // Ends everything that is held with GO_ON: the term ends.
  void releaseAll(LiveState& live);
  // The runner belongs to another class from now on.
  void reclass(Runner& runner, LabelClasses::ClassId class_id);

  // The runner classes with somebody who waits for work.
  bool anyWaiting() const { return !waiting_.empty(); }
  // A waiting runner that can run the signature and may get a task, of the worker with the best
  // rank; null if there is none.
  Runner* leastLoaded(LabelClasses::Signature signature) const;
  // Calls `visit` with each class of which a runner waits that may get a task.
  template <typename Visit>
  void eachClass(Visit visit) const {
    for (const auto& [class_id, workers] : waiting_)
      if (admitting(workers)) visit(class_id);
  }
  size_t heldCount() const { return deadlines_.size(); }

 private:
  void armTimer();
  void onTimer();
  void forget(Runner& runner);
  void addWaiting(Runner& runner);
  void removeWaiting(Runner& runner);

  // Ties are broken by name and not by address, so that a run can be repeated.
  struct ByName {
    bool operator()(const Runner* a, const Runner* b) const {
      return a->record.runner_id < b->record.runner_id;
    }
    bool operator()(const Worker* a, const Worker* b) const { return a->worker_id < b->worker_id; }
    using Deadline = std::pair<BootTime, Runner*>;
    bool operator()(const Deadline& a, const Deadline& b) const {
      return a.first != b.first ? a.first < b.first : (*this)(a.second, b.second);
    }
  };

  using Waiting = std::map<Worker*, std::set<Runner*, ByName>, ByName>;
  static bool admitting(const Waiting& workers) {
    return std::any_of(workers.begin(), workers.end(),
                       [](const auto& worker) { return worker.first->admits(); });
  }

  TermContext& context_;
  std::set<ByName::Deadline, ByName> deadlines_;
  // Idle waiting runners by class and worker; no empty entries.
  std::map<LabelClasses::ClassId, Waiting> waiting_;
  BootTime armed_for_{};
  AsyncDispatcher::TimerId timer_ = 0;
};

}  // namespace baton::master
