#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "common/base/file_descriptor.h"
#include "common/base/named_thread.h"

namespace baton::test {

// A link between a client and a server on loopback that a test can break: clients connect to
// port(), bytes go on to the target. One thread; the controls work from any thread and are in
// force when they return.
class TcpProxy {
 public:
  explicit TcpProxy(uint16_t target_port);
  ~TcpProxy();

  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Resets all connections and every new one, until heal().
  void cut();
  // Nothing passes in either direction, but connections stay and are accepted, until heal().
  void silence();
  // Ends cut, silence, delay and swallowing. Bytes that were held back pass now.
  void heal();
  // Every byte takes that much longer, in both directions.
  void delay(Millis time);
  // What the server says from now on is dropped; what the client says still arrives.
  void swallowReplies();

 private:
  enum class Mode : uint8_t { Pass, Cut, Silent };
  struct Controls {
    Mode mode = Mode::Pass;
    Millis delay{0};
    bool swallow = false;
  };
  struct Chunk {
    BootTime due;
    std::string bytes;
  };
  struct Pipe {  // One direction of a connection.
    std::deque<Chunk> chunks;
    bool ended = false;
  };
  struct Connection {
    FileDescriptor client;
    FileDescriptor server;
    Pipe to_server;
    Pipe to_client;
    bool broken = false;
  };

  void run(const std::stop_token& stop);
  void change(const std::function<void(Controls&)>& edit);
  void accept(const Controls& controls);
  void pump(Connection& connection, const Controls& controls, short client_events,
            short server_events);
  bool readInto(int fd, Pipe& pipe, const Controls& controls, bool from_server);
  bool writeFrom(int fd, Pipe& pipe);

  const uint16_t target_port_;
  SystemClock clock_;
  FileDescriptor listener_;
  FileDescriptor wake_;  // An eventfd: the controls changed.
  uint16_t port_ = 0;
  std::list<Connection> connections_;  // The thread's.

  std::mutex mutex_;
  std::condition_variable applied_;  // Signalled when the thread has seen the newest controls.
  Controls controls_;                // Guarded by mutex_, as the two below.
  uint64_t version_ = 0;
  uint64_t applied_version_ = 0;
  NamedThread thread_;
};

}  // namespace baton::test
