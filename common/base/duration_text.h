#pragma once

#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton {

// Reads "250ms", "90s", "5m", "2h", "1d" or a sum such as "1h30m"; whole, not negative numbers.
// Errors: InvalidArgument (empty, no unit, unknown unit, over 100 years).
Result<Millis> parseDuration(std::string_view text);

// The shortest exact form that parseDuration reads back: "90s", "1h30m" is written "90m".
std::string formatDuration(Millis duration);

}  // namespace baton
