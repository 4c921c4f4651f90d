#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "webapi/auth.h"
#include "webapi/error_mapping.h"
#include "webapi/route_spec.h"

namespace baton::webapi {

using PathParams = std::vector<std::pair<std::string_view, std::string>>;

// One authorised request with its parameters, and the way to answer it: once, now or later, from
// any thread. Copies share it. It may outlive the server (callbacks of ports keep it).
class Call {
 public:
  Call(net::HttpRequest request, PathParams params, const RouteSpec& spec, net::Responder responder,
       std::shared_ptr<const ErrorMapper> errors);

  const net::HttpRequest& request() const { return state_->request; }
  // Leaves the request without its body: a held call needs no room for it, and none of the
  // server's budget either. Before others read it.
  std::string takeBody() const {
    state_->request.body_lease.reset();
    return std::move(state_->request.body);
  }
  // The named part of the path; the route has it.
  const std::string& pathParam(std::string_view name) const;
  const net::Responder& responder() const { return state_->responder; }

  // Tells this request in logs, the audit and the answer (X-Request-Id): as the client chose, or
  // made at the first call, which must come before the answer.
  const std::string& requestId() const;

  void reply(net::HttpResponse response) const;
  void replyJson(const Json& json) const;
  // `conflict_code`: see ErrorMapper.
  void fail(const Error& error, std::string_view conflict_code = {}) const;
  // The JSON or the error.
  void finish(const Result<Json>& answer) const;

 private:
  struct State {
    net::HttpRequest request;
    PathParams params;
    RouteSpec spec;  // A copy: the table goes with the server, this may stay longer.
    net::Responder responder;
    std::shared_ptr<const ErrorMapper> errors;
    RequestFacts facts;
    BootTime begun;
    std::string request_id;  // Empty: nobody asked for it.
  };

  std::shared_ptr<State> state_;
};

// One line for each answer at debug level, and at warn level for one that took over a second.
void logAccess(const net::HttpRequest& request, const RouteSpec* spec,
               const net::HttpResponse& response, Micros took);

}  // namespace baton::webapi
