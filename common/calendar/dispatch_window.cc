#include "common/calendar/dispatch_window.h"

#include <algorithm>
#include <vector>

#include "common/base/json.h"

namespace baton {
namespace {

using std::chrono::minutes;

// "HH:MM"; false if it is not.
bool readTimeOfDay(std::string_view text, minutes& out) {
  const auto digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) {
    return false;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  out = minutes(hour * 60 + minute);
  return hour < 24 && minute < 60;
}

}  // namespace

Result<DispatchWindow> DispatchWindow::parse(std::string_view text, std::string_view zone) {
  minutes from{}, to{};
  const size_t dash = text.find('-');
  if (dash == text.npos || !readTimeOfDay(text.substr(0, dash), from) ||
      !readTimeOfDay(text.substr(dash + 1), to)) {
    return Error(
        ErrorCode::InvalidArgument,
        fmt::format("is \"{}\", expected HH:MM-HH:MM such as 22:00-06:00", truncateUtf8(text, 40)),
        "window");
  }
  if (from == to) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is \"{}\", which begins and ends at the same time; leave it out for "
                             "the whole day",
                             text),
                 "window");
  }
  auto loaded = TimeZone::load(zone);
  if (!loaded.ok()) {
    return Error(ErrorCode::InvalidArgument, loaded.error().message(), "time_zone");
  }
  return DispatchWindow(std::move(loaded).value(), from, to);
}

bool DispatchWindow::openAt(WallTime instant) const {
  const CivilTime civil = zone_.civilAt(instant);
  const auto time = civil - std::chrono::floor<std::chrono::days>(civil);
  if (from_ < to_) return time >= from_ && time < to_;
  return time >= from_ || time < to_;
}

WallTime DispatchWindow::nextChange(WallTime instant) const {
  // Only a boundary or a change of the clock can open or close it.
  std::vector<WallTime> looks;
  WallTime shift_from = instant - std::chrono::days(1);
  const WallTime last = instant + std::chrono::days(3);
  while (const auto shift = zone_.nextChange(shift_from)) {
    if (shift->at > last) break;
    looks.push_back(shift->at);
    shift_from = shift->at;
  }
  const std::vector<WallTime> shifts = looks;
  const CivilDay today = std::chrono::floor<std::chrono::days>(zone_.civilAt(instant));
  for (int day = -1; day <= 3; ++day) {
    for (const minutes boundary : {from_, to_}) {
      const CivilTime civil = today + std::chrono::days(day) + boundary;
      const WallTime at = zone_.instantOf(civil);
      looks.push_back(at);
      // A time that comes twice: the second pass.
      for (const WallTime shift : shifts) {
        const WallTime again = at + (zone_.offsetAt(shift - Seconds(1)) - zone_.offsetAt(shift));
        if (again > at && zone_.civilAt(again) == civil) looks.push_back(again);
      }
    }
  }
  std::sort(looks.begin(), looks.end());
  const bool open = openAt(instant);
  for (const WallTime look : looks) {
    if (look > instant && openAt(look) != open) return look;
  }
  return last;  // A zone that leaves out whole days: look again.
}

}  // namespace baton
