#include "webapi/task_handlers.h"

#include "common/base/json.h"
#include "webapi/list_cursor.h"
#include "webapi/request_key.h"
#include "webapi/task_json.h"
#include "webapi/task_query.h"
#include "webapi/task_submission.h"

namespace baton::webapi {
namespace {

using master::api::SubmitAnswer;
using master::api::TaskCommand;
using master::api::TaskView;

net::HttpResponse submitted(SubmitAnswer answer, bool bulk) {
  net::HttpResponse response = net::HttpResponse::json(201, std::move(answer.body));
  markReplayed(response, answer.replayed);
  if (bulk) return response;
  const auto json = parseJson(response.body);
  if (json.ok() && json->is_object() && json->contains("id") && (*json)["id"].is_string()) {
    response.headers.add(
        "Location", fmt::format("/api/v1/tasks/{}", (*json)["id"].get_ref<const std::string&>()));
  }
  return response;
}

Result<bool> readForce(const net::HttpRequest& request) {
  bool force = false;
  if (request.body.empty()) return force;
  ASSIGN_OR_RETURN(const Json json, parseJson(request.body));
  JsonReader reader(json);
  reader.boolean("force", force);
  RETURN_IF_ERROR(reader.finish());
  return force;
}

}  // namespace

Result<TaskId> taskIdOf(const Call& call) {
  const std::string& text = call.pathParam("id");
  if (const auto id = parseTaskId(text)) return *id;
  return Error::notFound("there is no task \"{}\"", truncateUtf8(text, 40));
}

Status readEmptyBody(const net::HttpRequest& request) {
  if (request.body.empty()) return {};
  ASSIGN_OR_RETURN(const Json json, parseJson(request.body));
  return JsonReader(json).finish();
}

void TaskHandlers::bindTo(Router& router) {
  router.bind("submitTask", [this](const Call& call) { submit(call, false); });
  router.bind("submitTasks", [this](const Call& call) { submit(call, true); });
  router.bind("listTasks", [this](const Call& call) { list(call); });
  router.bind("getTask", [this](const Call& call) { get(call); });
  router.bind("listAttempts", [this](const Call& call) { attempts(call); });
  const auto action = [&](std::string_view operation, TaskCommand what) {
    router.bind(operation, [this, what](const Call& call) { command(call, what); });
  };
  action("stopTask", TaskCommand::Stop);
  action("skipTask", TaskCommand::Skip);
  action("holdTask", TaskCommand::Hold);
  action("releaseTask", TaskCommand::Release);
  action("rerunTask", TaskCommand::Rerun);
  action("forceSuccessTask", TaskCommand::ForceSuccess);
}

void TaskHandlers::submit(const Call& call, bool bulk) {
  auto key = readIdempotencyKey(call.request());
  if (!key.ok()) return call.fail(key.error());
  // What was read from the body is as large, so it counts until it is durable.
  const auto lease = call.request().body_lease;
  auto submission = readSubmission(call.takeBody(), bulk);
  if (!submission.ok()) return call.fail(submission.error());
  submission->request.idempotency_key = std::move(*key);
  const master::api::Request requester = requesterOf(call);
  submission->request.principal = requester.principal;
  submission->request.remote = requester.remote;
  submission->request.request_id = requester.request_id;
  tasks_.submit(std::move(*submission), [call, bulk, lease](Result<SubmitAnswer> answer) {
    if (!answer.ok()) return call.fail(answer.error());
    call.reply(submitted(std::move(*answer), bulk));
  });
}

void TaskHandlers::list(const Call& call) {
  const auto query = readTaskListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = tasks_.tasks(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(*view, taskToJson, [](const TaskView& task) {
    return taskCursorAfter(task.record.state.id);
  }));
}

void TaskHandlers::get(const Call& call) {
  const auto id = taskIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  const auto view = tasks_.task(*id);
  if (!view.ok()) return call.fail(view.error());
  call.finish(taskToJson(*view));
}

void TaskHandlers::attempts(const Call& call) {
  const auto id = taskIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  const auto records = tasks_.attempts(*id);
  if (!records.ok()) return call.fail(records.error());
  Json items = Json::array();
  for (const AttemptRecord& record : *records) items.push_back(attemptToJson(record));
  call.replyJson(pageToJson(std::move(items), ""));
}

void TaskHandlers::command(const Call& call, TaskCommand command) {
  const auto id = taskIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  bool force = false;
  if (command == TaskCommand::Rerun) {
    const auto read = readForce(call.request());
    if (!read.ok()) return call.fail(read.error());
    force = *read;
  } else if (const Status read = readEmptyBody(call.request()); !read.ok()) {
    return call.fail(read.error());
  }
  tasks_.command(*id, command, force, requesterOf(call), [call](Result<TaskView> view) {
    if (!view.ok()) return call.fail(view.error());
    call.finish(taskToJson(*view));
  });
}

}  // namespace baton::webapi
