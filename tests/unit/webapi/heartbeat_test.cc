#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

class HeartbeatTest : public WebTest {};

// The report reaches the port as it was sent and the reply goes back as it is.
TEST_F(HeartbeatTest, AHeartbeatIsParsedAndAnswered) {
  heartbeats_.reply.cluster_guid = "g-1";
  heartbeats_.reply.epoch = 3;
  heartbeats_.reply.command = Command::RunNew;
  heartbeats_.reply.order = Order{.key = {5, 1, "n1"}, .run_part = R"({"kind":"command"})"};
  const auto response = beat("h1:0", R"({"status":"IDLE","incarnation":2,"seq":9,"later":1})");
  EXPECT_EQ(response.status, 200) << response.body;
  const auto reply = parseHeartbeatReply(jsonOf(response));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->command, Command::RunNew);
  EXPECT_EQ(reply->order->key.task_id, 5u);
  ASSERT_EQ(heartbeats_.seen.size(), 1u);
  EXPECT_EQ(heartbeats_.seen[0].runner_id, "h1:0");
  EXPECT_EQ(heartbeats_.seen[0].seq, 9u);
}

// A reply that the master holds arrives when it is given, whatever waits beside it.
TEST_F(HeartbeatTest, AHeldReplyArrivesWhenItIsGiven) {
  heartbeats_.hold = true;
  int status = 0;
  std::thread waiting([&] { status = beat("h1:0", R"({"status":"IDLE","wait_ms":9000})").status; });
  const auto held = heartbeats_.takeHeld(1);
  ASSERT_EQ(held.size(), 1u);
  net::HttpClient other;
  net::HttpRequest request;
  request.target = "/healthz";
  EXPECT_EQ(other.send({.host = "127.0.0.1", .port = server_->port()}, request, Micros(5'000'000))
                ->status,
            200);
  held[0](HeartbeatReply{});
  waiting.join();
  EXPECT_EQ(status, 200);
  EXPECT_TRUE(heartbeats_.gone.empty());
}

// A peer that goes while its heartbeat is held is reported with the pair that it sent.
TEST_F(HeartbeatTest, APeerThatGoesWhileHeldIsReported) {
  heartbeats_.hold = true;
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/api/v1/runners/h1:0/heartbeat";
  request.body = R"({"status":"IDLE","incarnation":4,"seq":11,"wait_ms":9000})";
  request.headers.add("Authorization", std::string("Bearer ").append(kWorkerToken));
  net::HttpClient leaving;
  EXPECT_FALSE(
      leaving.send({.host = "127.0.0.1", .port = server_->port()}, request, Micros(200'000)).ok());
  leaving.disconnect();
  ASSERT_TRUE(heartbeats_.waitGone(1));
  EXPECT_EQ(heartbeats_.gone[0].runner_id, "h1:0");
  EXPECT_EQ(heartbeats_.gone[0].incarnation, 4u);
  EXPECT_EQ(heartbeats_.gone[0].seq, 11u);
  for (const auto& reply : heartbeats_.takeHeld(1)) reply(HeartbeatReply{});
}

// A report that can't be right is refused with the field; nothing reaches the port.
TEST_F(HeartbeatTest, BadReportsAreRefused) {
  expectProblem(beat("h1:0", "{}"), 400, "invalid_argument", "status");
  expectProblem(beat("h1:0", "nonsense"), 400, "invalid_argument");
  expectProblem(beat("h1:0", ""), 400, "invalid_argument");
  expectProblem(beat("h1:0", R"({"status":"RUNNING"})"), 400, "invalid_argument", "current_task");
  expectProblem(beat("h1:0", R"({"status":"IDLE","runner_id":"h2:0"})"), 400, "invalid_argument",
                "runner_id");
  expectProblem(beat("h1%20x", R"({"status":"IDLE"})"), 400, "invalid_argument", "runner_id");
  expectProblem(beat("h1:0", std::string(100'000, '[')), 400, "invalid_argument");
  expectProblem(beat("h1:0", std::string(1024 * 1024 + 1, ' ')), 413, "body_too_large");
  EXPECT_TRUE(heartbeats_.seen.empty());
}

// A shell script with curl sends a form type by itself; heartbeats do not mind.
TEST_F(HeartbeatTest, TheContentTypeOfAHeartbeatDoesNotMatter) {
  const Headers form = {{"Authorization", std::string("Bearer ").append(kWorkerToken)},
                        {"Content-Type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(sendRaw("POST", "/api/v1/runners/r/heartbeat", R"({"status":"IDLE"})", form).status,
            200);
}

// Refusals have the codes that runners know.
TEST_F(HeartbeatTest, RefusalsOfTheMasterHaveTheirCodes) {
  const auto refused = [&](ErrorCode code) {
    heartbeats_.fail = Error(code, "because");
    return beat("h1:0", R"({"status":"IDLE"})");
  };
  expectProblem(refused(ErrorCode::Conflict), 409, "runner_conflict");
  expectProblem(refused(ErrorCode::PermissionDenied), 403, "permission_denied");
  expectProblem(refused(ErrorCode::InvalidArgument), 400, "invalid_argument");
  const auto not_active = refused(ErrorCode::NotActive);
  expectProblem(not_active, 503, "not_active");
  EXPECT_EQ(jsonOf(not_active)["active"]["node_id"], "m1");
}

// While a master recovers it is not active yet, but its port may hold heartbeats.
TEST_F(HeartbeatTest, ThePortDecidesAboutHeartbeatsOfAMasterThatDoesNotLead) {
  cluster_.active = false;
  EXPECT_EQ(beat("h1:0", R"({"status":"IDLE"})").status, 200);
}

}  // namespace
}  // namespace baton::webapi::test
