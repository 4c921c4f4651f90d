// Rows of flows, runs and events: stored whole, once, and refused by name.
#include <functional>

#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {
namespace {

// Quotes, escapes, marks of statements, 4-byte characters and the zero byte.
std::string anyText() {
  return std::string("🚀 '\"\\ ?%_ \n\r\t\x1a\b -- ; /* ") + std::string(1, '\0') + "behind 𝄞 \\'";
}

FlowRows someRows() {
  return {.flows = {sampleFlow("Nightly")},
          .versions = {sampleVersion("Nightly", 3)},
          .backfills = {sampleBackfill(34, "Nightly")},
          .runs = {sampleRun(100, "Nightly")},
          .missed = {sampleMissed("Nightly", 500)},
          .events = {sampleEvent(1, "fx", "2026-11-29")},
          .tasks = {sampleRunTask(7, 100, "load"), sampleTask(8)}};
}

TEST_P(DaoContract, RowsOfFlowsReadBackAsStored) {
  const FlowRows rows = someRows();
  const auto txn = begin();
  ASSERT_OK(storeRows(*txn, rows));
  ASSERT_OK(txn->commit());

  const auto flow = reader_->flow("nightly");
  ASSERT_OK(flow);
  ASSERT_TRUE(flow->has_value());
  EXPECT_EQ(dumpFlow((*flow)->record), dumpFlow(rows.flows[0]));
  ASSERT_TRUE((*flow)->version.has_value());
  EXPECT_EQ(dumpVersion(*(*flow)->version), dumpVersion(rows.versions[0]));
  EXPECT_EQ(dumpVersion(**reader_->flowVersion("nightly", 3)), dumpVersion(rows.versions[0]));
  EXPECT_EQ(dumpRun(**reader_->run(100)), dumpRun(rows.runs[0]));
  EXPECT_EQ(dumpMissed(**reader_->missedInstant("nightly", wallFromMicros(500))),
            dumpMissed(rows.missed[0]));
  EXPECT_EQ(dumpEvent(**reader_->event("fx", "2026-11-29")), dumpEvent(rows.events[0]));
  EXPECT_EQ(dumpBackfill(**reader_->backfill(34)), dumpBackfill(rows.backfills[0]));
  TaskRecord task = rows.tasks[0];
  task.flow = "Nightly";
  EXPECT_EQ(dumpTask(**reader_->task(7)), dumpTask(task));
  EXPECT_EQ(dumpTask(**reader_->task(8)), dumpTask(rows.tasks[1]));

  // Keys are exact; what is not there is no error.
  EXPECT_FALSE(reader_->flow("Nightly")->has_value());
  EXPECT_FALSE(reader_->flowVersion("nightly", 2)->has_value());
  EXPECT_FALSE(reader_->run(7)->has_value());
  EXPECT_FALSE(reader_->missedInstant("nightly", wallFromMicros(501))->has_value());
  EXPECT_FALSE(reader_->event("fx", "2026-11-2")->has_value());
  EXPECT_FALSE(reader_->backfill(100)->has_value());
}

TEST_P(DaoContract, AnyTextInEveryColumnOfFlowsReadsBackUnchanged) {
  const std::string any = anyText();
  FlowRows rows = someRows();
  rows.flows[0].name = any;
  rows.versions[0].flow = rows.versions[0].text = rows.versions[0].author = any;
  RunRecord& run = rows.runs[0];
  run.flow = run.trigger_key = run.params = run.principal = run.state.reason_text = any;
  rows.missed[0].flow = any;
  rows.missed[0].reason = "🚀'\\";
  EventRecord& event = rows.events[0];
  event.name = event.key = event.data = event.principal = any;
  rows.backfills[0].flow = rows.backfills[0].principal = any;
  rows.tasks[0].name = rows.tasks[0].flow = any;
  const auto txn = begin();
  ASSERT_OK(storeRows(*txn, rows));
  ASSERT_OK(txn->storeTaskSpecs(std::vector<FencedTxn::TaskSpecText>{{7, any}}));
  ASSERT_OK(txn->commit());

  const std::string key = nameKey(any);
  EXPECT_EQ(dumpFlow((*reader_->flow(key))->record), dumpFlow(rows.flows[0]));
  EXPECT_EQ(dumpVersion(**reader_->flowVersion(key, 3)), dumpVersion(rows.versions[0]));
  EXPECT_EQ(dumpRun(**reader_->run(100)), dumpRun(run));
  EXPECT_EQ(dumpMissed(**reader_->missedInstant(key, wallFromMicros(500))),
            dumpMissed(rows.missed[0]));
  EXPECT_EQ(dumpEvent(**reader_->event(any, any)), dumpEvent(event));
  EXPECT_EQ(dumpBackfill(**reader_->backfill(34)), dumpBackfill(rows.backfills[0]));
  const auto task = reader_->task(7);
  EXPECT_EQ((*task)->flow + (*task)->spec, any + any);
  TaskFilter tasks;
  tasks.flow = key;
  EXPECT_EQ(reader_->tasks(tasks, 0, 10)->items.size(), 1u);
  RunFilter runs;
  runs.flow = key;
  EXPECT_EQ(*reader_->countRuns(runs), 1u);
  EXPECT_EQ(reader_->flows({.online = true, .text = any}, "", 10)->items.size(), 1u);
  EXPECT_EQ(reader_->tasksPlanned(key, any, run.plan_time, run.plan_time + Micros(1), 9)->size(),
            1u);
}

// Keys of events come from others: blanks behind them, case and accents make another event.
TEST_P(DaoContract, KeysOfEventsAreComparedExactly) {
  const auto txn = begin();
  ASSERT_OK(txn->insertEvents(std::vector{sampleEvent(1, "e", "k"), sampleEvent(2, "e", "k "),
                                          sampleEvent(3, "e", "K"), sampleEvent(4, "e", "ḱ")}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ((*reader_->event("e", "k"))->id, 1u);
  EXPECT_EQ((*reader_->event("e", "k "))->id, 2u);
  EXPECT_EQ((*reader_->event("e", "K"))->id, 3u);
  EXPECT_EQ((*reader_->event("e", "ḱ"))->id, 4u);
  EXPECT_FALSE(reader_->event("e", "k  ")->has_value());
}

// A transaction whose outcome was unknown is written again with its number.
TEST_P(DaoContract, RepeatedBatchOfFlowsDoesNoHarm) {
  const FlowRows rows = someRows();
  RunState ended = rows.runs[0].state;
  ended.status = RunStatus::Finished;
  for (int round = 0; round < 2; ++round) {
    auto txn = writer_->begin(1, 5);
    ASSERT_OK(txn);
    ASSERT_OK(storeRows(**txn, rows));
    ASSERT_OK((*txn)->storeRunStates(std::vector{ended}));
    ASSERT_OK((*txn)->storeTaskSpecs(std::vector<FencedTxn::TaskSpecText>{{7, "{}"}}));
    ASSERT_OK((*txn)->commit());
  }
  EXPECT_EQ((*reader_->run(100))->state.status, RunStatus::Finished);
  EXPECT_EQ((*reader_->task(7))->spec, "{}");
  for (const std::string table :
       {"flow", "flow_version", "backfill", "run", "missed", "event", "run_task"}) {
    EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM " + table), 1) << table;
    EXPECT_EQ(rawNumber("SELECT epoch*100+batch_id FROM " + table), 105) << table;
  }
}

// Refused with what it is; nothing of the transaction stays.
void expectRefused(FencedTxn& txn, const Status& status, const std::vector<std::string>& words) {
  EXPECT_CODE(status, Corrupt);
  for (const std::string& word : words) {
    EXPECT_NE(status.text().find(word), std::string::npos) << status.text() << "\nlacks " << word;
  }
  EXPECT_CODE(txn.commit(), Corrupt);
}

// Nobody makes a second run of one instant, neither later nor within one batch.
TEST_P(DaoContract, SecondRunOfTheSameInstantIsRefusedByName) {
  RunRecord first = sampleRun(100, "Nightly");
  first.trigger = RunTrigger::Schedule;
  first.trigger_key = "2026-11-29T02:00:00Z";
  RunRecord second = first;
  second.state.id = 101;
  second.flow = "nIGHTLY";
  const std::vector<std::string> words{"run 101", "flow nIGHTLY", "schedule 2026-11-29T02:00:00Z"};
  {
    const auto txn = begin();
    expectRefused(*txn, txn->insertRuns(std::vector{sampleRun(99, "Nightly"), first, second}),
                  words);
  }
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM run"), 0);
  auto txn = begin();
  ASSERT_OK(txn->insertRuns(std::vector{first}));
  ASSERT_OK(txn->commit());
  txn = begin();
  expectRefused(*txn, txn->insertRuns(std::vector{sampleRun(99, "Nightly"), second}), words);
  // Another trigger, key or flow is another run.
  RunRecord third = second;
  second.trigger = RunTrigger::Backfill;
  third.flow = "nightly2";
  third.state.id = 102;
  RunRecord fourth = first;
  fourth.trigger_key += "0";
  fourth.state.id = 103;
  txn = begin();
  ASSERT_OK(txn->insertRuns(std::vector{second, third, fourth}));
  ASSERT_OK(txn->commit());
  // A run that is there is not made anew.
  txn = begin();
  expectRefused(*txn, txn->insertRuns(std::vector{first}), {"run 100"});
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM run"), 4);
}

TEST_P(DaoContract, WhatIsThereOnceIsRefusedByName) {
  auto txn = begin();
  ASSERT_OK(storeRows(*txn, someRows()));
  ASSERT_OK(txn->commit());
  const auto refused = [&](const std::function<Status(FencedTxn&)>& store,
                           const std::vector<std::string>& words) {
    const auto again = begin();
    expectRefused(*again, store(*again), words);
  };
  refused(
      [](FencedTxn& t) { return t.insertEvents(std::vector{sampleEvent(2, "fx", "2026-11-29")}); },
      {"event 2 (fx, 2026-11-29)"});
  refused(
      [](FencedTxn& t) {
        return t.insertEvents(std::vector{sampleEvent(2, "fx", "a"), sampleEvent(3, "fx", "a")});
      },
      {"event 3 (fx, a)"});
  refused(
      [](FencedTxn& t) { return t.insertFlowVersions(std::vector{sampleVersion("NIGHTLY", 3)}); },
      {"version of flow NIGHTLY: 3"});
  refused([](FencedTxn& t) { return t.insertBackfills(std::vector{sampleBackfill(34, "x")}); },
          {"backfill 34"});
  // A task belongs to one run for ever.
  refused(
      [](FencedTxn& t) {
        return t.insertTasks(std::vector{sampleRunTask(9, 1, "a"), sampleRunTask(9, 2, "a")});
      },
      {"task 9"});
  RunState unknown = sampleRun(555, "x").state;
  refused(
      [&](FencedTxn& t) {
        RunState other = unknown;
        other.id = 556;
        return t.storeRunStates(std::vector{sampleRun(100, "x").state, unknown, other});
      },
      {"run 555 does not exist"});
  EXPECT_EQ((*reader_->task(7))->run_id, 100u);
}

// What changes is overwritten, with nothing beside it.
TEST_P(DaoContract, StatesOfRunsOverwriteOnlyThemselves) {
  RunRecord run = sampleRun(100, "Nightly");
  const RunRecord other = sampleRun(101, "Nightly");
  auto txn = begin();
  ASSERT_OK(txn->insertRuns(std::vector{run, other}));
  ASSERT_OK(txn->commit());
  EXPECT_EQ(rawNumber("SELECT phase FROM run WHERE run_id=100"), 0);
  RunState bare;
  bare.id = 100;
  RunState skipped = other.state;
  skipped.id = 100;
  skipped.status = RunStatus::Skipped;
  skipped.reason = RunReason::OverlapSkip;
  for (const RunState& state : {bare, skipped}) {
    run.state = state;
    txn = begin();
    ASSERT_OK(txn->storeRunStates(std::vector{state}));
    ASSERT_OK(txn->commit());
    EXPECT_EQ(dumpRun(**reader_->run(100)), dumpRun(run));
    EXPECT_EQ(dumpRun(**reader_->run(101)), dumpRun(other));
    EXPECT_EQ(rawNumber("SELECT phase FROM run WHERE run_id=100"),
              isTerminal(state.status) ? static_cast<int64_t>(state.status) : 0);
  }
}

TEST_P(DaoContract, FlowsAndMissedInstantsOverwrite) {
  FlowRecord flow = sampleFlow("Nightly");
  MissedRecord missed = sampleMissed("Nightly", 500);
  for (const uint32_t version : {1U, 2U}) {
    flow.version = version;
    flow.name = version == 1 ? "Nightly" : "NIGHTLY";
    missed.run_id = version;
    missed.reason = "too_old";
    const auto txn = begin();
    ASSERT_OK(storeRows(*txn, {.flows = {flow}, .missed = {missed}}));
    ASSERT_OK(txn->commit());
  }
  const auto found = reader_->flow("nightly");
  EXPECT_EQ(dumpFlow((*found)->record), dumpFlow(flow));
  EXPECT_FALSE((*found)->version.has_value());  // None was stored.
  EXPECT_EQ(dumpMissed(**reader_->missedInstant("nightly", missed.plan_time)), dumpMissed(missed));
}

// A specification may become known later, and again otherwise.
TEST_P(DaoContract, SpecificationsAreStoredAfterTheirTasks) {
  TaskRecord task = sampleRunTask(7, 100, "a");
  task.spec.clear();
  insert({task, sampleTask(8)});
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM task_spec"), 1);
  EXPECT_TRUE((*reader_->task(7))->spec.empty());
  EXPECT_TRUE(reader_->specs(std::vector<TaskId>{7})->empty());
  for (const std::string spec : {"{\"a\":1}", "{\"a\":2}"}) {
    const auto txn = begin();
    ASSERT_OK(txn->storeTaskSpecs(std::vector<FencedTxn::TaskSpecText>{{7, spec}, {8, spec}}));
    ASSERT_OK(txn->commit());
    EXPECT_EQ((*reader_->task(7))->spec, spec);
    EXPECT_EQ(reader_->specs(std::vector<TaskId>{7, 8})->size(), 2u);
    EXPECT_EQ((*reader_->task(8))->spec, spec);
  }
}

// Names are never cut: 128 characters fit, of any length in bytes; text for people is cut.
TEST_P(DaoContract, LimitsOfNamesInRowsOfFlows) {
  std::string fits;
  for (int i = 0; i < 128; ++i) fits += "𝄞";
  FlowRows rows = someRows();
  rows.flows[0].name = rows.versions[0].flow = rows.versions[0].author = rows.runs[0].flow =
      rows.runs[0].principal = rows.missed[0].flow = rows.events[0].name = rows.events[0].key =
          rows.events[0].principal = rows.backfills[0].flow = rows.backfills[0].principal = fits;
  rows.runs[0].trigger_key = std::string(255, 'k');
  rows.missed[0].reason = std::string(32, 'r');
  rows.runs[0].state.reason_text = std::string(100'000, 'x');
  rows.versions[0].text = std::string(3'000'000, 'y') + "🚀";
  const auto txn = begin();
  ASSERT_OK(storeRows(*txn, rows));
  ASSERT_OK(txn->commit());
  EXPECT_EQ((*reader_->flow(fits))->record.name, fits);
  EXPECT_TRUE((*reader_->flow(fits))->version->text == rows.versions[0].text);
  EXPECT_EQ((*reader_->event(fits, fits))->key, fits);
  const std::string cut = (*reader_->run(100))->state.reason_text;
  EXPECT_LE(cut.size(), 4'096u);
  EXPECT_TRUE(cut.ends_with("x…"));

  const auto refused = [&](const FlowRows& bad, const std::vector<std::string>& words) {
    const auto other = begin();
    expectRefused(*other, storeRows(*other, bad), words);
  };
  const std::string long_name = fits + "𝄞";
  const auto expect_long = [&](const FlowRows& bad, const std::string& column) {
    refused(bad, {column + " has 129 characters, at most 128 are stored"});
  };
  FlowRecord flow = sampleFlow(long_name);
  expect_long({.flows = {flow}}, "name");
  FlowVersionRecord version = sampleVersion("x", 1);
  version.author = long_name;
  expect_long({.versions = {version}}, "author");
  RunRecord run = sampleRun(5, long_name);
  expect_long({.runs = {run}}, "flow");
  run = sampleRun(5, "x");
  run.principal = long_name;
  expect_long({.runs = {run}}, "principal");
  run = sampleRun(5, "x");
  run.trigger_key = std::string(256, 'k');
  refused({.runs = {run}}, {"run 5 of flow x", "trigger_key has 256"});
  MissedRecord missed = sampleMissed("x", 1);
  missed.reason = std::string(33, 'r');
  refused({.missed = {missed}}, {"missed instant of flow x", "reason has 33"});
  expect_long({.events = {sampleEvent(5, long_name, "k")}}, "name");
  expect_long({.events = {sampleEvent(5, "n", long_name)}}, "key");
  expect_long({.backfills = {sampleBackfill(5, long_name)}}, "flow");
  run = sampleRun(0, "x");
  refused({.runs = {run}}, {"run 0", "an id above 0"});
  refused({.runs = {sampleRun(6, "")}}, {"run 6", "a flow"});
  refused({.flows = {sampleFlow("")}}, {"a flow without"});
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM run"), 1);
}

// As many as a second of ten thousand schedules makes.
TEST_P(DaoContract, ThousandsOfRunsInOneCall) {
  FlowRows rows;
  std::vector<RunState> states;
  for (RunId id = 1; id <= 10'000; ++id) {
    const std::string flow = "flow-" + std::to_string(id);
    rows.flows.push_back(sampleFlow(flow));
    rows.runs.push_back(sampleRun(id, flow));
    rows.tasks.push_back(sampleRunTask(id, id, "a"));
    states.push_back(rows.runs.back().state);
    states.back().status = RunStatus::Finished;
  }
  auto txn = begin();
  ASSERT_OK(storeRows(*txn, rows));
  ASSERT_OK(txn->commit());
  RunId last = 0;
  ASSERT_OK(reader_->tasksOfLiveRuns(
      [&](const TaskRecord& task) { return task.run_id == ++last && task.state.id == last; }));
  EXPECT_EQ(last, 10'000u);
  txn = begin();
  ASSERT_OK(txn->storeRunStates(states));
  ASSERT_OK(txn->commit());
  ASSERT_OK(reader_->tasksOfLiveRuns([](const TaskRecord&) { return false; }));  // None.
  EXPECT_EQ(*reader_->countRuns({}), 10'000u);
  EXPECT_EQ(*reader_->countRuns({.statuses = {RunStatus::Finished}}), 10'000u);
  EXPECT_EQ(rawNumber("SELECT COUNT(*) FROM run_task WHERE run_id=task_id"), 10'000);
  EXPECT_EQ((*reader_->run(9'999))->flow, "flow-9999");
}

}  // namespace
}  // namespace baton::dao
