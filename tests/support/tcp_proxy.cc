#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace baton::test {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Closing sends a reset instead of an orderly end.
void resetOnClose(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

}  // namespace

TcpProxy::TcpProxy(uint16_t target_port)
    : target_port_(target_port),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  CHECK(::listen(listener_.get(), 64) == 0);
  CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = NamedThread("tcp_proxy", [this](std::stop_token stop) { run(stop); });
}

TcpProxy::~TcpProxy() {
  thread_.requestStop();
  ::eventfd_write(wake_.get(), 1);
  thread_.requestStopAndJoin();
}

void TcpProxy::cut() {
  change([](Controls& c) { c.mode = Mode::Cut; });
}
void TcpProxy::silence() {
  change([](Controls& c) { c.mode = Mode::Silent; });
}
void TcpProxy::heal() {
  change([](Controls& c) { c = Controls{}; });
}
void TcpProxy::delay(Millis time) {
  change([time](Controls& c) { c.delay = time; });
}
void TcpProxy::swallowReplies() {
  change([](Controls& c) { c.swallow = true; });
}

void TcpProxy::change(const std::function<void(Controls&)>& edit) {
  std::unique_lock lock(mutex_);
  edit(controls_);
  const uint64_t wanted = ++version_;
  ::eventfd_write(wake_.get(), 1);
  applied_.wait(lock, [&] { return applied_version_ >= wanted; });
}

void TcpProxy::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Controls controls;
    uint64_t version = 0;
    {
      const std::lock_guard lock(mutex_);
      controls = controls_;
      version = version_;
    }
    if (controls.mode == Mode::Cut) {
      for (Connection& connection : connections_) {
        resetOnClose(connection.client.get());
        resetOnClose(connection.server.get());
      }
      connections_.clear();
    }
    {
      const std::lock_guard lock(mutex_);
      applied_version_ = version;
      applied_.notify_all();
    }
    std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    const bool flows = controls.mode == Mode::Pass;
    bool waiting = false;
    for (const Connection& c : connections_) {
      waiting = waiting || !c.to_server.chunks.empty() || !c.to_client.chunks.empty();
      fds.push_back({flows ? c.client.get() : -1, POLLIN, 0});
      fds.push_back({flows ? c.server.get() : -1, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), waiting && flows ? 1 : 1000);
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    size_t at = 2;
    for (Connection& connection : connections_) {
      if (flows) pump(connection, controls, fds[at].revents, fds[at + 1].revents);
      at += 2;
    }
    connections_.remove_if([](const Connection& c) { return c.broken; });
    if (fds[0].revents != 0) accept(controls);
  }
}

void TcpProxy::accept(const Controls& controls) {
  FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return;
  if (controls.mode == Mode::Cut) return resetOnClose(client.get());
  FileDescriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(target_port_);
  if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return resetOnClose(client.get());
  }
  ::fcntl(server.get(), F_SETFL, O_NONBLOCK);
  const int on = 1;
  ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Connection connection;
  connection.client = std::move(client);
  connection.server = std::move(server);
  connections_.push_back(std::move(connection));
}

void TcpProxy::pump(Connection& c, const Controls& controls, short client_events,
                    short server_events) {
  bool good = true;
  if (client_events != 0) good = readInto(c.client.get(), c.to_server, controls, false) && good;
  if (server_events != 0) good = readInto(c.server.get(), c.to_client, controls, true) && good;
  good = writeFrom(c.server.get(), c.to_server) && good;
  good = writeFrom(c.client.get(), c.to_client) && good;
  const bool ended = (c.to_server.ended && c.to_server.chunks.empty()) ||
                     (c.to_client.ended && c.to_client.chunks.empty());
  c.broken = !good || ended;
}

bool TcpProxy::readInto(int fd, Pipe& pipe, const Controls& controls, bool from_server) {
  std::array<char, 16384> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) {
    pipe.ended = true;
    return true;
  }
  const auto size = static_cast<size_t>(got);
  if (from_server && controls.swallow) return true;
  pipe.chunks.push_back({clock_.bootNow() + controls.delay, std::string(buffer.data(), size)});
  return true;
}

bool TcpProxy::writeFrom(int fd, Pipe& pipe) {
  const BootTime now = clock_.bootNow();
  while (!pipe.chunks.empty() && pipe.chunks.front().due <= now) {
    std::string& bytes = pipe.chunks.front().bytes;
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    bytes.erase(0, static_cast<size_t>(sent));
    if (!bytes.empty()) return true;
    pipe.chunks.pop_front();
  }
  return true;
}

}  // namespace baton::test
