#include "webapi/client/api_client.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "common/base/named_thread.h"

namespace baton::webapi {
namespace {

constexpr size_t kNamedMastersMax = 16;
constexpr Micros kSearchTold{2'000'000};
constexpr Millis kRetryAfterMax{5'000};

Result<net::HttpEndpoint> endpointOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint16_t port = 0;
  if (colon != address.npos && colon > 0) {
    const char* const end = address.data() + address.size();
    const auto [read, failure] = std::from_chars(address.data() + colon + 1, end, port);
    if (failure != std::errc() || read != end) port = 0;
  }
  if (port == 0) return Error::invalidArgument("\"{}\" is not host:port", address);
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return net::HttpEndpoint{.host = std::move(host), .port = port};
}

std::string textOf(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// The problem document in a body, or an empty object.
Json problemOf(const net::HttpResponse& response) {
  auto parsed = parseJson(response.body);
  return parsed.ok() && parsed->is_object() ? std::move(parsed).value() : Json::object();
}

bool isFull(ErrorCode code) {
  return code == ErrorCode::Overloaded || code == ErrorCode::StorageFull || code == ErrorCode::Busy;
}

// What a master refuses with; `asked`: what it was asked, if it says nothing of that.
Error refusalIn(const net::HttpResponse& response, const Json& problem, const std::string& asked) {
  std::string detail = textOf(problem, "detail");
  if (detail.empty()) {
    detail = fmt::format("{} was answered {} {}", asked, response.status,
                         net::reasonPhrase(response.status));
  }
  return Error(errorCodeOf(response.status, textOf(problem, "code")), std::move(detail),
               textOf(problem, "field"));
}

// The address of the active master that an answer names; empty: it names none.
std::string activeAddressIn(const Json& json) {
  const auto active = json.find("active");
  return active != json.end() && active->is_object() ? textOf(*active, "address") : std::string();
}

Millis retryAfterOf(const net::HttpResponse& response) {
  const std::string_view text = response.headers.get("Retry-After");
  int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::clamp<Millis>(Seconds(std::clamp<int64_t>(seconds, 0, 60)), Millis(0),
                            kRetryAfterMax);
}

}  // namespace

ErrorCode errorCodeOf(int status, std::string_view code) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
    if (toString(static_cast<ErrorCode>(i)) == code) return static_cast<ErrorCode>(i);
  }
  switch (status) {
    case 400:
    case 405:
    case 415:
    case 422:
      return ErrorCode::InvalidArgument;
    case 401:
      return ErrorCode::Unauthenticated;
    case 403:
      return ErrorCode::PermissionDenied;
    case 404:
    case 410:
      return ErrorCode::NotFound;
    case 409:
    case 412:
      return ErrorCode::Conflict;
    case 413:
    case 431:
      return ErrorCode::TooLarge;
    case 429:
      return ErrorCode::Overloaded;
    case 408:
    case 502:
    case 503:
    case 504:
      return ErrorCode::Unavailable;
    default:
      return ErrorCode::Internal;
  }
}

std::string pathSegment(std::string_view text) { return net::percentEncode(text); }

std::string queryString(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    if (!out.empty()) out += '&';
    out += net::percentEncode(name) + "=" + net::percentEncode(value);
  }
  return out;
}

Result<Json> ApiReply::json() const {
  if (body.empty()) return Json(nullptr);
  auto parsed = parseJson(body, {.bytes_max = 64 * 1024 * 1024, .depth_max = 64});
  if (!parsed.ok()) {
    return Error::make(ErrorCode::Corrupt, "the master's answer: {}", parsed.error().message());
  }
  return parsed;
}

Result<ApiClient> ApiClient::make(Options options, const Clock& clock) {
  if (options.masters.empty()) return Error::invalidArgument("no masters are given");
  ApiClient client(std::move(options), clock);
  for (const std::string& address : client.options_.masters) {
    ASSIGN_OR_RETURN(net::HttpEndpoint endpoint, endpointOf(address));
    client.masters_.push_back({address, std::move(endpoint), {}});
  }
  return client;
}

ApiClient::ApiClient(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      random_(options_.seed == 0 ? Random::fromKernel() : Random(options_.seed)),
      http_(std::make_unique<net::HttpClient>()) {
  if (!options_.sleep) {
    options_.sleep = [](Millis pause) { std::this_thread::sleep_for(pause); };
  }
}

Result<ApiReply> ApiClient::call(const ApiRequest& request) {
  const BootTime began = clock_.bootNow();
  const BootTime deadline = began + options_.patience;
  bool told = !options_.searching;
  for (Master& master : masters_) master.last_answer.clear();
  problem_ = Json::object();
  answer_lost_ = false;
  Status last;
  std::optional<Error> trouble;  // Of the last whole round.
  while (true) {
    std::optional<Error> refused;  // Of this one.
    Millis pause = Millis(random_.between(options_.pause_min.count(), options_.pause_max.count()));
    // A hint leads out of turn, so a round may have a few tries more than there are masters.
    for (size_t tries = 0; tries < masters_.size() + 2; ++tries) {
      const Micros left = deadline - clock_.bootNow();
      if (left <= Micros(0) && !last.ok()) return gaveUp(refused ? refused : trouble);
      const size_t index = current_;
      Attempt attempt = tryOnce(index, request, std::max<Micros>(left, Millis(1)));
      if (attempt.outcome == Attempt::Outcome::Done) {
        problem_ = std::move(attempt.problem);
        return std::move(attempt.result);
      }
      last = attempt.result.status();
      masters_[index].last_answer = last.error().message();
      if (attempt.refused) refused = last.error();
      if (attempt.outcome == Attempt::Outcome::Later) {
        pause = std::max(pause, attempt.retry_after);
        // Full is full everywhere; any other trouble may be this master's own.
        if (!isFull(last.error().code())) current_ = (index + 1) % masters_.size();
        break;
      }
      if (hinted_) {
        hinted_ = false;  // current_ is the named one.
      } else {
        current_ = (index + 1) % masters_.size();
      }
    }
    const Millis left = std::chrono::duration_cast<Millis>(deadline - clock_.bootNow());
    if (left <= Millis(0)) return gaveUp(refused);
    if (!told && clock_.bootNow() - began >= kSearchTold) {
      told = true;
      options_.searching(refused ? refused->message() : lastAnswers(), left);
    }
    trouble = std::move(refused);
    options_.sleep(std::min(pause, left));
  }
}

ApiClient::Attempt ApiClient::tryOnce(size_t index, const ApiRequest& request, Micros left) {
  Attempt attempt;
  if (!request.repeatable && !confirmsLead(index, left)) {
    attempt.outcome = Attempt::Outcome::Elsewhere;
    attempt.result = Error::make(ErrorCode::NotActive, "does not lead or can't be reached");
    return attempt;
  }
  const Micros timeout = std::min<Micros>(left, request.timeout);
  std::shared_ptr<net::HttpClient::Stream> stream;
  const auto send = [&]() -> Result<net::HttpResponse> {
    const net::HttpEndpoint& endpoint = masters_[index].endpoint;
    if (!request.streamed) {
      return http_->send(endpoint, toHttp(request), timeout, request.repeatable);
    }
    ASSIGN_OR_RETURN(net::HttpClient::Opened opened,
                     http_->open(endpoint, toHttp(request), timeout));
    stream = std::move(opened.stream);
    return std::move(opened.response);
  };
  auto response = send();
  if (response.ok()) {
    attempt = judge(index, request, std::move(response).value());
    if (attempt.result.ok()) attempt.result->stream = std::move(stream);
    return attempt;
  }
  const ErrorCode code = response.error().code();
  const bool lost = code == ErrorCode::Unavailable || code == ErrorCode::DeadlineExceeded;
  attempt.result = response.error();
  if (!lost) {
    attempt.outcome = Attempt::Outcome::Done;
  } else if (!request.repeatable) {
    attempt.outcome = Attempt::Outcome::Done;
    answer_lost_ = true;
    attempt.result = Error::unavailable(
        "the answer of {} was lost; whether it was carried out is not known ({})",
        masters_[index].address, response.error().message());
  } else {
    attempt.outcome = Attempt::Outcome::Elsewhere;
  }
  return attempt;
}

ApiClient::Attempt ApiClient::judge(size_t index, const ApiRequest& request,
                                    net::HttpResponse response) {
  Attempt attempt;
  if (response.status >= 200 && response.status < 300) {
    attempt.outcome = Attempt::Outcome::Done;
    attempt.result =
        ApiReply{response.status, std::move(response.headers), std::move(response.body), {}};
    return attempt;
  }
  const Json& problem = attempt.problem = problemOf(response);
  const std::string word = textOf(problem, "code");
  const Error refusal = refusalIn(response, problem, request.method + " " + request.target);
  const ErrorCode code = refusal.code();
  attempt.result = refusal;
  attempt.retry_after = retryAfterOf(response);
  attempt.refused =
      code != ErrorCode::NotActive && code != ErrorCode::Fenced && code != ErrorCode::Cancelled;
  // A trouble that is none of the master's (`worker_unreachable`) does not pass by waiting for one.
  const bool of_master = word.empty() || word == toString(code);
  if (code == ErrorCode::NotActive) {
    attempt.outcome = Attempt::Outcome::Elsewhere;
    followHint(problem);
    // A name that leads back here is that of a master which is on its way to lead or from it.
    if (current_ == index) hinted_ = false;
  } else if (!of_master) {
    attempt.outcome = Attempt::Outcome::Done;
  } else if (response.status == 503 || response.status == 429) {
    attempt.outcome = Attempt::Outcome::Later;
  } else if (response.status == 502 || response.status == 504) {
    attempt.outcome = request.repeatable ? Attempt::Outcome::Elsewhere : Attempt::Outcome::Done;
  } else {
    attempt.outcome = Attempt::Outcome::Done;
  }
  return attempt;
}

bool ApiClient::confirmsLead(size_t index, Micros left) {
  ApiRequest question;
  question.target = "/api/v1/cluster";
  const auto response = http_->send(masters_[index].endpoint, toHttp(question),
                                    std::min<Micros>(left, Seconds(3)), true);
  if (!response.ok()) return false;
  if (response->status != 200) return response->status < 500;  // Its refusal is worth telling.
  const Json cluster = problemOf(*response);
  if (textOf(cluster, "role") == "active") return true;
  followHint(cluster);
  if (current_ == index) hinted_ = false;
  return false;
}

void ApiClient::followHint(const Json& problem) {
  const std::string address = activeAddressIn(problem);
  if (address.empty()) return;
  for (size_t i = 0; i < masters_.size(); ++i) {
    if (masters_[i].address == address) {
      current_ = i;
      hinted_ = true;
      return;
    }
  }
  auto endpoint = endpointOf(address);
  if (!endpoint.ok() || masters_.size() >= options_.masters.size() + kNamedMastersMax) return;
  masters_.push_back({address, std::move(endpoint).value(), {}});
  current_ = masters_.size() - 1;
  hinted_ = true;
}

net::HttpRequest ApiClient::toHttp(const ApiRequest& request) const {
  net::HttpRequest http;
  http.method = request.method;
  http.target = request.target;
  http.headers.add("Authorization", "Bearer " + options_.token);
  http.headers.add("Accept", request.accept);
  if (!request.body.empty()) http.headers.add("Content-Type", request.content_type);
  if (!request.idempotency_key.empty()) {
    http.headers.add("Idempotency-Key", request.idempotency_key);
  }
  if (!request.request_id.empty()) http.headers.add("X-Request-Id", request.request_id);
  if (!request.if_match.empty()) http.headers.add("If-Match", request.if_match);
  if (!request.if_none_match.empty()) http.headers.add("If-None-Match", request.if_none_match);
  http.body = request.body;
  return http;
}

Error ApiClient::gaveUp(const std::optional<Error>& trouble) const {
  if (trouble) return *trouble;
  return Error::make(ErrorCode::NotActive, "no active master answered within {} s ({})",
                     std::chrono::duration<double>(options_.patience).count(), lastAnswers());
}

std::string ApiClient::lastAnswers() const {
  std::string answers;
  for (const Master& master : masters_) {
    if (master.last_answer.empty()) continue;
    if (!answers.empty()) answers += "; ";
    // Most of what is said of a connection names its other end.
    const bool named = master.last_answer.find(master.address) != std::string::npos;
    answers += named ? master.last_answer : master.address + ": " + master.last_answer;
  }
  return answers;
}

std::vector<MasterAnswer> ApiClient::askAll(std::string_view target, Millis limit) const {
  ApiRequest question;
  question.target = std::string(target);
  const Micros time = std::min<Micros>(limit, options_.patience);
  std::vector<MasterAnswer> answers;
  for (const std::string& address : options_.masters) answers.push_back({.address = address});
  // One after the other, those that are away would add up.
  const auto ask = [&](size_t first) {
    std::vector<NamedThread> threads;
    for (size_t i = first; i < answers.size(); ++i) {
      threads.emplace_back("baton_ask",
                           [this, &question, time, &one = answers[i]](std::stop_token) {
                             one.answer = askOne(one.address, question, time);
                           });
    }
  };
  ask(0);
  const size_t configured = answers.size();
  for (size_t i = 0; i < configured; ++i) {
    if (!answers[i].answer.ok() || !answers[i].answer->is_object()) continue;
    const std::string address = activeAddressIn(*answers[i].answer);
    const bool known = std::any_of(answers.begin(), answers.end(), [&](const MasterAnswer& other) {
      return other.address == address;
    });
    if (!address.empty() && !known) answers.push_back({.address = address, .configured = false});
  }
  ask(configured);
  return answers;
}

Result<Json> ApiClient::askOne(const std::string& address, const ApiRequest& question,
                               Micros time) const {
  ASSIGN_OR_RETURN(const net::HttpEndpoint endpoint, endpointOf(address));
  ASSIGN_OR_RETURN(const net::HttpResponse response,
                   net::HttpClient().send(endpoint, toHttp(question), time));
  if (response.status >= 200 && response.status < 300) {
    return ApiReply{response.status, {}, response.body, {}}.json();
  }
  return refusalIn(response, problemOf(response), question.method + " " + question.target);
}

Result<Json> ApiClient::get(std::string_view target) {
  ApiRequest request;
  request.target = std::string(target);
  ASSIGN_OR_RETURN(const ApiReply reply, call(request));
  return reply.json();
}

Result<Json> ApiClient::post(std::string_view target, const Json& body) {
  ApiRequest request;
  request.method = "POST";
  request.target = std::string(target);
  if (!body.is_null()) request.body = dumpJson(body);
  ASSIGN_OR_RETURN(const ApiReply reply, call(request));
  return reply.json();
}

Result<Json> ApiClient::put(std::string_view target, const Json& body) {
  ApiRequest request;
  request.method = "PUT";
  request.target = std::string(target);
  request.body = dumpJson(body);
  ASSIGN_OR_RETURN(const ApiReply reply, call(request));
  return reply.json();
}

Result<Json> ApiClient::remove(std::string_view target) {
  ApiRequest request;
  request.method = "DELETE";
  request.target = std::string(target);
  // Another one of that name may be there by the time it would be sent again.
  request.repeatable = false;
  return order(std::move(request), {});
}

Result<Json> ApiClient::order(ApiRequest request, std::string_view object) {
  request.request_id = randomHex(16);
  const auto reply = call(request);
  if (reply.ok()) return reply->json();
  const ErrorCode code = reply.error().code();
  if (code != ErrorCode::Conflict && code != ErrorCode::NotFound && !answer_lost_) {
    return reply.error();
  }
  const Json problem = problem_;
  if (wasCarriedOut(request.request_id)) {
    if (object.empty()) return Json(nullptr);
    if (auto now = get(object); now.ok()) return now;
  }
  problem_ = problem;
  return reply.error();
}

bool ApiClient::wasCarriedOut(const std::string& request_id) {
  const auto rows = get("/api/v1/audit?" + queryString({{"request_id", request_id}}));
  if (!rows.ok()) return false;
  const auto items = rows->find("items");
  if (items == rows->end() || !items->is_array()) return false;
  return std::any_of(items->begin(), items->end(),
                     [](const Json& row) { return textOf(row, "outcome") == "done"; });
}

Result<Json> ApiClient::create(std::string_view target, const Json& body,
                               std::string idempotency_key) {
  ApiRequest request;
  request.method = "POST";
  request.target = std::string(target);
  request.body = dumpJson(body);
  request.idempotency_key = idempotency_key.empty() ? makeUuid() : std::move(idempotency_key);
  request.timeout = Millis(30'000);
  ASSIGN_OR_RETURN(const ApiReply reply, call(request));
  return reply.json();
}

}  // namespace baton::webapi
