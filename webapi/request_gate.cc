#include "webapi/request_gate.h"

#include <algorithm>

#include "common/base/json.h"

namespace baton::webapi {
namespace {

// Where no body is needed a small one may come all the same.
constexpr size_t kSmallBodyBytesMax = 64 * 1024;

Status checkQuery(const net::HttpRequest& request, const RouteSpec& spec) {
  for (size_t i = 0; i < request.query.size(); ++i) {
    const std::string& name = request.query[i].first;
    const auto known = std::find_if(spec.query.begin(), spec.query.end(),
                                    [&](const QueryParam& param) { return param.name == name; });
    const std::string shown = truncateUtf8(name, 80);
    if (known == spec.query.end()) {
      std::string names;
      for (const QueryParam& param : spec.query) {
        names += (names.empty() ? "" : ", ") + std::string(param.name);
      }
      return Error(ErrorCode::InvalidArgument,
                   names.empty() ? "is not a parameter of this address, which takes none"
                                 : "is not a parameter of this address; known are " + names,
                   shown);
    }
    if (!isValidUtf8(request.query[i].second)) {
      return Error(ErrorCode::InvalidArgument, "is not valid UTF-8", shown);
    }
    if (known->repeatable) continue;
    for (size_t j = 0; j < i; ++j) {
      if (request.query[j].first != name) continue;
      return Error(ErrorCode::InvalidArgument, "is given more than once", shown);
    }
  }
  return {};
}

Status checkBody(const net::HttpRequest& request, const RouteSpec& spec) {
  if (spec.body == BodyRule::None && !request.body.empty()) {
    return Error::invalidArgument("{} of this address takes no body, {} bytes came", request.method,
                                  request.body.size());
  }
  if (spec.body == BodyRule::Required && request.body.empty()) {
    return Error::invalidArgument("the body is empty; expected {}",
                                  spec.yaml_body ? "YAML or JSON" : "JSON");
  }
  return {};
}

bool badContentType(const net::HttpRequest& request, const RouteSpec& spec) {
  const std::string* type = request.headers.find("Content-Type");
  if (type == nullptr || request.body.empty() || spec.any_content_type) return false;
  return !isJsonContentType(*type) && !(spec.yaml_body && isYamlContentType(*type));
}

// "application/json" of "application/json; charset=utf-8".
std::string_view mediaType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  return type;
}

bool isOneOf(std::string_view type, std::initializer_list<std::string_view> known,
             std::string_view suffix) {
  const auto same = [&](std::string_view word) { return net::equalsNoCase(type, word); };
  if (std::any_of(known.begin(), known.end(), same)) return true;
  return type.size() > suffix.size() &&
         net::equalsNoCase(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace

bool isJsonContentType(std::string_view content_type) {
  return isOneOf(mediaType(content_type), {"application/json"}, "+json");
}

bool isYamlContentType(std::string_view content_type) {
  return isOneOf(mediaType(content_type),
                 {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}, "+yaml");
}

RequestGate::RequestGate(const Router& router, const Authenticator& authenticator,
                         master::api::ClusterPort& cluster,
                         std::shared_ptr<const ErrorMapper> errors)
    : router_(router),
      authenticator_(authenticator),
      cluster_(cluster),
      errors_(std::move(errors)) {}

net::HttpServer::RunOn RequestGate::runOn(std::string_view method, std::string_view path) const {
  const Router::Match match = router_.match(method, path);
  // Without a route the answer is made without waiting.
  const bool io = match.spec == nullptr || match.spec->on_io;
  return io ? net::HttpServer::RunOn::Io : net::HttpServer::RunOn::Pool;
}

net::Admission RequestGate::admitBody(const net::HttpRequest& head) const {
  const Router::Match match = router_.match(head.method, head.path);
  const auto refused = [&](net::HttpResponse response) {
    logAccess(head, match.spec, response, Micros(0));
    return net::Admission{.refusal = std::move(response)};
  };
  if (match.spec == nullptr) return refused(refuseUnrouted(head, match));
  const Result<Role> role = authenticator_.require(head, match.spec->access);
  if (!role.ok()) return refused(errors_->toResponse(role.error(), factsOf(head)));
  if (match.spec->body_bytes_max != 0) return {.body_bytes_max = match.spec->body_bytes_max};
  return {.body_bytes_max = match.spec->body == BodyRule::Required ? SIZE_MAX : kSmallBodyBytesMax};
}

void RequestGate::handle(net::HttpRequest request, const net::Responder& responder) const {
  Router::Match match = router_.match(request.method, request.path);
  const auto refuse = [&](net::HttpResponse response) {
    logAccess(request, match.spec, response, Micros(0));
    responder.reply(std::move(response));
  };
  if (match.spec == nullptr) return refuse(refuseUnrouted(request, match));
  const Status admitted = admit(request, *match.spec);
  if (!admitted.ok()) return refuse(errors_->toResponse(admitted.error(), factsOf(request)));
  if (badContentType(request, *match.spec)) {
    return refuse(problem(415, "unsupported_media_type",
                          match.spec->yaml_body
                              ? "the body must be YAML or JSON; send \"Content-Type: "
                                "application/yaml\" or \"application/json\""
                              : "the body must be JSON; send \"Content-Type: application/json\""));
  }
  (*match.handler)(
      Call(std::move(request), std::move(match.params), *match.spec, responder, errors_));
}

net::HttpResponse RequestGate::refuseUnrouted(const net::HttpRequest& request,
                                              const Router::Match& match) const {
  const RequestFacts facts = factsOf(request);
  if (facts.method == "GET" && facts.wants_html &&
      (request.path == "/" || request.path == "/console")) {
    return net::HttpResponse::text(
        404,
        "This is a master of baton. It has no console yet: the command line (baton --help) and the "
        "REST API under /api/v1 do everything; both need a token.\n");
  }
  // Strangers are not told which addresses there are.
  const Result<Role> role = authenticator_.identify(request);
  if (!role.ok()) return errors_->toResponse(role.error(), factsOf(request));
  if (match.allow.empty()) {
    return errors_->toResponse(
        Error::notFound("there is no address {}", truncateUtf8(request.path, 200)),
        factsOf(request));
  }
  net::HttpResponse response = problem(
      405, "method_not_allowed",
      fmt::format("{} is not possible here, {} is", truncateUtf8(request.method, 40), match.allow));
  response.headers.add("Allow", match.allow);
  return response;
}

Status RequestGate::admit(const net::HttpRequest& request, const RouteSpec& spec) const {
  RETURN_IF_ERROR(authenticator_.require(request, spec.access));
  if (!spec.standby && !cluster_.isActive()) {
    return Error::make(ErrorCode::NotActive, "this master does not lead");
  }
  RETURN_IF_ERROR(checkQuery(request, spec));
  for (const char* name : {"If-Match", "If-None-Match"}) {
    // A condition that nobody looks at would be taken for met.
    if (spec.preconditions || spec.method == "GET" || !request.headers.find(name)) continue;
    return Error(ErrorCode::InvalidArgument,
                 "is heard where a definition, calendar or parameter is stored, and not here",
                 name);
  }
  if (!spec.idempotency_key && spec.method != "GET" && request.headers.find("Idempotency-Key")) {
    // Who sends it counts on a repeat being known.
    return Error(ErrorCode::InvalidArgument,
                 "is heard where tasks, flows, runs and events are made, and not here",
                 "Idempotency-Key");
  }
  return checkBody(request, spec);
}

}  // namespace baton::webapi
