#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/model/records.h"
#include "master/state/operation.h"

namespace baton::master {

// One thing that happened to a task and is durable when it is told.
struct StateChange {
  enum class Kind : uint8_t { Submitted, Started, AttemptEnded, Ended };
  Kind kind = Kind::Submitted;
  TaskId task_id = 0;
  TaskStatus status = TaskStatus::Created;            // Behind the change.
  AttemptStatus attempt = AttemptStatus::Dispatched;  // AttemptEnded.
  FailureReason reason = FailureReason::None;         // AttemptEnded with Failed, Ended.
  Micros waited{0};                                   // Started, first attempt: since submitted.
};

// Hears of state changes on the writer's thread, in commit order. Must not block.
class StateSubscriber {
 public:
  virtual ~StateSubscriber() = default;
  virtual void onStateChange(const StateChange& change) = 0;
};

// Tells whoever is interested what became of tasks, behind the commit: metrics, and watch streams
// when there are any. What must be stored together with a change (callbacks) is no subscriber but
// an OutcomeListener of the engine. Subscribe before the term starts; publish on the dispatcher
// thread.
class StatePublisher {
 public:
  // The subscriber outlives this.
  void subscribe(StateSubscriber& subscriber) { subscribers_.push_back(&subscriber); }
  void publish(Operation& operation, const StateChange& change);

 private:
  std::vector<StateSubscriber*> subscribers_;
};

}  // namespace baton::master
