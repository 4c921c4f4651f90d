#include "net/http_server.h"

#include <fmt/format.h>

#include <atomic>
#include <latch>
#include <thread>

#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

using HttpServerTest = ServerFixture;

// A connection serves many requests, on the I/O thread and on the pool alike.
TEST_F(HttpServerTest, KeepsAConnectionForManyRequests) {
  startServer();
  RawClient client(server_->port());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.send(get(i % 2 == 0 ? "/io" : "/pool")));
    const std::string response = client.readResponse();
    EXPECT_EQ(statusOf(response), "HTTP/1.1 200");
    EXPECT_EQ(bodyOf(response), i % 2 == 0 ? "GET /io " : "GET /pool ");
    EXPECT_NE(response.find("Connection: keep-alive"), std::string::npos);
    EXPECT_NE(response.find("Date: "), std::string::npos);
  }
  EXPECT_EQ(server_->counters().connections.load(), 1u);
  EXPECT_EQ(server_->counters().requests.load(), 50u);
  EXPECT_EQ(server_->counters().by_class[2].load(), 50u);
}

// The handler gets path, query, fields, body and peer decoded, and the raw target beside them.
TEST_F(HttpServerTest, GivesTheHandlerADecodedRequest) {
  std::promise<HttpRequest> seen;
  handler_ = [&](HttpRequest request, const Responder& responder) {
    seen.set_value(std::move(request));
    responder.reply(HttpResponse::empty(204));
  };
  startServer();
  RawClient client(server_->port());
  client.send(
      "POST /a%20b?x=1&y=a+b%26&z HTTP/1.1\r\nHost: t\r\nX-One:  v \r\n"
      "Content-Length: 5\r\n\r\nhello");
  EXPECT_EQ(statusOf(client.readResponse()), "HTTP/1.1 204");
  const HttpRequest request = seen.get_future().get();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.target, "/a%20b?x=1&y=a+b%26&z");
  ASSERT_EQ(request.query.size(), 3u);
  EXPECT_EQ(*request.findQuery("y"), "a b&");
  EXPECT_EQ(*request.findQuery("z"), "");
  EXPECT_EQ(request.headers.get("x-ONE"), "v");
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(request.peer, "127.0.0.1");
}

// Pipelined requests are answered in their order, also when a later one would be quicker.
TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park") + get("/io") + get("/pool"));
  const Parked parked = takeParked();
  parked.responder.reply(HttpResponse::text(200, "first"));
  EXPECT_EQ(bodyOf(client.readResponse()), "first");
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /io ");
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /pool ");
}

// A parked request is answered later from any thread, and its connection goes on.
TEST_F(HttpServerTest, AnswersAParkedRequestFromAnotherThread) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park"));
  Parked parked = takeParked();
  EXPECT_EQ(server_->counters().parked.load(), 1);
  EXPECT_FALSE(client.readable(0));
  std::thread([&] {
    parked.responder.reply(HttpResponse::text(200, "now"));
    parked.responder.reply(HttpResponse::text(200, "again"));  // Ignored.
  }).join();
  EXPECT_EQ(bodyOf(client.readResponse()), "now");
  client.send(get("/io"));
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /io ");
  EXPECT_EQ(server_->counters().parked.load(), 0);
}

// A handle that dies without a reply must not leave the client waiting.
TEST_F(HttpServerTest, AnswersFiveHundredWhenTheHandleDies) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park"));
  { const Parked parked = takeParked(); }
  const std::string response = client.readResponse();
  EXPECT_EQ(statusOf(response), "HTTP/1.1 500");
  EXPECT_NE(response.find("application/problem+json"), std::string::npos);
}

// An exception of a handler costs one answer, not the process.
TEST_F(HttpServerTest, AnswersFiveHundredWhenTheHandlerThrows) {
  handler_ = [](const HttpRequest&, const Responder&) { throw std::runtime_error("boom"); };
  startServer();
  RawClient client(server_->port());
  for (const char* path : {"/io", "/pool"}) {
    client.send(get(path));
    EXPECT_EQ(statusOf(client.readResponse()), "HTTP/1.1 500");
  }
}

// The owner of a parked request learns at once that its client has gone, and its place is freed.
TEST_F(HttpServerTest, TellsThatTheClientOfAParkedRequestHasGone) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park"));
  std::promise<void> gone;
  {
    Parked parked = takeParked();
    EXPECT_FALSE(parked.responder.clientGone());
    parked.responder.onClientGone([&gone, keep = parked.responder] {
      EXPECT_TRUE(keep.clientGone());
      gone.set_value();
    });
  }
  client.close();
  ASSERT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  server_->stop(std::chrono::seconds(5));
  EXPECT_EQ(server_->counters().parked.load(), 0);
  EXPECT_EQ(server_->counters().connections_open.load(), 0);
}

// Asking after the fact must not wait for an event that has passed.
TEST_F(HttpServerTest, TellsALateAskerThatTheClientHasGone) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park"));
  const Parked parked = takeParked();
  std::promise<void> first;
  parked.responder.onClientGone([&] { first.set_value(); });
  client.close();
  ASSERT_EQ(first.get_future().wait_for(kPatience), std::future_status::ready);
  std::promise<void> second;
  parked.responder.onClientGone([&] { second.set_value(); });
  EXPECT_EQ(second.get_future().wait_for(kPatience), std::future_status::ready);
}

// A client that has only finished sending still gets its answer.
TEST_F(HttpServerTest, AnswersAClientThatHasFinishedSending) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/pool") + get("/io"));
  client.finishSending();
  const std::string all = client.readAll();
  EXPECT_NE(all.find("GET /pool "), std::string::npos);
  EXPECT_NE(all.find("GET /io "), std::string::npos);
}

// HTTP/1.0 closes unless it asks to be kept; HTTP/1.1 closes when it asks to be closed.
TEST_F(HttpServerTest, ClosesWhenTheClientAsksForIt) {
  startServer();
  EXPECT_NE(exchange("GET /io HTTP/1.0\r\n\r\n").find("Connection: close"), std::string::npos);
  EXPECT_NE(exchange("GET /io HTTP/1.1\r\nHost: t\r\nConnection: x, Close\r\n\r\n")
                .find("Connection: close"),
            std::string::npos);
  RawClient client(server_->port());
  for (int i = 0; i < 2; ++i) {
    client.send("GET /io HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(statusOf(client.readResponse()), "HTTP/1.1 200");
  }
}

// HEAD gets the fields of GET without the body.
TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  startServer();
  const std::string all = exchange("HEAD /io HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
  EXPECT_NE(all.find("Content-Length: 9\r\n"), std::string::npos);
  EXPECT_EQ(bodyOf(all), "");
}

// A client that asks first is told to go on, and its body is taken.
TEST_F(HttpServerTest, ToldToContinueTheClientSendsItsBody) {
  startServer();
  RawClient client(server_->port());
  client.send(
      "POST /pool HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.readResponse(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(bodyOf(client.readResponse()), "POST /pool abc");
}

// A full queue is said so at once, with the time after which to try again.
TEST_F(HttpServerTest, ShedsRequestsWhenTheQueueIsFull) {
  std::latch entered(1);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/block") {
      entered.count_down();
      released.wait();
    }
    responder.reply(HttpResponse::text(200, request.path));
  };
  HttpServer::Options options;
  options.pool_threads = 1;
  options.queue_max = 1;
  startServer(options);
  RawClient blocker(server_->port());
  blocker.send(get("/block"));
  entered.wait();
  RawClient a(server_->port());
  RawClient b(server_->port());
  a.send(get("/queued"));
  b.send(get("/queued"));
  // One of the two took the only place; the other is refused while the pool still blocks.
  pollfd items[] = {{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}};
  ASSERT_EQ(poll(items, 2, 10'000), 1);
  RawClient& refused = items[0].revents != 0 ? a : b;
  RawClient& queued = items[0].revents != 0 ? b : a;
  const std::string response = refused.readResponse();
  EXPECT_EQ(statusOf(response), "HTTP/1.1 503");
  EXPECT_NE(response.find("Retry-After: 1"), std::string::npos);
  EXPECT_NE(response.find("\"overloaded\""), std::string::npos);
  EXPECT_EQ(server_->counters().shed.load(), 1u);
  release.set_value();
  EXPECT_EQ(bodyOf(queued.readResponse()), "/queued");
  EXPECT_EQ(bodyOf(blocker.readResponse()), "/block");
}

// Past the cap of one address new connections are refused, and taken again when one has closed.
TEST_F(HttpServerTest, RefusesConnectionsPastTheCapOfOneAddress) {
  HttpServer::Options options;
  options.connections_per_peer_max = 2;
  startServer(options);
  RawClient a(server_->port());
  RawClient b(server_->port());
  a.send(get("/io"));
  EXPECT_EQ(statusOf(a.readResponse()), "HTTP/1.1 200");
  b.send(get("/io"));
  EXPECT_EQ(statusOf(b.readResponse()), "HTTP/1.1 200");
  RawClient c(server_->port());
  EXPECT_EQ(statusOf(c.readAll()), "HTTP/1.1 503");
  a.send("GET /io HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
  a.readAll();
  a.close();
  // The server sees that end after ours; until then it may refuse once more.
  for (int i = 0; i < 1000; ++i) {
    RawClient again(server_->port());
    again.send(get("/io"));
    if (statusOf(again.readResponse()) == "HTTP/1.1 200") return;
  }
  FAIL() << "the place of a closed connection was not given back";
}

// Two programs on one port would share its connections: the second one must be told.
TEST_F(HttpServerTest, ASecondServerOnThePortIsRefused) {
  startServer();
  HttpServer::Options options;
  options.port = server_->port();
  HttpServer second(
      options, [](std::string_view, std::string_view) { return HttpServer::RunOn::Io; },
      [](const HttpRequest&, const Responder&) {});
  const Status status = second.start();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::Conflict);
  EXPECT_EQ(status.error().message(),
            fmt::format("port {} of 127.0.0.1 is taken", server_->port()));
}

// After stopAccepting the port is free for another server while old connections go on.
TEST_F(HttpServerTest, FreesThePortWhileConnectionsGoOn) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/io"));
  client.readResponse();
  server_->stopAccepting();
  HttpServer::Options options;
  options.port = server_->port();
  HttpServer second(
      options, [](std::string_view, std::string_view) { return HttpServer::RunOn::Io; },
      [](const HttpRequest&, const Responder&) {});
  EXPECT_TRUE(second.start().ok());
  client.send(get("/io"));
  EXPECT_EQ(bodyOf(client.readResponse()), "GET /io ");
}

// stop() lets what is in flight be answered, says that the connection ends, and then ends.
TEST_F(HttpServerTest, StopWaitsForAParkedReply) {
  startServer();
  RawClient idle(server_->port());
  RawClient client(server_->port());
  client.send(get("/park"));
  Parked parked = takeParked();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(kPatience); });
  EXPECT_EQ(idle.readAll(), "");  // Closed first, as it waited for nothing.
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  parked.responder.reply(HttpResponse::text(200, "last"));
  const std::string response = client.readAll();
  EXPECT_EQ(bodyOf(response), "last");
  EXPECT_NE(response.find("Connection: close"), std::string::npos);
  client.close();
  EXPECT_EQ(stopped.wait_for(kPatience), std::future_status::ready);
}

// stop() does not wait for ever: past its patience what is parked is cut, and late replies vanish.
TEST_F(HttpServerTest, StopCutsWhatIsParkedPastItsPatience) {
  startServer();
  RawClient client(server_->port());
  client.send(get("/park"));
  Parked parked = takeParked();
  server_->stop(Micros(1000));
  EXPECT_EQ(client.readAll(), "");
  EXPECT_TRUE(parked.responder.clientGone());
  parked.responder.reply(HttpResponse::text(200, "late"));
  server_->stop(Micros(0));
  server_.reset();
  parked.responder.onClientGone([] { ADD_FAILURE() << "called after the end"; });
}

// Many parked replies given from several threads at once all arrive.
TEST_F(HttpServerTest, DeliversThousandsOfParkedReplies) {
  constexpr int kClients = 500;
  constexpr int kRounds = 4;
  startServer();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    ASSERT_TRUE(clients.back()->connected());
  }
  for (int round = 0; round < kRounds; ++round) {
    for (auto& client : clients) client->send(get("/park"));
    std::vector<Parked> waiting;
    for (int i = 0; i < kClients; ++i) waiting.push_back(takeParked());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < waiting.size(); i += 4) {
          waiting[i].responder.reply(HttpResponse::text(200, "go"));
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (auto& client : clients) ASSERT_EQ(bodyOf(client->readResponse()), "go");
  }
}

}  // namespace
}  // namespace baton::net
