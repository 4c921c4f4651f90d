#include "master/flow/event_judgement.h"

#include <algorithm>
#include <map>

namespace baton::master {
namespace {

constexpr size_t kNamedMax = 3;  // Of what is missing.

bool isOlder(const SourceState& a, const SourceState& b) {
  return a.plan_time != b.plan_time ? a.plan_time < b.plan_time : a.run < b.run;
}

std::string describe(const SourceState& state, const TimeZone& zone) {
  return fmt::format("run {} of {} is {}", state.run, formatRfc3339(state.plan_time, zone),
                     state.status);
}

}  // namespace

Judgement judgeNewest(std::span<const SourceState> states, const TimeZone& zone) {
  const auto newest = std::max_element(states.begin(), states.end(), isOlder);
  if (newest == states.end()) return {false, "there is no run yet"};
  return {newest->well, fmt::format("the newest, run {} of {}, is {}", newest->run,
                                    formatRfc3339(newest->plan_time, zone), newest->status)};
}

Judgement judgeAll(std::span<const SourceState> states,
                   const std::optional<std::vector<WallTime>>& expected, const TimeZone& zone) {
  std::map<WallTime, const SourceState*> newest;
  for (const SourceState& state : states) {
    const SourceState*& known = newest[state.plan_time];
    if (known == nullptr || isOlder(*known, state)) known = &state;
  }
  std::vector<WallTime> asked;
  if (expected) {
    asked = *expected;
  } else {
    for (const auto& [plan_time, state] : newest) asked.push_back(plan_time);
  }
  if (asked.empty()) {
    return {false, expected ? "the schedule has no instant there" : "there is no run yet"};
  }
  size_t missing = 0;
  std::string named;
  for (const WallTime plan_time : asked) {
    const auto found = newest.find(plan_time);
    if (found != newest.end() && found->second->well) continue;
    if (++missing > kNamedMax) continue;
    if (!named.empty()) named += ", ";
    named += found != newest.end()
                 ? describe(*found->second, zone)
                 : fmt::format("{} has no run yet", formatRfc3339(plan_time, zone));
  }
  if (missing == 0) return {true, fmt::format("all {} are FINISHED", asked.size())};
  if (missing > kNamedMax) named += fmt::format(", and {} more", missing - kNamedMax);
  return {false, fmt::format("{} of {} are not there: {}", missing, asked.size(), named)};
}

std::optional<std::vector<WallTime>> expectedInstants(const SourceSchedule& schedule,
                                                      const flow::PlanRange& range) {
  const Recurrence& recurrence = schedule.recurrence;
  // The last one that the schedule's count lets happen, as far as that is near.
  std::optional<WallTime> last;
  if (schedule.left && *schedule.left <= static_cast<int64_t>(kExpectedMax)) {
    last = schedule.last_instant;
    for (int64_t i = 0; i < *schedule.left && *last < range.before; ++i) {
      const auto next = recurrence.next(*last);
      if (!next) break;
      last = next;
    }
  }
  std::vector<WallTime> instants;
  auto next = recurrence.next(range.from - Micros(1));
  while (next && *next < range.before && (!last || *next <= *last)) {
    if (instants.size() == kExpectedMax) return std::nullopt;
    instants.push_back(*next);
    next = recurrence.next(*next);
  }
  return instants;
}

}  // namespace baton::master
