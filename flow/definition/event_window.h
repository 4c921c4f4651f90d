#pragma once

#include <compare>
#include <span>
#include <string_view>

#include "common/calendar/time_zone.h"

namespace baton::flow {

// The instants from `from` up to, not including, `before`; empty if they are equal.
struct PlanRange {
  WallTime from{};
  WallTime before{};

  bool contains(WallTime instant) const { return from <= instant && instant < before; }
  auto operator<=>(const PlanRange&) const = default;
};

// Whether a window of that name exists (docs/flows.md has the table).
bool isEventWindow(std::string_view name);
// The names, for messages: one of the weekdays stands for all, N for a number.
std::span<const std::string_view> eventWindowNames();

// What the window means for a run of that plan time, by the calendar and the clock of the zone: a
// day has as many hours as the clock gave it. `name` is a window (isEventWindow).
PlanRange eventRange(std::string_view name, WallTime plan_time, const TimeZone& zone);

}  // namespace baton::flow
