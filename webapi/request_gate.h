#pragma once

#include <memory>
#include <string_view>

#include "master/api/ports.h"
#include "net/http_server.h"
#include "net/responder.h"
#include "webapi/auth.h"
#include "webapi/error_mapping.h"
#include "webapi/router.h"

namespace baton::webapi {

// What every request passes before its handler: route, token, role of this master, query
// parameters, body. Any thread.
class RequestGate {
 public:
  // References outlive this.
  RequestGate(const Router& router, const Authenticator& authenticator,
              master::api::ClusterPort& cluster, std::shared_ptr<const ErrorMapper> errors);

  net::HttpServer::RunOn runOn(std::string_view method, std::string_view path) const;
  // Decides about a request with a body from its head: who may send how much where.
  net::Admission admitBody(const net::HttpRequest& head) const;
  // Answers, or hands on to the handler, which does.
  void handle(net::HttpRequest request, const net::Responder& responder) const;

 private:
  net::HttpResponse refuseUnrouted(const net::HttpRequest& request,
                                   const Router::Match& match) const;
  // Errors: what the answer says. The role on success.
  Status admit(const net::HttpRequest& request, const RouteSpec& spec) const;

  const Router& router_;
  const Authenticator& authenticator_;
  master::api::ClusterPort& cluster_;
  const std::shared_ptr<const ErrorMapper> errors_;
};

// True for what a JSON body may be declared as: application/json or anything/…+json.
bool isJsonContentType(std::string_view content_type);
// True for application/yaml, text/yaml, their older names and anything/…+yaml.
bool isYamlContentType(std::string_view content_type);

}  // namespace baton::webapi
