#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/protocol/heartbeat.h"

// How well a worker's host is, as a score, and how much of it is in use: pure functions.
namespace baton::master {

enum class HostHealth : uint8_t {
  Healthy,
  Suspect,      // Used last.
  Dead,         // Silent for 3 H.
  Quarantined,  // Too many attempts could not be started: gets no tasks until it has cooled down.
};
inline constexpr size_t kHostHealthCount = 4;
std::string_view toString(HostHealth health);  // "healthy"

// What the score is made of.
struct HostSigns {
  Micros silence{0};    // Since the newest heartbeat of any of its runners.
  Millis heartbeat{0};  // H, above 0.
  std::optional<HostFigures> figures;
  uint32_t start_failures = 0;      // That count against it now, see StartRecord.
  uint32_t start_failures_max = 0;  // That bring quarantine; 0: none does.
  bool quarantined = false;
};

struct HostScore {
  int points = 100;  // 0 to 100.
  HostHealth health = HostHealth::Healthy;
  std::string findings;  // For people: what took points; empty at 100.
};

// 100 less, for each sign (its worst line counts):
//
//   silence of 3 H or more     100   dead: from then on its attempts are lost (watchdog,
//                                    docs/heartbeat.md)
//   silence over 2 H            50   two beats missed: every runner beats at least each H
//   silence over H              15   one beat late; a reply that was lost does that
//   load per CPU over 1      up to 30   10 for each whole one above; a busy host does what it is
//                                    there for, so load alone makes nobody suspect
//   memory free below 5 %       50   the next task is likely to end by the OOM killer
//   memory free below 10 %      20
//   disk free below 256 MiB     50   outputs (log.max_bytes: 64 MB a stream) and the journal fail
//   disk free below 1 GiB       20
//   start failures     60 · n / max   with one more it is quarantined
//
// Suspect is who has fewer than 60 points; the thresholds of memory, disk and load are our own.
// A figure that was never reported (0) takes nothing.
HostScore scoreHost(const HostSigns& signs);

// Overall use of its resources, 0 to 1: half of it the share of busy runners, which is known at
// once, a quarter each load per CPU and memory, which are as old as a heartbeat. Without figures
// the runners count alone.
double hostUse(int64_t busy, int64_t runners, const std::optional<HostFigures>& figures);

}  // namespace baton::master
