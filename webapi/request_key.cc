#include "webapi/request_key.h"

#include <algorithm>

#include "common/base/digest.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kKeyField = "Idempotency-Key";
constexpr size_t kKeyCharsMax = 128;

}  // namespace

Result<std::string> readIdempotencyKey(const net::HttpRequest& request) {
  const size_t fields = request.headers.count(kKeyField);
  if (fields == 0) return std::string();
  const std::string key(request.headers.get(kKeyField));
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (fields > 1 || key.empty() || key.size() > kKeyCharsMax || !printable) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("must be one value of 1 to {} printable characters", kKeyCharsMax),
                 std::string(kKeyField));
  }
  return key;
}

master::api::Request requesterOf(const Call& call) {
  return {.principal = kClientPrincipal,
          .remote = truncateUtf8(call.request().peer, 60),
          .request_id = call.requestId()};
}

Result<master::api::Request> readRequest(const Call& call) {
  const net::HttpRequest& request = call.request();
  ASSIGN_OR_RETURN(std::string key, readIdempotencyKey(request));
  master::api::Request read = requesterOf(call);
  read.idempotency_key = std::move(key);
  read.request_hash =
      sha256Hex(fmt::format("{} {}\n{}", request.method, request.target, request.body));
  return read;
}

void markReplayed(net::HttpResponse& response, bool replayed) {
  if (replayed) response.headers.add("Idempotency-Replayed", "true");
}

}  // namespace baton::webapi
