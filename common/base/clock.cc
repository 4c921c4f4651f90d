#include "common/base/clock.h"

#include <fmt/format.h>
#include <time.h>

namespace baton {
namespace {

int64_t readClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

WallTime SystemClock::wallNow() const { return WallTime(Micros(readClock(CLOCK_REALTIME))); }
BootTime SystemClock::bootNow() const { return BootTime(Micros(readClock(CLOCK_BOOTTIME))); }

std::string formatRfc3339(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::year_month_day date{std::chrono::sys_days(days)};
  const int64_t in_day = (time.time_since_epoch() - days).count();
  const int64_t second = in_day / 1'000'000;
  const int64_t micro = in_day % 1'000'000;
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int{date.year()}, unsigned{date.month()},
                  unsigned{date.day()}, second / 3600, second / 60 % 60, second % 60);
  if (micro % 1000 != 0) {
    text += fmt::format(".{:06}", micro);
  } else if (micro != 0) {
    text += fmt::format(".{:03}", micro / 1000);
  }
  return text + "Z";
}

}  // namespace baton
