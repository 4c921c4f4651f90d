#include "worker/http_task.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "common/base/duration_text.h"
#include "common/base/file_descriptor.h"
#include "common/base/http_url.h"
#include "common/model/http_spec.h"
#include "common/model/task_spec.h"
#include "net/http_client.h"
#include "worker/output_values.h"

namespace baton::worker {
namespace {

constexpr size_t kInputBytesMax = 16 * 1024 * 1024;
constexpr size_t kAnswerBytesMax = 16 * 1024 * 1024;
constexpr Micros kConnectTimeout{10'000'000};  // For each address.
// For a task without a timeout, so that a dead peer can't hold a runner for ever.
constexpr Millis kHttpWaitDefault{3'600'000};
// Past the task's own timeout: ending it is the worker's, which then says so. Capped at what
// poll() takes.
constexpr Millis kHttpWaitSlack{60'000};
constexpr Millis kHttpWaitMax{20LL * 86'400'000};

Result<std::string> readInput() {
  std::string text;
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::unavailable("standard input can't be read: {}", strerror(errno));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kInputBytesMax) {
      return Error::invalidArgument("standard input has over {} bytes", kInputBytesMax);
    }
  }
}

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

Result<HttpJob> readJob() {
  ASSIGN_OR_RETURN(const std::string text, readInput());
  ASSIGN_OR_RETURN(const Json json, parseJson(text));
  HttpJob job{.http = {}, .wait = kHttpWaitDefault};
  int64_t timeout_ms = 0;
  JsonReader reader(json);
  reader.integer("timeout_ms", timeout_ms, 0, INT64_MAX);
  const Json* http = reader.object("http");
  if (http == nullptr) reader.fail("http", "is missing");
  RETURN_IF_ERROR(reader.finishTolerant());
  RETURN_IF_ERROR(readHttp(*http, "http", true, job.http));
  const auto faults = httpFaults(job.http);
  if (!faults.empty()) {
    return Error(ErrorCode::InvalidArgument, faults.front().message(),
                 "http." + faults.front().field());
  }
  if (timeout_ms > 0) job.wait = std::min(Millis(timeout_ms), kHttpWaitMax) + kHttpWaitSlack;
  return job;
}

HttpEnd endOf(const Error& error, const HttpUrl& url, Millis wait) {
  switch (error.code()) {
    case ErrorCode::DeadlineExceeded:
      return {HttpTaskExit::TimeOver, fmt::format("{}:{} gave no answer within {}", url.host,
                                                  url.port, formatDuration(wait))};
    case ErrorCode::InvalidArgument:
      return {HttpTaskExit::BadRequest, error.message()};
    default:
      return {HttpTaskExit::NoAnswer, error.message()};
  }
}

// The body as a value of the task's outputs, without the line ends at its end.
HttpEnd capture(const HttpSpec& http, std::string_view body) {
  while (body.ends_with('\n') || body.ends_with('\r')) body.remove_suffix(1);
  const auto line = formatOutputValue(http.capture, body);
  if (!line.ok()) {
    return {HttpTaskExit::NotKept, fmt::format("the body can't be kept as the output {}: {}",
                                               http.capture, line.error().message())};
  }
  const char* path = getenv("BATON_OUTPUT");
  if (path == nullptr) return {HttpTaskExit::NotKept, "BATON_OUTPUT names no file for the body"};
  const FileDescriptor file(
      open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !writeAll(file.get(), *line)) {
    return {HttpTaskExit::NotKept, fmt::format("{} can't be written: {}", path, strerror(errno))};
  }
  return {};
}

}  // namespace

HttpEnd runHttpJob(const HttpJob& job) {
  const auto url = parseHttpUrl(job.http.url);
  if (!url.ok()) {
    return {HttpTaskExit::BadRequest,
            fmt::format("the address \"{}\" is no good: {}", truncateUtf8(job.http.url, 200),
                        url.error().message())};
  }
  net::HttpRequest request;
  request.method = job.http.method;
  request.target = url->target;
  request.body = job.http.body;
  request.headers.add("User-Agent", "baton/" BATON_VERSION);
  request.headers.add("Accept", "*/*");
  for (const auto& [name, value] : job.http.headers) request.headers.set(name, value);
  net::HttpClient::Options options;
  options.connect_timeout = kConnectTimeout;
  options.body_bytes_max = kAnswerBytesMax;
  net::HttpClient client(options);
  const auto answer = client.send({url->host, url->port}, request, job.wait);
  if (!answer.ok()) return endOf(answer.error(), *url, job.wait);
  const std::string status =
      fmt::format("{} {}", answer->status, net::reasonPhrase(answer->status));
  if (!writeAll(STDOUT_FILENO, fmt::format("{}\n\n{}", status, answer->body))) {
    return {HttpTaskExit::NotKept,
            fmt::format("standard output can't be written: {}", strerror(errno))};
  }
  if (!isExpectedStatus(job.http, answer->status)) {
    return {HttpTaskExit::Unexpected,
            fmt::format("{} {} was answered with {}, expected {}", job.http.method, job.http.url,
                        status, expectedText(job.http))};
  }
  return job.http.capture.empty() ? HttpEnd{} : capture(job.http, answer->body);
}

int runHttpTask(const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);
  HttpEnd end;
  if (!arguments.empty()) {
    end = {HttpTaskExit::BadRequest,
           "http-task takes no arguments: it reads its task from "
           "standard input"};
  } else if (const auto job = readJob(); !job.ok()) {
    end = {HttpTaskExit::BadRequest,
           fmt::format("the request can't be sent: {}", job.error().told())};
  } else {
    end = runHttpJob(*job);
  }
  if (!end.text.empty()) writeAll(STDERR_FILENO, end.text + "\n");
  return static_cast<int>(end.code);
}

}  // namespace baton::worker
