#pragma once

#include "common/base/file_descriptor.h"
#include "common/base/status.h"

namespace baton::cli {

// Receives SIGTERM, SIGINT and SIGHUP as events instead of handlers, and takes SIGPIPE away. Make
// it first thing in main, before any thread: threads inherit the blocked signals. Children that
// are started must reset their mask. Thread: any for wait().
class SignalWaiter {
 public:
  // Errors: Internal (no descriptor).
  static Result<SignalWaiter> make();

  // Blocks until one of the signals comes and returns its number.
  int wait();
  // Becomes readable when a signal is there, for an event loop.
  int fd() const { return fd_.get(); }

 private:
  explicit SignalWaiter(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
};

}  // namespace baton::cli
