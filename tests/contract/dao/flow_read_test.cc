// Lists, windows and recovery scans of flows, runs and events.
#include <algorithm>
#include <functional>

#include "tests/contract/dao/flow_samples.h"

namespace baton::dao {
namespace {

using Numbers = std::vector<uint64_t>;
using Texts = std::vector<std::string>;

WallTime at(int64_t micros) { return wallFromMicros(micros); }

Numbers runIds(const std::vector<RunRecord>& runs) {
  Numbers ids;
  for (const RunRecord& run : runs) ids.push_back(run.state.id);
  return ids;
}

Numbers taskIds(const std::vector<TaskRecord>& tasks) {
  Numbers ids;
  for (const TaskRecord& task : tasks) ids.push_back(task.state.id);
  return ids;
}

// A run of that plan time with nothing else of note.
RunRecord plainRun(RunId id, const std::string& flow, int64_t plan_micros,
                   RunStatus status = RunStatus::Finished) {
  RunRecord run = sampleRun(id, flow);
  run.plan_time = at(plan_micros);
  run.state.status = status;
  run.state.late = false;
  run.backfill = run.parent_run = 0;
  return run;
}

void commitRows(FencedTxn& txn, const FlowRows& rows) {
  ASSERT_OK(storeRows(txn, rows));
  ASSERT_OK(txn.commit());
}

TEST_P(DaoContract, FlowsArePagedByKeyAndFiltered) {
  FlowRows rows;
  for (const std::string name : {"delta", "Alpha", "charlie", "Bravo_x", "Echo"}) {
    rows.flows.push_back(sampleFlow(name));
    rows.versions.push_back(sampleVersion(name, 3));
    rows.versions.push_back(sampleVersion(name, 2));
  }
  rows.flows[2].online = false;
  rows.flows[4].deleted = true;
  commitRows(*begin(), rows);
  const auto names = [](const Result<PageOf<FlowRow>>& page) {
    Texts found;
    EXPECT_OK(page);
    for (const FlowRow& row : page->items) {
      found.push_back(row.record.name);
      EXPECT_EQ(row.version->version, 3u);
      EXPECT_EQ(row.version->author, "author-3");
      EXPECT_TRUE(row.version->text.empty());
    }
    return found;
  };
  auto page = reader_->flows({}, "", 3);
  EXPECT_EQ(names(page), (Texts{"Alpha", "Bravo_x", "charlie"}));
  EXPECT_TRUE(page->more);
  page = reader_->flows({}, "charlie", 3);
  EXPECT_EQ(names(page), (Texts{"delta"}));
  EXPECT_FALSE(page->more);
  EXPECT_FALSE(reader_->flows({}, "", 4)->more);
  EXPECT_EQ(names(reader_->flows({.online = false}, "", 9)), (Texts{"charlie"}));
  EXPECT_EQ(names(reader_->flows({.online = true}, "alpha", 9)), (Texts{"Bravo_x", "delta"}));
  EXPECT_EQ(names(reader_->flows({.text = "LI"}, "", 9)), (Texts{"charlie"}));
  EXPECT_EQ(names(reader_->flows({.text = "O_"}, "", 9)), (Texts{"Bravo_x"}));
  EXPECT_TRUE(names(reader_->flows({.text = "%"}, "", 9)).empty());
  // A deleted one is not found, its versions are.
  EXPECT_FALSE(reader_->flow("echo")->has_value());
  EXPECT_TRUE(reader_->flowVersion("echo", 2)->has_value());
}

TEST_P(DaoContract, VersionsArePagedNewestFirst) {
  FlowRows rows;
  for (uint32_t version = 1; version <= 12; ++version) {
    rows.versions.push_back(sampleVersion("Nightly", version));
    rows.versions.push_back(sampleVersion("Nightly2", version));
  }
  commitRows(*begin(), rows);
  const auto numbers = [](const Result<PageOf<FlowVersionRecord>>& page) {
    Numbers found;
    EXPECT_OK(page);
    for (const FlowVersionRecord& row : page->items) {
      found.push_back(row.version);
      EXPECT_EQ(row.flow, "Nightly");
      EXPECT_TRUE(row.text.empty());
    }
    return found;
  };
  auto page = reader_->flowVersions("nightly", 0, 3);
  EXPECT_EQ(numbers(page), (Numbers{12, 11, 10}));
  EXPECT_TRUE(page->more);
  EXPECT_EQ(numbers(reader_->flowVersions("nightly", 10, 3)), (Numbers{9, 8, 7}));
  page = reader_->flowVersions("nightly", 3, 3);
  EXPECT_EQ(numbers(page), (Numbers{2, 1}));
  EXPECT_FALSE(page->more);
  EXPECT_TRUE(numbers(reader_->flowVersions("other", 0, 3)).empty());
}

TEST_P(DaoContract, RunsArePagedNewestFirst) {
  FlowRows rows;
  for (RunId id = 1; id <= 7; ++id) rows.runs.push_back(sampleRun(id, "Nightly"));
  commitRows(*begin(), rows);
  auto page = reader_->runs({}, 0, 3);
  EXPECT_EQ(runIds(page->items), (Numbers{7, 6, 5}));
  EXPECT_TRUE(page->more);
  RunRecord expected = rows.runs[6];
  expected.params.clear();
  expected.project_params.clear();
  EXPECT_EQ(dumpRun(page->items[0]), dumpRun(expected));
  page = reader_->runs({}, 5, 4);
  EXPECT_EQ(runIds(page->items), (Numbers{4, 3, 2, 1}));
  EXPECT_FALSE(page->more);
  EXPECT_TRUE(reader_->runs({}, 1, 4)->items.empty());
}

// Every filter alone, and together.
TEST_P(DaoContract, RunsAreFilteredByEveryMember) {
  FlowRows rows;
  for (RunId id = 1; id <= 6; ++id) {
    rows.runs.push_back(plainRun(id, "Nightly", 100 + static_cast<int64_t>(id)));
  }
  rows.runs[0].flow = "other";
  rows.runs[1].state.status = RunStatus::Running;
  rows.runs[2].state.status = RunStatus::Waiting;
  rows.runs[3].state.status = RunStatus::Skipped;
  rows.runs[1].trigger = RunTrigger::Schedule;
  rows.runs[4].trigger = RunTrigger::SubFlow;
  rows.runs[4].parent_run = 2;
  rows.runs[5].backfill = 9;
  rows.runs[2].state.late = true;
  commitRows(*begin(), rows);
  std::map<RunStatus, uint64_t> counts;
  for (const RunRecord& run : rows.runs) ++counts[run.state.status];
  EXPECT_EQ(*reader_->runCounts(), counts);
  const auto expect = [&](const RunFilter& filter, const Numbers& ids) {
    const auto page = reader_->runs(filter, 0, 10);
    ASSERT_OK(page);
    EXPECT_EQ(runIds(page->items), ids);
    EXPECT_EQ(*reader_->countRuns(filter), ids.size());
  };
  expect({}, {6, 5, 4, 3, 2, 1});
  expect({.flow = "nightly"}, {6, 5, 4, 3, 2});
  expect({.flow = "Nightly"}, {});
  expect({.statuses = {RunStatus::Waiting, RunStatus::Running}}, {3, 2});
  expect({.statuses = {RunStatus::Running, RunStatus::Skipped}}, {4, 2});
  expect({.statuses = {RunStatus::Failed}}, {});
  expect({.triggers = {RunTrigger::Schedule, RunTrigger::SubFlow}}, {5, 2});
  expect({.backfill = 9}, {6});
  expect({.parent_run = 2}, {5});
  expect({.flow = "nightly", .triggers = {RunTrigger::SubFlow}, .trigger_key = "5"}, {5});
  expect({.trigger_key = "55"}, {});
  expect({.plan_from = at(103)}, {6, 5, 4, 3});
  expect({.plan_from = at(103), .plan_before = at(105)}, {4, 3});
  expect({.late = true}, {3});
  expect({.flow = "nightly",
          .statuses = {RunStatus::Finished},
          .triggers = {RunTrigger::Manual},
          .plan_before = at(106)},
         {});  // 5 is a part of another run, 6 is too late.
  expect({.flow = "nightly",
          .statuses = {RunStatus::Finished},
          .triggers = {RunTrigger::SubFlow},
          .parent_run = 2,
          .plan_from = at(105),
          .plan_before = at(106)},
         {5});
}

// Tasks tell their run and its flow, in lists as well, and are found by both.
TEST_P(DaoContract, TasksTellTheirRun) {
  FlowRows rows;
  rows.runs = {sampleRun(100, "Nightly"), sampleRun(101, "Nightly"), sampleRun(102, "other")};
  rows.tasks = {sampleRunTask(5, 101, "b"), sampleTask(6),
                sampleRunTask(7, 100, "a"), sampleRunTask(8, 101, "a"),
                sampleRunTask(9, 102, "a"), sampleRunTask(10, 999, "no such run")};
  rows.tasks[2].state.status = TaskStatus::Failed;
  for (const size_t i : {0, 2, 3}) rows.tasks[i].flow = "Nightly";
  rows.tasks[4].flow = "other";
  commitRows(*begin(), rows);
  const auto list = reader_->tasks({}, 0, 5);
  ASSERT_OK(list);
  EXPECT_EQ(taskIds(list->items), (Numbers{10, 9, 8, 7, 6}));
  EXPECT_TRUE(list->more);
  Texts told;
  for (const TaskRecord& task : list->items)
    told.push_back(fmt::format("{} {}", task.run_id, task.flow));
  EXPECT_EQ(told, (Texts{"999 ", "102 other", "101 Nightly", "100 Nightly", "0 "}));

  const auto expect = [&](const TaskFilter& filter, TaskId before, const Numbers& ids) {
    const auto page = reader_->tasks(filter, before, 10);
    ASSERT_OK(page);
    EXPECT_EQ(taskIds(page->items), ids);
    for (const TaskRecord& task : page->items) EXPECT_NE(task.run_id, 0u);
    if (before == 0) {
      EXPECT_EQ(*reader_->countTasks(filter), ids.size());
    }
  };
  TaskFilter filter;
  filter.run_id = 101;
  expect(filter, 0, {8, 5});
  expect(filter, 8, {5});
  EXPECT_EQ(reader_->tasks(filter, 0, 10)->items[0].flow, "Nightly");
  filter.flow = "nightly";
  expect(filter, 0, {8, 5});
  filter.flow = "other";
  expect(filter, 0, {});
  filter.run_id = 0;
  expect(filter, 0, {9});
  filter.flow = "nightly";
  expect(filter, 0, {8, 7, 5});
  filter.statuses = {TaskStatus::Failed};
  expect(filter, 0, {7});
  filter.statuses.clear();
  filter.name = "a";
  filter.tag = "nightly";
  expect(filter, 8, {7});

  const auto of_run = reader_->tasksOfRun(101);
  ASSERT_OK(of_run);
  ASSERT_EQ(taskIds(*of_run), (Numbers{5, 8}));
  TaskRecord expected = rows.tasks[3];
  expected.flow = "Nightly";
  expected.spec.clear();
  EXPECT_EQ(dumpTask((*of_run)[1]), dumpTask(expected));
  EXPECT_TRUE(reader_->tasksOfRun(98)->empty());
}

// Windows look at plan times: what is newest counts, whatever its number.
TEST_P(DaoContract, RunsOfAWindowComeByPlanTime) {
  FlowRows rows;
  rows.runs = {plainRun(1, "fx", 300), plainRun(2, "FX", 100), plainRun(3, "fx", 200),
               plainRun(4, "fx", 200), plainRun(5, "gx", 200), plainRun(6, "fx", 150)};
  TaskId task = 10;
  for (const RunRecord& run : rows.runs) {
    rows.tasks.push_back(sampleRunTask(task++, run.state.id, "other"));
    if (run.state.id != 4) rows.tasks.push_back(sampleRunTask(task++, run.state.id, "rates"));
  }
  commitRows(*begin(), rows);
  const auto runs = [&](int64_t from, int64_t before, uint32_t limit) {
    const auto found = reader_->runsPlanned("fx", at(from), at(before), limit);
    EXPECT_OK(found);
    return runIds(*found);
  };
  EXPECT_EQ(runs(0, 1'000, 9), (Numbers{2, 6, 3, 4, 1}));
  EXPECT_EQ(runs(150, 300, 9), (Numbers{6, 3, 4}));
  EXPECT_EQ(runs(0, 1'000, 2), (Numbers{4, 1}));
  EXPECT_EQ(runs(301, 1'000, 2), Numbers{});
  RunRecord first = rows.runs[2];
  first.params.clear();
  first.project_params.clear();
  EXPECT_EQ(dumpRun((*reader_->runsPlanned("fx", at(200), at(201), 9))[0]), dumpRun(first));

  const auto tasks = [&](int64_t from, int64_t before, uint32_t limit) {
    const auto found = reader_->tasksPlanned("fx", "rates", at(from), at(before), limit);
    EXPECT_OK(found);
    Numbers of_runs;
    for (const TaskRecord& row : *found) {
      of_runs.push_back(row.run_id);
      EXPECT_EQ(row.name, "rates");
      EXPECT_EQ(row.flow, row.run_id == 2 ? "FX" : "fx");
      EXPECT_TRUE(row.outputs.empty() && row.spec.empty());
      EXPECT_EQ(row.state.status, TaskStatus::Queued);
    }
    return of_runs;
  };
  EXPECT_EQ(tasks(0, 1'000, 9), (Numbers{2, 6, 3, 1}));
  EXPECT_EQ(tasks(150, 300, 9), (Numbers{6, 3}));
  // The newest two runs, of which one has no such task.
  EXPECT_EQ(tasks(0, 1'000, 2), (Numbers{1}));
  EXPECT_TRUE(reader_->tasksPlanned("fx", "none", at(0), at(1'000), 9)->empty());
}

TEST_P(DaoContract, TheLastSuccessIsTheGreatestPlanTimeBelow) {
  FlowRows rows;
  rows.runs = {plainRun(1, "fx", 300), plainRun(2, "FX", 100), plainRun(3, "fx", 200),
               plainRun(4, "gx", 250)};
  for (RunRecord& run : rows.runs) run.state.status = RunStatus::Finished;
  rows.runs[2].state.status = RunStatus::Failed;
  commitRows(*begin(), rows);
  const auto last = [&](int64_t before) { return *reader_->lastSuccess("fx", at(before)); };
  EXPECT_EQ(last(1'000), at(300));
  EXPECT_EQ(last(300), at(100));
  EXPECT_EQ(last(100), WallTime{});
}

TEST_P(DaoContract, MissedInstantsArePagedNewestFirst) {
  commitRows(*begin(),
             {.missed = {sampleMissed("A", 300), sampleMissed("b", 300), sampleMissed("C", 300),
                         sampleMissed("b", 100), sampleMissed("b", 200), sampleMissed("A", 400)}});
  const auto rows = [](const Result<PageOf<MissedRecord>>& page) {
    Texts found;
    EXPECT_OK(page);
    for (const MissedRecord& row : page->items) {
      found.push_back(fmt::format("{}{}", row.flow, toMicros(row.plan_time)));
    }
    return found;
  };
  auto page = reader_->missed({}, {}, "", 3);
  EXPECT_EQ(rows(page), (Texts{"A400", "C300", "b300"}));
  EXPECT_TRUE(page->more);
  page = reader_->missed({}, at(300), "b", 3);
  EXPECT_EQ(rows(page), (Texts{"A300", "b200", "b100"}));
  EXPECT_FALSE(page->more);
  page = reader_->missed({.flow = "b"}, {}, "", 2);
  EXPECT_EQ(rows(page), (Texts{"b300", "b200"}));
  EXPECT_TRUE(page->more);
  EXPECT_EQ(rows(reader_->missed({.flow = "b"}, at(200), "b", 2)), (Texts{"b100"}));
  EXPECT_TRUE(rows(reader_->missed({.flow = "x"}, {}, "", 2)).empty());

  // A flow that was made after them is another one.
  FlowRecord younger = sampleFlow("B");
  younger.created_at = sampleMissed("b", 300).recorded_at + Micros(1);
  FlowRecord same = sampleFlow("a");
  same.created_at = sampleMissed("A", 300).recorded_at;
  commitRows(*begin(), {.flows = {younger, same}});
  EXPECT_TRUE(rows(reader_->missed({.flow = "b"}, {}, "", 2)).empty());
  EXPECT_EQ(rows(reader_->missed({.flow = "a"}, {}, "", 9)), (Texts{"A400", "A300"}));
  EXPECT_EQ(*reader_->countMissed({}), 3u);
  EXPECT_FALSE(reader_->missedInstant("b", at(300))->has_value());
  EXPECT_TRUE(reader_->missedInstant("a", at(300))->has_value());
}

TEST_P(DaoContract, EventsArePagedByIdAndFoundByTime) {
  FlowRows rows;
  for (uint64_t id = 1; id <= 6; ++id) {
    rows.events.push_back(sampleEvent(id, id == 4 ? "other" : "fx", std::to_string(id)));
  }
  rows.events[0].happened_at = at(900);
  rows.events[1].happened_at = rows.events[2].happened_at = at(500);
  commitRows(*begin(), rows);
  const auto ids = [](const std::vector<EventRecord>& events) {
    Numbers found;
    for (const EventRecord& event : events) found.push_back(event.id);
    return found;
  };
  auto page = reader_->events({}, 0, 3);
  EXPECT_EQ(ids(page->items), (Numbers{6, 5, 4}));
  EXPECT_TRUE(page->more);
  EXPECT_EQ(dumpEvent(page->items[0]), dumpEvent(rows.events[5]));
  EXPECT_EQ(ids(reader_->events({}, 4, 9)->items), (Numbers{3, 2, 1}));
  EXPECT_EQ(ids(reader_->events({.name = "fx"}, 0, 3)->items), (Numbers{6, 5, 3}));
  page = reader_->events({.name = "fx"}, 3, 2);
  EXPECT_EQ(ids(page->items), (Numbers{2, 1}));
  EXPECT_FALSE(page->more);
  const auto between = [&](int64_t from, int64_t before, uint32_t limit) {
    const auto found = reader_->eventsBetween("fx", at(from), at(before), limit);
    EXPECT_OK(found);
    return ids(*found);
  };
  EXPECT_EQ(between(0, 1'000, 9), (Numbers{5, 6, 2, 3, 1}));
  EXPECT_EQ(between(56, 900, 9), (Numbers{6, 2, 3}));
  EXPECT_EQ(between(0, 1'000, 2), (Numbers{3, 1}));
}

// Calendars are stored whole, one row a name whatever its case, and listed by key.
TEST_P(DaoContract, CalendarsAreStoredAndListed) {
  FlowRows rows;
  rows.calendars = {sampleCalendar("de", 1), sampleCalendar("Cn-workdays", 1),
                    sampleCalendar("gone", 4)};
  rows.calendars[2].deleted = true;
  rows.calendars[2].text.clear();
  commitRows(*begin(), rows);
  CalendarRecord changed = sampleCalendar("DE", 2);
  changed.text = std::string(1'000'000, 'x') + "🚀";
  commitRows(*begin(), {.calendars = {changed}});
  EXPECT_EQ(dumpCalendar(**reader_->calendar("de")), dumpCalendar(changed));
  EXPECT_FALSE(reader_->calendar("gone")->has_value());
  EXPECT_FALSE(reader_->calendar("nope")->has_value());
  const auto names = [&](bool deleted_too, std::string_view after, uint32_t limit) {
    const auto page = reader_->calendars(deleted_too, after, limit);
    EXPECT_OK(page);
    Texts found;
    for (const CalendarRecord& calendar : page->items) found.push_back(calendar.name);
    if (page->more) found.emplace_back("…");
    return found;
  };
  EXPECT_EQ(names(false, "", 9), (Texts{"Cn-workdays", "DE"}));
  EXPECT_EQ(names(true, "cn-workdays", 9), (Texts{"DE", "gone"}));
  EXPECT_EQ(names(true, "", 2), (Texts{"Cn-workdays", "DE", "…"}));
  EXPECT_EQ(dumpCalendar(reader_->calendars(true, "de", 1)->items.at(0)),
            dumpCalendar(rows.calendars[2]));
  std::string long_name;
  for (int i = 0; i < 129; ++i) long_name += "𝄞";
  const auto txn = begin();
  const Status refused = storeRows(*txn, {.calendars = {sampleCalendar(long_name, 1)}});
  EXPECT_CODE(refused, Corrupt);
  EXPECT_NE(refused.text().find("name has 129 characters"), std::string::npos) << refused.text();
}

// What recovery loads: all flows, live runs, all of their tasks in order, backfills with work left.
TEST_P(DaoContract, RecoveryScansOfFlows) {
  FlowRows rows;
  rows.flows = {sampleFlow("Alpha"), sampleFlow("gone"), sampleFlow("bare")};
  rows.flows[1].deleted = true;
  rows.versions = {sampleVersion("Alpha", 2), sampleVersion("Alpha", 3), sampleVersion("gone", 3)};
  rows.backfills = {sampleBackfill(9, "Alpha"), sampleBackfill(8, "Alpha"),
                    sampleBackfill(7, "Alpha")};
  for (RunId id = 1; id <= 8; ++id) {
    rows.runs.push_back(plainRun(id, "Alpha", 1, static_cast<RunStatus>(id - 1)));
  }
  rows.runs[0].backfill = 9;
  rows.runs[1].backfill = 9;
  rows.runs[5].backfill = 8;  // Ended.
  // Tasks of later runs may have lower ids.
  for (TaskId id = 1; id <= 16; ++id)
    rows.tasks.push_back(sampleRunTask(id, 1 + (16 - id) % 8, "t"));
  rows.tasks[15].state.status = TaskStatus::Finished;  // Of run 1.
  rows.tasks.push_back(sampleTask(17));
  commitRows(*begin(), rows);

  Texts flows;
  ASSERT_OK(reader_->allFlows([&](const FlowRow& row) {
    flows.push_back(dumpFlow(row.record) + (row.version ? " " + dumpVersion(*row.version) : ""));
    return true;
  }));
  std::sort(flows.begin(), flows.end());
  EXPECT_EQ(flows, (Texts{dumpFlow(rows.flows[0]) + " " + dumpVersion(rows.versions[1]),
                          dumpFlow(rows.flows[2]), dumpFlow(rows.flows[1])}));
  Texts runs;
  ASSERT_OK(reader_->liveRuns([&](const RunRecord& run) {
    runs.push_back(dumpRun(run));
    return true;
  }));
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(runs, (Texts{dumpRun(rows.runs[0]), dumpRun(rows.runs[1]), dumpRun(rows.runs[2]),
                         dumpRun(rows.runs[3])}));
  Texts tasks;
  ASSERT_OK(reader_->tasksOfLiveRuns([&](const TaskRecord& task) {
    tasks.push_back(
        fmt::format("{}/{} {} {}", task.run_id, task.state.id, task.name, task.outputs));
    if (task.state.id == 16) {
      EXPECT_EQ(dumpState(task.state), dumpState(rows.tasks[15].state));
    }
    EXPECT_TRUE(task.policy.empty() && task.tags.empty() && task.spec.empty());
    return true;
  }));
  EXPECT_EQ(tasks,
            (Texts{R"(1/8 t {"rows":"8"})", R"(1/16 t {"rows":"16"})", R"(2/7 t {"rows":"7"})",
                   R"(2/15 t {"rows":"15"})", R"(3/6 t {"rows":"6"})", R"(3/14 t {"rows":"14"})",
                   R"(4/5 t {"rows":"5"})", R"(4/13 t {"rows":"13"})"}));
  const auto backfills = reader_->liveBackfills();
  ASSERT_OK(backfills);
  ASSERT_EQ(backfills->size(), 1u);
  EXPECT_EQ(dumpBackfill(backfills->front()), dumpBackfill(rows.backfills[0]));
}

TEST_P(DaoContract, RecoveryScansOfFlowsStopWhenAsked) {
  FlowRows rows;
  rows.flows = {sampleFlow("a"), sampleFlow("b")};
  rows.runs = {sampleRun(1, "a"), sampleRun(2, "b")};
  rows.tasks = {sampleRunTask(1, 1, "t"), sampleRunTask(2, 2, "t")};
  commitRows(*begin(), rows);
  int seen = 0;
  const auto stop = [&seen](const auto&) {
    ++seen;
    return false;
  };
  EXPECT_CODE(reader_->allFlows(stop), Cancelled);
  EXPECT_CODE(reader_->liveRuns(stop), Cancelled);
  EXPECT_CODE(reader_->tasksOfLiveRuns(stop), Cancelled);
  EXPECT_EQ(seen, 3);
  // The session is as good as before.
  EXPECT_EQ(reader_->runs({}, 0, 9)->items.size(), 2u);
}

TEST_P(DaoContract, UnknownStoredEnumerationOfARunIsCorruptAndNamed) {
  commitRows(*begin(), {.runs = {sampleRun(5, "a")}});
  for (const std::string column : {"status", "reason", "priority", "trigger_kind"}) {
    raw("UPDATE run SET " + column + "=200 WHERE run_id=5");
    const auto found = reader_->run(5);
    EXPECT_CODE(found, Corrupt);
    EXPECT_NE(found.status().text().find("run 5"), std::string::npos) << found.status().text();
    EXPECT_CODE(reader_->liveRuns([](const RunRecord&) { return true; }), Corrupt);
    raw("UPDATE run SET " + column + "=1 WHERE run_id=5");
  }
  EXPECT_OK(reader_->run(5));
}

}  // namespace
}  // namespace baton::dao
