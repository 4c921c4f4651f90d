#pragma once

#include <string>

#include "common/base/status.h"
#include "net/http_message.h"

namespace baton::webapi {

// Scope of idempotency keys, and who the audit names: there is one client token, so there is one
// client.
inline constexpr const char* kClientPrincipal = "client";

// The Idempotency-Key field; empty when there is none. Errors: InvalidArgument (more than one, not
// 1 to 128 printable ASCII characters).
Result<std::string> readIdempotencyKey(const net::HttpRequest& request);

}  // namespace baton::webapi
