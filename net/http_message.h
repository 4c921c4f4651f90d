#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace baton::net {

class ByteLease;

// Header fields in the order in which they came; names compare without case.
class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  // The first value of that name, or nullptr.
  const std::string* find(std::string_view name) const;
  // The first value of that name, or empty.
  std::string_view get(std::string_view name) const;
  size_t count(std::string_view name) const;
  void add(std::string name, std::string value);
  // Replaces all values of that name.
  void set(std::string_view name, std::string value);

  size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// True when a comma-separated header value has that token (case does not count).
bool hasToken(std::string_view list, std::string_view token);
bool equalsNoCase(std::string_view a, std::string_view b);

// "%41" -> "A". With `plus_is_space` (query strings) also "+" -> " ".
// Errors: InvalidArgument (a broken escape or a NUL).
Result<std::string> percentDecode(std::string_view text, bool plus_is_space = false);
// Escapes all but unreserved characters (RFC 3986).
std::string percentEncode(std::string_view text);

// One request, as it came in or as it shall be sent. A client fills method, target, headers and
// body alone; Host, Content-Length and Connection are added when it is sent.
struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";                                // As on the wire, with the query.
  std::string path;                                        // Percent-decoded, without the query.
  std::vector<std::pair<std::string, std::string>> query;  // Decoded, in order.
  HttpHeaders headers;
  std::string body;
  std::shared_ptr<ByteLease> body_lease;  // Of a server's budget, for as long as the body lives.
  std::string peer;                       // Address of the other end without its port.

  // The first query parameter of that name, or nullptr.
  const std::string* findQuery(std::string_view name) const;
};

// Gives a piece of a body: at most `max` bytes; an empty string is the end. An error, or dropping
// it uncalled, cuts the connection, so that the reader sees the body is not whole. Callable once,
// from any thread, at any later time.
using BodyDone = std::function<void(Result<std::string>)>;
// Asked for the next piece only when the last one has nearly left (back-pressure). Called on a
// thread of the server's pool; may keep `done` until there is something to send (events), which
// costs no thread. Destroyed when the body has ended or the client has gone.
using BodySource = std::function<void(size_t max, BodyDone done)>;

struct HttpResponse {
  int status = 200;
  std::string content_type;  // Empty: none is sent.
  HttpHeaders headers;       // Others than Content-Type, Content-Length, Connection, Date.
  std::string body;
  BodySource source;                      // When set, it is sent instead of `body`.
  std::optional<uint64_t> source_length;  // Unknown: chunked.

  static HttpResponse json(int status, std::string body);
  static HttpResponse text(int status, std::string body);
  static HttpResponse empty(int status);
  // application/problem+json with the standard title of the status.
  static HttpResponse problem(int status, std::string_view code, std::string_view detail);
  // A body that is pulled piece by piece on the pool; `pull` may block on a disk.
  static HttpResponse stream(int status, std::string content_type,
                             std::function<Result<std::string>(size_t max)> pull,
                             std::optional<uint64_t> length = std::nullopt);
};

// "Not Found" for 404; "Unknown" for what has no name.
std::string_view reasonPhrase(int status);

// The status line and fields of a response, up to and with the empty line. Bytes that would end
// a field early (CR, LF, NUL) are left out of names and values.
std::string formatResponseHead(const HttpResponse& response, std::string_view framing,
                               bool keep_alive, std::string_view date);
// A whole request ready to be sent to `authority` ("host:port"). Errors: InvalidArgument (method,
// target or a field has bytes that would break the framing).
Result<std::string> formatRequest(const HttpRequest& request, std::string_view authority);

}  // namespace baton::net
