#include "webapi/run_handlers.h"

#include "webapi/flow_json.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/request_key.h"
#include "webapi/task_handlers.h"

namespace baton::webapi {
namespace {

using master::api::Explanation;
using master::api::MadeRun;
using master::api::NodeView;
using master::api::RunCommand;
using master::api::RunView;

Result<Json> nodesToJson(const std::vector<NodeView>& nodes) {
  Json items = Json::array();
  for (const NodeView& node : nodes) {
    ASSIGN_OR_RETURN(Json json, nodeToJson(node));
    items.push_back(std::move(json));
  }
  return pageToJson(std::move(items), "");
}

void replyExplanation(const Call& call, const Result<Explanation>& explanation) {
  if (!explanation.ok()) return call.fail(explanation.error());
  call.replyJson(explanationToJson(*explanation));
}

}  // namespace

void replyNewRun(const Call& call, const Result<MadeRun>& made) {
  if (!made.ok()) return call.fail(made.error());
  const RunId id = made->run.state.id;
  const auto json = runToJson({.record = made->run, .waiting_text = {}}, true);
  if (!json.ok()) return call.fail(json.error());
  net::HttpResponse response = net::HttpResponse::json(201, dumpJson(*json));
  response.headers.add("Location", fmt::format("/api/v1/runs/{}", id));
  markReplayed(response, made->replayed);
  call.reply(std::move(response));
}

void RunHandlers::bindTo(Router& router) {
  router.bind("listRuns", [this](const Call& call) { list(call); });
  router.bind("getRun", [this](const Call& call) { get(call); });
  router.bind("listRunTasks", [this](const Call& call) { tasks(call); });
  router.bind("explainRun", [this](const Call& call) { explainRun(call); });
  router.bind("explainTask", [this](const Call& call) { explainTask(call); });
  router.bind("listMissed", [this](const Call& call) { missed(call); });
  router.bind("explainMissed", [this](const Call& call) { explainMissed(call); });
  router.bind("runMissed", [this](const Call& call) { runMissed(call); });
  const auto action = [&](std::string_view operation, RunCommand command) {
    router.bind(operation, [this, command](const Call& call) { order(call, command); });
  };
  action("stopRun", RunCommand::Stop);
  action("pauseRun", RunCommand::Pause);
  action("resumeRun", RunCommand::Resume);
  action("rerunRun", RunCommand::Rerun);
  action("skipRun", RunCommand::Skip);
  action("forceSuccessRun", RunCommand::ForceSuccess);
  action("setRunPriority", RunCommand::SetPriority);
}

void RunHandlers::list(const Call& call) {
  const auto query = readRunListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = runs_.runs(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(
      *view, [](const RunView& run) { return runToJson(run, false); },
      [](const RunView& run) { return runCursorAfter(run.record.state.id); }));
}

void RunHandlers::get(const Call& call) {
  const auto id = runIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  const auto view = runs_.run(*id);
  if (!view.ok()) return call.fail(view.error());
  call.finish(runToJson(*view, true));
}

void RunHandlers::tasks(const Call& call) {
  const auto id = runIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  const auto nodes = runs_.nodes(*id);
  if (!nodes.ok()) return call.fail(nodes.error());
  call.finish(nodesToJson(*nodes));
}

void RunHandlers::explainRun(const Call& call) {
  const auto id = runIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  replyExplanation(call, runs_.explainRun(*id));
}

void RunHandlers::explainTask(const Call& call) {
  const auto id = taskIdOf(call);
  if (!id.ok()) return call.fail(id.error());
  replyExplanation(call, runs_.explainTask(*id));
}

void RunHandlers::order(const Call& call, RunCommand command) {
  auto order = readRunOrder(call, command);
  if (!order.ok()) return call.fail(order.error());
  runs_.order(std::move(*order), [call](Result<RunRecord> run) {
    if (!run.ok()) return call.fail(run.error());
    call.finish(runToJson({.record = std::move(*run), .waiting_text = {}}, true));
  });
}

void RunHandlers::missed(const Call& call) {
  const auto query = readMissedListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = runs_.missed(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(*view, missedToJson, missedCursorAfter));
}

void RunHandlers::explainMissed(const Call& call) {
  const auto instant = readInstant(call.request());
  if (!instant.ok()) return call.fail(instant.error());
  replyExplanation(call, runs_.explainMissed(instant->flow, instant->plan_time));
}

void RunHandlers::runMissed(const Call& call) {
  auto missed = readMissedRun(call);
  if (!missed.ok()) return call.fail(missed.error());
  runs_.runMissed(std::move(missed->flow), missed->plan_time, std::move(missed->request),
                  [call](const Result<MadeRun>& run) { replyNewRun(call, run); });
}

}  // namespace baton::webapi
