#include <algorithm>
#include <chrono>

#include "common/base/random.h"
#include "master/task/ready_queue.h"
#include "tests/bench/bench_case.h"

namespace baton::bench {
namespace {

using master::LabelClasses;
using master::ReadyQueue;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kLabels = 100;
constexpr uint64_t kPicks = 200'000;
constexpr uint64_t kFewQueued = 10'000;

// Every runner has a label of its own and one that all share; every task wants one of these.
class PickerBench {
 public:
  PickerBench() {
    for (uint64_t i = 0; i < kLabels; ++i) {
      const std::string name = "pool-" + std::to_string(i);
      runners_.push_back(classes_.classOf({{name, "yes"}, {"any", "yes"}}));
      wanted_.push_back(classes_.signatureOf({{name, "yes"}}));
    }
    wanted_.push_back(classes_.signatureOf({{"any", "yes"}}));
    wanted_.push_back(classes_.signatureOf({}));
  }

  void fill(uint64_t count) {
    while (queue_.size() < count) add();
  }
  // Nanoseconds of one pick: first in order for a runner, taken out, and another one put in.
  double run() {
    const auto began = SteadyClock::now();
    for (uint64_t i = 0; i < kPicks; ++i) {
      const auto picked = queue_.first(runners_[i % runners_.size()]);
      if (!picked) continue;
      queue_.remove(picked->signature, picked->priority, picked->entry);
      add();
    }
    return std::chrono::duration<double, std::nano>(SteadyClock::now() - began).count() /
           static_cast<double>(kPicks);
  }

 private:
  void add() {
    const auto signature = wanted_[random_.next() % wanted_.size()];
    const auto priority = static_cast<Priority>(random_.next() % kPriorityCount);
    ++next_;
    queue_.add(signature, priority, {.queued_us = static_cast<int64_t>(next_), .id = next_});
  }

  LabelClasses classes_;
  ReadyQueue queue_{classes_};
  std::vector<LabelClasses::ClassId> runners_;
  std::vector<LabelClasses::Signature> wanted_;
  Random random_{7};
  TaskId next_ = 0;
};

}  // namespace

Status benchPicker(BenchRun& run) {
  const uint64_t many = run.tasksOr(1'000'000);
  std::vector<double> few_ns, many_ns;
  for (int i = 0; i < 3; ++i) {
    PickerBench bench;
    bench.fill(kFewQueued);
    few_ns.push_back(bench.run());
    bench.fill(many);
    many_ns.push_back(bench.run());
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
  return {};
}

}  // namespace baton::bench
