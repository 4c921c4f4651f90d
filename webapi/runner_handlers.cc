#include "webapi/runner_handlers.h"

#include "common/base/json.h"
#include "webapi/cluster_json.h"
#include "webapi/list_cursor.h"

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

using master::api::HostView;
using master::api::RunnerView;

constexpr std::string_view kRunnerCursorMark = "n-";
constexpr std::string_view kHostCursorMark = "h-";

// Which runners and hosts a list shows; empty members do not filter.
struct SlotFilter {
  std::vector<std::string> states = {};
  std::vector<std::string> health = {};
  std::string name = {};
  std::string text = {};
  std::string worker = {};
  std::string host = {};
};

// Workers first, and then the names that no worker has.
std::string keyOf(const HostView& host) {
  return host.worker_id.empty() ? "~" + host.host : host.worker_id;
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
  QueryReader reader(call.request());
  SlotFilter filter;
  NamePage page;
  reader
      .knownWords("state", {"idle", "busy", "lost", "leaving", "conflict", "unknown"},
                  filter.states)
      .text("name", filter.name)
      .text("q", filter.text)
      .text("worker", filter.worker)
      .text("host", filter.host);
  readNamePage(reader, kRunnerCursorMark, page);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  auto runners = hosts_.runners();
  if (!runners.ok()) return call.fail(runners.error());
  const auto wanted = [&](const RunnerView& runner) {
    const RunnerRecord& record = runner.record;
    return isOneOf(runner.state, filter.states) && isOrAny(record.runner_id, filter.name) &&
           hasPart(record.runner_id, filter.text) && isOrAny(record.worker_id, filter.worker) &&
           isOrAny(record.host, filter.host);
  };
  const auto id_of = [](const RunnerView& runner) { return runner.record.runner_id; };
  call.finish(listToJson(
      pageOf(std::move(*runners), page, wanted, id_of), runnerToJson,
      [&](const RunnerView& runner) { return nameCursorOf(kRunnerCursorMark, id_of(runner)); }));
}

void RunnerHandlers::listHosts(const Call& call) {
  QueryReader reader(call.request());
  SlotFilter filter;
  NamePage page;
  reader
      .knownWords("state", {"active", "draining", "drained", "excluded", "unapproved", "outdated"},
                  filter.states)
      .knownWords("health", {"healthy", "suspect", "dead", "quarantined", "unknown"}, filter.health)
      .text("name", filter.name)
      .text("q", filter.text);
  readNamePage(reader, kHostCursorMark, page);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  auto hosts = hosts_.hosts();
  if (!hosts.ok()) return call.fail(hosts.error());
  const auto wanted = [&](const HostView& host) {
    return isOneOf(host.state, filter.states) && isOneOf(host.health, filter.health) &&
           (isOrAny(host.worker_id, filter.name) || host.host == filter.name) &&
           (hasPart(host.worker_id, filter.text) || hasPart(host.host, filter.text));
  };
  call.finish(
      listToJson(pageOf(std::move(*hosts), page, wanted, keyOf), hostToJson,
                 [](const HostView& host) { return nameCursorOf(kHostCursorMark, keyOf(host)); }));
}

}  // namespace baton::webapi
