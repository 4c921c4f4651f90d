#include "net/http_client.h"

#include <thread>

#include "common/model/task_rules.h"
#include "net/target_guard.h"
#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

class HttpClientTest : public ServerFixture {
 protected:
  Result<HttpResponse> fetch(const std::string& target, Micros timeout = Micros(10'000'000),
                             bool retry_stale = false) {
    HttpRequest request;
    request.target = target;
    return client_.send({"127.0.0.1", server_->port()}, request, timeout, retry_stale);
  }
  HttpClient client_;
};

// The connection is kept from one request to the next.
TEST_F(HttpClientTest, KeepsItsConnection) {
  startServer();
  for (int i = 0; i < 5; ++i) {
    const auto response = fetch("/pool");
    ASSERT_TRUE(response.ok()) << response.error().text();
    EXPECT_EQ(response->body, "GET /pool ");
  }
  EXPECT_EQ(server_->counters().connections.load(), 1u);
}

// The time limit holds for the whole answer.
TEST_F(HttpClientTest, GivesUpAtTheTimeLimit) {
  startServer();
  const auto response = fetch("/park", Micros(50'000));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::DeadlineExceeded);
  EXPECT_TRUE(fetch("/io").ok());
}

// A kept connection that the server has closed is noticed; only a repeatable request is repeated.
TEST_F(HttpClientTest, RepeatsOnAStaleConnectionOnlyWhenAllowed) {
  HttpServer::Options options;
  startServer(options);
  ASSERT_TRUE(fetch("/io").ok());
  const uint16_t port = server_->port();
  server_.reset();
  options.port = port;
  startServer(options);
  const auto refused = fetch("/io");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Unavailable);
  ASSERT_TRUE(fetch("/io").ok());
  server_.reset();
  startServer(options);
  EXPECT_TRUE(fetch("/io", Micros(10'000'000), /*retry_stale=*/true).ok());
}

// A redirect is an answer: it is not followed, so that no token is sent elsewhere.
TEST_F(HttpClientTest, FollowsNoRedirect) {
  handler_ = [](const HttpRequest&, const Responder& responder) {
    HttpResponse response = HttpResponse::empty(302);
    response.headers.add("Location", "/io");
    responder.reply(std::move(response));
  };
  startServer();
  const auto response = fetch("/from");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 302);
  EXPECT_EQ(response->headers.get("Location"), "/io");
  EXPECT_EQ(server_->counters().requests.load(), 1u);
}

// Without a list nothing may be called, and no other spelling slips through a list.
TEST(TargetGuardTest, RefusesWhatIsNotListed) {
  const std::vector<std::string> nothing;
  const std::vector<std::string> list = {"hooks.example", "127.0.0.1:8080"};
  const char* urls[] = {
      "http://127.0.0.1/",         "http://127.0.0.1:8081/",          "http://[::1]:8080/",
      "http://0x7f000001:8080/",   "http://2130706433:8080/",         "http://127.1:8080/",
      "http://017700000001:8080/", "http://[::ffff:127.0.0.1]:8080/", "http://localhost:8080/",
      "http://169.254.169.254/",   "http://hooks.example.evil/",      "http://hooks.example./",
      "http://xhooks.example/"};
  for (const char* url : urls) {
    const auto refused = checkTarget(url, list);
    ASSERT_FALSE(refused.ok()) << url;
    EXPECT_EQ(refused.error().code(), ErrorCode::PermissionDenied) << url;
  }
  EXPECT_EQ(checkTarget("http://hooks.example/", nothing).error().code(),
            ErrorCode::PermissionDenied);
}

// What is no plain http URL is refused before any list is read.
TEST(TargetGuardTest, RefusesOddUrls) {
  for (const char* url :
       {"", "file:///etc/passwd", "gopher://127.0.0.1:8080/", "ftp://hooks.example/",
        "//hooks.example/", "http:/hooks.example", "http://", "http://user@hooks.example/",
        "http://hooks.example@evil/", "http://hooks.example:0/", "http://hooks.example:99999/",
        "http://hooks.example:80x/", "http://hooks.example:/", "http://hooks .example/",
        "http://hooks.example\\@evil/", "http://hooks.example/\r\nX: y", "http://[::1",
        "http://[127.0.0.1]/", "http://h\xc3\xa4/"}) {
    const auto parsed = parseHttpUrl(url);
    ASSERT_FALSE(parsed.ok()) << url;
    EXPECT_EQ(parsed.error().code(), ErrorCode::InvalidArgument) << url;
    EXPECT_NE(webAddressFault(url), "") << "where an address is accepted, the rule is the same";
  }
}

// The parts of a URL are taken apart as they are meant.
TEST(TargetGuardTest, TakesUrlsApart) {
  const auto plain = parseHttpUrl("HTTP://Hooks.Example?x=1#frag");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->scheme, "http");
  EXPECT_EQ(plain->host, "hooks.example");
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->target, "/?x=1");
  const auto v6 = parseHttpUrl("https://[::1]:8443/a/b?c");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 8443);
  EXPECT_EQ(v6->target, "/a/b?c");
  EXPECT_EQ(webAddressFault("HTTP://Hooks.Example?x=1#frag"), "");
  EXPECT_EQ(webAddressFault("https://[::1]:8443/a/b?c"), "");
}

}  // namespace
}  // namespace baton::net
