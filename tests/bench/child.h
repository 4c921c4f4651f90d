#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace baton::bench {

// A program that the bench started; ended (TERM, then KILL) with the object. One thread.
class Child {
 public:
  // Output goes to the end of `log`. Errors: Unavailable.
  static Result<Child> start(const std::vector<std::string>& argv, const std::string& log);
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  bool alive() const { return pid_ > 0; }
  // Sends the signal and waits until it is gone; KILL after ten seconds.
  void end(int signal) noexcept;

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;
};

// Runs a program to its end. Errors: Unavailable (not started, or an exit code but 0: the end of
// `log` tells why).
Status runToEnd(const std::vector<std::string>& argv, const std::string& log);

}  // namespace baton::bench
