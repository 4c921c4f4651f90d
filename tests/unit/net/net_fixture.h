#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace baton::net {

inline constexpr std::chrono::seconds kPatience{10};  // Far beyond what a sound run needs.

// A bare TCP client that sends exact bytes and reads what comes, each read with a deadline.
class RawClient {
 public:
  explicit RawClient(uint16_t port) {
    const auto address = parseIpLiteral("127.0.0.1", port);
    fd_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address->storage),
                           address->length) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void finishSending() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

  // True when bytes or the end came within `ms`.
  bool readable(int ms) {
    pollfd item{fd_.get(), POLLIN, 0};
    return ::poll(&item, 1, ms) == 1;
  }
  // One read; empty at the end of the stream or after kPatience.
  std::string readSome() {
    if (!readable(std::chrono::milliseconds(kPatience).count())) return {};
    std::string buffer(64 * 1024, '\0');
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    buffer.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return buffer;
  }
  // Everything up to the end of the stream.
  std::string readAll() {
    std::string all;
    for (std::string some = readSome(); !some.empty(); some = readSome()) all += some;
    return all;
  }
  // One response with a Content-Length; bytes behind it are kept for the next call.
  std::string readResponse() {
    size_t need = std::string::npos;
    while (true) {
      const size_t head = kept_.find("\r\n\r\n");
      if (head != std::string::npos && need == std::string::npos) {
        const size_t at = kept_.find("Content-Length: ");
        need = head + 4 + (at < head ? std::stoul(kept_.substr(at + 16)) : 0);
      }
      if (need != std::string::npos && kept_.size() >= need) break;
      const std::string some = readSome();
      if (some.empty()) return std::exchange(kept_, {});
      kept_ += some;
    }
    std::string response = kept_.substr(0, need);
    kept_.erase(0, need);
    return response;
  }

 private:
  FileDescriptor fd_;
  std::string kept_;
  bool connected_ = false;
};

inline std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: t\r\n\r\n";
}

inline std::string statusOf(std::string_view response) {
  return std::string(response.substr(0, std::min<size_t>(response.size(), 12)));
}

inline std::string bodyOf(std::string_view response) {
  const size_t head = response.find("\r\n\r\n");
  return head == std::string_view::npos ? "" : std::string(response.substr(head + 4));
}

// A server whose requests for /park are kept for the test, and whose others are answered with
// "<method> <path> <body>": those for /io on the I/O thread, the rest on the pool.
class ServerFixture : public testing::Test {
 protected:
  struct Parked {
    HttpRequest request;
    Responder responder;
  };

  void startServer(HttpServer::Options options = {}) {
    server_ = std::make_unique<HttpServer>(
        std::move(options),
        [](std::string_view, std::string_view path) {
          return path == "/io" || path == "/park" ? HttpServer::RunOn::Io : HttpServer::RunOn::Pool;
        },
        [this](HttpRequest request, Responder responder) {
          handle(std::move(request), std::move(responder));
        },
        admit_);
    const Status status = server_->start();
    ASSERT_TRUE(status.ok()) << status.text();
  }

  void TearDown() override {
    parked_.clear();
    server_.reset();
  }

  virtual void handle(HttpRequest request, Responder responder) {
    if (request.path == "/park") {
      std::lock_guard lock(mutex_);
      parked_.push_back({std::move(request), std::move(responder)});
      changed_.notify_all();
    } else if (handler_) {
      handler_(std::move(request), std::move(responder));
    } else {
      responder.reply(
          HttpResponse::text(200, request.method + " " + request.path + " " + request.body));
    }
  }

  Parked takeParked() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return !parked_.empty(); }));
    Parked parked = std::move(parked_.front());
    parked_.erase(parked_.begin());
    return parked;
  }

  // Sends one exact text on a new connection and gives all that comes until the server closes.
  std::string exchange(std::string_view bytes) {
    RawClient client(server_->port());
    client.send(bytes);
    return client.readAll();
  }

  std::unique_ptr<HttpServer> server_;
  std::function<void(HttpRequest, Responder)> handler_;  // Set before start.
  HttpServer::Admit admit_;                              // The same.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Parked> parked_;
};

}  // namespace baton::net
