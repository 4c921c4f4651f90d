#include "master/task/ready_queue.h"

#include <algorithm>

#include "common/base/status.h"

namespace baton::master {

// ----------------------------------------------------------------------------------- lanes

template <typename Visit>
void ReadyQueue::eachGate(const Lane& lane, Visit visit) {
  for (LimitGate* gate : gatesOf(lane)) {
    if (gate != nullptr) visit(*gate);
  }
}

LaneId ReadyQueue::laneOf(const TaskPolicy& policy, Priority priority) {
  const TaskLimitsScope& scope = policy.scope;
  Lane made;
  made.signature = classes_.signatureOf(policy.labels);
  made.priority = priority;
  made.weight = scope.group.empty() ? 1 : scope.weight;
  made.group = gates_.take(LimitKind::Group, scope.group);
  made.flow = gates_.take(LimitKind::Flow, scope.flow);
  made.user = gates_.take(LimitKind::User, scope.user);
  made.window = gates_.takeWindow(scope.window, scope.time_zone);
  made.flow_window = gates_.takeWindow(scope.flow_window, scope.time_zone);
  const auto [it, is_new] =
      by_key_.try_emplace(Key(made.signature, priority, made.weight, gatesOf(made)), 0);
  if (is_new) {
    if (free_lanes_.empty()) {
      free_lanes_.push_back(static_cast<LaneId>(lanes_.size()));
      lanes_.emplace_back();
    }
    it->second = free_lanes_.back();
    free_lanes_.pop_back();
    lanes_[it->second] = std::move(made);
  } else {
    // The lane holds its label set and its gates once, whatever the number of its users.
    classes_.dropSignature(made.signature);
    eachGate(made, [&](LimitGate& gate) { gates_.drop(&gate); });
  }
  ++lanes_[it->second].users;
  return it->second;
}

void ReadyQueue::dropLane(LaneId id) {
  Lane& lane = lanes_[id];
  CHECK(lane.users > 0);
  if (--lane.users > 0) return;
  CHECK(lane.tasks.empty());
  by_key_.erase(Key(lane.signature, lane.priority, lane.weight, gatesOf(lane)));
  classes_.dropSignature(lane.signature);
  eachGate(lane, [&](LimitGate& gate) { gates_.drop(&gate); });
  lane = Lane{};
  free_lanes_.push_back(id);
}

ReadyQueue::LaneView ReadyQueue::view(LaneId id) const {
  const Lane& lane = lanes_[id];
  return {lane.signature, lane.priority, lane.weight, lane.group,
          lane.flow,      lane.user,     lane.window, lane.flow_window};
}

// ----------------------------------------------------------------------------------- tasks

QueuePlace ReadyQueue::placeOf(LaneId lane, WallTime queued_at, TaskId id) const {
  return {toMicros(queued_at) - static_cast<int64_t>(lanes_[lane].priority) * ageing_us_, id};
}

void ReadyQueue::add(LaneId id, WallTime queued_at, TaskId task) {
  Lane& lane = lanes_[id];
  const QueuePlace place = placeOf(id, queued_at, task);
  // Most tasks are the youngest of their lane.
  const size_t before = lane.tasks.size();
  lane.tasks.emplace_hint(lane.tasks.end(), place);
  CHECK(lane.tasks.size() == before + 1);
  ++size_;
  eachGate(lane, [](LimitGate& gate) { ++gate.queued; });
  if (lane.at == At::Empty || place < lane.place) headChanged(id);
}

void ReadyQueue::remove(LaneId id, WallTime queued_at, TaskId task) {
  Lane& lane = lanes_[id];
  const QueuePlace place = placeOf(id, queued_at, task);
  CHECK(lane.tasks.erase(place) == 1);
  --size_;
  eachGate(lane, [](LimitGate& gate) { --gate.queued; });
  if (place == lane.place) headChanged(id);
}

void ReadyQueue::headChanged(LaneId id) {
  Lane& lane = lanes_[id];
  leave(id);
  if (!lane.tasks.empty()) enterFront(id);
  if (reserves(id)) endReservation(*lane.group);
  callNext(lane, nullptr);
}

bool ReadyQueue::reserves(LaneId id) const {
  const LimitGate* group = lanes_[id].group;
  return group != nullptr && group->reserved && group->reserved->lane == id;
}

void ReadyQueue::occupy(LaneId id) {
  const Lane& lane = lanes_[id];
  eachGate(lane, [&](LimitGate& gate) {
    ++gate.running;
    gate.in_use += gate.kind == LimitKind::Group ? lane.weight : 1;
    // What is kept for a task that its flow or user now holds back is of use to others.
    if (gate.kind != LimitKind::Group && !gate.hasRoom()) checkReservations();
  });
}

void ReadyQueue::release(LaneId id) {
  const Lane& lane = lanes_[id];
  eachGate(lane, [&](LimitGate& gate) {
    CHECK(gate.running > 0);
    --gate.running;
    gate.in_use -= gate.kind == LimitKind::Group ? lane.weight : 1;
    if (gate.hasRoom()) callAll(gate);
  });
}

// ----------------------------------------------------------------------------------- order

void ReadyQueue::noteHead(Signature signature) {
  const auto& lanes = fronts_[signature];
  heads_[signature] = lanes.empty() ? kNoPlace : lanes.begin()->first;
}

void ReadyQueue::enterFront(LaneId id) {
  Lane& lane = lanes_[id];
  if (fronts_.size() <= lane.signature) {
    fronts_.resize(lane.signature + 1);
    heads_.resize(lane.signature + 1, kNoPlace);
  }
  lane.at = At::Front;
  lane.where = nullptr;
  lane.place = *lane.tasks.begin();
  fronts_[lane.signature].emplace(lane.place, id);
  noteHead(lane.signature);
}

void ReadyQueue::leave(LaneId id) {
  Lane& lane = lanes_[id];
  switch (lane.at) {
    case At::Empty:
      return;
    case At::Front:
      fronts_[lane.signature].erase({lane.place, id});
      noteHead(lane.signature);
      break;
    case At::Waiting: {
      const auto it = lane.where->waiting.find(lane.signature);
      it->second.erase({lane.place, id});
      if (it->second.empty()) lane.where->waiting.erase(it);
      break;
    }
    case At::Closed:
      (lane.where == nullptr ? degraded_ : lane.where->closed).erase(id);
      break;
  }
  lane.at = At::Empty;
  lane.where = nullptr;
}

std::optional<ReadyQueue::Candidate> ReadyQueue::first(LabelClasses::ClassId runner_class) {
  while (true) {
    std::optional<Candidate> best;
    QueuePlace best_place = kNoPlace;
    for (const Signature signature : classes_.servedBy(runner_class)) {
      if (signature >= heads_.size()) continue;
      while (heads_[signature] < best_place) {
        const auto [place, lane] = *fronts_[signature].begin();
        if (!mayGoOn(lane)) continue;
        best_place = place;
        best = Candidate{place, lane, signature};
      }
    }
    if (!best || confirm(*best)) return best;
  }
}

bool ReadyQueue::confirm(const Candidate& candidate) { return mayGoOn(candidate.lane); }

std::vector<TaskId> ReadyQueue::ahead(const Candidate& candidate, size_t count) const {
  const auto& tasks = lanes_[candidate.lane].tasks;
  std::vector<TaskId> ids;
  for (auto it = tasks.find(candidate.place); it != tasks.end() && ids.size() < count; ++it) {
    ids.push_back(it->id);
  }
  return ids;
}

// ----------------------------------------------------------------------------------- limits

ReadyQueue::Refusal ReadyQueue::refusalOf(LaneId id, QueuePlace place) const {
  const Lane& lane = lanes_[id];
  const auto cluster_min = gates_.clusterMinPriority();
  if (cluster_min && lane.priority < *cluster_min) return {.code = WaitingCode::Degraded};
  const LimitGate* group = lane.group;
  if (group != nullptr && group->row) {
    if (group->row->min_priority && lane.priority < *group->row->min_priority) {
      return {.code = WaitingCode::Degraded, .gate = group};
    }
    if (!group->open) return {.code = WaitingCode::Window, .gate = group};
    if (group->max() && lane.weight > *group->max()) {
      return {.code = WaitingCode::GroupLimit, .gate = group, .never = true};
    }
  }
  for (const LimitGate* hours : {lane.flow_window, lane.window}) {
    if (hours != nullptr && !hours->open) return {.code = WaitingCode::Window, .gate = hours};
  }
  // The group's room comes last: whoever is refused for want of it could run otherwise.
  if (lane.flow != nullptr && !lane.flow->hasRoom()) {
    return {.code = WaitingCode::FlowLimit, .gate = lane.flow};
  }
  if (lane.user != nullptr && !lane.user->hasRoom()) {
    return {.code = WaitingCode::UserLimit, .gate = lane.user};
  }
  if (group == nullptr || !group->max()) return {};
  if (group->reserved && group->reserved->place < place) {
    return {.code = WaitingCode::GroupLimit, .gate = group, .behind = group->reserved->place.id};
  }
  if (group->in_use + lane.weight > *group->max()) {
    return {.code = WaitingCode::GroupLimit, .gate = group};
  }
  return {};
}

bool ReadyQueue::mayGoOn(LaneId id) {
  Lane& lane = lanes_[id];
  if (gatesOf(lane) == Gates{} && !gates_.clusterMinPriority()) return true;
  const Refusal refusal = refusalOf(id, lane.place);
  if (refusal.code == WaitingCode::None) return true;
  LimitGate* gate = nullptr;
  eachGate(lane, [&](LimitGate& own) { gate = &own == refusal.gate ? &own : gate; });
  const bool by_room = refusal.code == WaitingCode::FlowLimit ||
                       refusal.code == WaitingCode::UserLimit ||
                       (refusal.code == WaitingCode::GroupLimit && !refusal.never);
  leave(id);
  lane.where = gate;
  if (by_room) {
    lane.at = At::Waiting;
    gate->waiting[lane.signature].emplace(lane.place, id);
  } else {
    lane.at = At::Closed;
    (gate == nullptr ? degraded_ : gate->closed).insert(id);
  }
  // It keeps a reservation only while nothing else holds it back.
  const bool short_of_room =
      refusal.code == WaitingCode::GroupLimit && !refusal.never && refusal.behind == 0;
  if (short_of_room) {
    reserve(*gate, id);
  } else if (reserves(id)) {
    endReservation(*lane.group);
  }
  callNext(lane, by_room ? gate : nullptr);
  return false;
}

void ReadyQueue::callNext(const Lane& lane, const LimitGate* but) {
  eachGate(lane, [&](LimitGate& gate) {
    if (&gate != but && gate.hasRoom()) callFirst(gate, lane.signature);
  });
}

void ReadyQueue::callFirst(LimitGate& gate, Signature signature) {
  const auto waiting = gate.waiting.find(signature);
  if (waiting == gate.waiting.end()) return;
  const LaneId id = waiting->second.begin()->second;
  leave(id);
  enterFront(id);
}

void ReadyQueue::callAll(LimitGate& gate) {
  std::vector<Signature> signatures;
  for (const auto& [signature, lanes] : gate.waiting) signatures.push_back(signature);
  for (const Signature signature : signatures) callFirst(gate, signature);
}

void ReadyQueue::reserve(LimitGate& gate, LaneId id) {
  const QueuePlace place = lanes_[id].place;
  if (gate.reserved && gate.reserved->place <= place) return;
  gate.reserved = LimitGate::Reservation{place, id};
  reserving_.insert(&gate);
}

void ReadyQueue::endReservation(LimitGate& gate) {
  gate.reserved.reset();
  reserving_.erase(&gate);
  callAll(gate);
}

bool ReadyQueue::stands(const LimitGate& gate) const {
  const Lane& lane = lanes_[gate.reserved->lane];
  const auto opens = [](const LimitGate* hours) { return hours == nullptr || hours->open; };
  return (lane.flow == nullptr || lane.flow->hasRoom()) &&
         (lane.user == nullptr || lane.user->hasRoom()) && opens(lane.window) &&
         opens(lane.flow_window) && anyoneFits(lane.signature);
}

bool ReadyQueue::anyoneFits(Signature signature) const {
  for (LabelClasses::ClassId id = 0; id < usable_.size(); ++id) {
    if (usable_[id] && classes_.fits(signature, id)) return true;
  }
  return false;
}

void ReadyQueue::checkReservations() {
  std::vector<LimitGate*> ended;
  for (LimitGate* gate : reserving_) {
    if (!stands(*gate)) ended.push_back(gate);
  }
  for (LimitGate* gate : ended) endReservation(*gate);
}

bool ReadyQueue::endIdleReservations() {
  std::vector<LimitGate*> ended;
  for (LimitGate* gate : reserving_) {
    const Lane& lane = lanes_[gate->reserved->lane];
    if (!gate->max() || gate->in_use + lane.weight <= *gate->max()) ended.push_back(gate);
  }
  for (LimitGate* gate : ended) endReservation(*gate);
  return !ended.empty();
}

void ReadyQueue::gateChanged(LimitGate& gate) {
  const std::vector<LaneId> closed(gate.closed.begin(), gate.closed.end());
  for (const LaneId id : closed) {
    leave(id);
    enterFront(id);
  }
  endReservation(gate);
  checkReservations();
}

void ReadyQueue::clusterChanged() {
  const std::vector<LaneId> degraded(degraded_.begin(), degraded_.end());
  for (const LaneId id : degraded) {
    leave(id);
    enterFront(id);
  }
  const std::vector<LimitGate*> reserving(reserving_.begin(), reserving_.end());
  for (LimitGate* gate : reserving) endReservation(*gate);
}

}  // namespace baton::master
