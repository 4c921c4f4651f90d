#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "common/base/clock.h"
#include "common/model/ids.h"
#include "common/model/task_status.h"
#include "master/task/label_classes.h"
#include "master/task/limit_gates.h"

namespace baton::master {

// The QUEUED tasks in picking order, and the limits that they count against.
//
// Order: a task stands where one of the lowest priority would that had been queued one `ageing`
// earlier for each step of its priority; then by id. So a priority step is worth that much
// waiting, nobody is overtaken by what was queued more than three steps' worth later, and a place
// never changes while a task waits.
//
// Lanes: tasks that want the same of a runner and count against the same limits with the same
// priority and weight wait in one lane, in order; whatever holds one back holds back its lane. A
// lane that may go on stands in the front of its label set. The front's first lane is looked at
// when a runner asks for it: if a limit refuses it, it moves to that limit's gate and waits there.
// A gate that gets room calls back the first lane of each label set; a called lane that leaves the
// front (picked from, emptied, refused by another gate) calls the next one. So a pick costs the
// same at ten tasks as at a million, whatever is full, and nothing is polled.
//
// Group limits are in units of weight. The first task of a group that is refused for its weight
// alone reserves: nobody behind it in the group is started until it is, or can't be for another
// reason (no runner with its labels reports, its flow or user is full, its hours are over, the
// settings changed).
//
// Dispatcher thread only.
class ReadyQueue {
 public:
  using Signature = LabelClasses::Signature;

  // All outlive this. `usable`: runner classes with a runner that reports and takes tasks.
  ReadyQueue(LabelClasses& classes, LimitGates& gates, const std::vector<bool>& usable)
      : classes_(classes), gates_(gates), usable_(usable) {}

  // What a step of priority is worth in waiting; before the first task.
  void setAgeing(Millis ageing) { ageing_us_ = Micros(ageing).count(); }

  // The lane of such tasks, which has one user more: each call is matched by dropLane.
  LaneId laneOf(const TaskPolicy& policy, Priority priority);
  void dropLane(LaneId lane);
  Signature signatureOf(LaneId lane) const { return lanes_[lane].signature; }

  void add(LaneId lane, WallTime queued_at, TaskId id);
  void remove(LaneId lane, WallTime queued_at, TaskId id);
  // An attempt of a task of this lane was opened or closed, in doubt or not.
  void occupy(LaneId lane);
  void release(LaneId lane);

  // The first task in order that a runner of this class can run and every limit lets on.
  struct Candidate {
    QueuePlace place;
    LaneId lane = 0;
    Signature signature = 0;
    // True if this one is to be picked before `other`.
    bool before(const Candidate& other) const { return place < other.place; }
  };
  std::optional<Candidate> first(LabelClasses::ClassId runner_class);
  // False if another look has made a reservation meanwhile that it stands behind.
  bool confirm(const Candidate& candidate);

  // Up to `count` tasks of the candidate's own lane in order, itself included.
  std::vector<TaskId> ahead(const Candidate& candidate, size_t count) const;

  // The settings of the gate changed, or its window opened or closed.
  void gateChanged(LimitGate& gate);
  // The lowest priority of the cluster changed.
  void clusterChanged();
  // Runners came, went or take no tasks any more: what is kept for tasks that nobody can run is
  // given free.
  void checkReservations();

  // To be called when nobody who waits for work can get any: what is kept for tasks that lack
  // nothing but a free runner is given free. True if there was something.
  bool endIdleReservations();

  // What holds a lane back, as far as limits do; looks at everything and changes nothing.
  struct Refusal {
    WaitingCode code = WaitingCode::None;
    const LimitGate* gate = nullptr;  // Null with Degraded: the cluster.
    bool never = false;               // Group: only another limit helps.
    TaskId behind = 0;                // Group: the older task that reserves; 0: none.
  };
  Refusal refusalOf(LaneId lane, QueuePlace place) const;
  QueuePlace placeOf(LaneId lane, WallTime queued_at, TaskId id) const;

  // Visits every lane with tasks: (lane, its first task's place, tasks).
  template <typename Visit>
  void eachLane(Visit visit) const {
    for (LaneId id = 0; id < lanes_.size(); ++id) {
      if (!lanes_[id].tasks.empty()) visit(id, *lanes_[id].tasks.begin(), lanes_[id].tasks.size());
    }
  }
  struct LaneView {
    Signature signature;
    Priority priority;
    int64_t weight;
    const LimitGate* group;
    const LimitGate* flow;
    const LimitGate* user;
    const LimitGate* window;       // Hours of the tasks themselves.
    const LimitGate* flow_window;  // Hours of their flow.
  };
  LaneView view(LaneId lane) const;
  size_t size() const { return size_; }
  size_t laneCount() const { return by_key_.size(); }

 private:
  enum class At : uint8_t { Empty, Front, Waiting, Closed };
  struct Lane {
    Signature signature = 0;
    Priority priority = Priority::Normal;
    int64_t weight = 1;
    LimitGate* group = nullptr;
    LimitGate* flow = nullptr;
    LimitGate* user = nullptr;
    LimitGate* window = nullptr;
    LimitGate* flow_window = nullptr;
    std::set<QueuePlace> tasks;
    uint32_t users = 0;
    At at = At::Empty;
    LimitGate* where = nullptr;  // Waiting: for whom. Closed: by whom; null: the cluster.
    QueuePlace place;            // Of its first task, where it stands.
  };
  using Gates = std::array<LimitGate*, 5>;
  using Key = std::tuple<Signature, Priority, int64_t, Gates>;
  static constexpr QueuePlace kNoPlace{INT64_MAX, UINT64_MAX};

  static Gates gatesOf(const Lane& lane) {
    return {lane.group, lane.flow, lane.user, lane.window, lane.flow_window};
  }
  template <typename Visit>
  static void eachGate(const Lane& lane, Visit visit);
  // Takes the lane from where it stands.
  void leave(LaneId id);
  void enterFront(LaneId id);
  void noteHead(Signature signature);
  // False: it was refused and has left the front.
  bool mayGoOn(LaneId id);
  // Its first task is another one, or it has none any more.
  void headChanged(LaneId id);
  // A lane has left the front, or its head did: whoever waits behind it at its gates is called.
  void callNext(const Lane& lane, const LimitGate* but);
  void callFirst(LimitGate& gate, Signature signature);
  void callAll(LimitGate& gate);
  void reserve(LimitGate& gate, LaneId id);
  void endReservation(LimitGate& gate);
  bool stands(const LimitGate& gate) const;
  bool reserves(LaneId id) const;
  bool anyoneFits(Signature signature) const;

  LabelClasses& classes_;
  LimitGates& gates_;
  const std::vector<bool>& usable_;
  int64_t ageing_us_ = Micros(std::chrono::hours(6)).count();
  std::deque<Lane> lanes_;
  std::vector<LaneId> free_lanes_;
  std::map<Key, LaneId> by_key_;
  std::vector<LimitGate::Waiting> fronts_;  // By label set.
  std::vector<QueuePlace> heads_;           // First place of each front: what a pick scans.
  std::set<LaneId> degraded_;               // Closed by the cluster's lowest priority.
  std::set<LimitGate*> reserving_;          // Groups with a reservation.
  size_t size_ = 0;
};

}  // namespace baton::master
