#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "net/http_message.h"

namespace baton::net {

struct HeadLimits {
  size_t bytes_max = 16 * 1024;  // From the first line to the empty line.
  size_t fields_max = 100;
};

// What is wrong with a message, as the status that tells the sender so.
struct HttpFault {
  int status = 0;
  std::string_view code;
  std::string detail;
};

// Gathers the head of a message byte by byte as it arrives and refuses at the first byte that no
// honest sender sends (control characters, a bare CR or LF), so that rubbish is not waited for.
//
// The header text is parsed here and not by Poco: Poco 1.11 decodes RFC 2047 words in any field,
// which lets a sender smuggle line breaks into values, and it takes duplicate Content-Length,
// folded lines and blanks before the colon, on which proxies and servers disagree.
class HeadScanner {
 public:
  enum class State : uint8_t { More, Complete, Failed };

  explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

  // Takes bytes from `data` up to the end of the head and sets how many it took.
  State feed(std::string_view data, size_t& taken);
  bool started() const { return !text_.empty(); }
  const std::string& text() const { return text_; }  // With the empty line.
  const HttpFault& fault() const { return fault_; }
  void reset();

 private:
  State fail(int status, std::string_view code, std::string_view detail);

  HeadLimits limits_;
  std::string text_;
  size_t lines_ = 0;
  size_t line_begin_ = 0;
  HttpFault fault_;
};

// How long the body of a message is.
struct BodyFraming {
  enum class Kind : uint8_t { None, Length, Chunked, UntilClose } kind = Kind::None;
  uint64_t length = 0;
};

// The head of a request. Returns status 0 when it is sound.
struct RequestHead {
  HttpRequest request;  // Without body and peer.
  BodyFraming body;
  bool keep_alive = false;
  bool http_1_0 = false;
  bool expects_continue = false;
};
HttpFault parseRequestHead(std::string_view text, RequestHead& head);

// The head of a response. Errors: Corrupt (not HTTP/1.x, or a framing that is not clear).
struct ResponseHead {
  HttpResponse response;  // Without body.
  BodyFraming body;
  bool keep_alive = false;
};
Result<ResponseHead> parseResponseHead(std::string_view text, bool answers_head_request);

}  // namespace baton::net
