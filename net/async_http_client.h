#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/body_reader.h"
#include "net/event_loop.h"
#include "net/http_head.h"
#include "net/http_message.h"
#include "net/resolver.h"
#include "net/socket.h"

namespace baton::net {

// One keep-alive connection to one server, driven by an event loop: it connects when it must, and
// again when the server has closed it meanwhile. One request at a time. Names are resolved by the
// Resolver's thread; nothing here blocks.
//
// Thread: the loop's only, destruction included. A callback may start the next request, abort, or
// destroy the connection.
class AsyncHttpConnection {
 public:
  struct Options {
    std::string host;  // A name or an IP literal.
    uint16_t port = 0;
    Micros connect_timeout{1'000'000};  // For one attempt, all its addresses together.
    HeadLimits head{.bytes_max = 64 * 1024, .fields_max = 200};
    size_t body_bytes_max = 16 * 1024 * 1024;
  };
  struct Call {
    HttpRequest request;  // Host and framing fields are added.
    Micros timeout{};     // For everything: name, connection, request and answer.
    // The server may get the request twice: when a connection that was kept turns out to be closed
    // before a byte of the answer came, it is sent once more on a new one.
    bool retry_stale = false;
  };
  // Errors: Cancelled (abort, destruction does not call), DeadlineExceeded, Unavailable (no
  // connection, or it broke), Corrupt (no HTTP), TooLarge (the answer), InvalidArgument (request).
  using Callback = std::function<void(Result<HttpResponse>)>;

  // All references outlive this; the Resolver ends before the loop does, to which it posts.
  AsyncHttpConnection(EventLoop& loop, Resolver& resolver, Options options);
  ~AsyncHttpConnection();

  // Sends a request; the callback comes exactly once, never from inside this call.
  // Must not be busy.
  void request(Call call, Callback callback);
  // Gives up the request in flight: its callback gets Cancelled, from inside this call, and the
  // connection is closed. Nothing happens without one.
  void abort();
  // Closes an idle connection; the next request opens a new one.
  void closeIdle();

  bool busy() const { return callback_ != nullptr; }
  bool connected() const { return stream_.open(); }
  const Options& options() const { return options_; }

 private:
  enum class Phase : uint8_t { Idle, Resolving, Connecting, Exchanging };

  void begin();
  void connectNext();
  void onConnectFailed(Error error);
  void startExchange();
  void onEvents(uint32_t events);
  void writeMore();
  void readMore();
  // True when the answer is whole (or broken) and has been delivered.
  bool consume(std::string_view data);
  bool takeHead(std::string_view& data);
  void onBroken(Error error);
  void complete(bool keep);
  void finish(Result<HttpResponse> result);
  void closeSocket();
  void watch(uint32_t events);
  void cancelTimers();

  EventLoop& loop_;
  Resolver& resolver_;
  const Options options_;
  const std::string authority_;

  Phase phase_ = Phase::Idle;
  SocketStream stream_;
  uint32_t interest_ = 0;  // 0: not watched.
  std::vector<SocketAddress> addresses_;
  size_t next_address_ = 0;

  Callback callback_;
  std::string wire_;  // The whole request, kept for the retry.
  size_t wire_sent_ = 0;
  bool head_request_ = false;
  bool retry_stale_ = false;
  bool reused_ = false;    // This exchange runs on a connection that was kept.
  bool answered_ = false;  // A byte of the answer has come.
  HeadScanner scanner_;
  std::optional<ResponseHead> head_;
  std::optional<BodyReader> body_;

  EventLoop::TimerId timeout_ = 0;
  EventLoop::TimerId connect_timeout_ = 0;
  // Answers of the resolver and posts carry a weak reference; a new one makes old ones stale.
  std::shared_ptr<int> alive_;
};

}  // namespace baton::net
