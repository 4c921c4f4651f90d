// Rows of flows on their way through the state writer.
#include <gtest/gtest.h>

#include <set>

#include "master/state/state_writer.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_database.h"

namespace baton::test {
namespace {

using master::ChangeSet;
using master::Operation;

FlowRecord flowOfVersion(const std::string& name, uint32_t version) {
  FlowRecord flow;
  flow.name = name;
  flow.version = version;
  return flow;
}

RunRecord newRun(RunId id, const std::string& key) {
  RunRecord run;
  run.flow = "Nightly";
  run.trigger_key = key;
  run.state.id = id;
  return run;
}

RunState runState(RunId id, RunStatus status) {
  RunState state;
  state.id = id;
  state.status = status;
  return state;
}

MissedRecord missedAt(const std::string& flow, int64_t micros, RunId run) {
  MissedRecord missed;
  missed.flow = flow;
  missed.plan_time = wallFromMicros(micros);
  missed.reason = "too_old";
  missed.run_id = run;
  return missed;
}

TaskRecord newTaskOf(TaskId id, RunId run) {
  TaskRecord task;
  task.state.id = id;
  task.name = "load";
  task.run_id = run;
  return task;
}

TEST(FlowChanges, KeysOfDifferentThingsDiffer) {
  // Aim: a locked row of one kind never holds back what is about another kind.
  std::set<uint64_t> keys;
  for (uint64_t id = 1; id <= 100; ++id) {
    keys.insert({master::taskKey(id), master::runKey(id), master::runnerKey(std::to_string(id)),
                 master::flowKey(std::to_string(id))});
  }
  EXPECT_EQ(keys.size(), 400U);
  EXPECT_EQ(master::flowKey("Nightly"), master::flowKey("nIGHTLY"));
  Operation operation;
  operation.touchRun(7);
  operation.touchFlow("Nightly");
  operation.store(runState(8, RunStatus::Running));
  operation.store(runState(8, RunStatus::Paused));
  operation.store(flowOfVersion("nightly", 2));
  EXPECT_EQ(operation.keys, (std::vector<uint64_t>{master::runKey(7), master::flowKey("nightly"),
                                                   master::runKey(8), master::flowKey("nightly")}));
  ASSERT_EQ(operation.changes.run_states.size(), 1U);
  EXPECT_EQ(operation.changes.run_states[0].status, RunStatus::Paused);
  EXPECT_TRUE(operation.writes());
}

TEST(FlowChanges, EveryKindOfRowAloneIsAChange) {
  EXPECT_TRUE(ChangeSet().empty());
  std::vector<ChangeSet> sets(9);
  sets[0].specs.emplace_back();
  sets[1].flows.emplace_back();
  sets[2].flow_versions.emplace_back();
  sets[3].new_runs.emplace_back();
  sets[4].run_states.emplace_back();
  sets[5].missed.emplace_back();
  sets[6].events.emplace_back();
  sets[7].backfills.emplace_back();
  sets[8].calendars.emplace_back();
  for (const ChangeSet& changes : sets) EXPECT_FALSE(changes.empty());
}

TEST(FlowChanges, OneRowAKeyIsLeftTheNewest) {
  std::vector<Operation> operations(3);
  ChangeSet& first = operations[0].changes;
  first.flows = {flowOfVersion("Nightly", 1), flowOfVersion("other", 1)};
  first.new_runs = {newRun(100, "a")};
  first.new_tasks = {newTaskOf(7, 100)};
  first.run_states = {runState(50, RunStatus::Running)};
  first.missed = {missedAt("Nightly", 1, 0), missedAt("Nightly", 2, 0), missedAt("other", 1, 0)};
  first.events.resize(1);
  first.specs = {{8, "{1}"}};
  ChangeSet& second = operations[1].changes;
  second.flows = {flowOfVersion("NIGHTLY", 2)};
  second.flow_versions.resize(1);
  second.backfills.resize(1);
  second.run_states = {runState(100, RunStatus::Running), runState(50, RunStatus::Failed)};
  second.missed = {missedAt("nightly", 2, 9)};
  second.specs = {{7, "{2}"}, {8, "{3}"}};
  ChangeSet& third = operations[2].changes;
  third.new_runs = {newRun(101, "b")};
  third.run_states = {runState(100, RunStatus::Finished)};
  third.events.resize(1);
  third.flow_versions.resize(1);
  third.backfills.resize(1);
  first.calendars.push_back({.name = "De", .version = 1, .text = "a", .author = ""});
  third.calendars.push_back({.name = "DE", .version = 2, .text = "b", .author = ""});

  const ChangeSet merged = mergeChanges(operations);
  ASSERT_EQ(merged.flows.size(), 2U);
  EXPECT_EQ(merged.flows[0].name, "NIGHTLY");
  EXPECT_EQ(merged.flows[0].version, 2U);
  EXPECT_EQ(merged.flows[1].name, "other");
  ASSERT_EQ(merged.new_runs.size(), 2U);
  EXPECT_EQ(merged.new_runs[0].state.status, RunStatus::Finished);
  EXPECT_EQ(merged.new_runs[0].trigger_key, "a");
  ASSERT_EQ(merged.run_states.size(), 1U);
  EXPECT_EQ(merged.run_states[0].status, RunStatus::Failed);
  ASSERT_EQ(merged.missed.size(), 3U);
  EXPECT_EQ(merged.missed[1].run_id, 9U);
  EXPECT_EQ(merged.missed[2].flow, "other");
  ASSERT_EQ(merged.new_tasks.size(), 1U);
  EXPECT_EQ(merged.new_tasks[0].spec, "{2}");
  ASSERT_EQ(merged.specs.size(), 1U);
  EXPECT_EQ(merged.specs[0].spec, "{3}");
  EXPECT_EQ(merged.events.size(), 2U);
  EXPECT_EQ(merged.flow_versions.size(), 2U);
  EXPECT_EQ(merged.backfills.size(), 2U);
  ASSERT_EQ(merged.calendars.size(), 1U);
  EXPECT_EQ(merged.calendars[0].version, 2U);
}

// The writer over the fake database.
class FlowWriterTest : public testing::Test, protected master::WriterListener {
 protected:
  void SetUp() override { writer_.setFirstBatch(1); }
  void write(Operation operation) {
    writer_.submit(std::move(operation));
    writer_.publish();
    writer_.runPendingForTest();
  }

  void onWriterFenced() override {}
  void onWriterBug(const std::string& what) override { bug_ = what; }
  void onDatabaseOutage(const Error&) override {}
  void onDatabaseBack(Micros) override {}
  void onCommitted(size_t, size_t rows, Micros) override { rows_ = rows; }

  FakeClock clock_;
  FakeDatabase database_{1};
  std::unique_ptr<dao::Writer> link_ = database_.makeWriter();
  std::atomic<Epoch> epoch_{1};
  std::string bug_;
  size_t rows_ = 0;
  master::StateWriter writer_{
      *link_, clock_, epoch_, *this, {.retry_min = Millis(1), .retry_max = Millis(2)}};
};

TEST_F(FlowWriterTest, OneDecisionStoresRowsOfEveryKind) {
  // Aim: nothing that a decision carries is forgotten on the way.
  Operation operation;
  operation.store(flowOfVersion("Nightly", 1));
  FlowVersionRecord version;
  version.flow = "Nightly";
  version.version = 1;
  version.text = "text";
  operation.changes.flow_versions.push_back(version);
  operation.changes.new_runs.push_back(newRun(100, "a"));
  operation.changes.new_tasks.push_back(newTaskOf(7, 100));
  operation.changes.specs.push_back({7, "{}"});
  operation.store(runState(100, RunStatus::Running));
  operation.changes.missed.push_back(missedAt("Nightly", 5, 0));
  EventRecord event;
  event.id = 3;
  event.name = "fx";
  event.key = "k";
  operation.changes.events.push_back(event);
  BackfillRecord backfill;
  backfill.id = 4;
  backfill.flow = "Nightly";
  operation.changes.backfills.push_back(backfill);
  write(std::move(operation));
  EXPECT_EQ(bug_, "");
  EXPECT_EQ(rows_, 7U);  // The spec and the state went into new rows.

  const auto reader = database_.makeReader();
  EXPECT_EQ((*reader->flow("nightly"))->version->text, "text");
  EXPECT_EQ((*reader->run(100))->state.status, RunStatus::Running);
  const auto task = reader->task(7);
  EXPECT_EQ((*task)->flow + (*task)->spec, "Nightly{}");
  EXPECT_TRUE(reader->missedInstant("nightly", wallFromMicros(5))->has_value());
  EXPECT_TRUE(reader->event("fx", "k")->has_value());
  EXPECT_TRUE(reader->backfill(4)->has_value());

  Operation later;
  later.store(runState(100, RunStatus::Finished));
  later.changes.specs.push_back({7, "{later}"});
  write(std::move(later));
  EXPECT_EQ((*reader->run(100))->state.status, RunStatus::Finished);
  EXPECT_EQ((*reader->task(7))->spec, "{later}");
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(FlowWriterTest, ASecondRunOfOneInstantHaltsTheWriterByName) {
  // Aim: what would be two runs of one instant is a bug that is never stored.
  Operation first;
  first.changes.new_runs.push_back(newRun(100, "a"));
  write(std::move(first));
  Operation second;
  second.changes.new_runs.push_back(newRun(101, "a"));
  write(std::move(second));
  for (const std::string word : {"101", "Nightly", "manual a"}) {
    EXPECT_NE(bug_.find(word), std::string::npos) << bug_;
  }
  EXPECT_EQ(database_.rows().runs.size(), 1U);
}

}  // namespace
}  // namespace baton::test
