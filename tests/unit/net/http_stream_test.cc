#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "net/http_client.h"
#include "tests/unit/net/net_fixture.h"

namespace baton::net {
namespace {

constexpr size_t kLargeBytes = 40 * 1024 * 1024;

// Gives `total` bytes in which every position can be checked.
std::function<Result<std::string>(size_t)> countingSource(size_t total) {
  return [total, at = size_t{0}](size_t max) mutable -> Result<std::string> {
    std::string piece(std::min(max, total - at), '\0');
    for (char& c : piece) c = static_cast<char>('a' + at++ % 23);
    return piece;
  };
}

bool isCounted(const std::string& body) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != static_cast<char>('a' + i % 23)) return false;
  }
  return true;
}

class HttpStreamTest : public ServerFixture {
 protected:
  Result<HttpResponse> fetch() {
    HttpRequest request;
    request.target = "/stream";
    return client_.send({"127.0.0.1", server_->port()}, request, kPatience * 3);
  }
  HttpClient client_;
};

// A body of known size streams whole, and the connection is kept.
TEST_F(HttpStreamTest, StreamsALargeBodyOfKnownLength) {
  handler_ = [](const HttpRequest&, const Responder& responder) {
    responder.reply(HttpResponse::stream(200, "application/octet-stream",
                                         countingSource(kLargeBytes), kLargeBytes));
  };
  startServer();
  for (int i = 0; i < 2; ++i) {
    const auto response = fetch();
    ASSERT_TRUE(response.ok()) << response.error().text();
    EXPECT_EQ(response->body.size(), kLargeBytes);
    EXPECT_TRUE(isCounted(response->body));
  }
  EXPECT_EQ(server_->counters().connections.load(), 1u);
}

// A body of unknown size streams in chunks, and the connection is kept.
TEST_F(HttpStreamTest, StreamsALargeBodyOfUnknownLength) {
  handler_ = [](const HttpRequest&, const Responder& responder) {
    responder.reply(HttpResponse::stream(200, "text/plain", countingSource(kLargeBytes / 10)));
  };
  startServer();
  for (int i = 0; i < 2; ++i) {
    const auto response = fetch();
    ASSERT_TRUE(response.ok()) << response.error().text();
    EXPECT_EQ(response->headers.get("Transfer-Encoding"), "chunked");
    EXPECT_EQ(response->body.size(), kLargeBytes / 10);
    EXPECT_TRUE(isCounted(response->body));
  }
  EXPECT_EQ(server_->counters().connections.load(), 1u);
}

// A client that does not read makes the source wait instead of filling memory.
TEST_F(HttpStreamTest, PullsNoFasterThanTheClientReads) {
  std::atomic<size_t> pulled{0};
  std::promise<void> gone;
  auto guard = std::shared_ptr<void>(nullptr, [&](void*) { gone.set_value(); });
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/io") return responder.reply(HttpResponse::text(200, "x"));
    responder.reply(HttpResponse::stream(200, "text/plain",
                                         [&, keep = std::exchange(guard, nullptr)](size_t max) {
                                           pulled += max;
                                           return Result<std::string>(std::string(max, 'x'));
                                         }));
  };
  startServer();
  RawClient client(server_->port());
  client.send(get("/stream"));
  ASSERT_FALSE(client.readSome().empty());
  // What the kernel's buffers of both sides hold, and no more, is pulled: then turns of the
  // server's loop, of which each request of another client takes some, pull nothing.
  RawClient other(server_->port());
  size_t before = 0;
  do {
    before = pulled;
    for (int i = 0; i < 200; ++i) {
      other.send(get("/io"));
      ASSERT_EQ(statusOf(other.readResponse()), "HTTP/1.1 200");
    }
  } while (pulled != before && pulled < 64u * 1024 * 1024);
  EXPECT_LT(pulled.load(), 16u * 1024 * 1024);
  client.close();
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
}

// A source that fails on the way must not look like one that has ended.
TEST_F(HttpStreamTest, ABrokenSourceCutsTheConnection) {
  handler_ = [](const HttpRequest&, const Responder& responder) {
    responder.reply(
        HttpResponse::stream(200, "text/plain", [calls = 0](size_t) mutable -> Result<std::string> {
          if (calls++ > 0) return Error::unavailable("disk");
          return std::string("begin");
        }));
  };
  startServer();
  const auto response = fetch();
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::Unavailable);
}

// A source that gives less or more than it announced is cut, not padded.
TEST_F(HttpStreamTest, AWrongLengthCutsTheConnection) {
  std::atomic<size_t> announced{10};
  handler_ = [&](const HttpRequest&, const Responder& responder) {
    responder.reply(HttpResponse::stream(200, "text/plain", countingSource(5), announced.load()));
  };
  startServer();
  EXPECT_FALSE(fetch().ok());
  announced = 3;
  const auto three = fetch();
  ASSERT_TRUE(three.ok());  // The source was asked for three bytes only.
  EXPECT_EQ(three->body, "abc");
}

// An event stream waits for its next event without a thread, and ends with its client.
TEST_F(HttpStreamTest, EventsWaitWithoutAThread) {
  std::mutex mutex;
  std::condition_variable changed;
  BodyDone waiting;
  auto take = [&] {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return waiting != nullptr; }));
    return std::exchange(waiting, nullptr);
  };
  std::promise<void> gone;
  auto guard = std::shared_ptr<void>(nullptr, [&](void*) { gone.set_value(); });
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.path != "/stream") return responder.reply(HttpResponse::text(200, "other"));
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.source = [&, keep = std::exchange(guard, nullptr)](size_t, BodyDone done) {
      std::lock_guard lock(mutex);
      waiting = std::move(done);
      changed.notify_all();
    };
    responder.reply(std::move(response));
  };
  HttpServer::Options options;
  options.pool_threads = 1;
  startServer(options);
  RawClient events(server_->port());
  events.send(get("/stream"));
  BodyDone done = take();
  RawClient other(server_->port());
  other.send(get("/other"));  // The only pool thread is free.
  EXPECT_EQ(bodyOf(other.readResponse()), "other");
  done(std::string("data: 1\n\n"));
  std::string got;
  while (got.find("data: 1\n\n") == std::string::npos) {
    const std::string some = events.readSome();
    ASSERT_FALSE(some.empty());
    got += some;
  }
  done = take();
  events.close();
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  done(std::string("nobody hears this"));
}

// A body that grows must be given as it comes, told whole from cut, and refusals read at once.
TEST_F(HttpStreamTest, ABodyIsReadAsItComes) {
  std::mutex mutex;
  std::condition_variable changed;
  BodyDone asked;
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.target == "/refused") return responder.reply(HttpResponse::text(404, "no"));
    HttpResponse response = HttpResponse::text(200, {});
    response.source = [&](size_t, BodyDone done) {
      const std::lock_guard lock(mutex);
      asked = std::move(done);
      changed.notify_all();
    };
    responder.reply(std::move(response));
  };
  startServer();
  const auto give = [&](const std::string& bytes) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return asked != nullptr; }));
    std::exchange(asked, nullptr)(bytes);
  };
  HttpRequest request;
  request.target = "/grows";
  const HttpEndpoint server{"127.0.0.1", server_->port()};
  auto opened = client_.open(server, request, kPatience);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  ASSERT_NE(opened->stream, nullptr);
  EXPECT_EQ(opened->response.status, 200);
  const auto none = opened->stream->read(Millis(1));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::DeadlineExceeded);
  for (const std::string bytes : {"one", "two"}) {
    give(bytes);
    const auto piece = opened->stream->read(kPatience);
    ASSERT_TRUE(piece.ok()) << piece.error().text();
    EXPECT_EQ(piece->value_or("end"), bytes);
  }
  give({});
  const auto end = opened->stream->read(kPatience);
  ASSERT_TRUE(end.ok()) << end.error().text();
  EXPECT_FALSE(end->has_value());
  EXPECT_TRUE(opened->stream->ready()) << "an end is there to be read again";

  opened = client_.open(server, request, kPatience);
  ASSERT_TRUE(opened.ok());
  give("cut");
  EXPECT_EQ(opened->stream->read(kPatience)->value_or(""), "cut");
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return asked != nullptr; }));
    asked = nullptr;  // Uncalled.
  }
  const auto cut = opened->stream->read(kPatience);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), ErrorCode::Unavailable);

  request.target = "/refused";
  opened = client_.open(server, request, kPatience);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->stream, nullptr);
  EXPECT_EQ(opened->response.body, "no");
}

}  // namespace
}  // namespace baton::net
