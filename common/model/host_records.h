#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/clock.h"

// Rows about hosts as the domain sees them: what operators said, and the cluster's own switches.
namespace baton {

// The newest word of an operator about a host. The integer is a storage format: never renumbered,
// new ones only at the end.
enum class HostWord : uint8_t {
  None = 0,
  Drain = 1,    // No new tasks; what runs goes on.
  Exclude = 2,  // On the black list: the same, and kept when the host is forgotten.
  Include = 3,  // Takes tasks, also under a white list.
};
inline constexpr size_t kHostWordCount = 4;

// What is kept of a host: what operators said, and its quarantine. `name` is a worker's id or a
// host's name: the row is about every worker that has the one or runs on the other, also before it
// reports for the first time.
struct HostRecord {
  std::string name;  // 1 to 255 characters.
  HostWord word = HostWord::None;
  std::string reason;                         // For people; may be empty.
  std::map<std::string, std::string> labels;  // Added to the worker's own, and stronger.
  WallTime changed_at{};                      // When the word or the labels last changed.
  // Of a worker on which too many attempts could not be started: until then it gets no task, and
  // one at a time from then on, until one starts. The zero time: neither.
  WallTime quarantined_until{};

  bool saysNothing() const {
    return word == HostWord::None && labels.empty() && quarantined_until == WallTime{};
  }
};

// A switch of the whole cluster that is changed while it runs.
struct SettingRecord {
  std::string name;   // 1 to 64 characters.
  std::string value;  // May be empty.
};

// Names of settings.
inline constexpr std::string_view kSettingWhiteList = "hosts.white_list";    // "true" | "false"
inline constexpr std::string_view kSettingMinVersion = "hosts.min_version";  // Empty: any.
// An instant (RFC 3339): what was due up to it may have been dealt with, though the clock stands
// before it: it was ahead and is no more.
inline constexpr std::string_view kSettingDealtUntil = "planner.dealt_until";

}  // namespace baton
