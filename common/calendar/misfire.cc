#include "common/calendar/misfire.h"

#include <algorithm>
#include <optional>

namespace baton {
namespace {

constexpr Seconds kAnHour{3600};
constexpr Seconds kADay{24 * 3600};

// The oldest of the instants in (after, now] that run. The newest ones are looked for from their
// end, in a stretch that grows until there are enough of them.
std::optional<WallTime> firstToRun(const Recurrence& recurrence, const MisfirePolicy& policy,
                                   WallTime after, WallTime now) {
  if (policy.kind == MisfireKind::None || after >= now) return std::nullopt;
  const size_t wanted = policy.kind == MisfireKind::Latest ? 1 : policy.max;
  WallTime floor = after;
  if (policy.kind == MisfireKind::All) {
    floor = std::max(floor, now - policy.within - Micros(1));
  }
  for (Micros span = kAnHour;; span *= 4) {
    const WallTime from = now - floor <= span ? floor : now - span;
    std::vector<WallTime> found;
    for (auto at = recurrence.next(from); at && *at <= now; at = recurrence.next(*at)) {
      found.push_back(*at);
    }
    if (found.size() >= wanted) return found[found.size() - wanted];
    if (from == floor) return found.empty() ? std::nullopt : std::optional(found.front());
  }
}

MissedReason reasonOf(const MisfirePolicy& policy, WallTime at, WallTime now) {
  switch (policy.kind) {
    case MisfireKind::None:
      return MissedReason::PolicyNone;
    case MisfireKind::Latest:
      return MissedReason::NotTheLatest;
    case MisfireKind::All:
      break;
  }
  return at < now - policy.within ? MissedReason::TooOld : MissedReason::OverMax;
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

MisfirePolicy defaultMisfirePolicy(const Recurrence& recurrence) {
  const Seconds usual = recurrence.usualDistance();
  if (usual < kAnHour) return {.kind = MisfireKind::Latest};
  if (usual < kADay) return {.kind = MisfireKind::All, .max = 24, .within = kADay};
  return {};
}

MisfirePlan planMisfire(const Recurrence& recurrence, const MisfirePolicy& policy, WallTime after,
                        WallTime now, size_t missed_max) {
  const auto first = firstToRun(recurrence, policy, after, now);
  MisfirePlan plan;
  for (auto at = recurrence.next(after); at && *at <= now; at = recurrence.next(*at)) {
    if (first && *at >= *first) {
      plan.run.push_back(*at);
      continue;
    }
    if (plan.missed.size() == missed_max) return plan;
    plan.missed.push_back({*at, reasonOf(policy, *at, now)});
  }
  if (!policy.oldest_first) std::reverse(plan.run.begin(), plan.run.end());
  return plan;
}

}  // namespace baton
