#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "net/http_connection.h"
#include "net/http_message.h"
#include "net/responder.h"

namespace baton::net {

// What the front has done since it was built. Read from any thread.
struct HttpCounters {
  std::atomic<uint64_t> connections{0};  // Ever accepted.
  std::atomic<int64_t> connections_open{0};
  std::atomic<uint64_t> requests{0};  // Handed to the handler or shed.
  std::atomic<int64_t> parked{0};     // Handed on, not answered yet.
  std::atomic<uint64_t> shed{0};      // Connections and requests refused for want of room.
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bytes_out{0};
  std::array<std::atomic<uint64_t>, 6> by_class{};  // Answers; index 4 holds 400 to 499.
};

// The HTTP/1.1 front: one I/O thread accepts, reads, frames and writes without blocking, so that
// neither a slow client nor one that waits for its answer costs a thread; whole requests go to the
// handler, on the I/O thread or on a pool. Answers come back through Responders.
//
// Requests that are not clear to every reader (two lengths, a length and chunks, bare line feeds,
// folded fields, …) are refused with 400 and the connection is closed; so it is after any other
// refusal of the front (408, 413, 417, 431, 505). Chunked request bodies are decoded, under the
// same cap. Refusals are application/problem+json.
//
// Thread: start, stopAccepting and stop are the owner's; all else is safe from any thread.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // An IP literal, "localhost", or empty for all of IPv4.
    uint16_t port = 0;               // 0: a free one, see port().
    std::string name = "http";       // Of the threads: "<name>-io", "<name>-0", …
    size_t pool_threads = 8;
    size_t queue_max = 1024;  // Requests that wait for a pool thread; past it 503 with Retry-After.
    size_t connections_max = 16'000;
    size_t connections_per_peer_max = 12'000;  // All runners of a test live on one address.
    int backlog = 4096;
    Micros accept_pause{100'000};  // After running out of descriptors.
    // Of all request bodies that are being read or handled; past it 503 with Retry-After.
    size_t bodies_bytes_max = 256 * 1024 * 1024;
    ConnectionLimits limits;
  };

  // Where the handler runs for a request. Io is for what never blocks.
  enum class RunOn : uint8_t { Io, Pool };
  using Dispatch = std::function<RunOn(std::string_view method, std::string_view path)>;
  // What it throws is logged and answered with 500.
  using Handler = std::function<void(HttpRequest, Responder)>;
  // Called on the I/O thread with the head of each request that has a body; must not block.
  using Admit = std::function<Admission(const HttpRequest& head)>;

  HttpServer(Options options, Dispatch dispatch, Handler handler, Admit admit = {});
  ~HttpServer();  // stop() without patience.

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds and serves. Errors: Conflict ("port N of ADDR is taken"), InvalidArgument, Unavailable.
  Status start();
  // The port that was bound; 0 before start().
  uint16_t port() const { return port_.load(); }

  // Closes the listening socket; when it returns, the port is free. Connections go on.
  void stopAccepting();
  // Stops accepting, lets requests in flight be answered (with Connection: close) for at most
  // `patience`, then closes what is left and ends the threads; waits for running handlers. Any
  // number of times; not from a handler.
  void stop(Micros patience) noexcept;

  const HttpCounters& counters() const { return counters_; }
  // Of request bodies that are held now.
  size_t bodiesBytes() const { return body_budget_->used(); }

 private:
  class Front;

  const Options options_;
  const Dispatch dispatch_;
  const Handler handler_;
  const Admit admit_;
  const std::shared_ptr<ByteBudget> body_budget_;  // Requests may outlive the server.
  HttpCounters counters_;
  std::atomic<uint16_t> port_{0};
  std::unique_ptr<Front> front_;
};

}  // namespace baton::net
