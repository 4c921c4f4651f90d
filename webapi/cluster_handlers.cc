#include "webapi/cluster_handlers.h"

#include "common/base/json.h"
#include "webapi/cluster_json.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_key.h"
#include "webapi/task_handlers.h"

namespace baton::webapi {
namespace {

constexpr uint32_t kDeadShown = 100;
constexpr std::string_view kDeadCursorMark = "d-";

Result<uint32_t> readLimit(const net::HttpRequest& request) {
  int64_t limit = 100;
  RETURN_IF_ERROR(QueryReader(request).integer("limit", limit, 1, 1'000).finish());
  return static_cast<uint32_t>(limit);
}

void addMetric(std::string& out, std::string_view name, std::string_view type,
               std::string_view help, int64_t value) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help,
                 type, value);
}

}  // namespace

std::string httpMetrics(const net::HttpCounters& counters) {
  std::string out =
      "# HELP baton_http_responses_total Answers by class of status.\n"
      "# TYPE baton_http_responses_total counter\n";
  for (size_t i = 1; i < counters.by_class.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "baton_http_responses_total{{class=\"{}xx\"}} {}\n", i,
                   counters.by_class[i].load());
  }
  const auto counter = [&](std::string_view name, std::string_view help, uint64_t value) {
    addMetric(out, name, "counter", help, static_cast<int64_t>(value));
  };
  counter("baton_http_connections_total", "Connections accepted.", counters.connections.load());
  counter("baton_http_requests_total", "Requests received.", counters.requests.load());
  counter("baton_http_shed_total", "Refused for want of room.", counters.shed.load());
  counter("baton_http_received_bytes_total", "Bytes received.", counters.bytes_in.load());
  counter("baton_http_sent_bytes_total", "Bytes sent.", counters.bytes_out.load());
  addMetric(out, "baton_http_connections_open", "gauge", "Connections open.",
            counters.connections_open.load());
  addMetric(out, "baton_http_requests_held", "gauge", "Requests not answered yet.",
            counters.parked.load());
  return out;
}

void ClusterHandlers::bindTo(Router& router) {
  router.bind("getCluster",
              [this](const Call& call) { call.replyJson(clusterToJson(cluster_.cluster())); });
  router.bind("getHistory", [this](const Call& call) { history(call); });
  router.bind("verify", [this](const Call& call) { verify(call); });
  router.bind("sync", [this](const Call& call) { sync(call); });
  router.bind("getStats", [this](const Call& call) { stats(call); });
  router.bind("getInternals", [this](const Call& call) { internals(call); });
  router.bind("listDeadCallbacks", [this](const Call& call) { deadCallbacks(call); });
  router.bind("resendCallback", [this](const Call& call) { resendCallback(call); });
  router.bind("healthz", [](const Call& call) { call.replyJson({{"status", "ok"}}); });
  router.bind("readyz", [this](const Call& call) { readiness(call); });
  router.bind("metrics", [this](const Call& call) {
    net::HttpResponse response =
        net::HttpResponse::text(200, cluster_.metrics() + httpMetrics(counters_));
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    call.reply(std::move(response));
  });
}

void ClusterHandlers::history(const Call& call) {
  const auto limit = readLimit(call.request());
  if (!limit.ok()) return call.fail(limit.error());
  const auto takeovers = cluster_.history(*limit);
  if (!takeovers.ok()) return call.fail(takeovers.error());
  Json items = Json::array();
  for (const master::api::TakeoverView& takeover : *takeovers) {
    items.push_back(takeoverToJson(takeover));
  }
  call.replyJson({{"items", std::move(items)}, {"next_cursor", nullptr}});
}

void ClusterHandlers::verify(const Call& call) {
  if (const Status read = readEmptyBody(call.request()); !read.ok()) {
    return call.fail(read.error());
  }
  const auto view = cluster_.verify();
  if (!view.ok()) return call.fail(view.error());
  call.replyJson(verifyToJson(*view));
}

void ClusterHandlers::sync(const Call& call) {
  if (const Status read = readEmptyBody(call.request()); !read.ok()) {
    return call.fail(read.error());
  }
  cluster_.sync(requesterOf(call), [call](Result<master::api::SyncBegun> begun) {
    if (!begun.ok()) return call.fail(begun.error());
    call.replyJson(syncToJson(*begun));
  });
}

void ClusterHandlers::stats(const Call& call) {
  const auto view = cluster_.stats();
  if (!view.ok()) return call.fail(view.error());
  call.replyJson(statsToJson(*view));
}

void ClusterHandlers::internals(const Call& call) {
  auto text = cluster_.internals();
  if (!text.ok()) return call.fail(text.error());
  auto json = parseJson(*text);
  if (!json.ok()) return call.fail(json.error());
  (*json)["watchers"] = {{"open", watch_.watchers()}, {"most", watch_.watchersMax()}};
  call.replyJson(*json);
}

void ClusterHandlers::deadCallbacks(const Call& call) {
  QueryReader reader(call.request());
  uint32_t limit = kDeadShown;
  uint64_t before = 0;
  readPageLimit(reader, limit);
  readCursor(reader, kDeadCursorMark, INT64_MAX, before);
  if (const Status read = reader.finish(); !read.ok()) return call.fail(read.error());
  auto records = callbacks_.dead(before, limit + 1);  // One more tells that there are more.
  if (!records.ok()) return call.fail(records.error());
  const bool more = records->size() > limit;
  if (more) records->resize(limit);
  Json items = Json::array();
  for (const OutboxRecord& record : *records) items.push_back(deadCallbackToJson(record));
  call.replyJson(pageToJson(std::move(items),
                            more ? cursorOf(kDeadCursorMark, records->back().id) : std::string()));
}

void ClusterHandlers::resendCallback(const Call& call) {
  const std::string text(call.pathParam("id"));
  const auto id = parseTaskId(text);
  if (!id) {
    return call.fail(Error::notFound("there is no callback {}", truncateUtf8(text, 40)));
  }
  if (const Status read = readEmptyBody(call.request()); !read.ok()) {
    return call.fail(read.error());
  }
  callbacks_.resend(*id, requesterOf(call), [call](Result<OutboxRecord> record) {
    if (!record.ok()) return call.fail(record.error());
    call.replyJson(deadCallbackToJson(*record));
  });
}

void ClusterHandlers::readiness(const Call& call) {
  const master::api::ClusterView view = cluster_.cluster();
  const bool ready = cluster_.isActive() || (view.role == "standby" && view.state == "STANDBY");
  const Json facts = {
      {"status", ready ? "ready" : "not_ready"}, {"role", view.role}, {"state", view.state}};
  if (ready) return call.replyJson(facts);
  call.reply(problem(503, "not_ready", fmt::format("role {}, state {}", view.role, view.state), {},
                     {{"role", view.role}, {"state", view.state}}));
}

}  // namespace baton::webapi
