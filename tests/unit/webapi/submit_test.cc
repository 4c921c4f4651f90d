#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "tests/unit/net/net_fixture.h"
#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

class SubmitTest : public WebTest {};

// One task is accepted and the answer says where it is.
TEST_F(SubmitTest, ASubmittedTaskIsAnsweredWithItsPlace) {
  const auto response =
      post("/api/v1/tasks", R"({"name":"n","command":["true"],"priority":"high"})");
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/tasks/7");
  EXPECT_EQ(jsonOf(response)["id"], "7");
  ASSERT_EQ(tasks_.submissions.size(), 1u);
  EXPECT_EQ(tasks_.submissions[0].tasks.at(0).priority, Priority::High);
  EXPECT_EQ(tasks_.submissions[0].request.principal, "client");
  EXPECT_FALSE(tasks_.submissions[0].bulk);
}

// Many tasks go to the port as one submission.
TEST_F(SubmitTest, ManyTasksAreOneSubmission) {
  const auto response =
      post("/api/v1/tasks/bulk", R"({"tasks":[{"command":["a"]},{"script":"echo ok"}]})");
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(jsonOf(response)["ids"].size(), 2u);
  ASSERT_EQ(tasks_.submissions.size(), 1u);
  EXPECT_TRUE(tasks_.submissions[0].bulk);
  EXPECT_EQ(tasks_.submissions[0].tasks.size(), 2u);
}

// One wrong item refuses all and is named.
TEST_F(SubmitTest, OneWrongItemOfManyLeavesNothingSubmitted) {
  const auto response = post("/api/v1/tasks/bulk",
                             R"({"tasks":[{"command":["a"]},{"command":["b"]},{"command":[]}]})");
  expectProblem(response, 400, "invalid_argument", "tasks[2].command");
  EXPECT_TRUE(tasks_.submissions.empty());
}

// The cap of a bulk is kept exactly.
TEST_F(SubmitTest, TenThousandTasksAreAcceptedAndOneMoreIsNot) {
  std::string body = R"({"tasks":[)";
  for (int i = 0; i < 10'000; ++i) body += R"({"command":["a"]},)";
  const auto response = post("/api/v1/tasks/bulk", std::string(body).append("{}]}"));
  expectProblem(response, 413, "too_large", "tasks");
  EXPECT_TRUE(tasks_.submissions.empty());
  body.back() = ']';
  EXPECT_EQ(post("/api/v1/tasks/bulk", body.append("}")).status, 201);
  EXPECT_EQ(tasks_.submissions.at(0).tasks.size(), 10'000u);
}

// Every kind of body that can't be right is refused with the place that is wrong.
TEST_F(SubmitTest, BadBodiesAreRefusedByName) {
  std::string long_name;
  for (int i = 0; i < 256; ++i) long_name += "\xe6\x97\xa5";
  const auto quoted = [](std::string head, const std::string& middle, const char* tail) {
    return head.append(middle).append(tail);
  };
  const struct {
    std::string body;
    int status;
    std::string code;
    std::string field;
  } cases[] = {
      {R"({"command":["a"],"colour":"red"})", 400, "invalid_argument", "colour"},
      {R"({"command":"a"})", 400, "invalid_argument", "command"},
      {R"({"command":[1]})", 400, "invalid_argument", "command[0]"},
      {R"({"command":[]})", 400, "invalid_argument", "command"},
      {R"({})", 400, "invalid_argument", "command"},
      {R"({"command":["a"],"name":null})", 400, "invalid_argument", "name"},
      {R"({"command":["a"],"run_as":"g"})", 400, "unsupported", "run_as"},
      {R"({"command":["a"],"timeout":90})", 400, "invalid_argument", "timeout"},
      {R"([])", 400, "invalid_argument", ""},
      {R"("text")", 400, "invalid_argument", ""},
      {R"({"command":["a"])", 400, "invalid_argument", ""},
      {R"({"command":["a"]} {})", 400, "invalid_argument", ""},
      {R"({"command":["a"],"name":"x","name":"y"})", 400, "invalid_argument", ""},
      {std::string(100'000, '['), 400, "invalid_argument", ""},
      {"{\"command\":[\"\xff\xfe\"]}", 400, "invalid_argument", ""},
      {quoted(R"({"command":["a"],"name":")", long_name, R"("})"), 400, "invalid_argument", "name"},
      {quoted(R"({"command":["a"],"params":{"P":")", std::string(3'000'000, 'x'), R"("}})"), 413,
       "too_large", "params"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.body.substr(0, 80));
    expectProblem(post("/api/v1/tasks", bad.body), bad.status, bad.code, bad.field);
  }
  EXPECT_TRUE(tasks_.submissions.empty());
}

// A syntax error says where it is.
TEST_F(SubmitTest, BadJsonIsRefusedWithItsPosition) {
  const auto response = post("/api/v1/tasks", "{\n  \"command\": [oops]\n}");
  expectProblem(response, 400, "invalid_argument");
  EXPECT_NE(response.body.find("line 2, column"), std::string::npos) << response.body;
}

// A body above the server's cap never reaches a handler.
TEST_F(SubmitTest, ABodyAboveTheCapIsTooLarge) {
  server_->stop();
  WebServer::Options options;
  options.body_bytes_max = 1000;
  startServer(options);
  expectProblem(post("/api/v1/tasks", std::string(5'000, ' ')), 413, "body_too_large");
}

// Who may not send a body, or not so much of one, is told before it is read.
TEST_F(SubmitTest, TheHeadDecidesAboutTheBody) {
  const auto answerTo = [&](const std::string& target, const char* token, size_t bytes) {
    net::RawClient client(server_->port());
    client.send(
        fmt::format("POST {} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                    "Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
                    target, token, bytes));
    return net::statusOf(client.readResponse());
  };
  EXPECT_EQ(answerTo("/api/v1/tasks", "wrong", 15'000'000), "HTTP/1.1 401");
  EXPECT_EQ(answerTo("/api/v1/tasks", kWorkerToken, 15'000'000), "HTTP/1.1 403");
  EXPECT_EQ(answerTo("/api/v1/nowhere", "wrong", 15'000'000), "HTTP/1.1 401");
  EXPECT_EQ(answerTo("/api/v1/nowhere", kClientToken, 15'000'000), "HTTP/1.1 404");
  EXPECT_EQ(answerTo("/api/v1/runners/w:0/heartbeat", kWorkerToken, 1'048'577), "HTTP/1.1 413");
  EXPECT_EQ(answerTo("/api/v1/tasks/1/stop", kClientToken, 100'000), "HTTP/1.1 413");
  EXPECT_EQ(answerTo("/api/v1/tasks", kClientToken, 17'000'000), "HTTP/1.1 413");
}

// Characters beyond the basic plane pass unchanged.
TEST_F(SubmitTest, FourByteCharactersAreKept) {
  const std::string name = "caf\xc3\xa9 \xf0\x9f\x9a\x80";
  const Json body = {{"name", name}, {"command", {"a", name}}};
  EXPECT_EQ(post("/api/v1/tasks", body.dump()).status, 201);
  EXPECT_EQ(tasks_.submissions.at(0).tasks.at(0).name, name);
  EXPECT_EQ(tasks_.submissions.at(0).tasks.at(0).command.at(1), name);
}

// The key and the hash of the body reach the port; a replay is marked.
TEST_F(SubmitTest, AnIdempotencyKeyIsHandedOnWithTheHashOfTheBody) {
  const std::string body = R"({"command":["a"]})";
  tasks_.submit_answer = {.body = R"({"id":"41"})", .replayed = true};
  const auto response = post("/api/v1/tasks", body, {{"Idempotency-Key", "night 1"}});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.headers.get("Idempotency-Replayed"), "true");
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/tasks/41");
  ASSERT_EQ(tasks_.submissions.size(), 1u);
  EXPECT_EQ(tasks_.submissions[0].request.idempotency_key, "night 1");
  EXPECT_EQ(tasks_.submissions[0].request.request_hash, sha256Hex(body));
}

// Keys that are no keys are refused before anything is submitted.
TEST_F(SubmitTest, BadIdempotencyKeysAreRefused) {
  const std::string body = R"({"command":["a"]})";
  for (const std::string& key : {std::string(), std::string(129, 'k'), std::string("k\xc3\xa9")}) {
    expectProblem(post("/api/v1/tasks", body, {{"Idempotency-Key", key}}), 400, "invalid_argument",
                  "Idempotency-Key");
  }
  expectProblem(post("/api/v1/tasks", body, {{"Idempotency-Key", "a"}, {"Idempotency-Key", "b"}}),
                400, "invalid_argument", "Idempotency-Key");
  EXPECT_TRUE(tasks_.submissions.empty());
}

// A body that says that it is no JSON is not guessed at.
TEST_F(SubmitTest, AnotherContentTypeIsRefused) {
  const Headers form = {{"Authorization", std::string("Bearer ").append(kClientToken)},
                        {"Content-Type", "application/x-www-form-urlencoded"}};
  expectProblem(sendRaw("POST", "/api/v1/tasks", R"({"command":["a"]})", form), 415,
                "unsupported_media_type");
  const Headers none = {{"Authorization", std::string("Bearer ").append(kClientToken)}};
  EXPECT_EQ(sendRaw("POST", "/api/v1/tasks", R"({"command":["a"]})", none).status, 201);
  expectProblem(sendRaw("POST", "/api/v1/tasks", "", none), 400, "invalid_argument");
}

// What the port refuses becomes the status that a client can act on.
TEST_F(SubmitTest, RefusalsOfTheMasterBecomeStatuses) {
  const struct {
    ErrorCode code;
    int status;
    const char* name;
  } cases[] = {
      {ErrorCode::Conflict, 409, "conflict"},
      {ErrorCode::Overloaded, 503, "overloaded"},
      {ErrorCode::StorageFull, 503, "storage_full"},
      {ErrorCode::NotActive, 503, "not_active"},
      {ErrorCode::Fenced, 503, "fenced"},
      {ErrorCode::Busy, 503, "busy"},
      {ErrorCode::Unavailable, 503, "unavailable"},
      {ErrorCode::DeadlineExceeded, 503, "deadline_exceeded"},
  };
  for (const auto& refusal : cases) {
    tasks_.fail = Error(refusal.code, "because");
    expectProblem(post("/api/v1/tasks", R"({"command":["a"]})"), refusal.status, refusal.name);
  }
}

// Texts of internal errors are for the log alone.
TEST_F(SubmitTest, InternalErrorsDoNotTellTheirText) {
  for (const ErrorCode code : {ErrorCode::Internal, ErrorCode::Corrupt}) {
    tasks_.fail = Error(code, "row 12 of table hidden");
    const auto response = post("/api/v1/tasks", R"({"command":["a"]})");
    expectProblem(response, 500, "internal");
    EXPECT_EQ(response.body.find("hidden"), std::string::npos);
  }
}

}  // namespace
}  // namespace baton::webapi::test
