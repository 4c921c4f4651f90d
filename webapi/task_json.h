#pragma once

#include "common/base/json.h"
#include "common/base/status.h"
#include "master/api/ports.h"

// How tasks and attempts are shown. Field names are the contract of docs/api.md.
namespace baton::webapi {

// null for the zero time.
Json timeToJson(WallTime time);
// null for 0, else a string.
Json idOrNull(uint64_t id);
// null for the empty text.
Json textOrNull(std::string_view text);

// A task without a stored run part (lists) comes without command, script, env, params and dir.
// Errors: Corrupt (stored text that is not ours).
Result<Json> taskToJson(const master::api::TaskView& view);
Json attemptToJson(const AttemptRecord& attempt);

}  // namespace baton::webapi
