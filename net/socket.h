#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"

namespace baton::net {

// An IPv4 or IPv6 address with a port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  uint16_t port() const;
  void setPort(uint16_t port);
  std::string host() const;  // Without the port and without brackets.
  std::string text() const;  // "127.0.0.1:80", "[::1]:80".
};

// Reads "127.0.0.1", "::1" or "[::1]" in their usual forms; never resolves, never blocks. Short
// or numeric forms ("127.1", "0x7f000001", "2130706433") are no literals here.
std::optional<SocketAddress> parseIpLiteral(std::string_view host, uint16_t port);

// "host:port", an IPv6 literal in brackets: the value of a Host field.
std::string formatAuthority(std::string_view host, uint16_t port);

// A non-blocking listening socket. `host` is an IP literal, "localhost", or empty for all IPv4
// addresses. Never SO_REUSEPORT: two programs on one port would share its connections.
// Errors: InvalidArgument (host), Conflict ("port N of ADDR is taken"), Unavailable.
Result<FileDescriptor> listenOn(const std::string& host, uint16_t port, int backlog);

// The address to which a socket is bound.
Result<SocketAddress> localAddress(int fd);

// Begins a connection without blocking; it is there (or failed, see SO_ERROR) when writable.
Result<FileDescriptor> beginConnect(const SocketAddress& address);

// What a non-blocking read or write came to.
struct IoResult {
  enum class Kind : uint8_t { Done, WouldBlock, Closed, Failed } kind = Kind::Done;
  size_t bytes = 0;  // With Done.
  int error = 0;     // errno, with Failed.
};

// The byte stream of one connection: the one place where its bytes are read and written, so that
// encryption has a place to be. Owns the socket. One thread at a time.
class SocketStream {
 public:
  SocketStream() = default;
  explicit SocketStream(FileDescriptor fd) : fd_(std::move(fd)) {}

  IoResult read(char* buffer, size_t size);
  IoResult write(std::string_view bytes);
  // Tells the peer that nothing more will be sent.
  void finishWriting();
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }

 private:
  FileDescriptor fd_;
};

}  // namespace baton::net
