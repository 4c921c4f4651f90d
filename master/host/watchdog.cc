#include "master/host/watchdog.h"

#include <algorithm>
#include <vector>

#include "common/base/log.h"

namespace baton::master {
namespace {

constexpr Millis kBeat{100};
constexpr Micros kGapTolerated = Seconds(1);
constexpr Micros kClockStepTolerated = Millis(500);
constexpr Seconds kRecentlyEndedKept{120};

}  // namespace

Watchdog::Watchdog(TermContext& context, TaskEngine& engine, RunnerRegistry& registry)
    : context_(context), engine_(engine), registry_(registry) {}

void Watchdog::start(BootTime since) {
  running_ = true;
  registry_.setListeningSince(since);
  last_beat_ = context_.clock.bootNow();
  next_look_ =
      last_beat_ + std::min(context_.options.watchdog_period, context_.options.heartbeat / 3);
  wall_offset_ = context_.clock.wallNow().time_since_epoch() - last_beat_.time_since_epoch();
  arm();
}

void Watchdog::stop() { running_ = false; }

void Watchdog::arm() {
  context_.dispatcher.callAt(context_.clock.bootNow() + kBeat, [this] {
    // Posted behind what is queued: heartbeats that arrived are handled before anybody is judged.
    context_.dispatcher.post([this] {
      if (!running_) return;
      onTick();
      arm();
    });
  });
}

void Watchdog::onTick() {
  const BootTime now = context_.clock.bootNow();
  const Micros gap = now - last_beat_ - kBeat;
  last_beat_ = now;
  if (gap > kGapTolerated) forgive(gap);
  noticeClocks();
  deaf_ = deaf_ || !context_.writer.acceptsWork();
  if (deaf_ || now < next_look_) return;
  next_look_ = now + std::min(context_.options.watchdog_period, context_.options.heartbeat / 3);
  look();
  registry_.judgeHosts();
  registry_.notePresence();
  engine_.findStuck();
  const auto longDurable = [&](const auto& ended) {
    return ended.second.durableFor(kRecentlyEndedKept, now);
  };
  std::erase_if(context_.live.recently_ended, longDurable);
  std::erase_if(context_.live.recently_ended_runs, longDurable);
}

void Watchdog::onGap(Micros gap) {
  deaf_ = false;
  forgive(gap);
}

void Watchdog::forgive(Micros gap) {
  logWarn("hearing_gap", field("gap_ms", gap.count() / 1000), field("epoch", context_.epoch()));
  registry_.forgive(gap);
}

bool Watchdog::isLost(const Runner& runner) const {
  return runner.leaving_until <= context_.clock.bootNow() && registry_.isLost(runner);
}

void Watchdog::look() {
  std::vector<TaskId> lost;
  for (const auto& [id, runner] : context_.live.runners) {
    if (runner.open_task != 0 && isLost(runner)) lost.push_back(runner.open_task);
  }
  if (lost.empty()) return;
  for (const TaskId id : lost) {
    LiveTask* task = context_.live.findTask(id);
    if (task == nullptr || !task->attempt) continue;
    Operation operation;
    engine_.runnerLost(operation, *task);
    context_.writer.submit(std::move(operation));
  }
}

void Watchdog::noticeClocks() {
  const Micros offset =
      context_.clock.wallNow().time_since_epoch() - context_.clock.bootNow().time_since_epoch();
  const Micros step = offset - wall_offset_;
  if (step < kClockStepTolerated && step > -kClockStepTolerated) return;
  logWarn("wall_clock_step", field("step_ms", step.count() / 1000));
  wall_offset_ = offset;
  engine_.onWallClockStep();
  if (on_wall_clock_step_) on_wall_clock_step_();
}

}  // namespace baton::master
