#include "common/calendar/time_zone.h"

#include <absl/time/time.h>

#include <cstdlib>

#include "common/base/json.h"

namespace baton {
namespace {

constexpr int kChangesTried = 16;  // Changes in a row that leave the offset as it was.

absl::Time toAbsl(WallTime instant) { return absl::FromUnixMicros(toMicros(instant)); }
WallTime fromAbsl(absl::Time time) { return wallFromMicros(absl::ToUnixMicros(time)); }

}  // namespace

struct TimeZone::Body {
  std::string name;
  absl::TimeZone zone;

  Seconds offset(absl::Time time) const { return Seconds(zone.At(time).offset); }
  // `to`: what the clock shows right behind the change. Behind one backwards that is shown twice.
  Change changeTo(absl::CivilSecond to) const {
    const absl::Time at = zone.At(to).trans;
    return {fromAbsl(at), offset(at - absl::Seconds(1)), offset(at)};
  }
};

Result<TimeZone> TimeZone::load(std::string_view name) {
  const auto body = std::make_shared<Body>();
  body->name = name;
  // The library takes "localtime", "libc:…" and paths as well, and any name in any case of letters.
  const bool plausible = !name.empty() && name.front() != '/' && name.front() != ':' &&
                         name.find("..") == std::string_view::npos &&
                         name.find(':') == std::string_view::npos &&
                         name.find('\0') == std::string_view::npos && name != "localtime" &&
                         name != "local" && name != "posixrules";
  if (!plausible || !absl::LoadTimeZone(body->name, &body->zone)) {
    return Error::invalidArgument(
        "time zone '{}' is not in the system's zone database; expected a name such as "
        "Europe/Berlin, Asia/Shanghai or UTC",
        truncateUtf8(name, 60));
  }
  return TimeZone(body);
}

TimeZone TimeZone::utc() {
  const auto body = std::make_shared<Body>();
  body->name = "UTC";
  body->zone = absl::UTCTimeZone();
  return TimeZone(body);
}

const std::string& TimeZone::name() const { return body_->name; }

Seconds TimeZone::offsetAt(WallTime instant) const { return body_->offset(toAbsl(instant)); }

CivilTime TimeZone::civilAt(WallTime instant) const {
  const auto since = std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch());
  return CivilTime(since + offsetAt(instant));
}

WallTime TimeZone::instantOf(CivilTime time) const {
  const CivilFields f = fieldsOf(time);
  const absl::TimeZone::TimeInfo info =
      body_->zone.At(absl::CivilSecond(f.year, f.month, f.day, f.hour, f.minute, f.second));
  return fromAbsl(info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre);
}

std::optional<TimeZone::Change> TimeZone::nextChange(WallTime instant) const {
  absl::Time from = toAbsl(instant);
  absl::TimeZone::CivilTransition transition;
  for (int i = 0; i < kChangesTried && body_->zone.NextTransition(from, &transition); ++i) {
    const Change change = body_->changeTo(transition.to);
    if (change.before != change.after) return change;
    from = toAbsl(change.at);
  }
  return std::nullopt;
}

std::optional<TimeZone::Change> TimeZone::lastChange(WallTime instant) const {
  absl::Time from = toAbsl(instant) + absl::Seconds(1);
  absl::TimeZone::CivilTransition transition;
  for (int i = 0; i < kChangesTried && body_->zone.PrevTransition(from, &transition); ++i) {
    const Change change = body_->changeTo(transition.to);
    if (change.before != change.after) return change;
    from = toAbsl(change.at);
  }
  return std::nullopt;
}

std::string formatRfc3339(WallTime instant, const TimeZone& zone) {
  const CivilFields f = fieldsOf(zone.civilAt(instant));
  const int64_t offset = zone.offsetAt(instant).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}", f.year, f.month, f.day,
                     f.hour, f.minute, f.second, offset < 0 ? '-' : '+', std::abs(offset) / 3600,
                     std::abs(offset) / 60 % 60);
}

}  // namespace baton
