#include "ha/zk/zk_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace baton::ha {
namespace {

std::vector<std::string> splitText(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::string hostOf(const std::string& host_port) {
  std::string host = host_port.substr(0, host_port.rfind(':'));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

bool isLiteral(const std::string& host) {
  unsigned char buffer[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, host.c_str(), buffer) == 1;
}

Status checkHostPort(const std::string& host_port) {
  const size_t colon = host_port.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* end = host_port.data() + host_port.size();
    const auto [rest, error] = std::from_chars(host_port.data() + colon + 1, end, port);
    if (error == std::errc() && rest == end && port > 0 && port < 65536) return {};
  }
  return Error::invalidArgument("zookeeper.hosts: \"{}\" is not host:port", host_port);
}

}  // namespace

Result<ZkAddress> ZkAddress::parse(const std::string& text) {
  const size_t slash = text.find('/');
  ZkAddress address;
  address.hosts = text.substr(0, slash);
  if (address.hosts.empty()) return Error::invalidArgument("zookeeper.hosts is empty");
  for (const std::string& host_port : splitText(address.hosts, ',')) {
    RETURN_IF_ERROR(checkHostPort(host_port));
  }
  if (slash == std::string::npos) return address;
  for (const std::string& part : splitText(text.substr(slash + 1), '/')) {
    if (part.empty()) continue;  // A slash at the end or two in a row.
    RETURN_IF_ERROR(checkNodeName("zookeeper.root", part));
    address.prefix += "/" + part;
  }
  return address;
}

bool ZkAddress::hasOnlyLiterals() const {
  const std::vector<std::string> all = splitText(hosts, ',');
  return std::all_of(all.begin(), all.end(),
                     [](const std::string& host_port) { return isLiteral(hostOf(host_port)); });
}

ZkPaths::ZkPaths(const std::string& prefix, const std::string& cluster_name)
    : root((prefix.empty() ? "/baton" : prefix) + "/" + cluster_name),
      cluster(root + "/cluster"),
      epoch(root + "/epoch"),
      lock(root + "/lock"),
      masters(root + "/masters"),
      control(root + "/control"),
      pause(control + "/pause") {}

std::vector<std::string> ZkPaths::rootChain() const {
  std::vector<std::string> chain;
  for (size_t at = root.find('/', 1); at != std::string::npos; at = root.find('/', at + 1)) {
    chain.push_back(root.substr(0, at));
  }
  chain.push_back(root);
  return chain;
}

Status checkNodeName(const std::string& what, const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), allowed) ||
      name.find_first_not_of('.') == std::string::npos) {
    return Error::invalidArgument("{} is \"{}\", expected 1 to 64 letters, digits, '-', '_' or '.'",
                                  what, name);
  }
  return {};
}

}  // namespace baton::ha
