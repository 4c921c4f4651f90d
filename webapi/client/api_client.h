#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "net/http_client.h"

namespace baton::webapi {

// One request to whichever master is active.
struct ApiRequest {
  std::string method = "GET";
  std::string target;  // Path and query as on the wire.
  std::string body;    // Empty: none.
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::string idempotency_key;  // Sent with every repetition; empty: none.
  std::string request_id;       // X-Request-Id, the same with every repetition; empty: none.
  std::string if_match;         // Header of that name; empty: none.
  std::string if_none_match;    // The same.
  // True if the request does no harm when it is carried out twice: then it is repeated after a
  // lost answer too. False: it is sent only to a master that has just said that it leads, and a
  // lost answer is an error.
  bool repeatable = true;
  Millis timeout{10'000};  // For one try.
  bool streamed = false;   // The reply's body is not waited for: ApiReply::stream gives it.
};

struct ApiReply {
  int status = 0;
  net::HttpHeaders headers;
  std::string body;
  std::shared_ptr<net::HttpClient::Stream> stream = {};  // If that was asked for.

  // Errors: Corrupt (the body is not JSON).
  Result<Json> json() const;
};

// What one master made of a question to all of them.
struct MasterAnswer {
  std::string address;
  bool configured = true;  // False: another one's answer named it as the active one.
  Result<Json> answer = Json(nullptr);
};

// Talks to the active one of several masters and rides out a failover: a request goes to the
// master that was active last; a standby's answer names the active one; what can't be reached, or
// can't do it now (not_active, overloaded, unavailable and their like), is tried again, all masters
// in turn, with jittered pauses, until the patience ends.
// Blocking. Thread: one at a time.
class ApiClient {
 public:
  struct Options {
    std::vector<std::string> masters;  // host:port, at least one.
    std::string token;
    Millis patience{60'000};  // For how long a request is repeated in all.
    Millis pause_min{100};    // Between two rounds over all masters.
    Millis pause_max{500};
    uint64_t seed = 0;                  // Of the jitter; 0: from the kernel.
    std::function<void(Millis)> sleep;  // Empty: sleeps on this thread.
    // Told once in a call that has found no active master for two seconds: what each answered, and
    // for how long it goes on. Empty: nobody wants to know.
    std::function<void(const std::string& answers, Millis left)> searching = {};
  };

  // `clock` outlives this. Errors: InvalidArgument (no masters, or one that is no host:port).
  static Result<ApiClient> make(Options options, const Clock& clock);

  // Answers with any 2xx. Errors: what the master says (NotFound, Conflict, InvalidArgument with
  // the field, PermissionDenied, Unauthenticated, TooLarge, …), NotActive (no active master was
  // found in time: says what each answered), Overloaded, StorageFull and Unavailable (what a
  // leading master still answered when the patience ended), Unavailable (a worker that the master
  // asked does not answer; the answer to a request that is not repeatable was lost).
  Result<ApiReply> call(const ApiRequest& request);
  // The problem document of the refusal that the last call ended with; an empty object if it did
  // not end with one.
  const Json& problem() const { return problem_; }

  // GET of what every master says of itself: asks all that are configured at once, and then the
  // active ones that they name, each for at most `limit` (and the patience) and never again. In
  // that order. Errors of one: Unavailable and DeadlineExceeded (it can't be reached), Corrupt, and
  // what it refuses with.
  std::vector<MasterAnswer> askAll(std::string_view target, Millis limit) const;

  // call() and the body as JSON.
  Result<Json> get(std::string_view target);
  Result<Json> post(std::string_view target, const Json& body = nullptr);
  Result<Json> put(std::string_view target, const Json& body);
  Result<Json> remove(std::string_view target);  // DELETE, as order()
  // An order about what stands at `object` (a path; empty: it is gone when the order is done). The
  // answer to the first try may have been lost, and the repetition refused for what the first did:
  // then the audit log says that the order was carried out, and the object as it is now is the
  // answer (null: it is gone). Nothing is known of an order that is not repeatable, whose answer
  // was lost and of which the log has no row.
  Result<Json> order(ApiRequest request, std::string_view object);
  // POST that makes something: the same key (a new random one if it is empty) is sent until there
  // is an answer, so that one submission is carried out once.
  Result<Json> create(std::string_view target, const Json& body, std::string idempotency_key = {});

 private:
  struct Master {
    std::string address;
    net::HttpEndpoint endpoint;
    std::string last_answer;  // Of this call, for the error message.
  };
  // What one try came to.
  struct Attempt {
    enum class Outcome : uint8_t { Done, Elsewhere, Later };
    Outcome outcome = Outcome::Later;
    bool refused = false;  // A master answered, and not that it does not lead (any more).
    Json problem = Json::object();
    Result<ApiReply> result = ApiReply{};
    Millis retry_after{0};
  };

  ApiClient(Options options, const Clock& clock);

  Attempt tryOnce(size_t index, const ApiRequest& request, Micros left);
  Attempt judge(size_t index, const ApiRequest& request, net::HttpResponse response);
  // True if that master answers now that it leads.
  bool confirmsLead(size_t index, Micros left);
  // Whether the audit log says that the order of this id was carried out.
  bool wasCarriedOut(const std::string& request_id);
  void followHint(const Json& problem);
  net::HttpRequest toHttp(const ApiRequest& request) const;
  Result<Json> askOne(const std::string& address, const ApiRequest& question, Micros time) const;
  // What each master said in this call.
  std::string lastAnswers() const;
  // `trouble`: what was wrong with a master that leads; absent: there was none.
  Error gaveUp(const std::optional<Error>& trouble) const;

  Options options_;
  const Clock& clock_;
  Random random_;
  std::unique_ptr<net::HttpClient> http_;
  std::vector<Master> masters_;  // As configured, and behind them those that were named.
  size_t current_ = 0;           // Index of the master that is asked first.
  bool hinted_ = false;          // current_ was named by a standby a moment ago.
  Json problem_ = Json::object();
  bool answer_lost_ = false;  // Of the last call, which was not repeatable.
};

// The code that a problem document's `code` or, without one, an HTTP status stands for.
ErrorCode errorCodeOf(int status, std::string_view code);

// A text as one segment of a path.
std::string pathSegment(std::string_view text);
// "key=value&…" with both escaped; empty values are left out.
std::string queryString(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace baton::webapi
