#include "common/model/task_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/model/ids.h"

namespace baton {
namespace {

constexpr std::array<std::string_view, 6> kBuiltInKinds{"command", "script", "http",
                                                        "flow",    "event",  "noop"};

int depthOf(const Json& json) {
  int depth = 0;
  if (json.is_structured()) {
    for (const Json& inner : json) depth = std::max(depth, depthOf(inner));
    ++depth;
  }
  return depth;
}

bool beginsWith(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() &&
         std::equal(lower_case.begin(), lower_case.end(), text.begin(), [](char lower, char c) {
           return lower == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
         });
}

std::string hostFault(std::string_view host) {
  if (host.empty()) return "has no host";
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
  if (plain && host.size() <= 253) return {};
  return fmt::format("has \"{}\", which is no name of a host", truncateUtf8(host, 60));
}

}  // namespace

std::string_view wrongVariableName(std::string_view name) {
  const bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9');
                     });
  if (!plain) return "is not a variable name; expected letters, digits and _";
  if (name.starts_with("BATON_")) return "names beginning with BATON_ are set by baton";
  return {};
}

bool isCallbackEvent(std::string_view word) {
  return word == "finished" || word == "failed" || word == "terminated" || word == "skipped";
}

bool isHttpsAddress(std::string_view url) { return beginsWith(url, "https://"); }

bool isWebAddress(std::string_view url) {
  return beginsWith(url, "http://") || isHttpsAddress(url);
}

std::string webAddressFault(std::string_view url) {
  if (!isWebAddress(url)) {
    return fmt::format("is \"{}\", expected an http:// address", truncateUtf8(url, 60));
  }
  const auto odd = std::find_if(url.begin(), url.end(), [](char c) {
    return c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>';
  });
  if (odd != url.end()) {
    return fmt::format("has a character that must be escaped (%XX), behind \"{}\"",
                       truncateUtf8(url.substr(0, static_cast<size_t>(odd - url.begin())), 60));
  }
  std::string_view rest = url.substr(url.find("://") + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (rest.find('@') != rest.npos) return "has user information, which is never sent";
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    in6_addr address{};
    const std::string literal(rest.substr(1, end == rest.npos ? 0 : end - 1));
    if (inet_pton(AF_INET6, literal.c_str(), &address) != 1) {
      return fmt::format("has \"{}\", expected an IPv6 address in brackets",
                         truncateUtf8(rest, 60));
    }
    rest = rest.substr(end + 1);
  } else {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (std::string fault = hostFault(rest.substr(0, colon)); !fault.empty()) return fault;
    rest = rest.substr(colon);
  }
  if (rest.empty()) return {};
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), port);
  if (rest.front() == ':' && error == std::errc() && end == rest.data() + rest.size() &&
      port != 0) {
    return {};
  }
  return fmt::format("has \"{}\" behind its host, expected : and a port from 1 to 65535",
                     truncateUtf8(rest, 40));
}

std::string_view wrongPlugInKind(std::string_view kind) {
  if (!isValidName(kind) || kind.size() > kKindCharsMax) {
    return "expected 1 to 32 of A-Z a-z 0-9 . _ -";
  }
  const bool built_in =
      std::find(kBuiltInKinds.begin(), kBuiltInKinds.end(), kind) != kBuiltInKinds.end();
  return built_in ? "that kind is built in" : std::string_view();
}

std::string kindLabel(std::string_view kind) {
  if (kind == "command" || kind == "script") return {};
  return std::string(kKindLabelPrefix) + std::string(kind);
}

Status checkWith(const Json& with) {
  if (with.is_null()) return {};
  if (!with.is_object()) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is {}, expected a map of the plug-in's own keys", jsonTypeName(with)),
                 "with");
  }
  if (const int depth = depthOf(with); depth > kWithDepthMax) {
    return Error(
        ErrorCode::InvalidArgument,
        fmt::format("is nested {} levels deep, at most {} are accepted", depth, kWithDepthMax),
        "with");
  }
  if (const size_t bytes = dumpJson(with).size(); bytes > kParamsBytesMax) {
    return Error(ErrorCode::TooLarge,
                 fmt::format("has {} bytes, at most {} are accepted", bytes, kParamsBytesMax),
                 "with");
  }
  return {};
}

}  // namespace baton
