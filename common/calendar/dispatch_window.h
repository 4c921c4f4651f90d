#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/calendar/time_zone.h"

namespace baton {

// Hours of the day in which something may begin, on the clock of a zone: "22:00-06:00" from ten at
// night to six in the morning, the end not included. What the clock shows decides: a time that is
// left out or comes twice changes nothing about that. Pure; any thread.
class DispatchWindow {
 public:
  // Errors: InvalidArgument (not HH:MM-HH:MM, both ends the same, an unknown zone; the field is
  // "window" or "time_zone").
  static Result<DispatchWindow> parse(std::string_view text, std::string_view zone);

  bool openAt(WallTime instant) const;
  // The first instant later than `instant` at which it opens or closes.
  WallTime nextChange(WallTime instant) const;

 private:
  DispatchWindow(TimeZone zone, std::chrono::minutes from, std::chrono::minutes to)
      : zone_(std::move(zone)), from_(from), to_(to) {}

  TimeZone zone_;
  std::chrono::minutes from_;  // Since midnight.
  std::chrono::minutes to_;
};

}  // namespace baton
