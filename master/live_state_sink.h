#pragma once

#include "master/host/runner_registry.h"
#include "master/state/live_state.h"
#include "master/task/callbacker.h"
#include "master/task/task_engine.h"
#include "recover/recover_service.h"

namespace baton::master {

// Puts what recovery reads into the live state. Before the dispatcher runs: promoter's thread.
class LiveStateSink final : public recover::RecoverySink {
 public:
  LiveStateSink(LiveState& live, TaskEngine& engine, RunnerRegistry& registry,
                Callbacker& callbacker)
      : live_(live), engine_(engine), registry_(registry), callbacker_(callbacker) {}

  void expect(size_t tasks) override { live_.tasks.reserve(tasks + tasks / 4); }
  void addRunner(const RunnerRecord& runner) override { registry_.adopt(runner); }
  Status addTask(recover::RecoveredTask recovered) override {
    LiveTask task;
    task.state = std::move(recovered.state);
    ASSIGN_OR_RETURN(task.policy, live_.policies.intern(*recovered.policy));
    task.created_at = recovered.created_at;
    if (!recovered.spec.empty()) {
      task.spec = std::make_shared<const std::string>(std::move(recovered.spec));
    }
    task.attempt = std::move(recovered.attempt);
    if (hasOpenAttempt(task.state.status) != (task.attempt != nullptr)) {
      return Error::make(ErrorCode::Corrupt, "task {} is {} but has {} open attempt", task.state.id,
                         toString(task.state.status), task.attempt ? "an" : "no");
    }
    engine_.adopt(std::move(task));
    return {};
  }
  void addCallback(const OutboxRecord& callback) override { callbacker_.adopt(callback); }

 private:
  LiveState& live_;
  TaskEngine& engine_;
  RunnerRegistry& registry_;
  Callbacker& callbacker_;
};

}  // namespace baton::master
