#pragma once

#include <string>

#include "common/base/status.h"
#include "master/api/ports.h"
#include "net/http_message.h"

namespace baton::webapi {

// Reads the filters of GET /api/v1/tasks. Errors: InvalidArgument (names the parameter).
Result<master::api::TaskListQuery> readTaskListQuery(const net::HttpRequest& request);

// The opaque cursor that stands behind the task of that id.
std::string taskCursorAfter(TaskId id);

}  // namespace baton::webapi
