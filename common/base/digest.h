#pragma once

#include <string>
#include <string_view>

namespace baton {

// SHA-256 of the bytes, lower-case hex.
std::string sha256Hex(std::string_view bytes);
// HMAC-SHA-256 (RFC 2104), lower-case hex.
std::string hmacSha256Hex(std::string_view key, std::string_view bytes);
// Compares secrets in a time that depends on the lengths alone.
bool equalSecret(std::string_view a, std::string_view b);

}  // namespace baton
