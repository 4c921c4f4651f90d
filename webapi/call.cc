#include "webapi/call.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/base/random.h"

namespace baton::webapi {
namespace {

constexpr Micros kSlow{1'000'000};
constexpr const char* kRequestIdField = "X-Request-Id";

// The client's own, if it is one word of a sensible length; else empty.
std::string requestIdIn(const net::HttpRequest& request) {
  constexpr size_t kIdCharsMax = 64;
  const std::string_view id = request.headers.get(kRequestIdField);
  const bool fit = std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c <= '~'; });
  return fit && id.size() <= kIdCharsMax ? std::string(id) : std::string();
}

BootTime bootNow() { return SystemClock().bootNow(); }

}  // namespace

Call::Call(net::HttpRequest request, PathParams params, const RouteSpec& spec,
           net::Responder responder, std::shared_ptr<const ErrorMapper> errors) {
  RequestFacts facts = factsOf(request);
  std::string request_id = requestIdIn(request);
  state_ = std::make_shared<State>(State{std::move(request), std::move(params), spec,
                                         std::move(responder), std::move(errors), std::move(facts),
                                         bootNow(), std::move(request_id)});
}

const std::string& Call::requestId() const {
  if (state_->request_id.empty()) state_->request_id = randomHex(8);
  return state_->request_id;
}

const std::string& Call::pathParam(std::string_view name) const {
  for (const auto& [known, value] : state_->params) {
    if (known == name) return value;
  }
  CHECK(!"the route has no such parameter");
  return state_->params.front().second;
}

void Call::reply(net::HttpResponse response) const {
  if (!state_->request_id.empty()) response.headers.add(kRequestIdField, state_->request_id);
  logAccess(state_->request, &state_->spec, response, bootNow() - state_->begun);
  state_->responder.reply(std::move(response));
}

void Call::replyJson(const Json& json) const {
  reply(net::HttpResponse::json(state_->spec.ok_status, dumpJson(json)));
}

void Call::fail(const Error& error, std::string_view conflict_code) const {
  reply(state_->errors->toResponse(error, state_->facts, conflict_code));
}

void Call::finish(const Result<Json>& answer) const {
  if (answer.ok()) return replyJson(*answer);
  fail(answer.error());
}

void logAccess(const net::HttpRequest& request, const RouteSpec* spec,
               const net::HttpResponse& response, Micros took) {
  const bool slow = took > kSlow && (spec == nullptr || !spec->held);
  const LogLevel level = slow ? LogLevel::Warn : LogLevel::Debug;
  if (!logEnabled(level)) return;
  const std::string path = truncateUtf8(request.path, 200);
  const int64_t took_ms = took.count() / 1000;
  logLine(level, slow ? "http_request_slow" : "http_request", field("method", request.method),
          field("path", path), field("status", response.status), field("ms", took_ms),
          field("peer", request.peer));
}

}  // namespace baton::webapi
