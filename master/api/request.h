#pragma once

#include <string>

namespace baton::master::api {

// Who asks, and whether it was asked before.
struct Request {
  std::string principal;
  std::string idempotency_key = {};  // Empty: none.
  std::string request_hash = {};     // SHA-256 of address and body.
  std::string remote = {};           // Address of the other end.
  std::string request_id = {};
};

}  // namespace baton::master::api
