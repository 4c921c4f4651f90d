#include "common/model/http_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/base/http_url.h"
#include "common/model/task_rules.h"

namespace baton {
namespace {

constexpr std::array<std::string_view, 6> kHttpMethods{"GET",   "POST",   "PUT",
                                                       "PATCH", "DELETE", "HEAD"};
// They follow from the address and the body.
constexpr std::array<std::string_view, 4> kOwnHeaders{"host", "connection", "content-length",
                                                      "transfer-encoding"};

bool isPlainStatus(std::string_view text) {
  return text.size() == 3 && text[0] >= '1' && text[0] <= '5' && text[1] >= '0' && text[1] <= '9' &&
         text[2] >= '0' && text[2] <= '9';
}

bool isStatusClass(std::string_view text) {
  return text.size() == 3 && text[0] >= '1' && text[0] <= '5' && text.substr(1) == "xx";
}

// "200", "2xx", "200-204".
bool isStatusPattern(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == text.npos) return isPlainStatus(text) || isStatusClass(text);
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = text.substr(dash + 1);
  return isPlainStatus(from) && isPlainStatus(to) && from <= to;
}

bool matchesStatus(std::string_view pattern, std::string_view status) {
  if (isStatusClass(pattern)) return pattern[0] == status[0];
  const size_t dash = pattern.find('-');
  if (dash == pattern.npos) return pattern == status;
  return pattern.substr(0, dash) <= status && status <= pattern.substr(dash + 1);
}

bool isHeaderName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != kMarks.npos;
  });
}

std::string headerFault(const std::string& name, const std::string& value) {
  std::string lower = name;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string shown = truncateUtf8(name, 80);
  if (!isHeaderName(name)) {
    return fmt::format("has \"{}\", which is no name of a header field", shown);
  }
  if (std::find(kOwnHeaders.begin(), kOwnHeaders.end(), lower) != kOwnHeaders.end()) {
    return fmt::format("has \"{}\", which baton sets by itself", shown);
  }
  const bool broken = std::any_of(value.begin(), value.end(),
                                  [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return broken ? fmt::format("has a line break or NUL in \"{}\"", shown) : std::string();
}

std::string urlFault(const std::string& url, bool as_written) {
  if (url.empty()) return "is missing";
  // What stands for a placeholder is judged when it is known.
  if (as_written && url.find('$') != url.npos && isWebAddress(url)) return {};
  return webAddressFault(url);
}

}  // namespace

std::vector<Error> httpFaults(const HttpSpec& http, bool as_written) {
  std::vector<Error> faults;
  const auto wrong = [&](std::string_view key, std::string message,
                         ErrorCode code = ErrorCode::InvalidArgument) {
    if (!message.empty()) faults.emplace_back(code, std::move(message), std::string(key));
  };
  if (std::find(kHttpMethods.begin(), kHttpMethods.end(), http.method) == kHttpMethods.end()) {
    wrong("method", fmt::format("is \"{}\", expected {}", truncateUtf8(http.method, 40),
                                "GET, POST, PUT, PATCH, DELETE or HEAD"));
  }
  wrong("url", urlFault(http.url, as_written));
  if (isHttpsAddress(http.url)) {
    wrong("url", "https is not supported by this version of baton", ErrorCode::Unsupported);
  }
  size_t bytes = http.url.size() + http.body.size();
  for (const auto& [name, value] : http.headers) {
    bytes += name.size() + value.size();
    wrong("headers", headerFault(name, value));
  }
  for (const std::string& text : http.expect) {
    if (isStatusPattern(text)) continue;
    wrong("expect", fmt::format("has \"{}\", expected a status such as 200, 2xx or 200-204",
                                truncateUtf8(text, 40)));
  }
  if (!http.capture.empty()) wrong("capture", std::string(wrongVariableName(http.capture)));
  if (bytes > kParamsBytesMax) {
    wrong("body",
          fmt::format("makes {} bytes with url and headers, at most {} are accepted", bytes,
                      kParamsBytesMax),
          ErrorCode::TooLarge);
  }
  return faults;
}

bool isExpectedStatus(const HttpSpec& http, int status) {
  const std::string text = std::to_string(status);
  if (http.expect.empty()) return matchesStatus("2xx", text);
  return std::any_of(http.expect.begin(), http.expect.end(),
                     [&](const std::string& pattern) { return matchesStatus(pattern, text); });
}

std::string expectedText(const HttpSpec& http) {
  if (http.expect.empty()) return "2xx";
  std::string text = http.expect.front();
  for (size_t i = 1; i < http.expect.size(); ++i) {
    text += (i + 1 == http.expect.size() ? " or " : ", ") + http.expect[i];
  }
  return text;
}

Status readHttp(const Json& json, const std::string& path, bool tolerant, HttpSpec& http) {
  JsonReader reader(json, path);
  reader.string("method", http.method)
      .string("url", http.url, kUrlCharsMax)
      .stringMap("headers", http.headers, kHttpHeadersMax)
      .string("body", http.body, kHttpBodyCharsMax)
      .string("capture", http.capture, 64);
  if (const Json* expect = reader.any("expect")) {
    // 200 is as good as "200", and one as good as a list of one.
    const Json list = expect->is_array() ? *expect : Json::array({*expect});
    if (list.size() > kHttpExpectMax) {
      reader.fail("expect", fmt::format("has {} items, at most {} are accepted", list.size(),
                                        kHttpExpectMax));
    }
    for (const Json& item : list) {
      if (item.is_string()) {
        http.expect.push_back(item.get<std::string>());
      } else if (item.is_number_integer()) {
        http.expect.push_back(item.dump());
      } else {
        reader.fail("expect", fmt::format("has {}, expected a status such as 200, \"2xx\" or "
                                          "\"200-204\", or a list of them",
                                          jsonTypeName(item)));
      }
    }
  }
  return tolerant ? reader.finishTolerant() : reader.finish();
}

Json httpToJson(const HttpSpec& http) {
  Json json = {{"url", http.url}};
  if (http.method != "GET") json["method"] = http.method;
  if (!http.headers.empty()) json["headers"] = http.headers;
  if (!http.body.empty()) json["body"] = http.body;
  if (!http.expect.empty()) json["expect"] = http.expect;
  if (!http.capture.empty()) json["capture"] = http.capture;
  return json;
}

}  // namespace baton
