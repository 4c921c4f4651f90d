#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "net/http_head.h"
#include "net/http_message.h"
#include "net/socket.h"

namespace baton::net {

// Where a request goes.
struct HttpEndpoint {
  std::string host;
  uint16_t port = 80;
};

// A blocking HTTP/1.1 client for the command line and tests. Keeps its connection to the
// last endpoint. Never follows a redirect: it is an answer like others.
// Thread: one at a time.
class HttpClient {
 public:
  struct Options {
    Micros connect_timeout{1'000'000};  // For each address.
    HeadLimits head{.bytes_max = 64 * 1024, .fields_max = 200};
    size_t body_bytes_max = 64 * 1024 * 1024;
  };

  HttpClient();
  explicit HttpClient(Options options);
  ~HttpClient();

  // Sends and waits for the whole answer, for at most `timeout` in all (resolving a name is the
  // system's time and comes on top). With `retry_stale` (the request may reach the server twice) a
  // request that met a kept connection which the server had closed is sent once more.
  // Errors: DeadlineExceeded, Unavailable (no connection, or it broke), Corrupt (no HTTP),
  //         TooLarge (the answer), InvalidArgument (request).
  Result<HttpResponse> send(const HttpEndpoint& endpoint, const HttpRequest& request,
                            Micros timeout, bool retry_stale = false);
  void disconnect();

 private:
  class Link;

 public:
  // The body of an answer, read as it comes, on a connection of its own. May outlive the client.
  // Thread: one at a time.
  class Stream {
   public:
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // What has come by now; waits until something has, for at most `timeout`. No value: the body
    // has ended and is whole. Errors: DeadlineExceeded (nothing came; it may be asked again),
    // Unavailable (it was cut).
    Result<std::optional<std::string>> read(Micros timeout);
    // There is something to read without a look at the descriptor.
    bool ready() const;
    int fd() const;

   private:
    friend class HttpClient;
    struct Parts;
    explicit Stream(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
  };
  struct Opened {
    HttpResponse response;           // Whole, unless there is a stream: then without its body.
    std::unique_ptr<Stream> stream;  // Of an answer with a 2xx status.
  };
  // As send(), but waits only until the answer begins.
  Result<Opened> open(const HttpEndpoint& endpoint, const HttpRequest& request, Micros timeout);

 private:
  Result<HttpResponse> sendOnce(const HttpEndpoint& endpoint, const std::string& wire, bool head,
                                BootTime deadline);

  const Options options_;
  std::unique_ptr<Link> link_;  // The kept connection, if there is one.
};

}  // namespace baton::net
