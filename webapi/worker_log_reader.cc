#include "webapi/worker_log_reader.h"

#include <algorithm>
#include <array>

#include "common/base/http_url.h"
#include "common/base/json.h"
#include "webapi/query_reader.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kSizeField = "X-Baton-Log-Size";
constexpr std::array<std::string_view, 3> kFactFields{kSizeField, "X-Baton-Log-Truncated",
                                                      "X-Baton-Log-Complete"};
constexpr uint64_t kTailStepBytes = 256 * 1024;

// Room for what the worker may say beside the bytes asked for.
net::HttpClient::Options clientOptions() {
  net::HttpClient::Options options;
  options.connect_timeout = Micros(2'000'000);
  options.body_bytes_max = 2 * 1024 * 1024;
  return options;
}

Result<net::HttpEndpoint> endpointOf(const std::string& address) {
  const auto url = parseHttpUrl(fmt::format("http://{}", address));
  if (address.find_first_of("/?#@\\ ") != address.npos || !url.ok()) {
    return Error::make(ErrorCode::Corrupt, "worker address \"{}\" is not host:port",
                       truncateUtf8(address, 80));
  }
  net::HttpEndpoint endpoint;
  endpoint.host = url->host;
  endpoint.port = url->port;
  return endpoint;
}

}  // namespace

WorkerLogReader::WorkerLogReader(LogLocation location, std::string worker_token, Micros timeout)
    : location_(std::move(location)),
      worker_token_(std::move(worker_token)),
      timeout_(timeout),
      client_(clientOptions()) {}

Result<LogPiece> WorkerLogReader::read(uint64_t offset, uint64_t limit) {
  return readUntil(clock_.bootNow() + timeout_, offset, limit);
}

Result<LogPiece> WorkerLogReader::readUntil(BootTime deadline, uint64_t offset, uint64_t limit) {
  const Micros left = deadline - clock_.bootNow();
  if (left.count() <= 0) {
    return Error::make(ErrorCode::DeadlineExceeded, "the worker {} did not answer in time",
                       location_.worker_address);
  }
  ASSIGN_OR_RETURN(const net::HttpEndpoint endpoint, endpointOf(location_.worker_address));
  net::HttpRequest request;
  request.target =
      fmt::format("/api/v1/attempts/{}/{}/logs?stream={}&offset={}&limit={}", location_.task_id,
                  location_.attempt, location_.stream, offset, limit);
  request.headers.add("Authorization", fmt::format("Bearer {}", worker_token_));
  ASSIGN_OR_RETURN(net::HttpResponse response, client_.send(endpoint, request, left, true));
  LogPiece piece;
  for (const std::string_view name : kFactFields) {
    if (const std::string* value = response.headers.find(name)) {
      piece.facts.add(std::string(name), *value);
    }
  }
  if (const std::string* size = piece.facts.find(kSizeField)) {
    const auto parsed = parseDecimal(*size, 0, INT64_MAX);
    if (parsed.ok()) piece.size = static_cast<uint64_t>(*parsed);
  }
  if (response.status == 416) return piece;  // Behind the end.
  if (response.status == 404) {
    return Error::notFound("the worker {} has no {} of attempt {} any more",
                           location_.worker_address, location_.stream, location_.attempt);
  }
  if (response.status != 200 && response.status != 206) {
    return Error::unavailable("the worker {} answered with status {}", location_.worker_address,
                              response.status);
  }
  if (response.body.size() > limit) {
    return Error::make(ErrorCode::Corrupt, "the worker {} sent {} bytes where {} were asked for",
                       location_.worker_address, response.body.size(), limit);
  }
  piece.bytes = std::move(response.body);
  return piece;
}

Result<LogPiece> WorkerLogReader::readTail(int64_t lines, uint64_t bytes_max, uint64_t& offset) {
  const BootTime deadline = clock_.bootNow() + timeout_;
  ASSIGN_OR_RETURN(LogPiece tail, readUntil(deadline, 0, 1));
  offset = tail.size.value_or(0);
  tail.bytes.clear();
  while (offset > 0 && tail.bytes.size() < bytes_max && tailBegin(tail.bytes, lines) == 0) {
    const uint64_t step = std::min({kTailStepBytes, offset, bytes_max - tail.bytes.size()});
    ASSIGN_OR_RETURN(LogPiece before, readUntil(deadline, offset - step, step));
    if (before.bytes.size() != step) {
      return Error::unavailable("the output became shorter while it was read");
    }
    offset -= step;
    before.bytes += tail.bytes;
    tail.bytes = std::move(before.bytes);
  }
  const size_t begin = tailBegin(tail.bytes, lines);
  offset += begin;
  tail.bytes.erase(0, begin);
  return tail;
}

size_t tailBegin(std::string_view text, int64_t lines) {
  size_t end = text.size();
  if (end > 0 && text[end - 1] == '\n') --end;
  while (lines > 0 && end > 0) {
    const size_t line_break = text.rfind('\n', end - 1);
    if (line_break == text.npos) return 0;
    if (--lines == 0) return line_break + 1;
    end = line_break;
  }
  return 0;
}

}  // namespace baton::webapi
