#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/random.h"
#include "master/task/ready_queue.h"

namespace baton::master {
namespace {

constexpr int kGroupsInModel = 5;
constexpr int kFlowsInModel = 4;
constexpr int kUsersInModel = 2;
const std::vector<std::string> kHoursInModel{"22:00-06:00", "01:00-02:00"};
const std::vector<LabelMap> kLabelsInModel{{}, {{"gpu", "yes"}}, {{"zone", "a"}}};

// The queue, and beside it a plain list of what waits and runs, looked through as a whole.
class QueueModel {
 public:
  explicit QueueModel(uint64_t seed) : random_(seed) {
    queue_.setAgeing(Millis(1));
    gates_.setOnNewWindow([this](LimitGate& hours) { hours.open = below(2) > 0; });
    runners_ = {classes_.classOf({}), classes_.classOf({{"gpu", "yes"}}),
                classes_.classOf({{"gpu", "yes"}, {"zone", "a"}})};
    present_.assign(classes_.classLimit(), true);
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit();
      case 4:
      case 5:
      case 6:
        return pick();
      case 7:
      case 8:
        return finish();
      case 9:
        return cancel();
      case 10:
        return changeLimit();
      default:
        return changeSurroundings();
    }
  }
  // Everything may run in the end: nothing is left behind in some corner of the queue.
  void drain() {
    for (int i = 0; i < kGroupsInModel; ++i) setLimit(LimitKind::Group, name("g", i), 3 + i);
    for (int i = 0; i < kFlowsInModel; ++i) setLimit(LimitKind::Flow, name("f", i), 2);
    for (int i = 0; i < kUsersInModel; ++i) setLimit(LimitKind::User, name("u", i), 3);
    gates_.cluster.reset();
    queue_.clusterChanged();
    for (const std::string& hours : kHoursInModel) setOpen(hours, true);
    present_.assign(classes_.classLimit(), true);
    queue_.checkReservations();
    for (const Task& task : waiting_) {
      LimitGate* group = queue_.view(task.lane).group == nullptr ? nullptr : groupOf(task);
      if (group != nullptr && *group->max() < task.weight) {
        setLimit(LimitKind::Group, group->name, task.weight);
      }
    }
    for (size_t rounds = 0; !waiting_.empty() && rounds < 20'000; ++rounds) {
      pick();
      if (rounds % 3 == 0) finish();
    }
    EXPECT_TRUE(waiting_.empty()) << waiting_.size();
    while (!running_.empty()) finish();
    EXPECT_EQ(queue_.size(), 0U);
    EXPECT_EQ(queue_.laneCount(), 0U);
  }

 private:
  struct Task {
    TaskId id;
    LaneId lane;
    WallTime queued_at;
    int64_t weight;
  };
  static std::string name(const char* kind, int i) { return kind + std::to_string(i); }
  uint64_t below(uint64_t n) { return random_.next() % n; }
  LimitGate* groupOf(const Task& task) {
    return gates_.find(LimitKind::Group, queue_.view(task.lane).group->name);
  }

  void submit() {
    TaskPolicy policy;
    policy.labels = kLabelsInModel[below(kLabelsInModel.size())];
    if (below(4) > 0) policy.scope.group = name("g", static_cast<int>(below(kGroupsInModel)));
    if (below(2) > 0) policy.scope.flow = name("f", static_cast<int>(below(kFlowsInModel)));
    if (below(3) > 0) policy.scope.user = name("u", static_cast<int>(below(kUsersInModel)));
    policy.scope.weight = static_cast<int64_t>(1 + below(4));
    if (below(4) == 0) policy.scope.window = kHoursInModel[below(kHoursInModel.size())];
    if (below(4) == 0) policy.scope.flow_window = kHoursInModel[below(kHoursInModel.size())];
    policy.scope.time_zone = "UTC";
    const LaneId lane = queue_.laneOf(policy, static_cast<Priority>(below(kPriorityCount)));
    // Now and then one that is older than what waits: a retry keeps no place, a repaired order
    // does.
    now_us_ += static_cast<int64_t>(below(1'000));
    const int64_t at = below(8) == 0 ? now_us_ - static_cast<int64_t>(below(3'000)) : now_us_;
    waiting_.push_back({++last_id_, lane, wallFromMicros(at), queue_.view(lane).weight});
    queue_.add(lane, waiting_.back().queued_at, last_id_);
  }

  void pick() {
    const auto runner = runners_[below(runners_.size())];
    if (!present_[runner]) return;
    const auto picked = queue_.first(runner);
    checkReservations();
    // The slow way, with the reservations that the look has made: every task is asked.
    const Task* best = nullptr;
    QueuePlace best_place;
    for (const Task& task : waiting_) {
      if (!classes_.fits(queue_.signatureOf(task.lane), runner)) continue;
      const QueuePlace place = queue_.placeOf(task.lane, task.queued_at, task.id);
      if (queue_.refusalOf(task.lane, place).code != WaitingCode::None) continue;
      if (best == nullptr || place < best_place) {
        best = &task;
        best_place = place;
      }
    }
    ASSERT_EQ(picked.has_value(), best != nullptr) << (best ? best->id : picked->place.id);
    if (best == nullptr) return;
    ASSERT_EQ(picked->place.id, best->id);
    queue_.remove(best->lane, best->queued_at, best->id);
    queue_.occupy(best->lane);
    const auto lane = queue_.view(best->lane);
    for (const LimitGate* gate : {lane.group, lane.flow, lane.user}) {
      if (gate == nullptr || !gate->max()) continue;
      EXPECT_LE(gate->in_use, *gate->max()) << gate->name;
    }
    running_.push_back(*best);
    waiting_.erase(waiting_.begin() + (best - waiting_.data()));
  }

  // Whoever is told to stand behind another task waits for one that lacks nothing but room.
  void checkReservations() {
    const auto placeOf = [&](const Task& task) {
      return queue_.placeOf(task.lane, task.queued_at, task.id);
    };
    for (const Task& task : waiting_) {
      const TaskId ahead = queue_.refusalOf(task.lane, placeOf(task)).behind;
      if (ahead == 0) continue;
      const auto it = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const Task& other) { return other.id == ahead; });
      ASSERT_NE(it, waiting_.end()) << ahead;
      const auto refusal = queue_.refusalOf(it->lane, placeOf(*it));
      EXPECT_TRUE(refusal.code == WaitingCode::None || (refusal.code == WaitingCode::GroupLimit &&
                                                        !refusal.never && refusal.behind == 0))
          << ahead;
      bool fits = false;
      for (const auto runner : runners_) {
        fits = fits || (present_[runner] && classes_.fits(queue_.signatureOf(it->lane), runner));
      }
      EXPECT_TRUE(fits) << ahead;
    }
  }

  void finish() {
    if (running_.empty()) return;
    const size_t i = below(running_.size());
    queue_.release(running_[i].lane);
    queue_.dropLane(running_[i].lane);
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
  }

  void cancel() {
    if (waiting_.empty()) return;
    const size_t i = below(waiting_.size());
    queue_.remove(waiting_[i].lane, waiting_[i].queued_at, waiting_[i].id);
    queue_.dropLane(waiting_[i].lane);
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
  }

  void setLimit(LimitKind kind, const std::string& which, std::optional<int64_t> max,
                std::optional<Priority> min_priority = {}) {
    if (!max && !min_priority) {
      gates_.remove(kind, which);
    } else {
      gates_.set({.kind = kind, .name = which, .max = max, .min_priority = min_priority}, {});
    }
    if (LimitGate* gate = gates_.find(kind, which)) queue_.gateChanged(*gate);
  }
  void changeLimit() {
    const auto max = below(4) == 0 ? std::nullopt : std::optional<int64_t>(below(6));
    switch (below(3)) {
      case 0: {
        std::optional<Priority> least;
        if (below(5) == 0) least = static_cast<Priority>(below(kPriorityCount));
        return setLimit(LimitKind::Group, name("g", static_cast<int>(below(kGroupsInModel))), max,
                        least);
      }
      case 1:
        return setLimit(LimitKind::Flow, name("f", static_cast<int>(below(kFlowsInModel))), max);
      default:
        return setLimit(LimitKind::User, name("u", static_cast<int>(below(kUsersInModel))), max);
    }
  }

  void setOpen(const std::string& hours, bool open) {
    LimitGate* gate = gates_.find(LimitKind::Window, hours + " UTC");
    if (gate == nullptr || gate->open == open) return;
    gate->open = open;
    queue_.gateChanged(*gate);
  }

  void changeSurroundings() {
    switch (below(4)) {
      case 3:
        return setOpen(kHoursInModel[below(kHoursInModel.size())], below(2) > 0);
      case 0:  // The cluster is degraded, or not any more.
        gates_.cluster.reset();
        if (below(3) == 0) {
          gates_.cluster = LimitRecord{.kind = LimitKind::Cluster};
          gates_.cluster->min_priority = static_cast<Priority>(below(kPriorityCount));
        }
        return queue_.clusterChanged();
      case 1: {  // A window opens or closes.
        LimitGate* gate =
            gates_.find(LimitKind::Group, name("g", static_cast<int>(below(kGroupsInModel))));
        if (gate == nullptr || !gate->row) return;
        gate->open = !gate->open;
        return queue_.gateChanged(*gate);
      }
      default:  // The last runner of a class is lost, or comes back.
        present_[runners_[below(runners_.size())]].flip();
        return queue_.checkReservations();
    }
  }

  Random random_;
  LabelClasses classes_;
  LimitGates gates_;
  std::vector<bool> present_;
  ReadyQueue queue_{classes_, gates_, present_};
  std::vector<LabelClasses::ClassId> runners_;
  std::vector<Task> waiting_;
  std::vector<Task> running_;
  int64_t now_us_ = 1'000'000;
  TaskId last_id_ = 0;
};

TEST(ReadyQueueModelTest, EveryPickIsTheOneThatALookAtAllTasksFinds) {
  // Aim: lanes, fronts, gates and reservations give the same as looking through the whole queue,
  // whatever comes, goes and is set; no limit is passed and nothing is left behind.
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    QueueModel model(seed);
    for (int i = 0; i < 600; ++i) {
      model.step();
      if (testing::Test::HasFatalFailure() || testing::Test::HasFailure()) return;
    }
    model.drain();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace baton::master
