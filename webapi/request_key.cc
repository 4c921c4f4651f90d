#include "webapi/request_key.h"

#include <algorithm>

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

}  // namespace baton::webapi
