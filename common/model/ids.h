#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/name_rule.h"  // Names that people give are ids as well.

namespace baton {

// Number of a task, unique in the cluster for ever, above 0. A string in JSON, because browsers
// do not keep integers above 2^53.
using TaskId = uint64_t;
// Number of a run of a flow, likewise.
using RunId = uint64_t;
// Number of a leadership term, above 0 once somebody led.
using Epoch = uint64_t;

// Reads a decimal task id without sign, leading zeros or blanks.
std::optional<TaskId> parseTaskId(std::string_view text);

// Names of flows and groups are compared without case: the name in small letters (ASCII).
std::string nameKey(std::string_view name);

}  // namespace baton
