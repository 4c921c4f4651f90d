#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "net/http_client.h"
#include "tests/unit/webapi/fake_flow_ports.h"
#include "tests/unit/webapi/fake_ports.h"
#include "webapi/web_server.h"

namespace baton::webapi::test {

inline constexpr const char* kClientToken = "client-token-for-tests";
inline constexpr const char* kWorkerToken = "worker-token-for-tests";

using Headers = std::vector<std::pair<std::string, std::string>>;

// A web server on a free port over fake ports, and a client of it.
class WebTest : public ::testing::Test {
 protected:
  void SetUp() override { startServer({}); }
  void TearDown() override {
    if (server_) server_->stop();
  }

  void startServer(WebServer::Options options) {
    options.client_token = kClientToken;
    options.worker_token = kWorkerToken;
    options.version = "9.9.9";
    options.drain_patience = Micros(100'000);
    server_ = std::make_unique<WebServer>(ports(), options);
    ASSERT_TRUE(server_->start().ok());
  }

  Ports ports() {
    return {tasks_, heartbeats_, hosts_,     cluster_, callbacks_, groups_, flows_,
            runs_,  events_,     calendars_, params_,  audit_,     watch_};
  }

  // Sends with exactly these fields (no token unless it is among them).
  net::HttpResponse sendRaw(const std::string& method, const std::string& target,
                            const std::string& body, const Headers& headers) {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    auto response = client_.send({.host = "127.0.0.1", .port = server_->port()}, request,
                                 Micros(20'000'000), true);
    if (response.ok()) return std::move(*response);
    ADD_FAILURE() << method << " " << target << ": " << response.error().text();
    return net::HttpResponse::empty(0);
  }
  net::HttpResponse send(const std::string& method, const std::string& target,
                         const std::string& body = {}, Headers more = {}) {
    more.emplace_back("Authorization", std::string("Bearer ").append(kClientToken));
    if (!body.empty()) more.emplace_back("Content-Type", "application/json");
    return sendRaw(method, target, body, more);
  }
  net::HttpResponse get(const std::string& target) { return send("GET", target); }
  net::HttpResponse post(const std::string& target, const std::string& body = {},
                         Headers more = {}) {
    return send("POST", target, body, std::move(more));
  }
  net::HttpResponse beat(const std::string& runner, const std::string& body) {
    return sendRaw("POST", std::string("/api/v1/runners/").append(runner).append("/heartbeat"),
                   body, {{"Authorization", std::string("Bearer ").append(kWorkerToken)}});
  }

  static Json jsonOf(const net::HttpResponse& response) {
    auto json = parseJson(response.body);
    if (json.ok()) return std::move(*json);
    ADD_FAILURE() << "not JSON: " << response.body;
    return Json::object();
  }

  // Checks a refusal: status, code, and that it is a whole problem document.
  static void expectProblem(const net::HttpResponse& response, int status, const std::string& code,
                            const std::string& field = {}) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(response.headers.get("Content-Type"), "application/problem+json");
    const Json json = jsonOf(response);
    EXPECT_EQ(json.value("status", 0), status);
    EXPECT_EQ(json.value("code", ""), code) << response.body;
    EXPECT_FALSE(json.value("title", "").empty());
    EXPECT_FALSE(json.value("detail", "").empty());
    EXPECT_EQ(json.value("field", ""), field) << response.body;
    // One way to say where it is wrong.
    const std::string detail = json.value("detail", "");
    EXPECT_TRUE(field.empty() || detail.starts_with(field + ": ")) << detail;
    if (status == 503) {
      EXPECT_FALSE(response.headers.get("Retry-After").empty());
    }
  }

  FakeTasks tasks_;
  FakeHeartbeats heartbeats_;
  FakeHosts hosts_;
  FakeCluster cluster_;
  FakeCallbacks callbacks_;
  FakeGroups groups_;
  FakeFlows flows_;
  FakeCalendars calendars_;
  FakeParams params_;
  FakeRuns runs_;
  FakeEvents events_;
  FakeAudit audit_;
  FakeWatch watch_;
  net::HttpClient client_;
  std::unique_ptr<WebServer> server_;
};

}  // namespace baton::webapi::test
