#include "net/async_http_client.h"

#include <thread>

#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

// A listening socket whose connections the test serves by hand.
class HandServer {
 public:
  HandServer()
      : listener_(listenOn("127.0.0.1", 0, 16).value()),
        port_(localAddress(listener_.get())->port()) {}
  uint16_t port() const { return port_; }
  FileDescriptor accept() {
    pollfd item{listener_.get(), POLLIN, 0};
    EXPECT_EQ(poll(&item, 1, 10'000), 1);
    return FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  // Reads until the empty line of a request without a body.
  static std::string readRequest(const FileDescriptor& fd) {
    std::string all;
    char c = 0;
    while (all.find("\r\n\r\n") == std::string::npos && ::recv(fd.get(), &c, 1, 0) == 1) all += c;
    return all;
  }
  static void answer(const FileDescriptor& fd, std::string_view bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  FileDescriptor listener_;
  uint16_t port_;
};

class AsyncHttpClientTest : public ServerFixture {
 protected:
  void SetUp() override {
    loop_ = EventLoop::create().value();
    thread_ = NamedThread("loop", [this](std::stop_token stop) { loop_->run(stop); });
  }
  void TearDown() override {
    onLoop([this] { connection_.reset(); });
    resolver_.reset();
    thread_.requestStopAndJoin();
    ServerFixture::TearDown();
  }
  void onLoop(const std::function<void()>& fn) {
    std::promise<void> done;
    loop_->post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }
  void open(uint16_t port, AsyncHttpConnection::Options options = {}) {
    options.host = options.host.empty() ? "127.0.0.1" : options.host;
    options.port = port;
    onLoop(
        [&] { connection_ = std::make_unique<AsyncHttpConnection>(*loop_, *resolver_, options); });
  }
  std::future<Result<HttpResponse>> begin(const std::string& target, bool retry_stale = false,
                                          Micros timeout = Micros(10'000'000),
                                          const std::string& method = "GET",
                                          const std::string& body = {}) {
    auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
    AsyncHttpConnection::Call call;
    call.request.method = method;
    call.request.target = target;
    call.request.body = body;
    call.timeout = timeout;
    call.retry_stale = retry_stale;
    onLoop([&] {
      connection_->request(
          call, [promise](Result<HttpResponse> result) { promise->set_value(std::move(result)); });
    });
    return promise->get_future();
  }
  static Result<HttpResponse> take(std::future<Result<HttpResponse>> future) {
    if (future.wait_for(kPatience) != std::future_status::ready) {
      return Error::internal("the test waited in vain");
    }
    return future.get();
  }

  std::unique_ptr<EventLoop> loop_;
  NamedThread thread_;
  std::unique_ptr<Resolver> resolver_ = std::make_unique<Resolver>();
  std::unique_ptr<AsyncHttpConnection> connection_;
};

// One connection carries many requests, with bodies both ways.
TEST_F(AsyncHttpClientTest, KeepsItsConnection) {
  startServer();
  open(server_->port());
  const std::string body(300'000, 'b');
  for (int i = 0; i < 5; ++i) {
    const auto response = take(begin("/pool", false, Micros(10'000'000), "POST", body));
    ASSERT_TRUE(response.ok()) << response.error().text();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /pool " + body);
  }
  const auto head = take(begin("/io", false, Micros(10'000'000), "HEAD"));
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(server_->counters().connections.load(), 1u);
}

// Names are resolved off the loop's thread, and tried address by address.
TEST_F(AsyncHttpClientTest, ResolvesNames) {
  startServer();
  open(server_->port(), {.host = "localhost"});
  for (int i = 0; i < 2; ++i) {
    const auto response = take(begin("/io"));
    ASSERT_TRUE(response.ok()) << response.error().text();
    EXPECT_EQ(response->body, "GET /io ");
    onLoop([&] { connection_->closeIdle(); });
  }
}

// An answer in chunks behind an interim one is put together, and the connection is kept.
TEST_F(AsyncHttpClientTest, ReadsChunkedAnswers) {
  HandServer hand;
  open(hand.port());
  auto first = begin("/a");
  const FileDescriptor peer = hand.accept();
  EXPECT_EQ(HandServer::readRequest(peer).substr(0, 17), "GET /a HTTP/1.1\r\n");
  HandServer::answer(peer,
                     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  HandServer::answer(peer, "2\r\nde\r\n0\r\n\r\n");
  const auto response = take(std::move(first));
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body, "abcde");
  auto second = begin("/b");
  EXPECT_EQ(HandServer::readRequest(peer).substr(0, 6), "GET /b");
  HandServer::answer(peer, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(take(std::move(second))->status, 204);
}

// A kept connection that the server closes under the request: sent again only if that was allowed.
TEST_F(AsyncHttpClientTest, RepeatsOnAStaleConnectionOnlyWhenAllowed) {
  for (const bool allowed : {true, false}) {
    HandServer hand;
    open(hand.port());
    auto first = begin("/a");
    FileDescriptor peer = hand.accept();
    HandServer::readRequest(peer);
    HandServer::answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    ASSERT_TRUE(take(std::move(first)).ok());
    auto second = begin("/b", allowed);
    HandServer::readRequest(peer);
    peer.reset();  // Without a byte of an answer.
    if (!allowed) {
      const auto response = take(std::move(second));
      ASSERT_FALSE(response.ok());
      EXPECT_EQ(response.error().code(), ErrorCode::Unavailable);
      continue;
    }
    const FileDescriptor fresh = hand.accept();
    EXPECT_EQ(HandServer::readRequest(fresh).substr(0, 6), "GET /b");
    HandServer::answer(fresh, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_EQ(take(std::move(second))->body, "ok");
  }
}

// On a fresh connection nothing is repeated: the server may have acted.
TEST_F(AsyncHttpClientTest, DoesNotRepeatOnAFreshConnection) {
  HandServer hand;
  open(hand.port());
  auto first = begin("/a", /*retry_stale=*/true);
  FileDescriptor peer = hand.accept();
  HandServer::readRequest(peer);
  peer.reset();
  const auto response = take(std::move(first));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::Unavailable);
}

// A connection closed while idle is replaced without the caller's notice.
TEST_F(AsyncHttpClientTest, ReconnectsAfterAnIdleClose) {
  constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  HandServer hand;
  open(hand.port());
  for (int i = 0; i < 2; ++i) {
    auto answered = begin("/a");
    FileDescriptor peer = hand.accept();
    HandServer::readRequest(peer);
    HandServer::answer(peer, kAnswer);
    ASSERT_TRUE(take(std::move(answered)).ok());
    peer.reset();
    // The loop was woken by the end of the connection before it is woken by this.
    bool connected = true;
    for (int turn = 0; turn < 2; ++turn) onLoop([&] { connected = connection_->connected(); });
    EXPECT_FALSE(connected);
  }
}

// A held request is given up at once by abort, and the server learns it.
TEST_F(AsyncHttpClientTest, AbortEndsAHeldRequest) {
  startServer();
  open(server_->port());
  auto held = begin("/park");
  const Parked parked = takeParked();
  std::promise<void> gone;
  parked.responder.onClientGone([&] { gone.set_value(); });
  onLoop([&] { connection_->abort(); });
  const auto response = take(std::move(held));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::Cancelled);
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(take(begin("/io")).ok());
}

// An answer that does not come ends at the time limit; the next request works.
TEST_F(AsyncHttpClientTest, GivesUpAtTheTimeLimit) {
  startServer();
  open(server_->port());
  const auto response = take(begin("/park", true, Micros(50'000)));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::DeadlineExceeded);
  EXPECT_TRUE(take(begin("/io")).ok());
}

// Nobody listens: an error at once, not at the time limit.
TEST_F(AsyncHttpClientTest, SaysThatNobodyListens) {
  uint16_t free_port = 0;
  { free_port = HandServer().port(); }
  open(free_port);
  const auto response = take(begin("/io"));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::Unavailable);
}

// Answers that are no HTTP, too large, cut, or framed twice are errors, never bodies.
TEST_F(AsyncHttpClientTest, RefusesBrokenAnswers) {
  struct Case {
    const char* bytes;
    ErrorCode code;
  };
  const Case cases[] = {
      {"rubbish\r\n\r\n", ErrorCode::Corrupt},
      {"\x01\x02", ErrorCode::Corrupt},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", ErrorCode::Corrupt},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", ErrorCode::TooLarge},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorCode::Unavailable},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ErrorCode::Unavailable},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ErrorCode::Corrupt},
      {"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", ErrorCode::Corrupt},
      {"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n", ErrorCode::Corrupt},
      {"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", ErrorCode::Corrupt},
      {"HTTP/1.1 200", ErrorCode::Unavailable},
  };
  AsyncHttpConnection::Options options;
  options.body_bytes_max = 1000;
  for (const Case& item : cases) {
    HandServer hand;
    open(hand.port(), options);
    auto pending = begin("/");
    FileDescriptor peer = hand.accept();
    HandServer::readRequest(peer);
    HandServer::answer(peer, item.bytes);
    peer.reset();
    const auto response = take(std::move(pending));
    ASSERT_FALSE(response.ok()) << item.bytes;
    EXPECT_EQ(response.error().code(), item.code) << item.bytes << response.error().text();
  }
}

// A callback may destroy its connection, or begin the next request.
TEST_F(AsyncHttpClientTest, ACallbackMayDoAnything) {
  startServer();
  open(server_->port());
  std::promise<void> done;
  onLoop([&] {
    AsyncHttpConnection::Call call;
    call.request.target = "/io";
    call.timeout = Micros(10'000'000);
    connection_->request(call, [&, call](const Result<HttpResponse>& first) {
      EXPECT_TRUE(first.ok());
      connection_->request(call, [&](const Result<HttpResponse>& second) {
        EXPECT_TRUE(second.ok());
        connection_.reset();
        done.set_value();
      });
    });
  });
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

// A request that would break the framing is refused before a byte is sent.
TEST_F(AsyncHttpClientTest, RefusesRequestsThatBreakTheFraming) {
  startServer();
  open(server_->port());
  const auto response = take(begin("/io HTTP/1.1\r\nX: y"));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(server_->counters().connections.load(), 0u);
}

}  // namespace
}  // namespace baton::net
