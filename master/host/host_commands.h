#pragma once

#include <functional>
#include <string>
#include <vector>

#include "master/host/heartbeat_desk.h"
#include "master/host/runner_registry.h"
#include "master/term_context.h"

namespace baton::master {

// Carries out what operators say of hosts. What they said is durable before they are answered, and
// counts for the picker at once. Dispatcher thread only.
class HostCommands {
 public:
  HostCommands(TermContext& context, RunnerRegistry& registry, HeartbeatDesk& desk);

  // Until opened nothing is accepted.
  void open() { open_ = true; }
  void close() { open_ = false; }

  void change(const api::HostChange& change, api::Callback<std::vector<api::HostView>> done);
  void setPolicy(const api::HostPolicyChange& change, api::Callback<api::HostPolicy> done);
  api::HostPolicy policy() const;

 private:
  Status accepts() const;
  Status say(Operation& operation, const api::HostChange& change, HostWord word);
  Status label(Operation& operation, const api::HostChange& change);
  Status unregister(Operation& operation, const std::string& name);
  Status mayForget(const Worker& worker) const;
  void forget(Operation& operation, Worker& worker);
  void store(Operation& operation, HostRecord record);
  std::vector<Worker*> workersOf(const std::string& name) const;
  // The rules about these workers have changed.
  void apply(const std::vector<Worker*>& workers);

  TermContext& context_;
  LiveState& live_;
  RunnerRegistry& registry_;
  HeartbeatDesk& desk_;
  bool open_ = false;
};

}  // namespace baton::master
