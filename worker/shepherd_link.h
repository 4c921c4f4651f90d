#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/file_descriptor.h"
#include "common/base/status.h"
#include "net/event_loop.h"
#include "worker/shepherd_message.h"

namespace baton::worker {

// One end of the unix-socket connection between daemon and shepherd: whole lines in and out,
// without ever blocking. Thread: the loop's. The callbacks may destroy the link.
class ShepherdLink {
 public:
  struct Hooks {
    std::function<void(const std::string& line)> on_line;
    std::function<void()> on_ended;  // The other end has gone, and all it said was handed over.
  };

  // Errors: Unavailable. The loop outlives the link.
  static Result<std::unique_ptr<ShepherdLink>> create(net::EventLoop& loop, FileDescriptor socket,
                                                      Hooks hooks);
  ~ShepherdLink();

  // Sends as much as goes and keeps the rest; after the other end has gone it does nothing.
  void send(std::string_view line);

 private:
  ShepherdLink(net::EventLoop& loop, FileDescriptor socket, Hooks hooks)
      : loop_(loop), socket_(std::move(socket)), hooks_(std::move(hooks)) {}
  void onReady(uint32_t events);
  void readSome();
  void flush();

  net::EventLoop& loop_;
  FileDescriptor socket_;
  const Hooks hooks_;
  LineSplitter lines_;
  std::string unsent_;
  bool broken_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // False once destroyed.
};

// Connects to the shepherd's socket in a data directory, whatever the length of its path.
// Errors: Unavailable (nobody listens).
Result<FileDescriptor> connectToShepherd(int dir_fd);
// Binds and listens there. Errors: Unavailable.
Result<FileDescriptor> listenAsShepherd(int dir_fd);
// The uid of the process at the other end, or -1.
int64_t peerUid(int socket);

}  // namespace baton::worker
