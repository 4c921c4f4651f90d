#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/calendar/recurrence.h"

namespace baton {

// What happens to instants that passed while nobody could fire them.
enum class MisfireKind : uint8_t {
  None,    // None of them runs.
  Latest,  // The newest alone.
  All,     // The newest `max` of those that are not older than `within`.
};
struct MisfirePolicy {
  MisfireKind kind = MisfireKind::All;
  uint32_t max = 14;
  Seconds within{14 * 24 * 3600};
  bool oldest_first = true;  // In which order they run.
};

// Why a missed instant does not run.
enum class MissedReason : uint8_t { PolicyNone, NotTheLatest, OverMax, TooOld };
std::string_view toString(MissedReason reason);  // "policy_none", …

// By its usual distance: shorter than an hour Latest; shorter than a day All within 24 h, at most
// 24; else All within 14 days, at most 14. The same at all times, so that no part of an outage goes
// by another rule than the rest.
MisfirePolicy defaultMisfirePolicy(const Recurrence& recurrence);

struct MisfirePlan {
  struct Missed {
    WallTime at;
    MissedReason reason;
  };
  std::vector<WallTime> run;   // In the order in which they run; younger than all of `missed`.
  std::vector<Missed> missed;  // Oldest first; with `run` every instant of the stretch, each once.
};

// What becomes of the instants later than `after` and not later than `now`. A long stretch is dealt
// with in parts: at `missed_max` missed ones it ends, with nothing in `run`; the rest is planned
// anew behind the last of them, with the same `now`, and comes out as it would have. So it does too
// if those of `run` that were begun are left out, from either end. Costs the instants that it tells
// of and a few times those that run, however long the stretch is.
MisfirePlan planMisfire(const Recurrence& recurrence, const MisfirePolicy& policy, WallTime after,
                        WallTime now, size_t missed_max = SIZE_MAX);

}  // namespace baton
