#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <random>

#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

class HttpServerAbuseTest : public ServerFixture {
 protected:
  // Status of the answer after which the server closed; "" when it closed without one.
  std::string refusal(std::string_view bytes) {
    const std::string all = exchange(bytes);
    if (!all.empty()) {
      EXPECT_NE(all.find("Connection: close"), std::string::npos) << all;
      EXPECT_NE(all.find("application/problem+json"), std::string::npos) << all;
    }
    return all.empty() ? "" : all.substr(9, 3);
  }
};

// What two readers could frame differently hides a second request in the first: refused and closed.
TEST_F(HttpServerAbuseTest, RefusesRequestsThatCouldBeFramedInTwoWays) {
  startServer();
  const std::string hidden = "\r\nGET /io HTTP/1.1\r\nHost: t\r\n\r\n";
  const char* heads[] = {
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length: 5, 5\r\n",
      "Content-Length: +5\r\n",
      "Content-Length: -1\r\n",
      "Content-Length: 0x5\r\n",
      "Content-Length: 5 5\r\n",
      "Content-Length:\r\n",
      "Content-Length: 99999999999999999999\r\n",
      "Content-Length : 5\r\n",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "X: a\r\n folded\r\n",
      "X: a\nContent-Length: 5\r\n",
      "X: a\rY: b\r\n",
      ": nameless\r\n",
      "no colon\r\n",
      "Host: other\r\n",
  };
  for (const char* head : heads) {
    EXPECT_EQ(refusal(std::string("POST /io HTTP/1.1\r\nHost: t\r\n") + head + hidden), "400")
        << head;
  }
  EXPECT_EQ(server_->counters().requests.load(), 0u);
}

// A NUL or another control character in a header is refused wherever it stands.
TEST_F(HttpServerAbuseTest, RefusesControlCharacters) {
  startServer();
  using namespace std::string_literals;
  EXPECT_EQ(refusal("GET /io HTTP/1.1\r\nHost: t\r\nX: a\0b\r\n\r\n"s), "400");
  EXPECT_EQ(refusal("GET /i\x01o HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /%00 HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("\x16\x03\x01\x02\x01\x01"), "400");  // TLS on the plain port.
}

// A field is data: an encoded word in it must not become a line break.
TEST_F(HttpServerAbuseTest, DoesNotDecodeEncodedWordsInFields) {
  std::promise<std::string> seen;
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    seen.set_value(std::string(request.headers.get("X")));
    responder.reply(HttpResponse::empty(204));
  };
  startServer();
  RawClient client(server_->port());
  client.send("GET /x HTTP/1.1\r\nHost: t\r\nX: =?utf-8?q?a=0d=0aY:_b?=\r\n\r\n");
  client.readResponse();
  EXPECT_EQ(seen.get_future().get(), "=?utf-8?q?a=0d=0aY:_b?=");
}

// A value given by a handler can't begin a field or a body of its own.
TEST_F(HttpServerAbuseTest, LineBreaksInAnswerFieldsAreLeftOut) {
  handler_ = [](const HttpRequest&, const Responder& responder) {
    HttpResponse response = HttpResponse::text(200, "x");
    response.headers.add("X-Echo", "a\r\nSet-Cookie: evil");
    response.headers.add("Content-Length", "999");
    responder.reply(std::move(response));
  };
  startServer();
  const std::string all = exchange("GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
  EXPECT_NE(all.find("X-Echo: aSet-Cookie: evil\r\n"), std::string::npos);
  EXPECT_EQ(all.find("999"), std::string::npos);
}

// Broken request lines, missing Host and foreign versions have their own answers.
TEST_F(HttpServerAbuseTest, RefusesBrokenRequestLines) {
  startServer();
  EXPECT_EQ(refusal("GET\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /io\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("G@T /io HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /a b HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET io HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /io HTTP/1.1\r\n\r\n"), "400");
  EXPECT_EQ(refusal("GET /io HTTP/2.0\r\nHost: t\r\n\r\n"), "505");
  EXPECT_EQ(refusal("GET /io HTTX/1.1\r\nHost: t\r\n\r\n"), "400");
  EXPECT_EQ(refusal("POST /io HTTP/1.1\r\nHost: t\r\nExpect: 200-ok\r\n\r\n"), "417");
}

// Caps of the header: bytes and number of fields; what is just within them passes.
TEST_F(HttpServerAbuseTest, RefusesHeadersPastTheirCaps) {
  startServer();
  EXPECT_EQ(
      refusal("GET /io HTTP/1.1\r\nHost: t\r\nX: " + std::string(64 * 1024, 'a') + "\r\n\r\n"),
      "431");
  EXPECT_EQ(refusal("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: t\r\n\r\n"), "431");
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += fmt::format("X-{}: v\r\n", i);
  RawClient client(server_->port());
  client.send("GET /io HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n");
  EXPECT_EQ(statusOf(client.readResponse()), "HTTP/1.1 200");
  EXPECT_EQ(refusal("GET /io HTTP/1.1\r\nHost: t\r\nX: one\r\n" + fields + "\r\n"), "431");
}

// A body past the cap is refused from its announcement, without being read.
TEST_F(HttpServerAbuseTest, RefusesBodiesPastTheCap) {
  HttpServer::Options options;
  options.limits.body_bytes_max = 1000;
  startServer(options);
  EXPECT_EQ(refusal("POST /io HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n"), "413");
  EXPECT_EQ(refusal("POST /io HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
                    "Content-Length: 9999999\r\n\r\n"),
            "413");
  EXPECT_EQ(refusal("POST /io HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "1f4\r\n" +
                    std::string(500, 'x') + "\r\n1f5\r\n"),
            "413");
  RawClient client(server_->port());
  client.send("POST /pool HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n" +
              std::string(1000, 'x'));
  EXPECT_EQ(statusOf(client.readResponse()), "HTTP/1.1 200");
}

// A client in the middle of a large body that is refused can still read why.
TEST_F(HttpServerAbuseTest, ARefusedUploadCanReadItsAnswer) {
  HttpServer::Options options;
  options.limits.body_bytes_max = 1000;
  startServer(options);
  RawClient client(server_->port());
  client.send("POST /io HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n");
  client.send(std::string(300'000, 'x'));
  EXPECT_EQ(statusOf(client.readAll()), "HTTP/1.1 413");
}

// Chunked bodies arrive whole, with extensions and trailers dropped, and the next request after.
TEST_F(HttpServerAbuseTest, DecodesChunkedBodies) {
  startServer();
  RawClient client(server_->port());
  client.send(
      "POST /pool HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n" +
      get("/io"));
  EXPECT_EQ(bodyOf(client.readResponse()), "POST /pool hello world");
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /io ");
}

// Chunks that are not well-formed are refused like broken heads.
TEST_F(HttpServerAbuseTest, RefusesBrokenChunks) {
  startServer();
  const std::string head = "POST /io HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* chunks : {"zz\r\n", "\r\n", "-1\r\n", "5\nhello\r\n0\r\n\r\n",
                             "5\r\nhelloXX0\r\n", "0x5\r\nhello", "ffffffffffffffffff\r\n"}) {
    EXPECT_EQ(refusal(head + chunks), "400") << chunks;
  }
}

// A request whose header drips in is ended at the deadline, however often a byte comes.
TEST_F(HttpServerAbuseTest, EndsASlowHeaderAtItsDeadline) {
  HttpServer::Options options;
  options.limits.header_deadline = Micros(200'000);
  startServer(options);
  RawClient client(server_->port());
  const auto begun = std::chrono::steady_clock::now();
  client.send("GET /");
  while (!client.readable(10)) client.send("a");
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(statusOf(client.readAll()), "HTTP/1.1 408");
  EXPECT_GE(took, std::chrono::milliseconds(190));
  EXPECT_LT(took, kPatience);
}

// A body that comes slower than the minimum rate is ended too.
TEST_F(HttpServerAbuseTest, EndsASlowBodyAtItsDeadline) {
  HttpServer::Options options;
  options.limits.body_deadline = Micros(200'000);
  startServer(options);
  RawClient client(server_->port());
  client.send("POST /io HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n");
  int sent = 0;
  while (!client.readable(10) && sent++ < 900) client.send("a");
  EXPECT_EQ(statusOf(client.readAll()), "HTTP/1.1 408");
  EXPECT_LT(sent, 900);
}

// Connections that do nothing are closed without a word; parked ones are not.
TEST_F(HttpServerAbuseTest, ClosesIdleConnectionsButNotParkedOnes) {
  HttpServer::Options options;
  options.limits.idle_timeout = Micros(100'000);
  options.limits.header_deadline = Micros(100'000);
  startServer(options);
  RawClient parked(server_->port());
  parked.send(get("/park"));
  const Parked waiting = takeParked();
  RawClient idle(server_->port());
  EXPECT_EQ(idle.readAll(), "");
  RawClient later(server_->port());
  EXPECT_EQ(later.readAll(), "");
  EXPECT_FALSE(parked.readable(0));
  waiting.responder.reply(HttpResponse::text(200, "still here"));
  EXPECT_EQ(bodyOf(parked.readResponse()), "still here");
}

// BUG-174: hundreds of half-sent requests take nothing from those who send theirs whole.
TEST_F(HttpServerAbuseTest, HalfSentRequestsHoldUpNobody) {
  HttpServer::Options options;
  options.pool_threads = 2;
  startServer(options);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 500; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    ASSERT_TRUE(slow.back()->send(i % 2 == 0 ? "POST /io HTTP/1.1\r\nHo"
                                             : "POST /io HTTP/1.1\r\nHost: t\r\n"
                                               "Content-Length: 100\r\n\r\nhalf"));
  }
  RawClient client(server_->port());
  std::chrono::nanoseconds worst{0};
  for (int i = 0; i < 200; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    for (auto& one : slow) {
      if (i % 50 == 0) one->send("x");
    }
    client.send(get(i % 2 == 0 ? "/io" : "/pool"));
    ASSERT_EQ(statusOf(client.readResponse()), "HTTP/1.1 200");
    worst = std::max<std::chrono::nanoseconds>(worst, std::chrono::steady_clock::now() - begun);
  }
  EXPECT_LT(worst, std::chrono::seconds(1));
}

// A client that does not take its answer is dropped, so that it holds no memory for ever.
TEST_F(HttpServerAbuseTest, DropsAClientThatDoesNotTakeItsAnswer) {
  std::promise<void> gone;
  auto guard = std::shared_ptr<void>(nullptr, [&](void*) { gone.set_value(); });
  handler_ = [&](const HttpRequest&, const Responder& responder) {
    responder.reply(
        HttpResponse::stream(200, "text/plain", [keep = std::exchange(guard, nullptr)](size_t max) {
          return Result<std::string>(std::string(max, 'x'));
        }));
  };
  HttpServer::Options options;
  options.limits.write_stall_timeout = Micros(100'000);
  startServer(options);
  RawClient client(server_->port());
  client.send(get("/large"));
  ASSERT_TRUE(client.readable(10'000));
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
}

// Without descriptors the server does not spin; idle connections make room for new ones.
TEST_F(HttpServerAbuseTest, MakesRoomWhenDescriptorsRunOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "NOT TESTED here: the sanitizers' own checks need descriptors";
#endif
  HttpServer::Options options;
  options.accept_pause = Micros(20'000);
  startServer(options);
  RawClient idle(server_->port());
  idle.send(get("/io"));
  ASSERT_EQ(statusOf(idle.readResponse()), "HTTP/1.1 200");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Room for one more descriptor, which the new client takes: none is left to accept it with.
  FileDescriptor next_free(dup(0));
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next_free.get()) + 1;
  next_free.reset();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawClient client(server_->port());
  client.send(get("/io"));
  const std::string response = client.readResponse();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(statusOf(response), "HTTP/1.1 200");
  EXPECT_EQ(idle.readAll(), "");
}

// Random bytes, alone and spliced into sound requests, never stop the server.
TEST_F(HttpServerAbuseTest, SurvivesRubbish) {
  HttpServer::Options options;
  options.limits.header_deadline = Micros(50'000);
  options.limits.body_deadline = Micros(50'000);
  options.limits.idle_timeout = Micros(50'000);
  options.limits.linger_timeout = Micros(50'000);
  startServer(options);
  const unsigned seed = std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const std::string sound =
      "POST /io?a=%41 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    if (i % 3 == 0) {
      for (unsigned n = random() % 400; n > 0; --n) bytes += static_cast<char>(random());
    } else {
      bytes = sound + sound;
      for (unsigned n = 1 + random() % 4; n > 0; --n) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (i % 3 == 2) bytes.resize(random() % bytes.size());
    }
    RawClient client(server_->port());
    client.send(bytes);
    client.finishSending();
    client.readAll();
  }
  RawClient client(server_->port());
  client.send(get("/io"));
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /io ");
}

}  // namespace
}  // namespace baton::net
