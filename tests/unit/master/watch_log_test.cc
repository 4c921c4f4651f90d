// What watchers are told, in which order, and when they have to read lists again.
#include "master/state/watch_log.h"

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::ChangeSet;
using master::WatchLog;
using master::api::WatchedRun;
using master::api::WatchedTask;
using master::api::WatchEvent;
using master::api::WatchFilter;
using master::api::WatchPosition;
using End = master::api::WatchPort::Look::End;

ChangeSet changeOf(TaskId id, TaskStatus status = TaskStatus::Running) {
  ChangeSet changes;
  TaskState state;
  state.id = id;
  state.status = status;
  changes.task_states.push_back(state);
  return changes;
}

// Ids of the tasks of all events behind the place, which moves on.
std::vector<TaskId> tasksBehind(WatchLog& log, WatchPosition& at, const WatchFilter& filter = {}) {
  std::vector<TaskId> ids;
  while (true) {
    const auto look = log.look(filter, at, 3);
    EXPECT_NE(look.end, End::Lost);
    for (const auto& event : look.events) {
      ids.push_back(std::get<WatchedTask>(event->body()).state.id);
    }
    if (!look.more) return ids;
  }
}

TEST(WatchLogTest, EventsComeInTheOrderOfCommitsAndEachOnce) {
  // Aim: a place is enough to go on from, however little is fetched at a time.
  WatchLog log;
  EXPECT_FALSE(log.newest().ok());
  log.begin(5);
  WatchPosition at = *log.newest();
  EXPECT_EQ(at, (WatchPosition{5, 0, 0}));
  for (TaskId id = 1; id <= 10; ++id) log.append(5, id, changeOf(id));
  WatchPosition half = at;
  EXPECT_EQ(log.look({}, half, 4).events.size(), 4U);
  EXPECT_EQ(half, (WatchPosition{5, 4, 1}));
  EXPECT_EQ(tasksBehind(log, half), (std::vector<TaskId>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(tasksBehind(log, at).size(), 10U);
  EXPECT_EQ(at, *log.newest());
  EXPECT_TRUE(tasksBehind(log, at).empty());
  log.append(5, 11, {});  // Changes nothing that is watched.
  EXPECT_EQ(at, *log.newest());
}

TEST(WatchLogTest, WhatIsNotKeptIsLostPlainly) {
  // Aim: bounded memory; whoever is too far behind learns it instead of missing something.
  WatchLog log(3);
  log.begin(5);
  const WatchPosition begun = *log.newest();
  for (TaskId id = 1; id <= 5; ++id) log.append(5, id, changeOf(id));
  WatchPosition at = begun;
  EXPECT_EQ(log.look({}, at, 10).end, End::Lost);
  at = {5, 2, 1};  // The newest that was dropped: nothing behind it is missing.
  EXPECT_EQ(tasksBehind(log, at), (std::vector<TaskId>{3, 4, 5}));
  at = {5, 1, 1};
  EXPECT_EQ(log.look({}, at, 10).end, End::Lost);
  at = {5, 99, 1};  // Nobody was given that.
  EXPECT_EQ(log.look({}, at, 10).end, End::Lost);
}

TEST(WatchLogTest, AnotherTermBeginsAnew) {
  // Aim: what happened between two terms is not known, and that is said; the end of a term is told
  // behind all that it knew.
  WatchLog log;
  log.begin(5);
  log.append(5, 7, changeOf(1));
  WatchPosition at{5, 0, 0};
  log.end();
  EXPECT_FALSE(log.newest().ok());
  auto look = log.look({}, at, 1);
  EXPECT_EQ(look.events.size(), 1U);
  EXPECT_EQ(look.end, End::Left);
  log.begin(8);
  EXPECT_EQ(log.look({}, at, 1).end, End::Takeover);
  at = *log.newest();
  EXPECT_EQ(log.look({}, at, 1).end, End::Open);
  // A term that is affirmed under a later epoch goes on.
  log.append(8, 3, changeOf(2));
  log.append(9, 4, changeOf(3));
  EXPECT_EQ(tasksBehind(log, at), (std::vector<TaskId>{2, 3}));
}

TEST(WatchLogTest, NewsAreToldAndNobodyIsAskedWhenNobodyListens) {
  // Aim: a commit wakes watchers, and so do the beginning and the end of a term.
  WatchLog log;
  int told = 0;
  log.setNews([&] { ++told; });
  log.begin(1);
  log.append(1, 1, changeOf(1));
  log.append(1, 2, {});
  log.end();
  EXPECT_EQ(told, 3);
  log.setNews({});
  log.begin(2);
  EXPECT_EQ(told, 3);
}

class WatchTest : public PlannerTest {
 protected:
  // "run 1 RUNNING", "task 2 QUEUED", "flow F online", … since the last call.
  std::vector<std::string> news(const WatchFilter& filter = {}) {
    std::vector<std::string> words;
    if (at_.epoch == 0) at_ = {rig_->epoch, 0, 0};
    while (true) {
      const auto look = rig_->watch.look(filter, at_, 100);
      EXPECT_EQ(look.end, End::Open);
      for (const auto& event : look.events) words.push_back(wordsOf(*event));
      if (!look.more) return words;
    }
  }
  static std::string wordsOf(const WatchEvent& event) {
    const std::string of = fmt::format(" (run {}, flow {})", event.runId(), event.flow());
    if (const auto* task = std::get_if<WatchedTask>(&event.body())) {
      return fmt::format("task {} {}{}{}", task->state.id, toString(task->state.status),
                         task->made_as.empty() ? "" : " new " + task->made_as, of);
    }
    if (const auto* run = std::get_if<WatchedRun>(&event.body())) {
      return fmt::format("run {} {}{}{}", run->state.id, toString(run->state.status),
                         run->made ? " new" : "", of);
    }
    const auto& flow = std::get<FlowRecord>(event.body());
    return fmt::format("flow {} {}", flow.name, flow.online ? "online" : "offline");
  }
  void forget() { (void)news(); }

  WatchPosition at_;
};

TEST_F(WatchTest, ALifeOfATaskIsTold) {
  // Aim: every state that became durable, with the name of what is new.
  const TaskId id = submit();
  EXPECT_EQ(news(),
            (std::vector<std::string>{fmt::format("task {} QUEUED new t (run 0, flow )", id)}));
  EXPECT_EQ(next(), "t");
  EXPECT_EQ(news(),
            (std::vector<std::string>{fmt::format("task {} DISPATCHED (run 0, flow )", id)}));
  exchange(beat(RunnerStatus::Running));
  EXPECT_EQ(news(), (std::vector<std::string>{fmt::format("task {} RUNNING (run 0, flow )", id)}));
  end();
  EXPECT_EQ(news(), (std::vector<std::string>{fmt::format("task {} FINISHED (run 0, flow )", id)}));
}

TEST_F(WatchTest, RunsAndTheirTasksNameTheirFlow) {
  // Aim: also after a takeover, when the run was read back, and by each filter.
  apply("{flow: Big, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}", true);
  EXPECT_EQ(news(), (std::vector<std::string>{"flow Big online"}));
  const RunRecord run = FlowTest::trigger("big");
  const std::string of = fmt::format(" (run {}, flow Big)", run.state.id);
  const auto told = news();
  ASSERT_EQ(told.size(), 3U) << fmt::format("{}", fmt::join(told, "; "));
  EXPECT_EQ(told[0], fmt::format("run {} RUNNING new{}", run.state.id, of));
  EXPECT_NE(told[1].find("new a" + of), std::string::npos) << told[1];
  EXPECT_NE(told[2].find("CREATED new b" + of), std::string::npos) << told[2];

  absent(Seconds(2));
  at_ = {};
  forget();
  EXPECT_EQ(next(), "a");
  const TaskId a = node(run.state.id, "a").state.id;
  EXPECT_EQ(end(), "b");
  const WatchPosition before = at_;
  WatchFilter by_run;
  by_run.run = run.state.id;
  const auto of_run = news(by_run);
  ASSERT_FALSE(of_run.empty());
  for (const std::string& words : of_run) EXPECT_NE(words.find(of), std::string::npos) << words;
  at_ = before;
  WatchFilter by_flow;
  by_flow.flow = "big";
  EXPECT_EQ(news(by_flow), of_run);
  at_ = before;
  WatchFilter by_task;
  by_task.task = a;
  for (const std::string& words : news(by_task)) {
    EXPECT_EQ(words.rfind(fmt::format("task {} ", a), 0), 0U) << words;
  }
  at_ = before;
  WatchFilter by_kind;
  by_kind.kinds = {WatchEvent::Kind::Run, WatchEvent::Kind::Flow};
  EXPECT_TRUE(news(by_kind).empty());
  at_ = before;
  WatchFilter other;
  other.flow = "small";
  EXPECT_TRUE(news(other).empty());
  end();
  const auto ended = news(by_kind);
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended.back(), fmt::format("run {} FINISHED{}", run.state.id, of));
}

TEST_F(WatchTest, NothingIsToldThatDidNotBecomeDurable) {
  // Aim: a refused commit tells nothing until it is kept.
  const TaskId id = submit();
  forget();
  database_.fail(FakeDatabase::Point::CommitDropped, ErrorCode::Unavailable);
  size_t told = 0;
  database_.on_commit = [&] { told = rig_->watch.look({}, at_, 100).events.size(); };
  order(id, master::api::TaskCommand::Stop);
  pass(Seconds(1));
  EXPECT_EQ(told, 0U);
  EXPECT_EQ(news(),
            (std::vector<std::string>{fmt::format("task {} TERMINATED (run 0, flow )", id)}));
  database_.on_commit = {};
}

}  // namespace
}  // namespace baton::test
