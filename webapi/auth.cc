#include "webapi/auth.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/digest.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kScheme = "Bearer";
constexpr std::array<std::string_view, 8> kSampleTokens{
    "changeme", "change-me", "change_me", "default_token", "null", "password", "secret", "token"};

Status checkToken(std::string_view whose, const std::string& token) {
  const auto wrong = [&](std::string_view why) {
    return Error::invalidArgument("the {} token {}", whose, why);
  };
  if (token.empty()) return wrong("is empty; the web API never serves without one");
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    return wrong("has blanks or other than visible ASCII characters");
  }
  for (const std::string_view sample : kSampleTokens) {
    if (net::equalsNoCase(token, sample)) return wrong("is a sample that everybody knows");
  }
  return {};
}

Error unauthenticated(std::string_view why) {
  return Error::make(ErrorCode::Unauthenticated, "{}; expected \"Authorization: Bearer TOKEN\"",
                     why);
}

}  // namespace

Result<Authenticator> Authenticator::create(const std::string& client_token,
                                            const std::string& worker_token) {
  RETURN_IF_ERROR(checkToken("client", client_token));
  RETURN_IF_ERROR(checkToken("worker", worker_token));
  if (client_token == worker_token) {
    return Error::invalidArgument("the client token and the worker token are the same");
  }
  return Authenticator(sha256Hex(client_token), sha256Hex(worker_token));
}

Result<Role> Authenticator::identify(const net::HttpRequest& request) const {
  const size_t fields = request.headers.count("Authorization");
  if (fields == 0) return unauthenticated("no token");
  if (fields > 1) return unauthenticated("several Authorization fields");
  std::string_view value = request.headers.get("Authorization");
  if (value.size() <= kScheme.size() || value[kScheme.size()] != ' ' ||
      !net::equalsNoCase(value.substr(0, kScheme.size()), kScheme)) {
    return unauthenticated("no bearer token");
  }
  value.remove_prefix(kScheme.size());
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  // Digests first: then the time of the comparison says nothing about the tokens.
  const std::string digest = sha256Hex(value);
  const bool client = equalSecret(digest, client_digest_);
  const bool worker = equalSecret(digest, worker_digest_);
  if (client) return Role::Client;
  if (worker) return Role::Worker;
  return unauthenticated("the token is not known here");
}

Result<Role> Authenticator::require(const net::HttpRequest& request, Access access) const {
  if (access == Access::Open) return Role::None;
  ASSIGN_OR_RETURN(const Role role, identify(request));
  const bool allowed = access == Access::Any ||
                       (access == Access::Client && role == Role::Client) ||
                       (access == Access::Worker && role == Role::Worker);
  if (allowed) return role;
  return Error::make(ErrorCode::PermissionDenied, "{}",
                     role == Role::Worker ? "a worker's token is for heartbeats only"
                                          : "heartbeats need a worker's token");
}

}  // namespace baton::webapi
