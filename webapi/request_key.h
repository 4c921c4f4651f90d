#pragma once

#include <string>

#include "common/base/status.h"
#include "master/api/ports.h"
#include "net/http_message.h"
#include "webapi/call.h"

namespace baton::webapi {

// Scope of idempotency keys, and who the audit names: there is one client token, so there is one
// client.
inline constexpr const char* kClientPrincipal = "client";

// The Idempotency-Key field; empty when there is none. Errors: InvalidArgument (more than one, not
// 1 to 128 printable ASCII characters).
Result<std::string> readIdempotencyKey(const net::HttpRequest& request);

// Who asks, from where and with which request: for orders that take no Idempotency-Key.
master::api::Request requesterOf(const Call& call);
// The same with the Idempotency-Key, which counts for this address and body alone. Errors: as
// above.
Result<master::api::Request> readRequest(const Call& call);

// Says in the answer that it is that to an earlier request with the same key.
void markReplayed(net::HttpResponse& response, bool replayed);

}  // namespace baton::webapi
