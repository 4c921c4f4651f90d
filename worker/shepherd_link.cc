#include "worker/shepherd_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include "common/base/log.h"
#include "worker/shepherd_records.h"

namespace baton::worker {
namespace {

constexpr size_t kLineBytesMax = 64 * 1024 * 1024;

// A socket's path has at most 107 bytes; through /proc it is short however deep the folder is.
sockaddr_un socketAddressIn(int dir_fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", dir_fd, kShepherdSocketName);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

Result<FileDescriptor> makeUnixSocket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::unavailable("no socket to be had: {}", strerror(errno));
  return fd;
}

}  // namespace

Result<FileDescriptor> connectToShepherd(int dir_fd) {
  ASSIGN_OR_RETURN(FileDescriptor fd, makeUnixSocket());
  const sockaddr_un address = socketAddressIn(dir_fd);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error::unavailable("{} can't be reached: {}", kShepherdSocketName, strerror(errno));
  }
  return fd;
}

Result<FileDescriptor> listenAsShepherd(int dir_fd) {
  ASSIGN_OR_RETURN(FileDescriptor fd, makeUnixSocket());
  unlinkat(dir_fd, kShepherdSocketName, 0);  // Whoever holds the lock owns the name.
  const sockaddr_un address = socketAddressIn(dir_fd);
  const mode_t mask = umask(0177);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(mask);
  if (bound != 0 || listen(fd.get(), 8) != 0) {
    return Error::unavailable("{} can't be opened: {}", kShepherdSocketName, strerror(errno));
  }
  return fd;
}

int64_t peerUid(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
  return credentials.uid;
}

Result<std::unique_ptr<ShepherdLink>> ShepherdLink::create(net::EventLoop& loop,
                                                           FileDescriptor socket, Hooks hooks) {
  std::unique_ptr<ShepherdLink> link(new ShepherdLink(loop, std::move(socket), std::move(hooks)));
  RETURN_IF_ERROR(loop.add(link->socket_.get(), EPOLLIN,
                           [raw = link.get()](uint32_t events) { raw->onReady(events); }));
  return link;
}

ShepherdLink::~ShepherdLink() {
  *alive_ = false;
  if (socket_) loop_.remove(socket_.get());
}

void ShepherdLink::send(std::string_view line) {
  if (broken_) return;
  const bool was_empty = unsent_.empty();
  unsent_.append(line);
  if (was_empty) flush();
}

void ShepherdLink::flush() {
  size_t done = 0;
  while (done < unsent_.size()) {
    const ssize_t sent =
        ::send(socket_.get(), unsent_.data() + done, unsent_.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) broken_ = true;  // Reading will find the end.
    if (sent <= 0) break;
    done += static_cast<size_t>(sent);
  }
  unsent_.erase(0, done);
  if (broken_) unsent_.clear();
  const Status modified =
      loop_.modify(socket_.get(), unsent_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  if (!modified.ok()) logError("shepherd_link_not_watched", field("error", modified.text()));
}

void ShepherdLink::onReady(uint32_t events) {
  const std::shared_ptr<bool> alive = alive_;
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && *alive) readSome();
}

void ShepherdLink::readSome() {
  const std::shared_ptr<bool> alive = alive_;
  std::array<char, 65536> buffer;
  const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) {
    lines_.add({buffer.data(), static_cast<size_t>(got)});
    std::string line;
    while (*alive && lines_.next(line)) hooks_.on_line(line);
    if (!*alive || lines_.pendingBytes() < kLineBytesMax) return;
    logError("shepherd_line_too_long", field("bytes", lines_.pendingBytes()));
  }
  loop_.remove(socket_.get());
  socket_.reset();
  broken_ = true;
  hooks_.on_ended();  // May destroy this.
}

}  // namespace baton::worker
