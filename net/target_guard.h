#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/http_url.h"
#include "common/base/status.h"

namespace baton::net {

// Guards calls that users can cause (webhooks): only hosts that the operator has listed, as "host"
// (any port) or "host:port", are allowed; with an empty list none is. A listed host may have any
// address, also a private one. Hosts are compared as text: another spelling of the same
// address ("0x7f000001", "2130706433", "127.1", "[::ffff:127.0.0.1]") is another host and refused
// unless listed literally.
// Errors: PermissionDenied (with the reason), InvalidArgument (the URL).
Result<HttpUrl> checkTarget(std::string_view url, std::span<const std::string> allowed);

}  // namespace baton::net
