#pragma once

#include "master/flow/run_engine.h"

namespace baton::master {

// While one stands, ends of tasks gather; when the outermost one goes, all that follows from them
// is dealt with. So runs are never taken apart under somebody who holds one, and a chain of tasks
// that end at once needs no stack.
class RunEngine::Turn {
 public:
  Turn(RunEngine& engine, Operation& operation) : engine_(engine), operation_(operation) {
    ++engine_.turns_;
  }
  ~Turn() {
    if (engine_.turns_ == 1) engine_.finishTurn(operation_);
    --engine_.turns_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  RunEngine& engine_;
  Operation& operation_;
};

}  // namespace baton::master
