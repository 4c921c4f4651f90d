#pragma once

#include <functional>

#include "master/host/heartbeat_handler.h"
#include "master/host/runner_registry.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Looks for attempts whose runner has been silent too long (and, with the same beat, for clocks
// that were set and for memory that is no longer needed). Here a watchdog guards runners; the
// process's own liveness is guarded by zkFailover. Dispatcher thread only.
class Watchdog {
 public:
  Watchdog(TermContext& context, TaskEngine& engine, RunnerRegistry& registry);

  // Starts looking. `since` is the later of the bump and the moment heartbeats are accepted: until
  // three intervals after it nobody is lost who has not reported in this term.
  void start(BootTime since);
  void stop();
  // The master could not have heard anybody for `gap` (resumed, database back).
  void onGap(Micros gap);
  // Who else is to know that the wall clock was set.
  void setOnWallClockStep(std::function<void()> told) { on_wall_clock_step_ = std::move(told); }

 private:
  void arm();
  void onTick();
  void look();
  void forgive(Micros gap);
  bool isLost(const Runner& runner) const;
  void noticeClocks();

  TermContext& context_;
  TaskEngine& engine_;
  RunnerRegistry& registry_;
  std::function<void()> on_wall_clock_step_;
  bool running_ = false;
  bool deaf_ = false;     // The database is away: nobody is judged before onGap tells for how long.
  BootTime last_beat_{};  // Of the fast beat that measures the dispatcher's own gaps.
  BootTime next_look_{};
  Micros wall_offset_{};  // Wall time minus boot time, as last seen.
};

}  // namespace baton::master
