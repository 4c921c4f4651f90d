#pragma once

#include <string>

#include "common/base/status.h"
#include "master/api/ports.h"
#include "net/http_message.h"

namespace baton::webapi {

// Reads POST /api/v1/tasks (one task) or, with `bulk`, {"tasks": [...]}. Errors name the field,
// e.g. "tasks[3].command". Errors: InvalidArgument, TooLarge (more than kBulkTasksMax tasks,
// params over their cap), Unsupported.
Result<master::api::Submission> readSubmission(const std::string& body, bool bulk);

// The Idempotency-Key field; empty when there is none. Errors: InvalidArgument (more than one, not
// 1 to 128 printable ASCII characters).
Result<std::string> readIdempotencyKey(const net::HttpRequest& request);

}  // namespace baton::webapi
