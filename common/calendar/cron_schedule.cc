#include "common/calendar/cron_schedule.h"

namespace baton {
namespace {

// No two offsets of a zone are further apart.
constexpr std::chrono::hours kFarthest{48};

CivilTime civilOf(WallTime instant, Seconds offset) {
  return CivilTime(std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch()) + offset);
}

WallTime instantOf(CivilTime time, Seconds offset) {
  return wallFromMicros(
      std::chrono::duration_cast<Micros>(time.time_since_epoch() - offset).count());
}

}  // namespace

std::optional<CivilTime> CronSchedule::nextMatch(CivilTime from, std::chrono::days moved) const {
  const auto match = expression_.nextMatch(from - moved);
  return match ? std::optional(*match + moved) : std::nullopt;
}

std::optional<CivilDay> CronSchedule::nextDay(CivilDay from) const {
  const auto match = expression_.nextMatch(from);
  if (!match) return std::nullopt;
  return std::chrono::floor<std::chrono::days>(*match);
}

std::optional<WallTime> CronSchedule::nextOnDay(CivilDay day, CivilDay at, WallTime after) const {
  if (nextDay(day) != day) return std::nullopt;
  const std::chrono::days moved = at - day;
  while (const auto found = next(after, moved)) {
    if (isOf(at, *found, moved)) return found;
    if (zone_.civilAt(*found) >= at + std::chrono::days(1)) break;
    after = *found;
  }
  return std::nullopt;
}

bool CronSchedule::isOf(CivilDay day, WallTime found, std::chrono::days moved) const {
  const CivilTime begin = day;
  const CivilTime end = day + std::chrono::days(1);
  const CivilTime local = zone_.civilAt(found);
  const auto matchesIn = [&](CivilTime from, CivilTime until) {
    const auto match = nextMatch(from, moved);
    return match && *match < until;
  };
  if (local >= begin && local < end && matchesIn(local, local + Seconds(1))) return true;
  // Else it stands for what the clock left out right before it, maybe of the day before.
  const auto change = zone_.lastChange(found);
  if (!change || change->at != found || !ranInGap(*change, moved)) return false;
  return matchesIn(std::max(begin, civilOf(found, change->before)),
                   std::min(end, civilOf(found, change->after)));
}

bool CronSchedule::ranInGap(const TimeZone::Change& change, std::chrono::days moved) const {
  if (change.after <= change.before || expression_.isInterval() || gap_ == GapPolicy::Skip) {
    return false;
  }
  const auto match = nextMatch(civilOf(change.at, change.before), moved);
  return match && *match < civilOf(change.at, change.after);
}

std::optional<CivilTime> CronSchedule::nextIn(const Stretch& stretch, CivilTime from,
                                              std::chrono::days moved) const {
  // Of the times that are shown twice, a fixed schedule leaves out one pass.
  std::optional<CivilTime> pass_begin, pass_end;
  if (!expression_.isInterval()) {
    if (overlap_ == OverlapPolicy::First && stretch.begin &&
        stretch.begin->after < stretch.begin->before) {
      pass_begin = civilOf(stretch.begin->at, stretch.begin->after);
      pass_end = civilOf(stretch.begin->at, stretch.begin->before);
    }
    if (overlap_ == OverlapPolicy::Second && stretch.end &&
        stretch.end->after < stretch.end->before) {
      pass_begin = civilOf(stretch.end->at, stretch.end->after);
      pass_end = civilOf(stretch.end->at, stretch.end->before);
    }
  }
  if (pass_begin && from >= *pass_begin && from < *pass_end) from = *pass_end;
  std::optional<CivilTime> match = nextMatch(from, moved);
  if (match && pass_begin && *match >= *pass_begin && *match < *pass_end) {
    match = nextMatch(*pass_end, moved);
  }
  return match;
}

CronSchedule::Stretch CronSchedule::stretchAt(WallTime instant) const {
  return {zone_.lastChange(instant), zone_.nextChange(instant), zone_.offsetAt(instant)};
}

std::optional<WallTime> CronSchedule::next(WallTime after, std::chrono::days moved) const {
  if (const auto every = expression_.every()) {
    const Micros step = *every;
    const int64_t passed = toMicros(after) / step.count() - (toMicros(after) % step.count() < 0);
    return wallFromMicros((passed + 1) * step.count());
  }
  Stretch stretch = stretchAt(after);
  CivilTime from = civilOf(after, stretch.offset) + Seconds(1);
  while (true) {
    const auto match = nextIn(stretch, from, moved);
    if (match) {
      const WallTime instant = instantOf(*match, stretch.offset);
      if (!stretch.end || instant < stretch.end->at) return instant;
    }
    if (!stretch.end) return std::nullopt;
    const TimeZone::Change change = *stretch.end;
    if (ranInGap(change, moved)) return change.at;
    from = civilOf(change.at, change.after);
    stretch = {change, zone_.nextChange(change.at), change.after};
    if (change.after < change.before) continue;  // What was shown already comes again.
    if (!match) return std::nullopt;
    // Nothing matches before `match`: go near it at once, past all changes in between.
    const WallTime near = instantOf(*match, change.after) - kFarthest;
    if (near > change.at) {
      stretch = stretchAt(near);
      from = civilOf(near, stretch.offset);
    }
  }
}

}  // namespace baton
