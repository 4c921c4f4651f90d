#include "net/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <string.h>

namespace baton::net {

uint16_t SocketAddress::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

void SocketAddress::setPort(uint16_t port) {
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
  }
}

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes =
      family() == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr)
          : &reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  if (inet_ntop(family(), bytes, text, sizeof(text)) == nullptr) return "?";
  return text;
}

std::string SocketAddress::text() const { return formatAuthority(host(), port()); }

std::optional<SocketAddress> parseIpLiteral(std::string_view host, uint16_t port) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
  }
  const std::string text(host);
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    address.length = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    address.length = sizeof(sockaddr_in6);
  } else {
    return std::nullopt;
  }
  address.setPort(port);
  return address;
}

std::string formatAuthority(std::string_view host, uint16_t port) {
  if (host.find(':') != std::string_view::npos && host.front() != '[') {
    return fmt::format("[{}]:{}", host, port);
  }
  return fmt::format("{}:{}", host, port);
}

Result<FileDescriptor> listenOn(const std::string& host, uint16_t port, int backlog) {
  const std::string literal = host.empty() ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host;
  const auto address = parseIpLiteral(literal, port);
  if (!address) {
    return Error::invalidArgument("listen address is {}, expected an IP address", host);
  }
  FileDescriptor fd(socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::unavailable("no socket: {}", strerror(errno));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->family() == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  const auto* raw = reinterpret_cast<const sockaddr*>(&address->storage);
  if (bind(fd.get(), raw, address->length) != 0 || listen(fd.get(), backlog) != 0) {
    if (errno == EADDRINUSE) return Error::conflict("port {} of {} is taken", port, literal);
    return Error::unavailable("can't listen on {}: {}", address->text(), strerror(errno));
  }
  return fd;
}

Result<SocketAddress> localAddress(int fd) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return Error::unavailable("getsockname: {}", strerror(errno));
  }
  return address;
}

Result<FileDescriptor> beginConnect(const SocketAddress& address) {
  FileDescriptor fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::unavailable("no socket: {}", strerror(errno));
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  if (connect(fd.get(), raw, address.length) != 0 && errno != EINPROGRESS) {
    return Error::unavailable("can't connect to {}: {}", address.text(), strerror(errno));
  }
  return fd;
}

IoResult SocketStream::read(char* buffer, size_t size) {
  while (true) {
    const ssize_t got = recv(fd_.get(), buffer, size, 0);
    if (got > 0) return {IoResult::Kind::Done, static_cast<size_t>(got), 0};
    if (got == 0) return {IoResult::Kind::Closed, 0, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::Kind::WouldBlock, 0, 0};
    if (errno != EINTR) return {IoResult::Kind::Failed, 0, errno};
  }
}

IoResult SocketStream::write(std::string_view bytes) {
  while (true) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {IoResult::Kind::Done, static_cast<size_t>(sent), 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::Kind::WouldBlock, 0, 0};
    if (errno != EINTR) return {IoResult::Kind::Failed, 0, errno};
  }
}

void SocketStream::finishWriting() { shutdown(fd_.get(), SHUT_WR); }

}  // namespace baton::net
