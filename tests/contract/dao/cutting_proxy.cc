#include "tests/contract/dao/cutting_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "common/base/status.h"

namespace baton::dao {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void sendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string_view receive(int fd, char* buffer, size_t size) {
  const ssize_t got = ::recv(fd, buffer, size, 0);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

}  // namespace

CuttingProxy::CuttingProxy(int server_port) : server_port_(server_port) {
  listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(listener_.get(), generic, length) == 0);
  CHECK(::listen(listener_.get(), 16) == 0);
  CHECK(::getsockname(listener_.get(), generic, &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = NamedThread("cutting-proxy", [this](const std::stop_token& stop) { run(stop); });
}

void CuttingProxy::acceptOne() {
  Link link;
  link.client.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  link.server.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(server_port_);
  if (::connect(link.server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    links_.push_back(std::move(link));
  }
}

bool CuttingProxy::fromClient(Link& link) {
  char buffer[65'536];
  const std::string_view bytes = receive(link.client.get(), buffer, sizeof buffer);
  if (bytes.empty()) return false;
  if (bytes.find("COMMIT") != std::string_view::npos) {
    const Cut cut = cut_.exchange(Cut::None);
    if (cut != Cut::None) has_cut_ = true;
    if (cut == Cut::LoseRequest) {
      orphans_.push_back(std::move(link.server));
      return false;
    }
    link.closing = cut == Cut::LoseReply;
  }
  sendAll(link.server.get(), bytes);
  return true;
}

bool CuttingProxy::fromServer(Link& link) {
  char buffer[65'536];
  const std::string_view bytes = receive(link.server.get(), buffer, sizeof buffer);
  if (bytes.empty() || link.closing) return false;
  sendAll(link.client.get(), bytes);
  return true;
}

void CuttingProxy::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> polls{{listener_.get(), POLLIN, 0}};
    for (const Link& link : links_) {
      polls.push_back({link.client.get(), POLLIN, 0});
      polls.push_back({link.server.get(), POLLIN, 0});
    }
    if (::poll(polls.data(), polls.size(), 20) <= 0) continue;
    for (size_t i = links_.size(); i-- > 0;) {
      const bool client_ready = polls[1 + 2 * i].revents != 0;
      const bool server_ready = polls[2 + 2 * i].revents != 0;
      const bool open =
          (!client_ready || fromClient(links_[i])) && (!server_ready || fromServer(links_[i]));
      if (!open) links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polls[0].revents != 0) acceptOne();
  }
}

}  // namespace baton::dao
