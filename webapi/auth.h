#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "net/http_message.h"
#include "webapi/route_spec.h"

namespace baton::webapi {

enum class Role : uint8_t { None, Client, Worker };

// Knows the two tokens, as digests only. Immutable: any thread.
class Authenticator {
 public:
  // Errors: InvalidArgument (a token is empty, has other than visible ASCII characters, is a word
  // that stands in every manual, or both are the same: then the roles would be one).
  static Result<Authenticator> create(const std::string& client_token,
                                      const std::string& worker_token);

  // Who sends this request. Errors: Unauthenticated (no token or a wrong one).
  Result<Role> identify(const net::HttpRequest& request) const;
  // Errors: Unauthenticated, PermissionDenied (a good token of the wrong role).
  Result<Role> require(const net::HttpRequest& request, Access access) const;

 private:
  Authenticator(std::string client, std::string worker)
      : client_digest_(std::move(client)), worker_digest_(std::move(worker)) {}

  std::string client_digest_;
  std::string worker_digest_;
};

}  // namespace baton::webapi
