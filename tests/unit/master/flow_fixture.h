#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flow/definition/flow_parser.h"
#include "tests/unit/master/master_fixture.h"

namespace baton::test {

inline constexpr const char* kDiamond = R"(
flow: d
tasks:
  a: {command: [x]}
  b: {command: [x], needs: [a]}
  c: {command: [x], needs: [a]}
  e: {command: [x], needs: [b, c]}
)";

// Flows on the parts of one term: definitions go in as text, runners are moved by name of task.
class FlowTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override {
    // A run that has ended has no live tasks.
    for (const auto& [id, task] : rig_->live.tasks) {
      const bool left_behind = task.part && rig_->flows.findRun(task.part->run) == nullptr;
      EXPECT_FALSE(left_behind) << "task " << id << " of run " << task.part->run;
    }
  }

  // The next version of a flow, durable.
  void define(const std::string& yaml, const flow::FlowSurroundings& surroundings = {}) {
    const flow::ParsedFlow parsed = flow::parseFlow("test", yaml, surroundings);
    for (const flow::FlowIssue& issue : parsed.issues) {
      EXPECT_TRUE(issue.warning) << issue.text();
    }
    ASSERT_TRUE(parsed.flow.has_value());
    master::LiveFlow& flow = rig_->flows.flows[nameKey(parsed.flow->name)];
    flow.record.name = parsed.flow->name;
    ++flow.record.version;
    flow.newest = master::makeFlowVersion(flow.record.version, *parsed.flow);
    master::Operation operation;
    operation.store(flow.record);
    operation.changes.flow_versions.push_back(
        {flow.record.name, flow.record.version, yaml, "p", clock_.wallNow()});
    rig_->writer.submit(std::move(operation));
    settle();
  }
  RunRecord trigger(const std::string& flow, master::RunStart what = {}) {
    master::Operation operation;
    what.flow = flow;
    if (what.plan_time == WallTime{}) what.plan_time = clock_.wallNow();
    const RunRecord record = rig_->runs.start(operation, what);
    rig_->writer.submit(std::move(operation));
    settle();
    return record;
  }
  // A change of one live run, as people order it.
  template <typename Change>
  Status change(RunId id, Change change) {
    master::Operation operation;
    const Status changed = change(operation, *rig_->flows.findRun(id));
    rig_->writer.submit(std::move(operation));
    settle();
    return changed;
  }
  Status stop(RunId id) {
    return change(id, [&](auto& operation, auto& run) {
      return rig_->runs.stop(operation, run, RunReason::StopAsked);
    });
  }
  Result<RunRecord> orderRun(master::api::RunOrder order) {
    clock_.advance(Micros(1));  // A row read in the microsecond of its end is read again.
    std::optional<Result<RunRecord>> answer;
    rig_->run_orders.order(std::move(order), [&](auto result) { answer = result; });
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }

  RunRecord row(RunId id) const { return database_.rows().runs.at(id); }
  RunStatus runStatus(RunId id) const { return row(id).state.status; }
  TaskRecord node(RunId id, const std::string& name) const {
    for (const auto& [task_id, task] : database_.rows().tasks) {
      if (task.run_id == id && task.name == name) return task;
    }
    ADD_FAILURE() << "run " << id << " has no task " << name;
    return {};
  }
  TaskStatus nodeStatus(RunId id, const std::string& name) const {
    return node(id, name).state.status;
  }
  FailureReason nodeReason(RunId id, const std::string& name) const {
    return node(id, name).state.reason;
  }

  // Gives the one runner its next order and returns the name of the task; "": there is none.
  std::string next() {
    HeartbeatReply reply = say(RunnerStatus::Idle);
    if (!reply.order) reply = say(RunnerStatus::Idle);  // A specification had to be read first.
    return reply.order ? nameOf(reply.order->key.task_id) : std::string();
  }
  // Ends the task on the runner; returns the name of the next one, which the answer carries.
  std::string end(RunnerStatus how = RunnerStatus::Finished,
                  std::map<std::string, std::string> outputs = {}) {
    HeartbeatRequest request = beat(how);
    request.result.outputs = std::move(outputs);
    const HeartbeatReply reply = exchange(request);
    return reply.order ? nameOf(reply.order->key.task_id) : std::string();
  }
  std::string nameOf(TaskId id) const { return database_.rows().tasks.at(id).name; }
  // Works off what there is, in the order in which it is given out; tasks named in `failing` fail.
  std::vector<std::string> work(const std::set<std::string>& failing = {}) {
    std::vector<std::string> names;
    for (std::string name = next(); !name.empty();) {
      names.push_back(name);
      name = end(failing.contains(name) ? RunnerStatus::Failed : RunnerStatus::Finished);
      if (name.empty()) name = next();  // What comes behind it may begin in a later turn.
    }
    return names;
  }
};

}  // namespace baton::test
