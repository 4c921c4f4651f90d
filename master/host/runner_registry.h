#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/heartbeat.h"
#include "master/term_context.h"

namespace baton::master {

// Knows every runner and worker: registers them by their first heartbeat, keeps last-seen times,
// notices two daemons that claim one runner id. Dispatcher thread only.
class RunnerRegistry {
 public:
  explicit RunnerRegistry(TermContext& context);

  // What operators said, as recovery read it; before the runners.
  void adopt(const HostRecord& record) { live_.host_rules.store(record); }
  void adopt(const SettingRecord& setting) { live_.host_rules.store(setting); }
  // A runner as recovery read it, before its first heartbeat of this term.
  void adopt(const RunnerRecord& record);

  // The runner of the request, registered if it is new, with its pair (plain clients are numbered
  // by arrival). Errors: InvalidArgument (a field that only plain clients may leave out),
  // Conflict (another journal or an older incarnation claims it and the old one is not lost yet).
  struct Arrival {
    Runner* runner = nullptr;
    HeartbeatPair pair;
    AttemptKey last_order;
    bool new_journal = false;  // The old journal was given up: its open attempt proves nothing.
  };
  Result<Arrival> arrive(const HeartbeatRequest& request);

  // Takes over what the request says of the runner and its host; stores the row if something that
  // must survive a takeover changed. Not for pairs below the highest.
  void refresh(Operation& operation, const Arrival& arrival, const HeartbeatRequest& request);

  // Silence of the runner: its last heartbeat of this term, or the start of the term.
  Micros silence(const Runner& runner) const;
  bool isLost(const Runner& runner) const {
    return silence(runner) >= context_.options.lostAfter();
  }
  // The master could not have heard anybody for `gap`: nobody's silence counts it, and behind more
  // than an interval every silence counts anew.
  void forgive(Micros gap);
  // Notes which runner classes still have a runner that reports, and which of those take tasks.
  void notePresence();
  // Takes over what the rules now say about the worker: whether it takes tasks, its labels.
  void applyRules(Worker& worker);
  // The class of what the runner offers with the operators' labels; has one user more.
  LabelClasses::ClassId classFor(const Runner& runner);
  // Looks at the health of all workers.
  void judgeHosts();
  // How the worker is at this moment.
  HostScore scoreOf(const Worker& worker) const;
  // How many workers there are of each health at this moment.
  std::map<HostHealth, uint64_t> countByHealth() const;
  // Since when heartbeats could be heard in this term.
  void setListeningSince(BootTime since) { listening_since_ = since; }
  // Until then nobody is lost who has not reported in this term.
  BootTime suppressedUntil() const { return listening_since_ + context_.options.lostAfter(); }

  std::string addressOf(const std::string& runner_id) const;  // Empty: none, or not known.
  std::vector<api::RunnerView> runnerViews() const;
  // All workers and all names with a rule, or those that the name covers.
  std::vector<api::HostView> hostViews(const std::string& name = {}) const;
  std::string stateOf(const Runner& runner) const;

 private:
  Runner& insert(RunnerRecord record, const LabelMap& labels);
  Worker& workerOf(const RunnerRecord& record);
  Micros silence(const Worker& worker) const;
  void judge(Worker& worker);
  api::HostView viewOf(const Worker& worker) const;

  TermContext& context_;
  LiveState& live_;
  BootTime listening_since_{};
};

}  // namespace baton::master
