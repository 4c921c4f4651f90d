#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

class ClusterApiTest : public WebTest {
 protected:
  void becomeStandby() {
    cluster_.active = false;
    cluster_.view.node_id = "m2";
    cluster_.view.role = "standby";
    cluster_.view.state = "STANDBY";
    cluster_.view.active_address = "10.0.0.1:7070";
  }
};

// The cluster is shown with the names of the contract.
TEST_F(ClusterApiTest, TheClusterIsShown) {
  const Json json = jsonOf(get("/api/v1/cluster"));
  EXPECT_EQ(json["cluster"], "c1");
  EXPECT_EQ(json["epoch"], 3);
  EXPECT_EQ(json["active"]["node_id"], "m1");
  EXPECT_EQ(json["active"]["since"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(json["masters"].at(0)["health"], "ok");
  EXPECT_TRUE(json["min_priority"].is_null());
  cluster_.view.masters[0].database_ok = false;
  EXPECT_EQ(jsonOf(get("/api/v1/cluster"))["masters"].at(0)["health"], "database_unreachable");
  cluster_.view.masters[0].heard = false;
  EXPECT_EQ(jsonOf(get("/api/v1/cluster"))["masters"].at(0)["health"], "unknown");
  cluster_.view.min_priority = Priority::High;
  EXPECT_EQ(jsonOf(get("/api/v1/cluster"))["min_priority"], "high");
  cluster_.view.active_known = false;
  EXPECT_TRUE(jsonOf(get("/api/v1/cluster"))["active"].is_null());
}

// Everything that only the active one knows is refused by a standby, with the way to the active.
TEST_F(ClusterApiTest, AStandbyNamesTheActiveMaster) {
  becomeStandby();
  for (const char* target : {"/api/v1/tasks", "/api/v1/tasks/7", "/api/v1/stats",
                             "/api/v1/internals", "/api/v1/hosts", "/api/v1/runners"}) {
    const auto response = get(target);
    expectProblem(response, 503, "not_active");
    EXPECT_EQ(jsonOf(response)["active"]["address"], "10.0.0.1:7070");
  }
  expectProblem(post("/api/v1/tasks", R"({"command":["a"]})"), 503, "not_active");
  EXPECT_TRUE(tasks_.submissions.empty());
}

// A standby serves what is true of itself.
TEST_F(ClusterApiTest, AStandbyServesItsOwnRole) {
  becomeStandby();
  for (const char* target : {"/api/v1/cluster", "/api/v1/cluster/history", "/healthz", "/readyz",
                             "/metrics", "/api/v1/openapi.json"}) {
    EXPECT_EQ(get(target).status, 200) << target;
  }
}

// A browser is sent on; programs are not, because they would drop their token on the way.
TEST_F(ClusterApiTest, ABrowserIsSentOnToTheActiveMaster) {
  becomeStandby();
  const Headers browser = {{"Accept", "text/html,*/*"}};
  const auto response = send("GET", "/api/v1/tasks?limit=5", "", browser);
  EXPECT_EQ(response.status, 307);
  EXPECT_EQ(response.headers.get("Location"), "http://10.0.0.1:7070/api/v1/tasks?limit=5");
  EXPECT_EQ(send("POST", "/api/v1/tasks/7/stop", "", browser).status, 503);
  cluster_.view.active_node_id = "m2";
  EXPECT_EQ(send("GET", "/api/v1/tasks", "", browser).status, 503) << "a circle";
  cluster_.view.active_known = false;
  EXPECT_EQ(send("GET", "/api/v1/tasks", "", browser).status, 503);
}

// Who looks for a console must learn that there is none; programs are refused as before.
TEST_F(ClusterApiTest, ABrowserIsToldThatThereIsNoConsole) {
  const auto response = send("GET", "/", "", {{"Accept", "text/html,*/*"}});
  EXPECT_EQ(response.status, 404);
  EXPECT_NE(response.body.find("It has no console yet"), std::string::npos) << response.body;
  expectProblem(get("/"), 404, "not_found");
}

// Readiness follows the role: an active one must act, a standby must stand by.
TEST_F(ClusterApiTest, ReadinessFollowsTheRole) {
  EXPECT_EQ(get("/readyz").status, 200);
  cluster_.active = false;
  expectProblem(get("/readyz"), 503, "not_ready");
  becomeStandby();
  EXPECT_EQ(get("/readyz").status, 200);
  cluster_.view.state = "CONNECTING";
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
}

// Takeovers, statistics, internals and verification pass through.
TEST_F(ClusterApiTest, ViewsOfTheMasterAreShown) {
  cluster_.takeovers.push_back(
      {.epoch = 3, .node_id = "m1", .reason = "session_lost", .load_ms = 7});
  cluster_.stats_view.by_status["RUNNING"] = 4;
  cluster_.stats_view.workers["w1"] = {10, 1, 2};
  cluster_.stats_view.runs_by_status["FAILED"] = 3;
  cluster_.stats_view.planner_lag_ms = 12;
  cluster_.stats_view.missed_by_reason["too_old"] = 9;
  cluster_.verify_view = {100, {"task 7: status"}, 1, 8};
  const Json takeover = jsonOf(get("/api/v1/cluster/history?limit=5"))["items"].at(0);
  EXPECT_EQ(takeover["reason"], "session_lost");
  EXPECT_EQ(takeover["load_ms"], 7);
  EXPECT_EQ(cluster_.last_limit, 5u);
  const Json stats = jsonOf(get("/api/v1/stats"));
  EXPECT_EQ(stats["by_status"]["RUNNING"], 4);
  EXPECT_EQ(stats["workers"]["w1"]["failed"], 1);
  EXPECT_EQ(stats["runs_by_status"]["FAILED"], 3);
  EXPECT_EQ(stats["planner"]["lag_ms"], 12);
  EXPECT_EQ(stats["missed_by_reason"]["too_old"], 9);
  EXPECT_TRUE(jsonOf(get("/api/v1/internals")).contains("queues"));
  const Json verify = jsonOf(post("/api/v1/cluster/verify"));
  EXPECT_EQ(verify["differences_total"], 1);
  EXPECT_EQ(verify["runs_compared"], 8);
  expectProblem(get("/api/v1/cluster/history?limit=0"), 400, "invalid_argument", "limit");
}

// Who asks for a sync hears which term ends for it, and is known to the master.
TEST_F(ClusterApiTest, SyncTellsWhichTermEnds) {
  EXPECT_EQ(jsonOf(post("/api/v1/cluster/sync"))["epoch"], 3);
  ASSERT_EQ(cluster_.syncs.size(), 1U);
  EXPECT_EQ(cluster_.syncs[0].principal, "client");
  expectProblem(post("/api/v1/cluster/sync", R"({"now": true})"), 400, "invalid_argument", "now");
  EXPECT_EQ(cluster_.syncs.size(), 1U);
}

// Metrics are Prometheus text with the front's counters beside the master's.
TEST_F(ClusterApiTest, MetricsArePrometheusText) {
  const auto response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.headers.get("Content-Type").starts_with("text/plain; version=0.0.4"));
  EXPECT_NE(response.body.find("baton_epoch 3\n"), std::string::npos);
  EXPECT_NE(response.body.find("\nbaton_http_responses_total{class=\"2xx\"} "), std::string::npos);
  EXPECT_NE(response.body.find("\nbaton_http_connections_open 1\n"), std::string::npos);
}

// Runners and hosts are shown; a runner that was never heard has no silence.
TEST_F(ClusterApiTest, RunnersAndHostsAreShown) {
  master::api::RunnerView runner;
  runner.record.runner_id = "h1:0";
  runner.record.labels = R"({"os":"linux"})";
  runner.state = "busy";
  runner.task_id = 7;
  runner.silent_ms = -1;
  hosts_.runner_list = {runner};
  master::api::HostView host;
  host.worker_id = "w1";
  host.health = "healthy";
  host.figures = HostFigures{.load1 = 0.5, .cpu_count = 2};
  hosts_.host_list = {host};
  const Json shown = jsonOf(get("/api/v1/runners"))["items"].at(0);
  EXPECT_EQ(shown["task_id"], "7");
  EXPECT_EQ(shown["labels"]["os"], "linux");
  EXPECT_TRUE(shown["silent_ms"].is_null());
  EXPECT_EQ(jsonOf(get("/api/v1/hosts"))["items"].at(0)["figures"]["cpu_count"], 2);
}

// Dead callbacks are listed without what may be secret in their address.
TEST_F(ClusterApiTest, DeadCallbacksAreShownWithoutSecrets) {
  OutboxRecord record;
  record.id = 5;
  record.task_id = 7;
  record.url = "https://user:pa@ss@host/hook?token=abc#x";
  record.state = OutboxRecord::State::Dead;
  record.last_error = "status 500";
  callbacks_.records = {record};
  const Json item = jsonOf(get("/api/v1/callbacks/dead?limit=10"))["items"].at(0);
  EXPECT_EQ(item["url"], "https://host/hook");
  EXPECT_EQ(item["state"], "dead");
  EXPECT_EQ(item["task_id"], "7");
  EXPECT_TRUE(item["run_id"].is_null());
}

// They are listed page by page, and those of runs name the run.
TEST_F(ClusterApiTest, DeadCallbacksComeInPages) {
  for (const uint64_t id : {9, 8, 5}) {
    OutboxRecord record;
    record.id = id;
    record.task_id = 20 + id;
    record.event = id == 9 ? "run_failed_2" : "failed";
    record.state = OutboxRecord::State::Dead;
    callbacks_.records.push_back(record);
  }
  Json page = jsonOf(get("/api/v1/callbacks/dead?limit=2"));
  ASSERT_EQ(page["items"].size(), 2u);
  EXPECT_EQ(page["items"].at(0)["run_id"], "29");
  EXPECT_TRUE(page["items"].at(0)["task_id"].is_null());
  const std::string cursor = page["next_cursor"];
  page = jsonOf(get("/api/v1/callbacks/dead?limit=3&cursor=" + cursor));
  EXPECT_EQ(callbacks_.last_before, 8u);
  EXPECT_TRUE(page["next_cursor"].is_null());
  expectProblem(get("/api/v1/callbacks/dead?cursor=x"), 400, "invalid_argument", "cursor");
}

// One that was given up is tried again by an order with a name.
TEST_F(ClusterApiTest, ADeadCallbackIsSentAgain) {
  OutboxRecord record;
  record.id = 5;
  record.task_id = 7;
  record.state = OutboxRecord::State::Dead;
  callbacks_.records = {record};
  const auto sent = post("/api/v1/callbacks/dead/5/resend", "");
  EXPECT_EQ(sent.status, 200);
  EXPECT_EQ(jsonOf(sent)["id"], "5");
  EXPECT_EQ(callbacks_.last_request.principal, "client");
  expectProblem(post("/api/v1/callbacks/dead/6/resend", ""), 404, "not_found");
  expectProblem(post("/api/v1/callbacks/dead/x/resend", ""), 404, "not_found");
  expectProblem(post("/api/v1/callbacks/dead/5/resend", R"({"x":1})"), 400, "invalid_argument",
                "x");
  callbacks_.records[0].state = OutboxRecord::State::Pending;
  expectProblem(post("/api/v1/callbacks/dead/5/resend", ""), 409, "conflict");
}

// Wrong methods and addresses are told apart.
TEST_F(ClusterApiTest, UnknownAddressesAndMethodsAreRefused) {
  expectProblem(get("/api/v1/nothing"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/7/stop/now"), 404, "not_found");
  const auto wrong = send("DELETE", "/api/v1/tasks");
  expectProblem(wrong, 405, "method_not_allowed");
  EXPECT_EQ(wrong.headers.get("Allow"), "POST, GET, HEAD");
  EXPECT_EQ(send("PUT", "/api/v1/tasks/bulk").headers.get("Allow"), "POST, GET, HEAD");
  expectProblem(get("/api/v1/tasks/bulk"), 404, "not_found");  // No task can be called that.
  expectProblem(get("/api/v1/stats?x=1"), 400, "invalid_argument", "x");
  EXPECT_EQ(send("HEAD", "/healthz").status, 200);
}

// After a drain nobody new gets in; what is open still does.
TEST_F(ClusterApiTest, ADrainKeepsOpenConnections) {
  EXPECT_EQ(get("/healthz").status, 200);
  server_->drain();
  EXPECT_EQ(get("/healthz").status, 200);
  net::HttpClient newcomer;
  EXPECT_FALSE(newcomer
                   .send({.host = "127.0.0.1", .port = server_->port()}, net::HttpRequest(),
                         Micros(2'000'000))
                   .ok());
}

}  // namespace
}  // namespace baton::webapi::test
