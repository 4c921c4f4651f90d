#include "common/model/event_rules.h"

#include <fmt/format.h>

#include "common/base/json.h"

namespace baton {

bool isEventKey(std::string_view key) {
  if (key.empty() || !isValidUtf8(key) || utf8Length(key) > kEventKeyCharsMax) return false;
  if (key.front() == ' ' || key.back() == ' ') return false;
  for (size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    // U+0080 to U+009F.
    if (byte == 0xc2 && static_cast<unsigned char>(key[i + 1]) < 0xa0) return false;
  }
  return true;
}

std::string eventKeyFault(std::string_view key) {
  return fmt::format("is \"{}\", expected 1 to {} printable characters without blanks at the ends",
                     truncateUtf8(key, 140), kEventKeyCharsMax);
}

}  // namespace baton
