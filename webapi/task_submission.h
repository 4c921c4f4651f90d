#pragma once

#include <string>

#include "common/base/status.h"
#include "master/api/ports.h"

namespace baton::webapi {

// Reads POST /api/v1/tasks (one task) or, with `bulk`, {"tasks": [...]}. Errors name the field,
// e.g. "tasks[3].command". Errors: InvalidArgument, TooLarge (more than kBulkTasksMax tasks,
// params over their cap), Unsupported.
Result<master::api::Submission> readSubmission(const std::string& body, bool bulk);

}  // namespace baton::webapi
