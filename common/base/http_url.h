#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace baton {

// A URL taken apart strictly.
struct HttpUrl {
  std::string scheme;  // "http" or "https".
  std::string host;    // Lower case; an IPv6 literal without brackets.
  uint16_t port = 0;
  std::string target;  // Path and query, at least "/".
};

// Errors: InvalidArgument (another scheme, user info, blanks or control characters, a broken
// host or port, an IPv6 literal without brackets, …). A fragment is dropped.
Result<HttpUrl> parseHttpUrl(std::string_view url);

// What is wrong with it ("has \":99999\" behind its host, expected …"); empty: nothing, so it can
// be sent to.
std::string webAddressFault(std::string_view url);

// Whether it begins with http:// or https://, in any case.
bool isWebAddress(std::string_view url);
bool isHttpsAddress(std::string_view url);

// Takes "host", "host:port", "[v6]" or "[v6]:port" apart. Without a port, `port` stays. Returns
// what is wrong with it; empty: nothing.
std::string splitAuthority(std::string_view authority, std::string& host, uint16_t& port);

}  // namespace baton
