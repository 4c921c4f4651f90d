#pragma once

#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/base/status.h"
#include "master/api/ports.h"
#include "net/http_message.h"

namespace baton::webapi {

// application/problem+json: type, title, status, detail, code, the field that is wrong (if one is)
// and the members of `extra`. A 503 carries Retry-After.
net::HttpResponse problem(int status, std::string_view code, std::string_view detail,
                          std::string_view field = {}, const Json& extra = Json::object());

// What an answer to an error must know of its request.
struct RequestFacts {
  std::string method;
  std::string target;
  bool wants_html = false;  // A browser: it is sent on to the active master.
};
RequestFacts factsOf(const net::HttpRequest& request);

// The only place where error codes become HTTP answers. Any thread.
class ErrorMapper {
 public:
  explicit ErrorMapper(master::api::ClusterPort& cluster) : cluster_(cluster) {}

  // `conflict_code` replaces "conflict" as the code of a 409. Errors that are bugs of ours are
  // logged, and the answer does not tell their text.
  net::HttpResponse toResponse(const Error& error, const RequestFacts& facts,
                               std::string_view conflict_code = {}) const;

 private:
  net::HttpResponse notActive(const Error& error, const RequestFacts& facts) const;

  master::api::ClusterPort& cluster_;
};

}  // namespace baton::webapi
