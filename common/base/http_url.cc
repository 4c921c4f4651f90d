#include "common/base/http_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/base/json.h"

namespace baton {
namespace {

constexpr size_t kUrlBytesMax = 8'192;

std::string lowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool hasScheme(std::string_view url, std::string_view scheme) {
  return lowerCase(url.substr(0, scheme.size())) == scheme;
}

std::string hostFault(std::string_view host) {
  if (host.empty()) return "has no host";
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  if (plain && host.size() <= 253) return {};
  return fmt::format("has \"{}\", which is no name of a host", truncateUtf8(host, 60));
}

// Returns what is wrong; empty: nothing.
std::string take(std::string_view url, HttpUrl& parsed) {
  if (url.size() > kUrlBytesMax) return fmt::format("is longer than {} bytes", kUrlBytesMax);
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
  parsed.scheme = lowerCase(url.substr(0, url.find("://")));
  parsed.port = parsed.scheme == "https" ? 443 : 80;
  url.remove_prefix(parsed.scheme.size() + 3);
  const size_t path = std::min(url.find_first_of("/?#"), url.size());
  const std::string_view authority = url.substr(0, path);
  if (authority.find('@') != authority.npos) return "has user information, which is never sent";
  if (std::string fault = splitAuthority(authority, parsed.host, parsed.port); !fault.empty()) {
    return fault;
  }
  std::string_view target = url.substr(path);
  target = target.substr(0, target.find('#'));
  if (target.empty() || target.front() != '/') parsed.target.push_back('/');
  parsed.target += target;
  return {};
}

}  // namespace

bool isHttpsAddress(std::string_view url) { return hasScheme(url, "https://"); }

bool isWebAddress(std::string_view url) { return hasScheme(url, "http://") || isHttpsAddress(url); }

std::string splitAuthority(std::string_view authority, std::string& host, uint16_t& port) {
  std::string_view rest;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    host = lowerCase(authority.substr(1, end == authority.npos ? 0 : end - 1));
    in6_addr address{};
    if (inet_pton(AF_INET6, host.c_str(), &address) != 1) {
      return fmt::format("has \"{}\", expected an IPv6 address in brackets",
                         truncateUtf8(authority, 60));
    }
    rest = authority.substr(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    host = lowerCase(authority.substr(0, colon));
    if (std::string fault = hostFault(host); !fault.empty()) return fault;
    rest = authority.substr(colon);
  }
  if (rest.empty()) return {};
  uint16_t said = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), said);
  if (rest.front() != ':' || error != std::errc() || end != rest.data() + rest.size() ||
      said == 0) {
    return fmt::format("has \"{}\" behind its host, expected : and a port from 1 to 65535",
                       truncateUtf8(rest, 40));
  }
  port = said;
  return {};
}

Result<HttpUrl> parseHttpUrl(std::string_view url) {
  HttpUrl parsed;
  const std::string fault = take(url, parsed);
  if (!fault.empty()) return Error::invalidArgument("the URL {}", fault);
  return parsed;
}

std::string webAddressFault(std::string_view url) {
  HttpUrl parsed;
  return take(url, parsed);
}

}  // namespace baton
