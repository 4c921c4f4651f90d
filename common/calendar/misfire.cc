#include "common/calendar/misfire.h"

#include <algorithm>

namespace baton {
namespace {

constexpr Seconds kAnHour{3600};
constexpr Seconds kADay{24 * 3600};

// How many of the newest instants run; the rest is missed for `reason`.
struct Share {
  size_t count;
  MissedReason reason;
};

Share shareOf(const MisfirePolicy& policy, const std::vector<WallTime>& instants, WallTime now) {
  switch (policy.kind) {
    case MisfireKind::None:
      return {0, MissedReason::PolicyNone};
    case MisfireKind::Latest:
      return {std::min<size_t>(1, instants.size()), MissedReason::NotTheLatest};
    case MisfireKind::All:
      break;
  }
  const auto young = std::lower_bound(instants.begin(), instants.end(), now - policy.within);
  const auto count = static_cast<size_t>(instants.end() - young);
  return {std::min<size_t>(count, policy.max), MissedReason::OverMax};
}

}  // namespace

std::string_view toString(MissedReason reason) {
  switch (reason) {
    case MissedReason::PolicyNone:
      return "policy_none";
    case MissedReason::NotTheLatest:
      return "not_the_latest";
    case MissedReason::OverMax:
      return "over_max";
    case MissedReason::TooOld:
      return "too_old";
  }
  return "?";
}

MisfirePolicy defaultMisfirePolicy(const Recurrence& recurrence, WallTime after) {
  const auto first = recurrence.next(after);
  const auto second = first ? recurrence.next(*first) : std::nullopt;
  if (second && *second - *first < kAnHour) return {.kind = MisfireKind::Latest};
  if (second && *second - *first < kADay) {
    return {.kind = MisfireKind::All, .max = 24, .within = kADay};
  }
  return {};
}

MisfirePlan planMisfire(const Recurrence& recurrence, const MisfirePolicy& policy, WallTime after,
                        WallTime now) {
  std::vector<WallTime> instants;
  for (auto at = recurrence.next(after); at && *at <= now; at = recurrence.next(*at)) {
    instants.push_back(*at);
  }
  const Share share = shareOf(policy, instants, now);
  MisfirePlan plan;
  const size_t dropped = instants.size() - share.count;
  for (size_t i = 0; i < dropped; ++i) {
    const bool too_old = policy.kind == MisfireKind::All && instants[i] < now - policy.within;
    plan.missed.push_back({instants[i], too_old ? MissedReason::TooOld : share.reason});
  }
  plan.run.assign(instants.begin() + static_cast<ptrdiff_t>(dropped), instants.end());
  if (!policy.oldest_first) std::reverse(plan.run.begin(), plan.run.end());
  return plan;
}

}  // namespace baton
