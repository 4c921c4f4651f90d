#include "webapi/error_mapping.h"

#include "common/base/log.h"

namespace baton::webapi {
namespace {

int statusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Unsupported:
      return 400;
    case ErrorCode::Unauthenticated:
      return 401;
    case ErrorCode::PermissionDenied:
      return 403;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
      return 409;
    case ErrorCode::TooLarge:
      return 413;
    case ErrorCode::Overloaded:
    case ErrorCode::Unavailable:
    case ErrorCode::Busy:
    case ErrorCode::Fenced:
    case ErrorCode::StorageFull:
    case ErrorCode::NotActive:
    case ErrorCode::DeadlineExceeded:
    case ErrorCode::Cancelled:
      return 503;
    case ErrorCode::Corrupt:
    case ErrorCode::Internal:
      return 500;
  }
  return 500;
}

}  // namespace

net::HttpResponse problem(int status, std::string_view code, std::string_view detail,
                          std::string_view field, const Json& extra) {
  Json document = {{"type", "about:blank"},
                   {"title", net::reasonPhrase(status)},
                   {"status", status},
                   {"detail", detail},
                   {"code", code}};
  if (!field.empty()) document["field"] = field;
  document.update(extra);
  net::HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = dumpJson(document);
  if (status == 503) response.headers.add("Retry-After", "1");
  return response;
}

RequestFacts factsOf(const net::HttpRequest& request) {
  return {.method = request.method,
          .target = request.target,
          .wants_html = request.headers.get("Accept").find("text/html") != std::string_view::npos};
}

net::HttpResponse ErrorMapper::toResponse(const Error& error, const RequestFacts& facts,
                                          std::string_view conflict_code) const {
  if (error.code() == ErrorCode::NotActive) return notActive(error, facts);
  const int status = statusOf(error.code());
  if (status == 500) {
    logError("http_request_failed", field("method", facts.method),
             field("target", truncateUtf8(facts.target, 200)), field("why", error.text()));
    return problem(500, "internal", "an internal error; the log of the master tells more");
  }
  std::string_view code = toString(error.code());
  if (status == 409 && !conflict_code.empty()) code = conflict_code;
  net::HttpResponse response = problem(status, code, error.told(), error.field());
  if (status == 401) response.headers.add("WWW-Authenticate", "Bearer realm=\"baton\"");
  return response;
}

net::HttpResponse ErrorMapper::notActive(const Error& error, const RequestFacts& facts) const {
  const master::api::ClusterView view = cluster_.cluster();
  Json extra = Json::object();
  // Its own name can stand there for a moment while it steps up or down; a redirect to itself
  // would go round in a circle.
  const bool other = view.active_known && view.active_node_id != view.node_id;
  if (view.active_known) {
    extra["active"] = {{"node_id", view.active_node_id}, {"address", view.active_address}};
  }
  const std::string detail =
      error.message().empty() ? "this master does not lead" : error.message();
  net::HttpResponse response = problem(503, "not_active", detail, {}, extra);
  const bool reads = facts.method == "GET" || facts.method == "HEAD";
  if (other && reads && facts.wants_html && !view.active_address.empty()) {
    response.status = 307;
    response.headers.set("Location", fmt::format("http://{}{}", view.active_address, facts.target));
  }
  return response;
}

}  // namespace baton::webapi
