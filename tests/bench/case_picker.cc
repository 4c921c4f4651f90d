#include <algorithm>
#include <chrono>
#include <deque>

#include "common/base/random.h"
#include "master/task/ready_queue.h"
#include "tests/bench/bench_case.h"

namespace baton::bench {
namespace {

using master::LabelClasses;
using master::LaneId;
using master::LimitGates;
using master::ReadyQueue;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kLabels = 100;
constexpr uint64_t kPicks = 200'000;
constexpr uint64_t kFewQueued = 10'000;
constexpr uint64_t kGroups = 5'000;
constexpr uint64_t kFlows = 1'000;
constexpr uint64_t kRunning = 10'000;

// Every runner has a label of its own and one that all share; every task wants one of these. With
// groups, every task is in one of them with a weight of 1 to 4, whose limit is 4; each flow and
// the user have a limit too. What is picked runs until later picks, so that limits are often full.
class PickerBench {
 public:
  explicit PickerBench(uint64_t groups = 0) : groups_(groups) {
    for (uint64_t i = 0; i < kLabels; ++i) {
      const std::string name = "pool-" + std::to_string(i);
      runners_.push_back(classes_.classOf({{name, "yes"}, {"any", "yes"}}));
      addKind({{name, "yes"}});
    }
    present_.assign(classes_.classLimit(), true);
    addKind({{"any", "yes"}});
    addKind({});
    const auto limit = [&](LimitKind kind, const std::string& name, int64_t max) {
      gates_.set({.kind = kind, .name = name, .max = max}, {});
    };
    for (uint64_t i = 0; i < groups; ++i) limit(LimitKind::Group, "g" + std::to_string(i), 4);
    for (uint64_t i = 0; groups > 0 && i < kFlows; ++i) {
      limit(LimitKind::Flow, "f" + std::to_string(i), 20);
    }
    if (groups > 0) limit(LimitKind::User, "u", static_cast<int64_t>(kRunning));
    for (uint64_t i = 0; i < groups; ++i) {
      for (int64_t weight = 1; weight <= 4; ++weight) {
        TaskPolicy policy;
        if (random_.next() % 2 == 0) {
          policy.labels = {{"pool-" + std::to_string(random_.next() % kLabels), "yes"}};
        }
        policy.scope = {.group = "g" + std::to_string(i),
                        .weight = weight,
                        .flow = "f" + std::to_string(random_.next() % kFlows),
                        .user = "u"};
        addPolicy(policy);
      }
    }
  }

  void fill(uint64_t count) {
    while (queue_.size() < count) add();
  }
  // Nanoseconds of one pick: first in order for a runner, taken out, and another one put in.
  double run() {
    const auto began = SteadyClock::now();
    for (uint64_t i = 0; i < kPicks; ++i) {
      const auto picked = queue_.first(runners_[i % runners_.size()]);
      if (!picked) {
        finishOldest();
        continue;
      }
      queue_.remove(picked->lane, queued_at_[picked->place.id], picked->place.id);
      queue_.occupy(picked->lane);
      running_.push_back(picked->lane);
      if (running_.size() > (groups_ > 0 ? kRunning - 1 : 0)) finishOldest();
      add();
    }
    return std::chrono::duration<double, std::nano>(SteadyClock::now() - began).count() /
           static_cast<double>(kPicks);
  }

 private:
  void finishOldest() {
    if (running_.empty()) return;
    queue_.release(running_.front());
    running_.pop_front();
  }
  void add() {
    const LaneId lane = lanes_[random_.next() % lanes_.size()];
    queued_at_.push_back(wallFromMicros(static_cast<int64_t>(next_)));
    queue_.add(lane, queued_at_.back(), next_++);
  }
  void addPolicy(const TaskPolicy& policy) {
    for (size_t i = 0; i < kPriorityCount; ++i) {
      lanes_.push_back(queue_.laneOf(policy, static_cast<Priority>(i)));
    }
  }
  void addKind(LabelMap labels) {
    if (groups_ > 0) return;
    TaskPolicy policy;
    policy.labels = std::move(labels);
    addPolicy(policy);
  }

  const uint64_t groups_;
  LabelClasses classes_;
  LimitGates gates_;
  std::vector<bool> present_;
  ReadyQueue queue_{classes_, gates_, present_};
  std::vector<LabelClasses::ClassId> runners_;
  std::vector<LaneId> lanes_;
  std::vector<WallTime> queued_at_;  // By task.
  std::deque<LaneId> running_;
  Random random_{7};
  TaskId next_ = 0;
};

}  // namespace

Status benchPicker(BenchRun& run) {
  const uint64_t many = run.tasksOr(1'000'000);
  std::vector<double> few_ns, many_ns, group_ns;
  for (int i = 0; i < 3; ++i) {
    PickerBench bench;
    bench.fill(kFewQueued);
    few_ns.push_back(bench.run());
    bench.fill(many);
    many_ns.push_back(bench.run());
    PickerBench groups(kGroups);
    groups.fill(many);
    group_ns.push_back(groups.run());
  }
  const double pick_us = quantile(many_ns, 0.5) / 1e3;
  run.report.add(
      {.name = "p10.pick",
       .value = pick_us,
       .unit = "us",
       .must = 20,
       .goal = 3,
       .low_is_good = true,
       .note = fmt::format("{} queued, {} labels; with another task put in", many, kLabels)});
  run.report.add({.name = "p10.of_pick_at_10000",
                  .value = quantile(many_ns, 0.5) / quantile(few_ns, 0.5),
                  .unit = "ratio",
                  .low_is_good = true,
                  .note = "1 is flat in the number queued"});
  run.report.add({.name = "p10.pick_with_groups",
                  .value = quantile(group_ns, 0.5) / 1e3,
                  .unit = "us",
                  .must = 20,
                  .low_is_good = true,
                  .note = fmt::format("{} queued in {} groups with limits, {} flows, weights", many,
                                      kGroups, kFlows)});
  return {};
}

}  // namespace baton::bench
