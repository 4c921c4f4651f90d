#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace baton {

// A thread with a name (at most 15 characters are shown by the system) and one owner.
// The destructor asks it to stop and joins.
class NamedThread {
 public:
  NamedThread() = default;
  NamedThread(const std::string& name, std::function<void(std::stop_token)> body);
  NamedThread(NamedThread&&) = default;
  NamedThread& operator=(NamedThread&&) = default;

  bool running() const { return thread_.joinable(); }
  void requestStop() { thread_.request_stop(); }
  // Returns when the body has returned; does nothing if there is no thread.
  void requestStopAndJoin() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  std::jthread thread_;
};

}  // namespace baton
