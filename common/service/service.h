#pragma once

#include <string>

#include "common/base/status.h"

namespace baton {

// A part with a life cycle: constructed (stores references), started (threads begin), stopped
// (any state, any number of times, no throw; a stopped service is not started again). After a
// failed start the service is stopped by start() itself. One thread at a time.
class Service {
 public:
  explicit Service(std::string name) : name_(std::move(name)) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  const std::string& name() const { return name_; }
  bool started() const { return state_ == State::Started; }

  // Errors: whatever onStart reports, with the service's name; Conflict if started before.
  Status start();
  void stop() noexcept;

 protected:
  virtual Status onStart() = 0;
  // Also called after a failed onStart: must survive half-built objects.
  virtual void onStop() noexcept = 0;

 private:
  enum class State { New, Started, Stopped };
  const std::string name_;
  State state_ = State::New;
};

}  // namespace baton
