#include "net/http_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace baton::net {
namespace {

bool isTokenChar(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool isHttpToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isTokenChar);
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

HttpFault badRequest(std::string detail) { return {400, "bad_request", std::move(detail)}; }

// Cuts one line, without its CR LF, off the front.
std::string_view takeLine(std::string_view& text) {
  const size_t end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 2, text.size()));
  return line;
}

std::string_view trimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Reads the fields up to the empty line; says what is wrong, or nothing.
std::string parseFields(std::string_view text, HttpHeaders& headers) {
  while (true) {
    const std::string_view line = takeLine(text);
    if (line.empty()) return {};
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !isHttpToken(line.substr(0, colon))) {
      return "a header line is not \"name: value\"";
    }
    headers.add(std::string(line.substr(0, colon)),
                std::string(trimBlanks(line.substr(colon + 1))));
  }
}

// Sets the framing that the fields announce; says what is wrong, or nothing.
std::string parseFraming(const HttpHeaders& headers, BodyFraming& body) {
  const size_t lengths = headers.count("Content-Length");
  const size_t encodings = headers.count("Transfer-Encoding");
  if (lengths + encodings > 1) return "more than one Content-Length or Transfer-Encoding";
  if (lengths == 1) {
    const std::string_view text = headers.get("Content-Length");
    if (text.empty() || text.size() > 18 || !std::all_of(text.begin(), text.end(), isDigit)) {
      return "Content-Length is not a number";
    }
    std::from_chars(text.data(), text.data() + text.size(), body.length);
    body.kind = BodyFraming::Kind::Length;
  } else if (encodings == 1) {
    if (!equalsNoCase(headers.get("Transfer-Encoding"), "chunked")) {
      return "the only Transfer-Encoding that is understood is chunked";
    }
    body.kind = BodyFraming::Kind::Chunked;
  }
  return {};
}

// The part of the target that routes: without scheme and authority of the absolute form.
std::string_view originForm(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !equalsNoCase(target.substr(0, scheme.size()), scheme)) {
      continue;
    }
    target.remove_prefix(scheme.size());
    const size_t path = target.find_first_of("/?");
    return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  return target;
}

std::string parseTarget(HttpRequest& request) {
  std::string_view target = originForm(request.target);
  if (target.empty() || (target.front() != '/' && target.front() != '?' && target != "*")) {
    return "the request target is not a path";
  }
  target = target.substr(0, target.find('#'));
  const size_t question = std::min(target.find('?'), target.size());
  auto path = percentDecode(target.substr(0, question));
  if (!path.ok()) return path.error().message();
  request.path = path->empty() ? "/" : std::move(*path);
  std::string_view query = target.substr(std::min(question + 1, target.size()));
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    auto name = percentDecode(pair.substr(0, equals), true);
    auto value = percentDecode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name.ok() || !value.ok()) return "broken % escape in the query";
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

// "HTTP/1.1" -> 1 and 1.
bool parseVersion(std::string_view text, int& major, int& minor) {
  if (text.size() != 8 || text.substr(0, 5) != "HTTP/" || text[6] != '.' || !isDigit(text[5]) ||
      !isDigit(text[7])) {
    return false;
  }
  major = text[5] - '0';
  minor = text[7] - '0';
  return true;
}

bool keepsAlive(const HttpHeaders& headers, bool http_1_0) {
  const std::string_view connection = headers.get("Connection");
  if (hasToken(connection, "close")) return false;
  return !http_1_0 || hasToken(connection, "keep-alive");
}

HttpFault parseRequestLine(std::string_view line, RequestHead& head) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return badRequest("the request line is not \"method target version\"");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const bool plain =
      std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!isHttpToken(method) || method.size() > 32 || target.empty() || !plain) {
    return badRequest("the request line is not \"method target version\"");
  }
  int major = 0;
  int minor = 0;
  if (!parseVersion(line.substr(last + 1), major, minor)) {
    return badRequest("the request line does not end with an HTTP version");
  }
  if (major != 1) return {505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  head.http_1_0 = minor == 0;
  head.request.method = method;
  head.request.target = target;
  return {};
}

}  // namespace

HeadScanner::State HeadScanner::fail(int status, std::string_view code, std::string_view detail) {
  fault_ = {status, code, std::string(detail)};
  return State::Failed;
}

void HeadScanner::reset() {
  text_.clear();
  lines_ = 0;
  line_begin_ = 0;
  fault_ = {};
}

HeadScanner::State HeadScanner::feed(std::string_view data, size_t& taken) {
  for (taken = 0; taken < data.size();) {
    const char c = data[taken++];
    const bool after_cr = !text_.empty() && text_.back() == '\r';
    if (after_cr != (c == '\n')) return fail(400, "bad_request", "a line does not end with CR LF");
    if ((static_cast<unsigned char>(c) < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f) {
      return fail(400, "bad_request", "a control character in the header");
    }
    if (text_.size() >= limits_.bytes_max) {
      return fail(431, "header_too_large", "the header is larger than this server takes");
    }
    text_ += c;
    if (c != '\n') continue;
    const bool empty_line = text_.size() - line_begin_ == 2;
    if (empty_line && lines_ > 0) return State::Complete;
    if (empty_line) {
      text_.clear();  // Empty lines before a message are tolerated (RFC 9112, 2.2).
    } else if (lines_++ > limits_.fields_max) {
      return fail(431, "too_many_headers", "more header fields than this server takes");
    }
    line_begin_ = text_.size();
  }
  return State::More;
}

HttpFault parseRequestHead(std::string_view text, RequestHead& head) {
  HttpFault fault = parseRequestLine(takeLine(text), head);
  if (fault.status != 0) return fault;
  std::string wrong = parseFields(text, head.request.headers);
  if (wrong.empty()) wrong = parseTarget(head.request);
  if (wrong.empty()) wrong = parseFraming(head.request.headers, head.body);
  if (!wrong.empty()) return badRequest(std::move(wrong));
  const HttpHeaders& headers = head.request.headers;
  const size_t hosts = headers.count("Host");
  if (hosts > 1 || (hosts == 0 && !head.http_1_0)) return badRequest("exactly one Host is needed");
  if (head.http_1_0 && head.body.kind == BodyFraming::Kind::Chunked) {
    return badRequest("HTTP/1.0 has no Transfer-Encoding");
  }
  head.keep_alive = keepsAlive(headers, head.http_1_0);
  if (const std::string* expect = headers.find("Expect")) {
    if (!equalsNoCase(*expect, "100-continue")) {
      return {417, "expectation_failed", "the only expectation that is met is 100-continue"};
    }
    head.expects_continue = !head.http_1_0;
  }
  return {};
}

Result<ResponseHead> parseResponseHead(std::string_view text, bool answers_head_request) {
  const auto corrupt = [](std::string detail) {
    return Error(ErrorCode::Corrupt, "the server's answer: " + std::move(detail));
  };
  ResponseHead head;
  const std::string_view line = takeLine(text);
  int major = 0;
  int minor = 0;
  if (line.size() < 12 || !parseVersion(line.substr(0, 8), major, minor) || major != 1 ||
      line[8] != ' ' || !std::all_of(line.begin() + 9, line.begin() + 12, isDigit) ||
      (line.size() > 12 && line[12] != ' ')) {
    return corrupt("no HTTP/1.x status line");
  }
  std::from_chars(line.data() + 9, line.data() + 12, head.response.status);
  if (head.response.status < 100 || head.response.status > 599) {
    return corrupt(fmt::format("status {}, expected 100 to 599", head.response.status));
  }
  std::string wrong = parseFields(text, head.response.headers);
  if (wrong.empty()) wrong = parseFraming(head.response.headers, head.body);
  if (!wrong.empty()) return corrupt(std::move(wrong));
  head.response.content_type = head.response.headers.get("Content-Type");
  head.keep_alive = keepsAlive(head.response.headers, minor == 0);
  const int status = head.response.status;
  if (answers_head_request || status < 200 || status == 204 || status == 304) {
    head.body = {};
  } else if (head.body.kind == BodyFraming::Kind::None) {
    head.body.kind = BodyFraming::Kind::UntilClose;
    head.keep_alive = false;
  }
  return head;
}

}  // namespace baton::net
