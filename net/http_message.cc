#include "net/http_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/json.h"

namespace baton::net {
namespace {

char lowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lowerAscii(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool breaksFraming(char c) { return c == '\r' || c == '\n' || c == '\0'; }

void appendSafe(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (!breaksFraming(c)) out += c;
  }
}

void appendField(std::string& out, std::string_view name, std::string_view value) {
  appendSafe(out, name);
  out += ": ";
  appendSafe(out, value);
  out += "\r\n";
}

// Fields that the sender of a message alone decides: a second one would be read differently by
// different readers.
bool isFramingField(std::string_view name) {
  return equalsNoCase(name, "Content-Length") || equalsNoCase(name, "Transfer-Encoding") ||
         equalsNoCase(name, "Connection");
}

}  // namespace

bool equalsNoCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return lowerAscii(x) == lowerAscii(y);
         });
}

const std::string* HttpHeaders::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equalsNoCase(field.first, name)) return &field.second;
  }
  return nullptr;
}

std::string_view HttpHeaders::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

size_t HttpHeaders::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(
      fields_.begin(), fields_.end(), [&](const Field& f) { return equalsNoCase(f.first, name); }));
}

void HttpHeaders::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void HttpHeaders::set(std::string_view name, std::string value) {
  std::erase_if(fields_, [&](const Field& field) { return equalsNoCase(field.first, name); });
  fields_.emplace_back(std::string(name), std::move(value));
}

bool hasToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    if (equalsNoCase(item, token)) return true;
  }
  return false;
}

Result<std::string> percentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      const int high = i + 2 < text.size() ? hexValue(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return Error::invalidArgument("broken % escape in the URI");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return Error::invalidArgument("a NUL in the URI");
    out += c;
  }
  return out;
}

std::string percentEncode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

const std::string* HttpRequest::findQuery(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

HttpResponse HttpResponse::json(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

HttpResponse HttpResponse::text(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

HttpResponse HttpResponse::empty(int status) {
  HttpResponse response;
  response.status = status;
  return response;
}

HttpResponse HttpResponse::problem(int status, std::string_view code, std::string_view detail) {
  const Json document = {{"type", "about:blank"},
                         {"title", reasonPhrase(status)},
                         {"status", status},
                         {"detail", detail},
                         {"code", code}};
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = dumpJson(document);
  return response;
}

HttpResponse HttpResponse::stream(int status, std::string content_type,
                                  std::function<Result<std::string>(size_t max)> pull,
                                  std::optional<uint64_t> length) {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.source = [pull = std::move(pull)](size_t max, const BodyDone& done) { done(pull(max)); };
  response.source_length = length;
  return response;
}

std::string_view reasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

std::string formatResponseHead(const HttpResponse& response, std::string_view framing,
                               bool keep_alive, std::string_view date) {
  std::string out;
  out.reserve(256 + response.body.size());
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", response.status,
                 reasonPhrase(response.status));
  out += "Date: ";
  out += date;
  out += "\r\n";
  if (!response.content_type.empty()) appendField(out, "Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) {
    if (!isFramingField(name)) appendField(out, name, value);
  }
  out += framing;
  out += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return out;
}

Result<std::string> formatRequest(const HttpRequest& request, std::string_view authority) {
  const auto bad = [](std::string_view text, bool spaces_allowed) {
    return std::any_of(text.begin(), text.end(),
                       [&](char c) { return breaksFraming(c) || (c == ' ' && !spaces_allowed); });
  };
  if (request.method.empty() || bad(request.method, false) || request.target.empty() ||
      bad(request.target, false) || bad(authority, false)) {
    return Error::invalidArgument("method or target of the request is not valid");
  }
  std::string out;
  out.reserve(256 + request.body.size());
  fmt::format_to(std::back_inserter(out), "{} {} HTTP/1.1\r\nHost: {}\r\n", request.method,
                 request.target, authority);
  for (const auto& [name, value] : request.headers) {
    if (isFramingField(name) || equalsNoCase(name, "Host")) continue;
    if (name.empty() || bad(name, false) || bad(value, true)) {
      return Error::invalidArgument("header field of the request has a line break or NUL");
    }
    appendField(out, name, value);
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
      request.method == "PATCH") {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", request.body.size());
  }
  out += "Connection: keep-alive\r\n\r\n";
  out += request.body;
  return out;
}

}  // namespace baton::net
