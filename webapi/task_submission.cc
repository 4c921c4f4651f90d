#include "webapi/task_submission.h"

#include "common/base/digest.h"
#include "common/base/json.h"

namespace baton::webapi {
namespace {

Status readMany(const Json& json, std::vector<TaskSpec>& tasks) {
  JsonReader reader(json);
  const Json* items = reader.array("tasks");
  if (items == nullptr && !reader.has("tasks")) reader.fail("tasks", "is missing");
  RETURN_IF_ERROR(reader.finish());
  if (items->empty()) {
    return Error(ErrorCode::InvalidArgument, "is empty; expected at least one task", "tasks");
  }
  if (items->size() > kBulkTasksMax) {
    return Error(
        ErrorCode::TooLarge,
        fmt::format("has {} items, at most {} are accepted at once", items->size(), kBulkTasksMax),
        "tasks");
  }
  tasks.reserve(items->size());
  for (size_t i = 0; i < items->size(); ++i) {
    ASSIGN_OR_RETURN(TaskSpec spec, parseTaskSpec((*items)[i], fmt::format("tasks[{}]", i)));
    tasks.push_back(std::move(spec));
  }
  return {};
}

}  // namespace

Result<master::api::Submission> readSubmission(const std::string& body, bool bulk) {
  ASSIGN_OR_RETURN(const Json json, parseJson(body));
  master::api::Submission submission;
  submission.bulk = bulk;
  if (bulk) {
    RETURN_IF_ERROR(readMany(json, submission.tasks));
  } else {
    ASSIGN_OR_RETURN(TaskSpec spec, parseTaskSpec(json));
    submission.tasks.push_back(std::move(spec));
  }
  submission.request.request_hash = sha256Hex(body);
  submission.body_bytes = body.size();
  return submission;
}

}  // namespace baton::webapi
