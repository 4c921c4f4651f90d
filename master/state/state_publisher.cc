#include "master/state/state_publisher.h"

namespace baton::master {

void StatePublisher::publish(Operation& operation, const StateChange& change) {
  if (subscribers_.empty()) return;
  operation.then([this, change] {
    for (StateSubscriber* subscriber : subscribers_) subscriber->onStateChange(change);
  });
}

}  // namespace baton::master
