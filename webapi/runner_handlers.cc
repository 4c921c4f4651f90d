#include "webapi/runner_handlers.h"

#include "common/base/json.h"
#include "webapi/cluster_json.h"

namespace baton::webapi {
namespace {

Result<HeartbeatRequest> readHeartbeat(const Call& call) {
  const std::string& runner_id = call.pathParam("runner_id");
  if (!isValidName(runner_id, true)) {
    return Error(ErrorCode::InvalidArgument, "has 1 to 64 of A-Z a-z 0-9 . _ - :", "runner_id");
  }
  ASSIGN_OR_RETURN(const Json json, parseJson(call.takeBody()));
  return parseHeartbeatRequest(json, runner_id);
}

}  // namespace

void RunnerHandlers::bindTo(Router& router) {
  router.bind("heartbeat", [this](const Call& call) { heartbeat(call); });
  router.bind("listRunners", [this](const Call& call) { listRunners(call); });
  router.bind("listHosts", [this](const Call& call) { listHosts(call); });
}

void RunnerHandlers::heartbeat(const Call& call) {
  auto request = readHeartbeat(call);
  if (!request.ok()) return call.fail(request.error());
  const std::string runner_id = request->runner_id;
  const uint64_t incarnation = request->incarnation.value_or(0);
  const uint64_t seq = request->seq.value_or(0);
  heartbeats_.heartbeat(std::move(*request), [call](const Result<HeartbeatReply>& reply) {
    if (!reply.ok()) return call.fail(reply.error(), "runner_conflict");
    call.reply(net::HttpResponse::json(200, heartbeatReplyToText(*reply)));
  });
  // After the heartbeat, so that the port hears of it first. Does nothing once it was answered.
  call.responder().onClientGone([&port = heartbeats_, runner_id, incarnation, seq] {
    port.heartbeatGone(runner_id, incarnation, seq);
  });
}

void RunnerHandlers::listRunners(const Call& call) {
  const auto runners = hosts_.runners();
  if (!runners.ok()) return call.fail(runners.error());
  Json items = Json::array();
  for (const master::api::RunnerView& runner : *runners) items.push_back(runnerToJson(runner));
  call.replyJson({{"items", std::move(items)}, {"next_cursor", nullptr}});
}

void RunnerHandlers::listHosts(const Call& call) {
  const auto hosts = hosts_.hosts();
  if (!hosts.ok()) return call.fail(hosts.error());
  call.replyJson(hostsToJson(*hosts));
}

}  // namespace baton::webapi
