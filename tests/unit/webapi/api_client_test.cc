#include "webapi/client/api_client.h"

#include <gtest/gtest.h>

#include <mutex>

#include "net/http_server.h"
#include "tests/support/fake_clock.h"

namespace baton::webapi {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::HttpServer;

// A master on a real socket whose answers the test decides.
class PlayedMaster {
 public:
  using Play = std::function<HttpResponse(const HttpRequest&)>;

  explicit PlayedMaster(Play play)
      : server_(
            HttpServer::Options(),
            [](std::string_view, std::string_view) { return HttpServer::RunOn::Io; },
            [this](HttpRequest request, net::Responder responder) {
              HttpResponse answer;
              {
                const std::lock_guard lock(mutex_);
                requests_.push_back(request);
                answer = play_(request);
              }
              responder.reply(std::move(answer));
            }),
        play_(std::move(play)) {
    const Status started = server_.start();
    CHECK(started.ok());
  }
  ~PlayedMaster() { server_.stop(Micros(0)); }

  std::string address() const { return fmt::format("127.0.0.1:{}", server_.port()); }
  void setPlay(Play play) {
    const std::lock_guard lock(mutex_);
    play_ = std::move(play);
  }
  std::vector<HttpRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  HttpServer server_;
  std::mutex mutex_;
  Play play_;                          // Guarded by mutex_.
  std::vector<HttpRequest> requests_;  // Guarded by mutex_.
};

HttpResponse notActive(const std::string& active = {}) {
  HttpResponse response = HttpResponse::problem(503, "not_active", "this master does not lead");
  if (!active.empty()) {
    Json problem = *parseJson(response.body);
    problem["active"] = {{"node_id", "x"}, {"address", active}};
    response.body = dumpJson(problem);
  }
  return response;
}

HttpResponse ok(const HttpRequest&) { return HttpResponse::json(200, R"({"id":"7"})"); }

// An address where nobody listens: that of a server which has gone.
std::string deadAddress() { return PlayedMaster(ok).address(); }

class ApiClientTest : public ::testing::Test {
 protected:
  // Pauses do not wait: they move the clock, and let the test act meanwhile.
  ApiClient client(std::vector<std::string> masters) {
    ApiClient::Options options;
    options.masters = std::move(masters);
    options.token = "token-of-the-test";
    options.seed = 1;
    options.sleep = [this](Millis pause) {
      pauses_.push_back(pause);
      clock_.advance(pause);
      if (on_pause_) on_pause_();
    };
    auto made = ApiClient::make(std::move(options), clock_);
    CHECK(made.ok());
    return std::move(made).value();
  }
  test::FakeClock clock_;
  std::vector<Millis> pauses_;
  std::function<void()> on_pause_;
};

// A plain request must reach the only master with the token and give its JSON.
TEST_F(ApiClientTest, RequestCarriesTokenAndGivesJson) {
  PlayedMaster master(ok);
  const auto json = client({master.address()}).get("/api/v1/tasks/7");
  ASSERT_TRUE(json.ok()) << json.error().text();
  EXPECT_EQ((*json)["id"], "7");
  ASSERT_EQ(master.requests().size(), 1U);
  EXPECT_EQ(master.requests()[0].headers.get("Authorization"), "Bearer token-of-the-test");
  EXPECT_EQ(master.requests()[0].target, "/api/v1/tasks/7");
}

// A standby names the active one: the client must go there at once, without a pause.
TEST_F(ApiClientTest, StandbysHintIsFollowedAtOnce) {
  PlayedMaster active(ok);
  PlayedMaster standby([&](const HttpRequest&) { return notActive(active.address()); });
  ApiClient api = client({standby.address(), deadAddress(), active.address()});
  ASSERT_TRUE(api.get("/x").ok());
  EXPECT_TRUE(pauses_.empty());
  ASSERT_TRUE(api.get("/y").ok());
  EXPECT_EQ(standby.requests().size(), 1U) << "the active one is remembered";
}

// The active one may be known to the standby alone.
TEST_F(ApiClientTest, HintMayNameAMasterThatWasNotConfigured) {
  PlayedMaster active(ok);
  PlayedMaster standby([&](const HttpRequest&) { return notActive(active.address()); });
  EXPECT_TRUE(client({standby.address()}).get("/x").ok());
}

// A master that is gone must not stop the search, and costs no pause while others are untried.
TEST_F(ApiClientTest, DeadMasterIsPassedOver) {
  PlayedMaster active(ok);
  EXPECT_TRUE(client({deadAddress(), active.address()}).get("/x").ok());
  EXPECT_TRUE(pauses_.empty());
}

// While nobody leads, all are asked in turn with jittered pauses until one does.
TEST_F(ApiClientTest, FailoverIsRiddenOut) {
  PlayedMaster a([](const HttpRequest&) { return notActive(); });
  PlayedMaster b([](const HttpRequest&) { return notActive(); });
  on_pause_ = [&] {
    if (pauses_.size() == 3) b.setPlay(ok);
  };
  ApiClient api = client({a.address(), b.address()});
  ASSERT_TRUE(api.get("/x").ok());
  EXPECT_EQ(pauses_.size(), 3U);
  for (const Millis pause : pauses_) {
    EXPECT_GE(pause, Millis(100));
    EXPECT_LE(pause, Millis(1'000));
  }
}

// A stale hint (the named one died a moment ago) must not make the client run in a circle.
TEST_F(ApiClientTest, StaleHintDoesNotTrapTheClient) {
  const std::string dead = deadAddress();
  PlayedMaster standby([&](const HttpRequest&) { return notActive(dead); });
  on_pause_ = [&] {
    if (pauses_.size() == 2) standby.setPlay(ok);
  };
  EXPECT_TRUE(client({standby.address()}).get("/x").ok());
  EXPECT_LE(standby.requests().size(), 8U);
}

// A create is repeated with one key and one body until it is answered.
TEST_F(ApiClientTest, CreateIsRepeatedWithItsKey) {
  PlayedMaster first([](const HttpRequest&) { return notActive(); });
  PlayedMaster second(
      [](const HttpRequest&) { return HttpResponse::problem(503, "unavailable", "x"); });
  on_pause_ = [&] { first.setPlay(ok); };
  ApiClient api = client({first.address(), second.address()});
  const auto created = api.create("/api/v1/tasks", {{"command", {"true"}}});
  ASSERT_TRUE(created.ok()) << created.error().text();
  std::vector<HttpRequest> all = first.requests();
  for (const HttpRequest& request : second.requests()) all.push_back(request);
  ASSERT_GE(all.size(), 3U);
  for (const HttpRequest& request : all) {
    EXPECT_EQ(request.method, "POST");
    EXPECT_FALSE(request.headers.get("Idempotency-Key").empty());
    EXPECT_EQ(request.headers.get("Idempotency-Key"), all[0].headers.get("Idempotency-Key"));
    EXPECT_EQ(request.body, all[0].body);
    EXPECT_EQ(request.headers.get("Content-Type"), "application/json");
  }
  ASSERT_TRUE(api.create("/api/v1/tasks", {{"command", {"true"}}}).ok());
  EXPECT_NE(first.requests().back().headers.get("Idempotency-Key"),
            all[0].headers.get("Idempotency-Key"))
      << "another submission has another key";
}

// A lost answer (connection cut after the request) must be asked for again with the same key.
TEST_F(ApiClientTest, LostAnswerOfACreateIsRepeated) {
  int calls = 0;
  PlayedMaster master([&](const HttpRequest& request) {
    if (++calls > 1) return ok(request);
    HttpResponse cut = HttpResponse::json(201, "");
    cut.source = [](size_t, net::BodyDone done) { done(Error::unavailable("cut")); };
    return cut;
  });
  const auto created = client({master.address()}).create("/api/v1/tasks", Json::object(), "key-1");
  ASSERT_TRUE(created.ok()) << created.error().text();
  ASSERT_EQ(master.requests().size(), 2U);
  EXPECT_EQ(master.requests()[1].headers.get("Idempotency-Key"), "key-1");
}

// What must not happen twice is sent only to a master that leads, and never after a lost answer.
TEST_F(ApiClientTest, NotRepeatableIsSentOnce) {
  PlayedMaster active([](const HttpRequest& request) {
    if (request.target == "/api/v1/cluster") return HttpResponse::json(200, R"({"role":"active"})");
    HttpResponse cut = HttpResponse::json(200, "");
    cut.source = [](size_t, net::BodyDone done) { done(Error::unavailable("cut")); };
    return cut;
  });
  PlayedMaster standby([&](const HttpRequest&) {
    return HttpResponse::json(
        200, fmt::format(R"({{"role":"standby","active":{{"address":"{}"}}}})", active.address()));
  });
  ApiRequest request;
  request.method = "POST";
  request.target = "/api/v1/tasks/1/rerun";
  request.repeatable = false;
  ApiClient api = client({deadAddress(), standby.address(), active.address()});
  const auto reply = api.call(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(reply.error().message().find("not known"), std::string::npos);
  ASSERT_EQ(active.requests().size(), 2U) << "the question who leads, and the request once";
  for (const HttpRequest& seen : standby.requests()) EXPECT_EQ(seen.method, "GET");
}

// A repetition that is refused for what the first try did was carried out, and the log knows it.
TEST_F(ApiClientTest, LostAnswerOfAnOrderIsFoundInTheLog) {
  std::string outcome = "done";
  PlayedMaster master([&, posts = 0](const HttpRequest& request) mutable {
    if (request.target.starts_with("/api/v1/audit?request_id=")) {
      return HttpResponse::json(200, fmt::format(R"({{"items":[{{"outcome":"{}"}}]}})", outcome));
    }
    if (request.method == "GET") return HttpResponse::json(200, R"({"status":"TERMINATED"})");
    if (posts++ > 0) return HttpResponse::problem(409, "conflict", "run 2 is TERMINATED");
    HttpResponse cut = HttpResponse::json(200, "");
    cut.source = [](size_t, net::BodyDone done) { done(Error::unavailable("cut")); };
    return cut;
  });
  ApiRequest request;
  request.method = "POST";
  request.target = "/api/v1/runs/2/stop";
  ApiClient api = client({master.address()});
  const auto stopped = api.order(request, "/api/v1/runs/2");
  ASSERT_TRUE(stopped.ok()) << stopped.error().text();
  EXPECT_EQ((*stopped)["status"], "TERMINATED");
  const std::string id(master.requests()[0].headers.get("X-Request-Id"));
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(master.requests()[1].headers.get("X-Request-Id"), id);
  EXPECT_TRUE(master.requests()[2].target.ends_with(id));
  // Refused, and not by itself.
  outcome = "refused";
  const auto refused = api.order(request, "/api/v1/runs/2");
  EXPECT_EQ(refused.error().code(), ErrorCode::Conflict);
  EXPECT_EQ(api.problem().value("code", ""), "conflict");
}

TEST_F(ApiClientTest, LostAnswerOfADeletionIsFoundInTheLog) {
  bool logged = true;
  PlayedMaster master([&](const HttpRequest& request) {
    if (request.target == "/api/v1/cluster") return HttpResponse::json(200, R"({"role":"active"})");
    if (request.method == "GET") {
      return HttpResponse::json(200,
                                logged ? R"({"items":[{"outcome":"done"}]})" : R"({"items":[]})");
    }
    HttpResponse cut = HttpResponse::json(200, "");
    cut.source = [](size_t, net::BodyDone done) { done(Error::unavailable("cut")); };
    return cut;
  });
  ApiClient api = client({master.address()});
  const auto gone = api.remove("/api/v1/flows/f");
  ASSERT_TRUE(gone.ok()) << gone.error().text();
  EXPECT_TRUE(gone->is_null());
  logged = false;
  const auto unknown = api.remove("/api/v1/flows/f");
  EXPECT_EQ(unknown.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(unknown.error().message().find("not known"), std::string::npos);
}

// Refusals are final: they must come back at once, with code, message and field.
TEST_F(ApiClientTest, RefusalsAreFinal) {
  const std::pair<int, ErrorCode> refusals[] = {
      {400, ErrorCode::InvalidArgument},  {401, ErrorCode::Unauthenticated},
      {403, ErrorCode::PermissionDenied}, {404, ErrorCode::NotFound},
      {409, ErrorCode::Conflict},         {413, ErrorCode::TooLarge},
      {500, ErrorCode::Internal}};
  for (const auto& [status, code] : refusals) {
    PlayedMaster master([status = status](const HttpRequest&) {
      HttpResponse response = HttpResponse::problem(status, "", "because");
      Json problem = *parseJson(response.body);
      problem["field"] = "name";
      response.body = dumpJson(problem);
      return response;
    });
    const auto json = client({master.address()}).get("/x");
    ASSERT_FALSE(json.ok());
    EXPECT_EQ(json.error().code(), code) << status;
    EXPECT_EQ(json.error().message(), "because");
    EXPECT_EQ(json.error().field(), "name");
    EXPECT_EQ(master.requests().size(), 1U);
  }
  EXPECT_TRUE(pauses_.empty());
}

// The code in the problem document is stronger than the status.
TEST_F(ApiClientTest, ProblemCodeRules) {
  PlayedMaster master(
      [](const HttpRequest&) { return HttpResponse::problem(400, "unsupported", "no groups"); });
  EXPECT_EQ(client({master.address()}).get("/x").error().code(), ErrorCode::Unsupported);
}

// When nobody ever leads, the error must come when the patience ends and say what each answered.
TEST_F(ApiClientTest, PatienceEndsWithTheReasons) {
  PlayedMaster standby([](const HttpRequest&) { return notActive(); });
  const std::string dead = deadAddress();
  const BootTime start = clock_.bootNow();
  const auto json = client({standby.address(), dead}).get("/x");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().code(), ErrorCode::NotActive);
  EXPECT_NE(json.error().message().find(standby.address() + ": this master does not lead"),
            std::string::npos);
  EXPECT_NE(json.error().message().find(dead + ": "), std::string::npos);
  EXPECT_GE(clock_.bootNow() - start, Millis(60'000));
  EXPECT_LE(clock_.bootNow() - start, Millis(61'000));
}

// A full queue is waited for as the master says, and told as such when it stays full.
TEST_F(ApiClientTest, OverloadIsWaitedForAndTold) {
  PlayedMaster master(
      [](const HttpRequest&) { return HttpResponse::problem(503, "overloaded", "queue.max"); });
  on_pause_ = [&] {
    if (pauses_.size() == 2) master.setPlay(ok);
  };
  EXPECT_TRUE(client({master.address()}).get("/x").ok());
  master.setPlay(
      [](const HttpRequest&) { return HttpResponse::problem(503, "overloaded", "queue.max"); });
  on_pause_ = nullptr;
  EXPECT_EQ(client({master.address()}).get("/x").error().code(), ErrorCode::Overloaded);
}

// What a master that leads can't do now is tried again, and told as it is when it stays so: "no
// active master" would send people to look in the wrong place.
TEST_F(ApiClientTest, TroubleOfAMasterThatLeadsIsTold) {
  const auto broken = [](const HttpRequest&) {
    return HttpResponse::problem(503, "unavailable", "the database is away");
  };
  PlayedMaster master(broken);
  on_pause_ = [&] {
    if (pauses_.size() == 2) master.setPlay(ok);
  };
  EXPECT_TRUE(client({deadAddress(), master.address()}).get("/x").ok());
  on_pause_ = nullptr;
  for (const auto& [status, code] : {std::pair(503, "unavailable"), std::pair(503, "busy"),
                                     std::pair(504, "deadline_exceeded"), std::pair(503, "")}) {
    master.setPlay([status = status, code = code](const HttpRequest&) {
      return HttpResponse::problem(status, code, "the database is away");
    });
    for (const std::vector<std::string>& masters :
         {std::vector{master.address()}, std::vector{master.address(), deadAddress()}}) {
      const auto json = client(masters).get("/x");
      EXPECT_NE(json.error().code(), ErrorCode::NotActive) << status << code;
      EXPECT_EQ(json.error().message(), "the database is away");
    }
  }
  master.setPlay(broken);
  on_pause_ = [&] { master.setPlay([](const HttpRequest&) { return notActive(); }); };
  EXPECT_EQ(client({master.address()}).get("/x").error().code(), ErrorCode::NotActive)
      << "it does not lead any more";
}

// A dead worker is no trouble of the master's: waiting for another master does not mend it.
TEST_F(ApiClientTest, UnreachableWorkerIsFinal) {
  PlayedMaster master([](const HttpRequest&) {
    return HttpResponse::problem(503, "worker_unreachable", "w1 was last seen at noon");
  });
  const auto json = client({master.address()}).get("/x");
  EXPECT_EQ(json.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(json.error().message(), "w1 was last seen at noon");
  EXPECT_EQ(master.requests().size(), 1U);
  EXPECT_TRUE(pauses_.empty());
}

// An answer that is no JSON must be an error, never a crash.
TEST_F(ApiClientTest, RubbishAnswerIsAnError) {
  PlayedMaster master([](const HttpRequest&) { return HttpResponse::text(200, "<html>"); });
  EXPECT_EQ(client({master.address()}).get("/x").error().code(), ErrorCode::Corrupt);
}

// Masters must be host:port.
TEST(ApiClientMakeTest, MastersAreChecked) {
  const SystemClock clock;
  for (const std::string address : {"host", "host:", ":1", "host:0", "host:70000", "host:1x"}) {
    ApiClient::Options options;
    options.masters = {address};
    EXPECT_FALSE(ApiClient::make(std::move(options), clock).ok()) << address;
  }
  EXPECT_FALSE(ApiClient::make({}, clock).ok());
}

// Values in a query must not be able to add fields.
TEST(QueryStringTest, ValuesAreEscaped) {
  EXPECT_EQ(queryString({{"name", "a&b=c"}, {"empty", ""}, {"tag", "x y"}}),
            "name=a%26b%3Dc&tag=x%20y");
}

}  // namespace
}  // namespace baton::webapi
