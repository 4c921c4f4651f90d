#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

inline constexpr size_t kEventKeyCharsMax = 128;

// Whether a text can be the key of an event: 1 to 128 characters of UTF-8, none of them a control
// character, without blanks at the ends (some databases take those for nothing).
bool isEventKey(std::string_view key);
// What is wrong with one that is none: "is \"\", expected 1 to 128 printable …".
std::string eventKeyFault(std::string_view key);

}  // namespace baton
