#pragma once

#include <string_view>

namespace baton {

// True for what can be a part of a path of the API, whatever name it is. "." and ".." are none:
// clients and proxies take them for a way to another path, so that nobody could reach the thing.
bool isPathPart(std::string_view text);

// True for names that people give (flow, task, group, runner, worker, node, cluster): kNameRule
// and, with `colon`, ":".
inline constexpr std::string_view kNameRule = "1 to 64 of A-Z a-z 0-9 . _ -, and not . or ..";
bool isValidName(std::string_view text, bool colon = false);

}  // namespace baton
