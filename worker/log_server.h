#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/file_descriptor.h"
#include "net/http_server.h"
#include "worker/attempt_files.h"

namespace baton::worker {

// Serves the output of this worker's attempts to the masters:
//   GET /api/v1/attempts/{task}/{attempt}/logs?stream=stdout|stderr&offset=N&limit=N
// answers 200 with at most `limit` raw bytes (1 MiB unless said, and at most), 404 when there is
// no such output, 416 behind its end. Every request needs the worker's token. Headers:
// X-Baton-Log-Size (bytes in the file now), X-Baton-Log-Truncated and X-Baton-Log-Complete
// (true | false). Paths are made of numbers alone, and no link is followed on the way.
// Thread: start and stop are the owner's; requests are handled on the server's pool.
class LogServer {
 public:
  struct Options {
    std::string host = "0.0.0.0";
    uint16_t port = 0;
    std::string token;  // Never empty.
    std::string data_dir;
  };
  // Whether that attempt has not ended yet; called on pool threads.
  using IsOpen = std::function<bool(TaskId task, int32_t attempt)>;

  LogServer(Options options, IsOpen is_open);

  // Errors: InvalidArgument (no token), Conflict (port taken), Unavailable.
  Status start();
  uint16_t port() const { return server_ == nullptr ? 0 : server_->port(); }
  void stop() noexcept;

 private:
  net::HttpResponse answer(const net::HttpRequest& request) const;

  const Options options_;
  const IsOpen is_open_;
  FileDescriptor dir_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace baton::worker
