#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/calendar/recurrence.h"
#include "common/model/ids.h"
#include "flow/definition/event_window.h"

namespace baton::master {

// How far a run stands, or a task of it, that somebody waits for.
struct SourceState {
  WallTime plan_time{};
  RunId run = 0;
  std::string_view status;  // For people: "FAILED"; of static storage.
  bool well = false;        // FINISHED.
};

// Whether a wait is met; `text` says to people why it is not, or by what it is.
struct Judgement {
  bool met = false;
  std::string text;
};

// A wait for the newest: it counts by plan time, then by run, and what is not well may become so
// (it runs, it may be rerun). `states` in any order.
Judgement judgeNewest(std::span<const SourceState> states, const TimeZone& zone);

// A wait for all: each instant of `expected` has a run whose newest is well. Runs of other plan
// times do not matter. Without `expected` (the source has no schedule) every plan time that has a
// run is asked for, at least one. `states` in any order.
Judgement judgeAll(std::span<const SourceState> states,
                   const std::optional<std::vector<WallTime>>& expected, const TimeZone& zone);

// The schedule of a source, as far as waits for all ask.
struct SourceSchedule {
  Recurrence recurrence;
  // With `count`: so many instants are still to come behind `last_instant`; none: without end.
  std::optional<int64_t> left;
  WallTime last_instant{};
};

// Waits for all ask for at most so many instants.
inline constexpr size_t kExpectedMax = 10'000;

// The instants of the schedule in the range, rising; none if there are more than kExpectedMax.
std::optional<std::vector<WallTime>> expectedInstants(const SourceSchedule& schedule,
                                                      const flow::PlanRange& range);

}  // namespace baton::master
