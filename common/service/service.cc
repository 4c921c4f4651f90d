#include "common/service/service.h"

namespace baton {

Status Service::start() {
  if (state_ != State::New) return Error::conflict("{} was started before", name_);
  const Status started = onStart();
  if (!started.ok()) {
    onStop();
    state_ = State::Stopped;
    return Error(started.error()).withContext(name_);
  }
  state_ = State::Started;
  return {};
}

void Service::stop() noexcept {
  if (state_ == State::Started) onStop();
  state_ = State::Stopped;
}

}  // namespace baton
