#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// True for what can be a part of a path of the API, whatever name it is. "." and ".." are none:
// clients and proxies take them for a way to another path, so that nobody could reach the thing.
bool isPathPart(std::string_view text);

// True for names that people give (flow, task, group, runner, worker, node, cluster): kNameRule
// and, with `colon`, ":".
inline constexpr std::string_view kNameRule = "1 to 64 of A-Z a-z 0-9 . _ -, and not . or ..";
bool isValidName(std::string_view text, bool colon = false);

// Names of flows and groups are compared without case: the name in small letters (ASCII).
std::string nameKey(std::string_view name);

}  // namespace baton
