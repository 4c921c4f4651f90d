#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/records.h"
#include "common/model/task_spec.h"
#include "common/protocol/heartbeat.h"
#include "master/api/request.h"

// What the web API may ask about runners and hosts, and what operators may say of hosts; see
// ports.h for threads.
namespace baton::master::api {

struct RunnerView {
  RunnerRecord record;
  std::string state;      // idle | busy | lost | leaving | conflict | unknown
  TaskId task_id = 0;     // Of its open attempt; 0: none.
  int64_t silent_ms = 0;  // Since the last heartbeat; -1: none in this term.
  bool held = false;      // A heartbeat of it waits for an order.
};

// A worker and its host; or, with an empty worker_id, a name of which operators said something
// and that no worker has.
struct HostView {
  std::string worker_id;
  std::string host;
  std::string address;
  std::string version;
  LabelMap labels;           // As placing sees them.
  LabelMap operator_labels;  // Those of them that operators set.
  int64_t runners = 0;
  int64_t busy = 0;  // How many are left while it is drained.
  bool plain = false;
  std::string health;  // healthy | suspect | dead | quarantined; unknown without a worker.
  int score = 0;       // 0 to 100, see master/host/host_score.h.
  std::string findings;
  std::string state;         // active | draining | drained | excluded | unapproved | outdated
  bool takes_tasks = false;  // Gets new tasks if a runner is free.
  std::string held_back;     // Why not; empty if it does.
  std::string reason;        // What the operator said.
  int64_t silent_ms = 0;
  WallTime last_seen{};
  std::optional<HostFigures> figures;
};

// What an operator says of a host. `host` is a worker's id or the name of a host: it is meant for
// every worker that has the one or runs on the other.
struct HostChange {
  enum class Verb : uint8_t { Drain, Exclude, Include, Unregister, Label };
  Verb verb = Verb::Drain;
  std::string host;
  std::string reason;                                        // Of drain, exclude and include.
  std::map<std::string, std::optional<std::string>> labels;  // Of label; nothing: removed.
  Request request = {};
};

// Switches of the whole cluster about hosts.
struct HostPolicy {
  bool white_list = false;  // Only included hosts get tasks.
  std::string min_version;  // Older workers get no tasks; empty: any will do.
  uint64_t unapproved = 0;  // Workers that get none because of the one,
  uint64_t outdated = 0;    // or the other.
};

struct HostPolicyChange {
  std::optional<bool> white_list;
  std::optional<std::string> min_version;  // Empty: any will do.
  Request request = {};
};

class HostPort {
 public:
  virtual ~HostPort() = default;
  virtual Result<std::vector<RunnerView>> runners() = 0;
  virtual Result<std::vector<HostView>> hosts() = 0;
  virtual Result<HostPolicy> policy() = 0;
  // Answers the hosts that the name covers, as they then are (as they were, for unregister). The
  // same again changes nothing. Errors: NotFound (drain, unregister, label: nobody has that name),
  // Conflict (unregister: it still has attempts, or takes tasks), InvalidArgument, NotActive.
  virtual void change(HostChange change,
                      std::function<void(Result<std::vector<HostView>>)> done) = 0;
  // Errors: InvalidArgument (no version), NotActive.
  virtual void setPolicy(HostPolicyChange change, std::function<void(Result<HostPolicy>)> done) = 0;
};

}  // namespace baton::master::api
