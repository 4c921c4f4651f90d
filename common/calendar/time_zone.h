#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/calendar/civil_time.h"

namespace baton {

// A zone of the system's zone database (IANA names), with its rules carried on for ever. Instants
// are cut to whole seconds, as zones know no less. Copies are cheap; any thread.
class TimeZone {
 public:
  // Errors: InvalidArgument (a name that the database does not have; "" and "local" among them:
  // no zone is the machine's own by accident).
  static Result<TimeZone> load(std::string_view name);
  static TimeZone utc();

  const std::string& name() const;
  Seconds offsetAt(WallTime instant) const;  // Local minus UTC.
  CivilTime civilAt(WallTime instant) const;

  // The instant at which the clock shows `time`: the first of two, and for a time that the clock
  // leaves out the end of the gap.
  WallTime instantOf(CivilTime time) const;

  // A change of the clock: from `at` on the offset is `after` and no longer `before`.
  struct Change {
    WallTime at;
    Seconds before;
    Seconds after;
  };
  // The first change of the offset later than `instant`; none if there is none before the year
  // 2400. Changes of the zone's abbreviation alone are passed over.
  std::optional<Change> nextChange(WallTime instant) const;
  // The last change at or before `instant`.
  std::optional<Change> lastChange(WallTime instant) const;

 private:
  struct Body;
  explicit TimeZone(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

  std::shared_ptr<const Body> body_;
};

// "2026-03-29T03:00:00+02:00".
std::string formatRfc3339(WallTime instant, const TimeZone& zone);

}  // namespace baton
