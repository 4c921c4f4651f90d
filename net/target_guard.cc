#include "net/target_guard.h"

#include <algorithm>
#include <charconv>

#include "net/socket.h"

namespace baton::net {
namespace {

std::string lowerHost(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool isHostName(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

bool parsePort(std::string_view text, uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

// Takes "host", "host:port", "[v6]" or "[v6]:port" apart. Without a port, `port` stays.
bool splitAuthority(std::string_view authority, std::string& host, uint16_t& port) {
  std::string_view rest;
  if (!authority.empty() && authority.front() == '[') {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return false;
    host = lowerHost(authority.substr(1, end - 1));
    if (host.find(':') == std::string::npos || !parseIpLiteral(host, 0)) return false;
    rest = authority.substr(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    host = lowerHost(authority.substr(0, colon));
    if (!isHostName(host)) return false;
    rest = authority.substr(colon);
  }
  if (rest.empty()) return true;
  return rest.front() == ':' && parsePort(rest.substr(1), port);
}

}  // namespace

Result<HttpUrl> parseHttpUrl(std::string_view url) {
  if (url.size() > 8192) return Error::invalidArgument("the URL is longer than 8192 bytes");
  const bool plain = std::all_of(url.begin(), url.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '\\' && c != '"' && c != '<' && c != '>';
  });
  if (!plain) return Error::invalidArgument("the URL has characters that must be escaped");
  HttpUrl parsed;
  const size_t colon = url.find("://");
  parsed.scheme = lowerHost(url.substr(0, std::min(colon, url.size())));
  if (colon == std::string_view::npos || (parsed.scheme != "http" && parsed.scheme != "https")) {
    return Error::invalidArgument("the URL does not begin with http:// or https://");
  }
  url.remove_prefix(colon + 3);
  const size_t path = std::min(url.find_first_of("/?#"), url.size());
  const std::string_view authority = url.substr(0, path);
  if (authority.find('@') != std::string_view::npos) {
    return Error::invalidArgument("the URL has user information");
  }
  parsed.port = parsed.scheme == "https" ? 443 : 80;
  if (!splitAuthority(authority, parsed.host, parsed.port)) {
    return Error::invalidArgument("the URL's host or port is not valid");
  }
  std::string_view target = url.substr(path);
  target = target.substr(0, target.find('#'));
  if (target.empty() || target.front() != '/') parsed.target.push_back('/');
  parsed.target += target;
  return parsed;
}

Result<HttpUrl> checkTarget(std::string_view url, std::span<const std::string> allowed) {
  ASSIGN_OR_RETURN(HttpUrl target, parseHttpUrl(url));
  const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    std::string host;
    uint16_t port = 0;
    return splitAuthority(entry, host, port) && host == target.host &&
           (port == 0 || port == target.port);
  });
  if (!listed) {
    return Error::make(ErrorCode::PermissionDenied, "{} is not on the list of allowed targets",
                       formatAuthority(target.host, target.port));
  }
  return target;
}

}  // namespace baton::net
