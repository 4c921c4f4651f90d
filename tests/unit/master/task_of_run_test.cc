// Orders on tasks that are parts of runs: the run carries them out.
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using F = FailureReason;
using Names = std::vector<std::string>;
using master::api::RerunScope;
using master::api::RunCommand;
using master::api::TaskCommand;

class TaskOfRunTest : public FlowTest {
 protected:
  TaskId idOf(RunId run, const std::string& name) const { return node(run, name).state.id; }
  Result<TaskState> rerunTask(RunId run, const std::string& name) {
    return command(idOf(run, name), TaskCommand::Rerun);
  }
  Result<TaskState> force(RunId run, const std::string& name) {
    return command(idOf(run, name), TaskCommand::ForceSuccess);
  }
  AuditRecord lastAudit() const { return database_.rows().audit.back(); }
  // The order is refused because of the state, in these words, and changes nothing.
  static void expectRefused(const Result<TaskState>& answer, const std::string& words) {
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.status().error().code(), ErrorCode::Conflict);
    EXPECT_NE(answer.status().text().find(words), std::string::npos) << answer.status().text();
  }
  // Answers what was sent since the last call.
  void answerCallbacks(const Status& status = {}) {
    while (answered_ < webhooks_.calls.size()) webhooks_.calls[answered_++].done(status);
    settle();
  }
  std::vector<std::string> deliveries() const {
    std::vector<std::string> ids;
    for (const auto& call : webhooks_.calls) {
      for (const auto& [key, value] : call.webhook.headers) {
        if (key == "Baton-Delivery-Id") ids.push_back(value);
      }
    }
    return ids;
  }

 private:
  size_t answered_ = 0;
};

TEST_F(TaskOfRunTest, ARerunOfATaskIsTheRunsRerunOfThatTaskAlone) {
  // Aim: the run is live again while its task runs, and answer and audit row are the task's.
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  work();
  const auto answer = rerunTask(run, "a");
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->id, idOf(run, "a"));
  EXPECT_EQ(answer->status, S::Queued);
  EXPECT_EQ(runStatus(run), RunStatus::Running);
  EXPECT_EQ(lastAudit().action, "task.rerun");
  EXPECT_EQ(lastAudit().object, std::to_string(idOf(run, "a")));
  EXPECT_EQ(lastAudit().params, fmt::format(R"({{"run":"{}"}})", run));
  EXPECT_EQ(lastAudit().before, R"({"status":"FINISHED"})");
  EXPECT_EQ(lastAudit().after, R"({"status":"QUEUED"})");
  expectRefused(rerunTask(run, "a"), "is QUEUED");
  EXPECT_TRUE(lastAudit().refused);
  EXPECT_EQ(work(), Names{"a"});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_EQ(row(run).state.reruns, 1);
  // A later run does not begin beside it.
  ASSERT_TRUE(rerunTask(run, "b").ok());
  const RunId later = trigger("f").state.id;
  EXPECT_EQ(runStatus(later), RunStatus::Waiting);
  EXPECT_EQ(work(), (Names{"b", "a", "b"}));
}

TEST_F(TaskOfRunTest, WhatTakesNoRunnerNeverReachesOne) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define(R"(
flow: f
tasks:
  n: {noop: true}
  d: {noop: true, disabled: true}
  w: {noop: true, when: "1 > 2"}
  s: {flow: inner}
  e: {event: {name: x, key: k}}
)");
  const RunId run = trigger("f").state.id;
  order(idOf(run, "e"), TaskCommand::Stop);
  EXPECT_EQ(work(), Names{"i"});
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
  for (const bool taken_over : {false, true}) {
    if (taken_over) begin();
    for (const char* name : {"n", "w"}) {
      const auto answer = rerunTask(run, name);
      ASSERT_TRUE(answer.ok()) << answer.status().text();
      EXPECT_TRUE(isTerminal(answer->status)) << name;
      EXPECT_EQ(runStatus(run), RunStatus::Terminated);
    }
    expectRefused(rerunTask(run, "d"), "disabled by the definition");
    ASSERT_TRUE(rerunTask(run, "s").ok());
    EXPECT_EQ(nodeStatus(run, "s"), S::Running);
    EXPECT_EQ(work(), Names{"i"});
    ASSERT_TRUE(rerunTask(run, "e").ok());
    EXPECT_EQ(nodeStatus(run, "e"), S::Running);
    EXPECT_EQ(next(), "");
    order(idOf(run, "e"), TaskCommand::Stop);
    EXPECT_EQ(nodeStatus(run, "e"), S::Terminated);
    EXPECT_EQ(runStatus(run), RunStatus::Terminated);
  }
  EXPECT_EQ(work(), Names{});
  EXPECT_TRUE(rig_->live.tasks.empty());
}

TEST_F(TaskOfRunTest, AForcedSuccessGoesOnBehindTheTask) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}, l: {command: [x]}}}");
  for (const bool ended : {false, true}) {
    const RunId run = trigger("f").state.id;
    ASSERT_EQ(next(), "a");
    ASSERT_EQ(end(RunnerStatus::Failed), "l");
    EXPECT_EQ(nodeReason(run, "b"), F::UpstreamFailed);
    if (ended) end();
    EXPECT_EQ(runStatus(run), ended ? RunStatus::Failed : RunStatus::Running);
    const auto answer = force(run, "a");
    ASSERT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_EQ(answer->id, idOf(run, "a"));
    EXPECT_EQ(answer->status, S::Finished);
    EXPECT_TRUE(answer->forced);
    EXPECT_EQ(lastAudit().after, R"({"forced":true,"status":"FINISHED"})");
    begin();
    std::string behind = ended ? "" : end();
    if (behind.empty()) behind = next();
    EXPECT_EQ(behind, "b");
    end();
    EXPECT_EQ(runStatus(run), RunStatus::Finished);
    expectRefused(force(run, "a"), "has not failed");
  }
}

TEST_F(TaskOfRunTest, WhatIsSkippedForAFailureIsNotRunByItself) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {noop: true, needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  work({"a"});
  expectRefused(rerunTask(run, "b"), "would be skipped again: a ended FAILED");
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
  EXPECT_EQ(row(run).state.reruns, 0);
  EXPECT_TRUE(rig_->flows.runs.empty());
}

TEST_F(TaskOfRunTest, ARunWithTasksThatNeverRanIsNotFinished) {
  // Aim: a rerun of the failed task alone leaves what was skipped for it; the run says so, with a
  // takeover in between or not, and a rerun of what failed brings it.
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  for (const bool taken_over : {false, true}) {
    const RunId run = trigger("f").state.id;
    work({"a"});
    ASSERT_TRUE(rerunTask(run, "a").ok());
    if (taken_over) begin();
    EXPECT_EQ(work(), Names{"a"});
    EXPECT_EQ(runStatus(run), RunStatus::Failed);
    EXPECT_NE(row(run).state.reason_text.find("task b"), std::string::npos)
        << row(run).state.reason_text;
    ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Rerun}).ok());
    EXPECT_EQ(work(), Names{"b"});
    EXPECT_EQ(runStatus(run), RunStatus::Finished);
    EXPECT_EQ(row(run).state.reason_text, "");
  }
}

TEST_F(TaskOfRunTest, TheAnswerIsAboutTheTaskThatWasAsked) {
  define(R"(
flow: f
tasks:
  h: {noop: true, hold: true}
  b: {command: [x], needs: [h]}
  c: {command: [x], needs: {b: done}}
)");
  const RunId run = trigger("f").state.id;
  const auto asked = [&](const char* name, TaskCommand what, S expected) {
    const TaskId id = idOf(run, name);
    const auto answer = command(id, what);
    ASSERT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_EQ(answer->id, id) << name;
    EXPECT_EQ(answer->status, expected) << name;
    EXPECT_EQ(lastAudit().after, fmt::format(R"({{"status":"{}"}})", toString(expected)));
  };
  asked("h", TaskCommand::Release, S::Finished);
  EXPECT_EQ(nodeStatus(run, "b"), S::Queued);
  asked("b", TaskCommand::Stop, S::Terminated);
  EXPECT_EQ(nodeStatus(run, "c"), S::Queued);
  asked("c", TaskCommand::Skip, S::Skipped);
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
  EXPECT_EQ(node(run, "b").state.reason_text, "stopped by p");
  EXPECT_EQ(node(run, "b").state.cause, StopCause::Stop);
  EXPECT_EQ(node(run, "c").state.reason_text, "skipped by p");
  EXPECT_EQ(row(run).state.reason_text, fmt::format("task b (id {}) was stopped", idOf(run, "b")));
}

TEST_F(TaskOfRunTest, ATaskOfARunThatIsGoneOrDeletedStaysAsItIs) {
  define("{flow: f, tasks: {a: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  work({"a"});
  const RunRecord kept = row(run);
  database_.direct().runs.erase(run);
  expectRefused(rerunTask(run, "a"), "is not kept any more");
  database_.direct().runs.emplace(run, kept);
  rig_->flows.flows.at("f").record.deleted = true;
  expectRefused(force(run, "a"), "was deleted");
  EXPECT_EQ(nodeStatus(run, "a"), S::Failed);
}

TEST_F(TaskOfRunTest, AHoldThatNobodyReleasedStays) {
  define("{flow: f, tasks: {x: {command: [x]}, h: {command: [x], hold: true, needs: [x]}}}");
  const RunId run = trigger("f").state.id;
  EXPECT_EQ(work(), Names{"x"});
  ASSERT_TRUE(stop(run).ok());
  const auto rerunAll = [&] {
    const auto answer =
        orderRun({.id = run, .command = RunCommand::Rerun, .scope = RerunScope::All});
    EXPECT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_EQ(work(), Names{"x"});
    EXPECT_EQ(rig_->engine.whyWaiting(*rig_->live.findTask(idOf(run, "h"))).code,
              WaitingCode::Hold);
    order(idOf(run, "h"), TaskCommand::Release);
    EXPECT_EQ(work(), Names{"h"});
    EXPECT_EQ(runStatus(run), RunStatus::Finished);
  };
  rerunAll();
  rerunAll();  // Each pass has its own release.
  // A task that was submitted by itself.
  TaskSpec held = spec();
  held.hold = true;
  const TaskId alone = submit(held);
  order(alone, TaskCommand::Stop);
  order(alone, TaskCommand::Rerun);
  EXPECT_EQ(status(alone), S::Created);
  order(alone, TaskCommand::Release);
  EXPECT_EQ(status(alone), S::Queued);
}

TEST_F(TaskOfRunTest, AForcedSuccessReleasesNothingAndHoldsNothingAnew) {
  define(R"(
flow: f
tasks:
  x: {command: [x]}
  y: {command: [x], needs: [x]}
  z: {command: [x], needs: [x], hold: true}
)");
  const RunId run = trigger("f").state.id;
  order(idOf(run, "y"), TaskCommand::Hold);
  order(idOf(run, "z"), TaskCommand::Release);
  EXPECT_EQ(work({"x"}), Names{"x"});
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::ForceSuccess, .task = "x"}).ok());
  EXPECT_EQ(work(), Names{"z"});
  EXPECT_EQ(runStatus(run), RunStatus::Running);
  begin();
  order(idOf(run, "y"), TaskCommand::Release);
  EXPECT_EQ(work(), Names{"y"});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

TEST_F(TaskOfRunTest, EveryEndWithoutAnAttemptHasADeliveryIdOfItsOwn) {
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  b: {noop: true, needs: [a], callback: {url: "http://h/x", on: [skipped, finished]}}
)");
  const RunId run = trigger("f").state.id;
  work({"a"});
  ASSERT_EQ(deliveries().size(), 1u);
  answerCallbacks(Error(ErrorCode::Unavailable, "no"));
  pass(Millis(1'100));
  ASSERT_EQ(deliveries().size(), 2u);
  EXPECT_EQ(deliveries()[1], deliveries()[0]);  // The same delivery once more.
  const std::string prefix = std::to_string(idOf(run, "b"));
  EXPECT_TRUE(deliveries()[0].starts_with(prefix + "/0/skipped_")) << deliveries()[0];
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Rerun}).ok());
  answerCallbacks();
  work({"a"});
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Rerun}).ok());
  answerCallbacks();
  work();
  ASSERT_TRUE(rerunTask(run, "b").ok());
  answerCallbacks();
  const std::vector<std::string> all = deliveries();
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 4u);
  EXPECT_NE(webhooks_.calls.back().webhook.body.find(R"("event":"finished")"), std::string::npos);
  // One that had an attempt and is stopped in the queue of its next run.
  TaskSpec alone = spec();
  alone.policy.callback.url = "http://h/y";
  alone.policy.callback.on = {"failed", "terminated"};
  const TaskId id = this->run(alone);
  say(RunnerStatus::Failed);
  std::set<std::string> ids;
  for (int pass = 0; pass < 2; ++pass) {
    answerCallbacks();
    order(id, TaskCommand::Rerun);
    order(id, TaskCommand::Stop);
    ids.insert(deliveries().back());
  }
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(deliveries().at(deliveries().size() - 3), fmt::format("{}/1/failed", id));
}

// ------------------------------------------------------------------------------- reruns that wait

class WaitingRerunTest : public TaskOfRunTest {
 protected:
  // A run that failed waits to run its tasks again, behind another.
  RunId waiting(const std::string& overlap) {
    define("{flow: f, overlap: " + overlap +
           ", tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}, c: {command: [x]}}}");
    const RunId failed = trigger("f").state.id;
    EXPECT_EQ(work({"a"}), (Names{"a", "c"}));
    clock_.advance(Seconds(1));
    trigger("f");
    EXPECT_EQ(next(), "a");
    EXPECT_TRUE(orderRun({.id = failed, .command = RunCommand::Rerun}).ok());
    EXPECT_EQ(runStatus(failed), RunStatus::Waiting);
    EXPECT_EQ(nodeStatus(failed, "a"), S::Created);
    clock_.advance(Seconds(1));
    return failed;
  }
  // It was stopped with its tasks, and can run again.
  void expectStopped(RunId run, RunReason why) {
    EXPECT_EQ(runStatus(run), RunStatus::Terminated);
    EXPECT_EQ(row(run).state.reason, why);
    EXPECT_EQ(nodeStatus(run, "a"), S::Terminated);
    EXPECT_EQ(nodeReason(run, "b"), F::RunStopping);
    EXPECT_EQ(nodeStatus(run, "c"), S::Finished);
    EXPECT_EQ(rig_->flows.findRun(run), nullptr);
    for (const auto& [id, task] : rig_->live.tasks) EXPECT_NE(task.part->run, run);
  }
};

TEST_F(WaitingRerunTest, ANewerRunThatTakesItsPlaceStopsIt) {
  const RunId run = waiting("cancel_running");
  const RunId newest = trigger("f").state.id;
  expectStopped(run, RunReason::OverlapCancel);
  EXPECT_EQ(node(run, "a").state.reason_text,
            "stopped, because a newer run took the place of its run");
  work();
  EXPECT_EQ(runStatus(newest), RunStatus::Finished);
  ASSERT_TRUE(orderRun({.id = run, .command = RunCommand::Rerun}).ok());
  EXPECT_EQ(work(), (Names{"a", "b"}));
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

TEST_F(WaitingRerunTest, ItWaitsThroughRunsThatAreNotLetIn) {
  for (const char* overlap : {"skip", "{policy: queue, max_queued: 1}"}) {
    const RunId run = waiting(overlap);
    EXPECT_EQ(trigger("f").state.status, RunStatus::Skipped);
    begin();
    EXPECT_EQ(runStatus(run), RunStatus::Waiting);
    EXPECT_EQ(end(), "");  // Behind a takeover it has to be read first.
    EXPECT_EQ(work(), (Names{"c", "b", "a", "b"}));
    EXPECT_EQ(runStatus(run), RunStatus::Finished);
  }
}

TEST_F(WaitingRerunTest, AStopAndTheEndOfItsFlowStopIt) {
  const RunId stopped = waiting("queue");
  EXPECT_FALSE(orderRun({.id = stopped, .command = RunCommand::Skip}).ok());
  begin();
  ASSERT_TRUE(orderRun({.id = stopped, .command = RunCommand::Stop, .request = requester()}).ok());
  expectStopped(stopped, RunReason::StopAsked);
  EXPECT_EQ(row(stopped).state.reason_text, "stopped by p");
  end();
  end();
  end();
  const RunId deleted = waiting("queue");
  std::optional<Result<master::api::FlowView>> answer;
  rig_->dispatcher.post(
      [&] { rig_->flow_commands.remove("f", requester(), [&](auto result) { answer = result; }); });
  settle();
  ASSERT_TRUE(answer.has_value() && answer->ok());
  expectStopped(deleted, RunReason::FlowDeleted);
}

TEST_F(WaitingRerunTest, TheTasksOfOneCanBeOrderedOneByOne) {
  const RunId run = waiting("queue");
  order(idOf(run, "a"), TaskCommand::Skip);
  ASSERT_TRUE(rerunTask(run, "c").ok());  // One more comes along.
  EXPECT_EQ(nodeStatus(run, "c"), S::Created);
  order(idOf(run, "b"), TaskCommand::Stop);
  order(idOf(run, "c"), TaskCommand::Stop);
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
}

TEST_F(WaitingRerunTest, ARunThatNeverBeganIsLetInByARerun) {
  define(
      "{flow: f, overlap: {policy: queue, max_queued: 1}, tasks: {a: {command: [x]}, b: {command: "
      "[x]}}}");
  trigger("f");
  const RunId stopped = trigger("f").state.id;
  const RunId full = trigger("f").state.id;
  EXPECT_EQ(row(full).state.reason, RunReason::QueueFull);
  EXPECT_FALSE(orderRun({.id = stopped, .command = RunCommand::Rerun}).ok());
  ASSERT_TRUE(orderRun({.id = stopped, .command = RunCommand::Stop}).ok());
  for (const RunId run : {stopped, full}) {
    const auto one =
        orderRun({.id = run, .command = RunCommand::Rerun, .scope = RerunScope::One, .task = "a"});
    EXPECT_NE(one.status().text().find("rerun all of them"), std::string::npos);
    const auto scope = run == full ? RerunScope::All : RerunScope::Failed;
    const auto answer = orderRun({.id = run, .command = RunCommand::Rerun, .scope = scope});
    ASSERT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_EQ(answer->state.status, RunStatus::Waiting);
    EXPECT_EQ(answer->state.reason, RunReason::None);
  }
  begin();
  EXPECT_EQ(work(), (Names{"a", "b", "a", "b", "a", "b"}));
  EXPECT_EQ(runStatus(stopped), RunStatus::Finished);
  EXPECT_EQ(runStatus(full), RunStatus::Finished);
  EXPECT_EQ(row(full).state.reruns, 1);
}

// ------------------------------------------------------------------------------- priorities

TEST_F(TaskOfRunTest, ATaskHasThePriorityOfItsRunUnlessItSaysItsOwn) {
  define("{flow: inner, priority: high, tasks: {i: {command: [x]}}}");
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  n: {command: [x], priority: normal}
  s: {flow: inner}
  t: {flow: inner, priority: low}
)");
  const RunId run = trigger("f", {.priority = Priority::Critical}).state.id;
  const auto inner = [&](const char* name) { return rig_->flows.sub_runs.at(idOf(run, name)); };
  const auto expect = [&](Priority of_run) {
    EXPECT_EQ(node(run, "a").state.priority, of_run);
    EXPECT_EQ(node(run, "n").state.priority, Priority::Normal);
    EXPECT_EQ(row(inner("s")).state.priority, of_run);
    EXPECT_EQ(node(inner("s"), "i").state.priority, of_run);
    EXPECT_EQ(row(inner("t")).state.priority, Priority::Low);
    EXPECT_EQ(node(inner("t"), "i").state.priority, Priority::Low);
  };
  expect(Priority::Critical);
  ASSERT_TRUE(
      orderRun({.id = run, .command = RunCommand::SetPriority, .priority = Priority::High}).ok());
  expect(Priority::High);
  order(idOf(run, "a"), TaskCommand::Stop);
  ASSERT_TRUE(
      orderRun({.id = run, .command = RunCommand::SetPriority, .priority = Priority::Low}).ok());
  ASSERT_TRUE(rerunTask(run, "a").ok());
  expect(Priority::Low);
  work();
}

// ------------------------------------------------------------------------------- words

TEST_F(TaskOfRunTest, TheReasonOfARunIsThatOfWhatIsLeft) {
  define("{flow: f, tasks: {a: {command: [x]}, l: {command: [x]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_EQ(end(RunnerStatus::Failed), "l");
  order(idOf(run, "l"), TaskCommand::Stop);
  say(RunnerStatus::Idle);
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
  EXPECT_NE(row(run).state.reason_text.find("task a"), std::string::npos);
  ASSERT_TRUE(force(run, "a").ok());
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
  EXPECT_EQ(row(run).state.reason, RunReason::None);
  EXPECT_EQ(row(run).state.reason_text, fmt::format("task l (id {}) was stopped", idOf(run, "l")));
  EXPECT_EQ(node(run, "l").state.reason_text, "stopped by p");
}

TEST_F(TaskOfRunTest, ATimeoutOfARunNamesItsLimit) {
  define("{flow: f, timeout: 2s, tasks: {a: {command: [x], hold: true}}}");
  const RunId run = trigger("f").state.id;
  pass(Millis(2'100));
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
  EXPECT_EQ(row(run).state.reason_text, "not done within 2s");
  EXPECT_EQ(node(run, "a").state.reason_text, "stopped, because the time of its run was over");
}

}  // namespace
}  // namespace baton::test
