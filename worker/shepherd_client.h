#pragma once

#include <functional>
#include <memory>

#include "worker/shepherd_link.h"

namespace baton::worker {

// The daemon's connection to its shepherd. Thread: the loop's. Callbacks may not destroy it.
class ShepherdClient {
 public:
  struct Hooks {
    std::function<void(ShepherdNote)> on_note;
    std::function<void()> on_lost;  // The shepherd has gone; everything it said was handed over.
  };

  // The loop outlives this.
  ShepherdClient(net::EventLoop& loop, Hooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}

  // Connects to the shepherd that lives in that directory and greets it; its HelloNote comes as
  // a note. Errors: Unavailable.
  Status connect(int dir_fd);
  // Does nothing when not connected.
  void send(const ShepherdRequest& request);
  void disconnect();

 private:
  void onLine(const std::string& line);

  net::EventLoop& loop_;
  const Hooks hooks_;
  std::unique_ptr<ShepherdLink> link_;
};

}  // namespace baton::worker
