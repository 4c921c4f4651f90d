#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "worker/runner.h"

namespace baton::worker {

inline constexpr Millis kH{1'000};

// One runner, its time, and the last things that it asked for.
class RunnerTest : public testing::Test {
 protected:
  static RunnerOptions options() {
    RunnerOptions options;
    options.runner_id = "w:0";
    options.worker_id = "w";
    options.journal_id = "j";
    options.incarnation = 5;
    options.heartbeat = kH;
    options.jitter_seed = 1;
    return options;
  }
  void make(const RestoredSlot& restored = {}) {
    runner_.emplace(options(), restored);
    take(runner_->start(now_));
    take(runner_->onMaster(now_, true));
  }
  void take(RunnerActions actions) { actions_ = std::move(actions); }
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& action : actions_) {
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    }
    return found;
  }
  // The one heartbeat that the last call sent.
  HeartbeatRequest sent() const {
    const auto beats = all<SendHeartbeat>();
    EXPECT_EQ(beats.size(), 1U);
    return beats.empty() ? HeartbeatRequest{} : beats.front().request;
  }
  template <typename A, typename B>
  bool comesBefore() const {
    size_t a = actions_.size(), b = 0;
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (std::holds_alternative<A>(actions_[i])) a = i;
      if (std::holds_alternative<B>(actions_[i])) b = i;
    }
    return a < b;
  }
  HeartbeatReply reply(Command command, Epoch epoch = 1) const {
    return {.cluster_guid = "guid",
            .epoch = epoch,
            .incarnation = 5,
            .seq = runner_->seq(),
            .command = command,
            .order = {},
            .interval_ms = kH.count()};
  }
  static Order order(TaskId task, Millis timeout = Millis(0)) {
    return {.key = {.task_id = task, .attempt = 1, .nonce = "n"},
            .run_part = "{}",
            .timeout = timeout,
            .kill_grace = Millis(700)};
  }
  HeartbeatReply runNew(TaskId task, Epoch epoch = 1, Millis timeout = Millis(0)) const {
    HeartbeatReply answer = reply(Command::RunNew, epoch);
    answer.order = order(task, timeout);
    return answer;
  }
  void answer(const HeartbeatReply& what) { take(runner_->onReply(now_, what)); }
  void goOn() { answer(reply(Command::GoOn)); }
  // Lets the time run to the next thing that is due.
  void runToDue() {
    const auto due = runner_->nextDue();
    ASSERT_TRUE(due.has_value());
    now_ = std::max(now_, *due);
    take(runner_->onTime(now_));
  }
  void started(TaskId task) { take(runner_->onStarted(now_, order(task).key, now_)); }
  void ended(TaskId task, int code, StopReason why = StopReason::None) {
    AttemptResult result;
    result.return_code = code;
    if (code != 0) result.reason = FailureReason::ExitCode;
    take(runner_->onEnded(now_, order(task).key, result, now_, why));
  }
  // A runner whose attempt runs and whose RUNNING report is on its way.
  void makeRunning(TaskId task, Millis timeout = Millis(0)) {
    make();
    answer(runNew(task, 1, timeout));
    started(task);
    runToDue();
    ASSERT_EQ(sent().status, RunnerStatus::Running);
  }

  std::optional<Runner> runner_;
  BootTime now_{Micros(1'000'000'000)};
  RunnerActions actions_;
};

}  // namespace baton::worker
