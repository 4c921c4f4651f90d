#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace baton {

using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

// Tag of wall time: UTC, for people, cron and the database. It may jump.
struct WallTag {
  using rep = int64_t;
  using period = std::micro;
  using duration = Micros;
  using time_point = std::chrono::time_point<WallTag, Micros>;
  static constexpr bool is_steady = false;
};
// Tag of boot time: CLOCK_BOOTTIME, for intervals. It never goes back and counts suspension.
struct BootTag {
  using rep = int64_t;
  using period = std::micro;
  using duration = Micros;
  using time_point = std::chrono::time_point<BootTag, Micros>;
  static constexpr bool is_steady = true;
};

// The two can't be mixed: subtracting one from the other does not compile.
using WallTime = WallTag::time_point;
using BootTime = BootTag::time_point;

inline WallTime wallFromMicros(int64_t us) { return WallTime(Micros(us)); }
inline int64_t toMicros(WallTime time) { return time.time_since_epoch().count(); }
inline int64_t toMicros(BootTime time) { return time.time_since_epoch().count(); }

// Source of both times. Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wallNow() const = 0;
  virtual BootTime bootNow() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  WallTime wallNow() const override;
  BootTime bootNow() const override;
};

// RFC 3339 in UTC with microseconds as needed: "2026-11-29T12:00:00Z", "…:00.250Z".
std::string formatRfc3339(WallTime time);

}  // namespace baton
