#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/calendar/dispatch_window.h"
#include "common/model/limit_records.h"
#include "common/model/task_spec.h"
#include "master/task/label_classes.h"

namespace baton::master {

// Tasks of one kind in the ready queue; see ReadyQueue.
using LaneId = uint32_t;

// Where a task stands in the picking order: the smaller, the earlier.
struct QueuePlace {
  int64_t order_us = 0;
  TaskId id = 0;
  auto operator<=>(const QueuePlace&) const = default;
};

// What a group, flow or user may run and does run, and the lanes that wait for it; or hours in
// which tasks start (kind Window). Kept while it has a row or a live task. Dispatcher thread only.
struct LimitGate {
  LimitKind kind = LimitKind::Group;
  std::string name;                // Of hours, "22:00-06:00 Europe/Berlin".
  std::optional<LimitRecord> row;  // None: unlimited.
  std::optional<DispatchWindow> window;
  bool open = true;      // Its window, as of the last look.
  int64_t in_use = 0;    // Units of weight of the open attempts; tasks for flows and users.
  uint64_t running = 0;  // Open attempts.
  uint64_t queued = 0;
  uint32_t lanes = 0;

  // Lanes that the limit holds back, by what they want of a runner, in picking order.
  using Waiting = std::set<std::pair<QueuePlace, LaneId>>;
  std::map<LabelClasses::Signature, Waiting> waiting;
  // Lanes that only another setting (or the window) can let on.
  std::set<LaneId> closed;
  // The task for which the free units are kept: the first in order that was refused for its weight
  // alone. Nobody behind it in this group is started before it.
  struct Reservation {
    QueuePlace place;
    LaneId lane = 0;
  };
  std::optional<Reservation> reserved;

  std::optional<int64_t> max() const { return row ? row->max : std::nullopt; }
  bool hasRoom() const { return !max() || in_use < *max(); }
};

// All gates by kind and name, and what holds for the cluster as a whole. Dispatcher thread only.
class LimitGates {
 public:
  // The gate of that name, made if it is new; empty name: null.
  LimitGate* take(LimitKind kind, const std::string& name);
  // That of these hours, the same way. New ones are shut until somebody looks at the clock.
  LimitGate* takeWindow(const std::string& hours, const std::string& time_zone);
  // Told of new hours, before a task waits for them.
  void setOnNewWindow(std::function<void(LimitGate&)> told) { on_new_window_ = std::move(told); }
  // A lane that used it is gone.
  void drop(LimitGate* gate);
  LimitGate* find(LimitKind kind, const std::string& name);
  const LimitGate* find(LimitKind kind, const std::string& name) const;
  // By name.
  std::vector<LimitGate*> all(LimitKind kind) const;

  // Sets or (no value) takes away a row of a group, flow or user, checking nothing but the window:
  // one that this master can't read keeps the group shut, and says so in the log.
  LimitGate& set(const LimitRecord& row, WallTime now);
  void remove(LimitKind kind, const std::string& name);
  // True if the gate opened or closed.
  static bool lookAtWindow(LimitGate& gate, WallTime now);

  std::optional<LimitRecord> cluster;  // None: as configured.
  std::optional<Priority> clusterMinPriority() const {
    return cluster ? cluster->min_priority : std::nullopt;
  }
  // Open attempts that the cluster may have; 0: no limit.
  uint64_t runningMax(uint64_t configured) const {
    return cluster && cluster->max ? static_cast<uint64_t>(*cluster->max) : configured;
  }
  // Rows about hosts, by name; a host's use is counted in HostUse.
  std::map<std::string, LimitRecord> hosts;

  // Why no task of this weight can run while the gate is as it is; empty if one can. Weights count
  // in groups.
  static std::string whyNever(const LimitGate& gate, int64_t weight);

 private:
  void eraseUnused(LimitGate& gate);
  static void readWindow(LimitGate& gate, const std::string& hours, const std::string& time_zone);
  using ByName = std::map<std::string, std::unique_ptr<LimitGate>, std::less<>>;
  std::array<ByName, kLimitKindCount + 1> gates_;
  std::function<void(LimitGate&)> on_new_window_;
};

}  // namespace baton::master
