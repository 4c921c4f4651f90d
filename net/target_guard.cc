#include "net/target_guard.h"

#include <algorithm>

#include "net/socket.h"

namespace baton::net {

Result<HttpUrl> checkTarget(std::string_view url, std::span<const std::string> allowed) {
  ASSIGN_OR_RETURN(HttpUrl target, parseHttpUrl(url));
  const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    std::string host;
    uint16_t port = 0;
    return splitAuthority(entry, host, port).empty() && host == target.host &&
           (port == 0 || port == target.port);
  });
  if (!listed) {
    return Error::make(ErrorCode::PermissionDenied, "{} is not on the list of allowed targets",
                       formatAuthority(target.host, target.port));
  }
  return target;
}

}  // namespace baton::net
