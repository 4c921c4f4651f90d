#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/body_reader.h"
#include "net/byte_budget.h"
#include "net/event_loop.h"
#include "net/http_head.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "net/socket.h"

namespace baton::net {

// What a connection may take and how long.
struct ConnectionLimits {
  HeadLimits head;
  size_t body_bytes_max = 16 * 1024 * 1024;
  Micros header_deadline{10'000'000};  // From the first byte of a request to its empty line.
  Micros body_deadline{30'000'000};    // For a body, plus its size by body_bytes_per_second_min.
  uint64_t body_bytes_per_second_min = 16 * 1024;
  Micros body_idle_timeout{10'000'000};    // Without a byte of a body that has begun.
  Micros idle_timeout{75'000'000};         // Between requests.
  Micros write_stall_timeout{30'000'000};  // A peer that takes nothing of its reply for so long.
  Micros linger_timeout{2'000'000};        // For the peer to read the last reply before we close.
};

// What is decided about a request from its head alone, before any of its body is read.
struct Admission {
  size_t body_bytes_max = SIZE_MAX;       // Beside the server's own cap.
  std::optional<HttpResponse> refusal{};  // Sent at once; the connection ends with it.
};

// What connections need from the server around them. I/O thread only.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual EventLoop& loop() = 0;
  virtual const ConnectionLimits& limits() const = 0;
  virtual const std::shared_ptr<LoopGate>& gate() = 0;
  virtual std::span<char> scratch() = 0;      // Shared by all connections within one read.
  virtual const std::string& httpDate() = 0;  // Now, as a Date field has it.
  virtual bool stopping() const = 0;          // Replies close their connection.
  // Of a request that has a body.
  virtual Admission admit(const HttpRequest& head) = 0;
  virtual const std::shared_ptr<ByteBudget>& bodyBudget() = 0;
  virtual void onShed() = 0;  // A request was refused for want of room.
  virtual void onRequest(HttpRequest request, Responder responder) = 0;
  virtual void runOnPool(EventLoop::Task task) = 0;
  virtual void onReplied(int status) = 0;  // An answer leaves (of a request or a refusal).
  virtual void onParked(int change) = 0;   // +1: handed to the handler, -1: answered or gone.
  virtual void onBytes(uint64_t in, uint64_t out) = 0;
  virtual void onClosed(HttpConnection& connection) = 0;
};

// One accepted connection: reads one request at a time, hands it on, writes its answer, and only
// then looks at what the client has sent behind it, so that pipelined requests are answered in
// order. I/O thread only.
//
//   Reading -> Busy (the handler has the request) -> Sending -> Reading | Lingering -> Closed
//
// Lingering: our side is closed and what still comes is thrown away, because closing with unread
// bytes would make the kernel reset the connection and destroy the answer on its way.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ConnectionHost& host, SocketStream stream, std::string peer);

  Status start();
  void onReply(uint64_t sequence, HttpResponse response);
  // Closes when nothing is in flight, else with the answer.
  void closeWhenDone();
  void close();

  // True when it waits for a request of which nothing has come.
  bool idle() const;
  // When it is closed or refused if nothing happens.
  BootTime deadline() const { return deadline_; }
  bool open() const { return state_ != State::Closed; }
  const std::string& peer() const { return peer_; }

 private:
  enum class State : uint8_t { Reading, Busy, Sending, Lingering, Closed };

  void onEvents(uint32_t events);
  void onReadable();
  void onPeerFinished();
  void consume(std::string_view data);
  bool takeHead(std::string_view& data);
  bool takeBody(std::string_view& data);
  void dispatch();
  bool admitBody();
  void refuse(const HttpFault& fault);
  void refuse(HttpResponse response);
  void beginReply(HttpResponse response);
  void appendBody(HttpResponse& response);
  void flush();
  void pullMore();
  void onPiece(uint64_t sequence, Result<std::string> piece);
  void finishReply();
  void linger();
  void setInterest(uint32_t events);
  void setReadDeadline();
  void setDeadline(BootTime deadline);
  void onTimer();

  ConnectionHost& host_;
  const std::string peer_;
  SocketStream stream_;
  State state_ = State::Reading;
  uint32_t interest_ = 0;

  HeadScanner scanner_;
  RequestHead head_;
  std::optional<BodyReader> body_;  // Set while a body is being read.
  std::shared_ptr<ByteLease> body_lease_;
  size_t body_bytes_max_ = 0;
  uint64_t body_received_ = 0;
  BootTime part_begun_{};  // When this header or this body began.
  std::string pending_;    // Bytes of later requests.
  bool peer_finished_ = false;

  uint64_t sequence_ = 0;  // Of the request in hand; answers to others are stale.
  std::weak_ptr<Exchange> exchange_;

  bool keep_alive_ = false;
  std::string out_;
  size_t out_sent_ = 0;
  std::shared_ptr<BodySource> source_;
  std::optional<uint64_t> source_left_;  // Unset: chunked or until close.
  bool chunked_ = false;
  bool pulling_ = false;

  EventLoop::TimerId timer_ = 0;
  BootTime timer_at_{};
  BootTime deadline_ = BootTime::max();
};

}  // namespace baton::net
