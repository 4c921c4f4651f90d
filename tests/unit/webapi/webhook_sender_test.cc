#include "webapi/webhook_sender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "common/base/file_descriptor.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace baton::webapi {
namespace {

constexpr std::chrono::seconds kSoon{2};
constexpr std::chrono::seconds kLong{20};  // Far beyond what a sound run needs.

// Takes connections (the system does) and never says a word.
class BlackHole {
 public:
  BlackHole()
      : listener_(net::listenOn("127.0.0.1", 0, 64).value()),
        url_(fmt::format("http://127.0.0.1:{}/", net::localAddress(listener_.get())->port())) {}
  const std::string& url() const { return url_; }

 private:
  FileDescriptor listener_;
  std::string url_;
};

class WebhookSenderTest : public testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<net::HttpServer>(
        net::HttpServer::Options{},
        [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Io; },
        [this](net::HttpRequest request, net::Responder responder) {
          ++served_;
          responder.reply(net::HttpResponse::text(request.path == "/bad" ? 500 : 200, "x"));
        });
    ASSERT_TRUE(server_->start().ok());
    good_ = fmt::format("http://127.0.0.1:{}/", server_->port());
  }
  void TearDown() override {
    sender_.reset();
    server_.reset();
  }
  void begin(size_t calls_max = 128) {
    sender_ = std::make_unique<WebhookSender>(
        WebhookSender::Options{.allow = {"127.0.0.1"}, .version = "test", .calls_max = calls_max});
    ASSERT_TRUE(sender_->start().ok());
  }
  std::future<Status> send(const std::string& url, std::function<bool()> may_send = nullptr,
                           Millis timeout = Millis(30'000)) {
    master::api::Webhook webhook;
    webhook.url = url;
    webhook.body = "{}";
    webhook.timeout = timeout;
    webhook.may_send = may_send ? std::move(may_send) : [] { return true; };
    const auto promise = std::make_shared<std::promise<Status>>();
    sender_->send(std::move(webhook), [promise](Status sent) { promise->set_value(sent); });
    return promise->get_future();
  }
  static bool answered(const std::future<Status>& sent, std::chrono::seconds limit = kLong) {
    return sent.wait_for(limit) == std::future_status::ready;
  }

  std::atomic<int> served_{0};
  std::unique_ptr<net::HttpServer> server_;
  std::string good_;
  std::unique_ptr<WebhookSender> sender_;
};

TEST_F(WebhookSenderTest, ReceiversThatNeverAnswerHoldUpNobodyElse) {
  // Aim: eight of them with two deliveries each, and the ninth receiver is served at once.
  begin();
  const std::vector<BlackHole> holes(8);
  std::vector<std::future<Status>> lost;
  for (int i = 0; i < 2; ++i) {
    for (const BlackHole& hole : holes) lost.push_back(send(hole.url()));
  }
  auto served = send(good_);
  ASSERT_TRUE(answered(served, kSoon));
  EXPECT_TRUE(served.get().ok());
  for (const auto& sent : lost) EXPECT_FALSE(answered(sent, std::chrono::seconds(0)));
}

TEST_F(WebhookSenderTest, AProvenReceiverHasPlacesThatTheOthersCannotTake) {
  // Aim: also where there are more dead receivers than places; a failure gives the place up.
  begin(2);
  auto first = send(good_);
  ASSERT_TRUE(answered(first));
  const std::vector<BlackHole> holes(3);
  std::vector<std::future<Status>> lost;
  for (const BlackHole& hole : holes) lost.push_back(send(hole.url()));
  auto served = send(good_);
  ASSERT_TRUE(answered(served, kSoon));
  EXPECT_TRUE(served.get().ok());
  auto failed = send(good_ + "bad");
  ASSERT_TRUE(answered(failed));
  EXPECT_EQ(failed.get().error().code(), ErrorCode::Unavailable);
  auto waits = send(good_, nullptr, Millis(100));
  ASSERT_TRUE(answered(waits));
  EXPECT_EQ(waits.get().error().code(), ErrorCode::Cancelled);
  EXPECT_EQ(served_, 3);
}

TEST_F(WebhookSenderTest, PlacesComeBackWhenACallIsOver) {
  // Aim: what waits is called as soon as somebody's time is up, if it still may be then.
  begin(1);
  const BlackHole hole;
  auto lost = send(hole.url(), nullptr, Millis(200));
  auto late = send(good_, [] { return false; });
  auto served = send(good_);
  ASSERT_TRUE(answered(lost) && answered(late) && answered(served));
  EXPECT_EQ(lost.get().error().code(), ErrorCode::DeadlineExceeded);
  EXPECT_EQ(late.get().error().code(), ErrorCode::Cancelled);
  EXPECT_TRUE(served.get().ok());
  EXPECT_EQ(served_, 1);
}

TEST_F(WebhookSenderTest, NobodyIsCalledWhoIsNotListedOrCannotBe) {
  // Aim: the reasons that no retry mends are told from those that it may.
  begin();
  auto foreign = send("http://localhost:1/");
  auto secure = send("https://127.0.0.1:1/");
  ASSERT_TRUE(answered(foreign) && answered(secure));
  EXPECT_EQ(foreign.get().error().code(), ErrorCode::PermissionDenied);
  EXPECT_EQ(secure.get().error().code(), ErrorCode::PermissionDenied);
}

TEST_F(WebhookSenderTest, AStopWaitsForNoReceiver) {
  // Aim: the end of the process does not hang on one that never answers.
  begin();
  const BlackHole hole;
  const auto lost = send(hole.url());
  const auto served = send(good_);
  ASSERT_TRUE(answered(served));
  const auto began = std::chrono::steady_clock::now();
  sender_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong);
}

}  // namespace
}  // namespace baton::webapi
