#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/clock.h"

// What a field of a task may be, for submissions and for flow definitions alike.
namespace baton {

inline constexpr Millis kTimeoutMax{366LL * 86'400'000};  // Also of delays between attempts.
inline constexpr Millis kKillGraceMax{86'400'000};
inline constexpr int64_t kRetriesMax = 1'000;
inline constexpr double kBackoffMax = 100.0;
inline constexpr size_t kLabelsMax = 32;
inline constexpr size_t kTagsMax = 32;
inline constexpr size_t kArgsMax = 4'096;
inline constexpr size_t kInterpreterArgsMax = 64;
inline constexpr size_t kMembersMax = 4'096;  // Of env and params.
inline constexpr size_t kDirCharsMax = 4'096;
inline constexpr size_t kUrlCharsMax = 2'000;

inline constexpr std::string_view kLabelRule = "names and values have 1 to 64 of A-Z a-z 0-9 . _ -";

// What is wrong with the name of an environment variable or parameter; empty: nothing.
std::string_view wrongVariableName(std::string_view name);
// finished, failed, terminated or skipped.
bool isCallbackEvent(std::string_view word);
bool isWebAddress(std::string_view url);

}  // namespace baton
