#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/auth.h"
#include "webapi/route_spec.h"

namespace baton::webapi::test {
namespace {

class AuthTest : public WebTest {
 protected:
  static std::string exampleOf(std::string_view pattern) {
    std::string target(pattern);
    for (size_t open = target.find('{'); open != target.npos; open = target.find('{')) {
      target.replace(open, target.find('}') - open + 1, "7");
    }
    return target;
  }
  static Headers bearer(const std::string& token) {
    return {{"Authorization", std::string("Bearer ").append(token)}};
  }
};

// Every address but the two probes refuses whoever has no good token, and nothing happens.
TEST_F(AuthTest, EveryAddressRefusesBadTokens) {
  std::string wrong_case(kClientToken);
  wrong_case[0] = 'C';
  const std::vector<Headers> bad = {
      {},
      {{"Authorization", ""}},
      {{"Authorization", "Bearer"}},
      {{"Authorization", "null"}},
      bearer(""),
      bearer("null"),
      bearer(wrong_case),
      bearer(std::string(kClientToken).append("x")),
      bearer(std::string(65'536, 'a')),
      {{"Authorization", kClientToken}},
      {{"Authorization", std::string("Basic ").append(kClientToken)}},
      {bearer(kClientToken)[0], bearer(kClientToken)[0]},
  };
  for (const RouteSpec& spec : routeSpecs()) {
    if (spec.access == Access::Open) continue;
    for (const Headers& headers : bad) {
      SCOPED_TRACE(std::string(spec.operation)
                       .append(headers.empty() ? "" : headers[0].second.substr(0, 60)));
      const auto response = sendRaw(std::string(spec.method), exampleOf(spec.pattern), "", headers);
      expectProblem(response, 401, "unauthenticated");
      EXPECT_TRUE(response.headers.get("WWW-Authenticate").starts_with("Bearer"));
      EXPECT_EQ(response.body.find(kClientToken), std::string::npos);
    }
  }
  EXPECT_TRUE(tasks_.commands.empty());
  EXPECT_TRUE(heartbeats_.seen.empty());
}

// A worker's token is good for heartbeats and for asking who leads, and for nothing else.
TEST_F(AuthTest, AWorkersTokenOpensTwoAddresses) {
  for (const RouteSpec& spec : routeSpecs()) {
    if (spec.access == Access::Open) continue;
    SCOPED_TRACE(spec.operation);
    const std::string body = spec.operation == "heartbeat" ? R"({"status":"IDLE"})" : "";
    const auto response =
        sendRaw(std::string(spec.method), exampleOf(spec.pattern), body, bearer(kWorkerToken));
    if (spec.operation == "heartbeat" || spec.operation == "getCluster") {
      EXPECT_EQ(response.status, 200) << response.body;
    } else {
      expectProblem(response, 403, "permission_denied");
    }
  }
}

// A client must not speak for a runner.
TEST_F(AuthTest, AClientsTokenCanNotSendHeartbeats) {
  expectProblem(
      sendRaw("POST", "/api/v1/runners/r/heartbeat", R"({"status":"IDLE"})", bearer(kClientToken)),
      403, "permission_denied");
  EXPECT_TRUE(heartbeats_.seen.empty());
}

// The word "Bearer" has no case (RFC 9110), the token has.
TEST_F(AuthTest, TheSchemeIsReadWithoutCase) {
  const Headers lower = {{"Authorization", std::string("bearer ").append(kClientToken)}};
  EXPECT_EQ(sendRaw("GET", "/api/v1/cluster", "", lower).status, 200);
}

// Probes need no token; metrics do.
TEST_F(AuthTest, ProbesAreOpenAndMetricsAreNot) {
  EXPECT_EQ(sendRaw("GET", "/healthz", "", {}).status, 200);
  EXPECT_EQ(sendRaw("GET", "/readyz", "", {}).status, 200);
  EXPECT_EQ(sendRaw("GET", "/metrics", "", {}).status, 401);
}

// Who has no token learns nothing about which addresses there are.
TEST_F(AuthTest, StrangersAreRefusedBeforeTheAddressIsLookedAt) {
  EXPECT_EQ(sendRaw("GET", "/api/v1/nothing", "", {}).status, 401);
  EXPECT_EQ(sendRaw("DELETE", "/api/v1/tasks", "", {}).status, 401);
}

// Without fit tokens there is no server at all.
TEST_F(AuthTest, TheServerDoesNotStartWithoutFitTokens) {
  const struct {
    std::string client;
    std::string worker;
  } cases[] = {{"", "worker-1"},         {"client-1", ""},          {"same", "same"},
               {"changeme", "worker-1"}, {"client 1", "worker-1"},  {"client-1", "SECRET"},
               {"client-1", "w\n"},      {"client\xc3\xa9", "w-1"}, {"", ""}};
  for (const auto& pair : cases) {
    EXPECT_FALSE(Authenticator::create(pair.client, pair.worker).ok()) << pair.client;
    WebServer::Options options;
    options.client_token = pair.client;
    options.worker_token = pair.worker;
    WebServer server(ports(), options);
    const Status started = server.start();
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().code(), ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace baton::webapi::test
