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

// By the distance of the two instants behind `after`: shorter than an hour Latest; shorter than a
// day All within 24 h, at most 24; else All within 14 days, at most 14.
MisfirePolicy defaultMisfirePolicy(const Recurrence& recurrence, WallTime after);

struct MisfirePlan {
  struct Missed {
    WallTime at;
    MissedReason reason;
  };
  std::vector<WallTime> run;   // In the order in which they run.
  std::vector<Missed> missed;  // Oldest first; with `run` every instant of the stretch, each once.
};

// All instants later than `after` and not later than `now`. 16 bytes an instant.
MisfirePlan planMisfire(const Recurrence& recurrence, const MisfirePolicy& policy, WallTime after,
                        WallTime now);

}  // namespace baton
