#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/named_thread.h"
#include "common/base/status.h"
#include "net/socket.h"

namespace baton::net {

// Addresses of a host name by the system's resolver; blocks for as long as that takes.
// Errors: Unavailable (unknown name, no resolver). IP literals are answered without it.
Result<std::vector<SocketAddress>> resolveBlocking(const std::string& host, uint16_t port);

// Resolves names on one thread of its own and remembers them for a while, so that an event loop
// never waits for DNS. Any thread.
class Resolver {
 public:
  struct Options {
    Micros good_for{30'000'000};  // How long an answer is used again.
    Micros bad_for{1'000'000};    // How long a failure is.
  };
  using Answer = std::function<void(const Result<std::vector<SocketAddress>>&)>;

  Resolver();
  explicit Resolver(Options options);
  // Waits for the name that is being resolved; the others are dropped unanswered.
  ~Resolver();

  // Calls back at once when the host is a literal or remembered, else on the resolver's thread.
  void resolve(const std::string& host, uint16_t port, Answer answer);

 private:
  struct Job {
    std::string host;
    uint16_t port;
    Answer answer;
  };
  struct Known {
    Result<std::vector<SocketAddress>> addresses;  // With port 0.
    BootTime until;
  };

  void work();

  const Options options_;
  const SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;     // A job came, or the end.
  std::deque<Job> jobs_;                // Guarded by mutex_.
  std::map<std::string, Known> known_;  // Guarded by mutex_; at most kKnownMax.
  bool stopped_ = false;                // Guarded by mutex_.
  NamedThread thread_;                  // Starts with the first name.
};

}  // namespace baton::net
