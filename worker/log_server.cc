#include "worker/log_server.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "common/base/digest.h"
#include "worker/output_file.h"

namespace baton::worker {
namespace {

constexpr int64_t kLogLimitMax = 1024 * 1024;
constexpr int64_t kMarkBytesMax = 256;
constexpr std::string_view kAttemptsPath = "/api/v1/attempts/";

template <typename T>
std::optional<T> wholeNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct LogRequest {
  AttemptKey key;
  LogStream stream = LogStream::Stdout;
  int64_t offset = 0;
  int64_t limit = kLogLimitMax;
};

std::optional<AttemptKey> parseLogPath(std::string_view path) {
  if (!path.starts_with(kAttemptsPath) || !path.ends_with("/logs")) return std::nullopt;
  path.remove_prefix(kAttemptsPath.size());
  if (path.size() < 5) return std::nullopt;
  path.remove_suffix(5);
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto task = parseTaskId(path.substr(0, slash));
  const auto attempt = wholeNumber<int32_t>(path.substr(slash + 1));
  if (!task || !attempt || *attempt <= 0) return std::nullopt;
  return AttemptKey{.task_id = *task, .attempt = *attempt, .nonce = {}};
}

Status readLogQuery(const net::HttpRequest& request, LogRequest& wanted) {
  for (const auto& [name, value] : request.query) {
    const auto number = wholeNumber<int64_t>(value);
    const bool well = number && *number >= 0;
    if (name == "stream" && (value == "stdout" || value == "stderr")) {
      wanted.stream = value == "stdout" ? LogStream::Stdout : LogStream::Stderr;
    } else if (name == "offset" && well) {
      wanted.offset = *number;
    } else if (name == "limit" && well) {
      wanted.limit = std::min(*number, kLogLimitMax);
    } else {
      return Error::invalidArgument("query parameter {} is not understood", name);
    }
  }
  return {};
}

// No component may be a link, and none may lead out of the directory.
FileDescriptor openBeneath(int dir_fd, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(
      static_cast<int>(syscall(SYS_openat2, dir_fd, path.c_str(), &how, sizeof(how))));
}

std::optional<std::string> readRange(int fd, int64_t offset, int64_t limit) {
  std::string bytes(static_cast<size_t>(limit), '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + size, bytes.size() - size, offset + static_cast<int64_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

// The mark of a loss is the last line of an output.
bool endsWithMark(int fd, int64_t size) {
  const int64_t begin = std::max<int64_t>(size - kMarkBytesMax, 0);
  std::string tail = readRange(fd, begin, size - begin).value_or("");
  if (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return std::string_view(tail).substr(tail.rfind('\n') + 1).starts_with(kLogMark);
}

bool hasToken(const net::HttpRequest& request, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = request.headers.get("Authorization");
  return request.headers.count("Authorization") == 1 && given.starts_with(kScheme) &&
         equalSecret(given.substr(kScheme.size()), token);
}

}  // namespace

LogServer::LogServer(Options options, IsOpen is_open)
    : options_(std::move(options)), is_open_(std::move(is_open)) {}

Status LogServer::start() {
  if (options_.token.empty()) return Error::invalidArgument("the worker has no token");
  dir_.reset(open(options_.data_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir_) return Error::unavailable("directory {} can't be opened", options_.data_dir);
  net::HttpServer::Options server;
  server.limits.body_bytes_max = 4 * 1024;  // Nothing here takes one.
  server.host = options_.host;
  server.port = options_.port;
  server.name = "logs";
  server.pool_threads = 2;
  server.connections_max = 256;
  server.connections_per_peer_max = 256;
  server_ = std::make_unique<net::HttpServer>(
      server, [](std::string_view, std::string_view) { return net::HttpServer::RunOn::Pool; },
      [this](const net::HttpRequest& request, net::Responder responder) {
        responder.reply(answer(request));
      });
  return server_->start();
}

void LogServer::stop() noexcept {
  if (server_ != nullptr) server_->stop(Micros(0));
}

net::HttpResponse LogServer::answer(const net::HttpRequest& request) const {
  if (!hasToken(request, options_.token)) {
    auto refused =
        net::HttpResponse::problem(401, "unauthenticated", "the worker's token is needed");
    refused.headers.add("WWW-Authenticate", "Bearer");
    return refused;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return net::HttpResponse::problem(405, "method_not_allowed", "only GET is served");
  }
  LogRequest wanted;
  const auto key = parseLogPath(request.path);
  if (!key) return net::HttpResponse::problem(404, "not_found", "there is nothing here");
  wanted.key = *key;
  if (const Status read = readLogQuery(request, wanted); !read.ok()) {
    return net::HttpResponse::problem(400, "invalid_argument", read.error().message());
  }
  // Asked before the file is looked at: "complete" must not be said of a size that was too early.
  const bool open = is_open_(key->task_id, key->attempt);
  const FileDescriptor fd = openBeneath(dir_.get(), logFile(wanted.key, wanted.stream));
  struct stat info {};
  const bool there = fd.valid() && fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (!there && (!open || fd.valid())) {
    return net::HttpResponse::problem(
        404, "not_found",
        fmt::format("there is no {} of attempt {} of task {} here", toString(wanted.stream),
                    key->attempt, key->task_id));
  }
  const int64_t size = there ? info.st_size : 0;
  net::HttpResponse response;
  if (wanted.offset > size) {
    response = net::HttpResponse::problem(416, "out_of_range",
                                          fmt::format("the output has {} bytes", size));
  } else if (there) {
    auto bytes = readRange(fd.get(), wanted.offset, std::min(wanted.limit, size - wanted.offset));
    if (!bytes) return net::HttpResponse::problem(503, "unavailable", "the output can't be read");
    response.body = std::move(*bytes);
    response.content_type = "application/octet-stream";
  }
  response.headers.add("X-Baton-Log-Size", std::to_string(size));
  response.headers.add("X-Baton-Log-Truncated",
                       there && !open && endsWithMark(fd.get(), size) ? "true" : "false");
  response.headers.add("X-Baton-Log-Complete", open ? "false" : "true");
  return response;
}

}  // namespace baton::worker
