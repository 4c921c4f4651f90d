#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using master::api::LimitChange;
using master::api::LimitView;
using R = RunnerStatus;
using S = TaskStatus;
using What = LimitChange::What;

class FlowControlTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }

  static TaskSpec grouped(const std::string& group, int64_t weight = 1,
                          Priority priority = Priority::Normal) {
    TaskSpec task = spec();
    task.priority = priority;
    task.policy.scope.group = group;
    task.policy.scope.weight = weight;
    return task;
  }
  Result<LimitView> change(What what, LimitRecord record) {
    std::optional<Result<LimitView>> answer;
    rig_->dispatcher.post([&] {
      rig_->limits.change({.what = what, .record = record}, [&](auto view) { answer = view; });
    });
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }
  void limit(LimitKind kind, const std::string& name, int64_t max) {
    const auto view = change(What::Replace, {.kind = kind, .name = name, .max = max});
    EXPECT_TRUE(view.ok()) << view.status().text();
  }
  void group(const std::string& name, int64_t max) { limit(LimitKind::Group, name, max); }
  // A runner that waits for work.
  void wait(const std::string& runner) {
    HeartbeatRequest idle = beat(R::Idle, runner);
    idle.wait_ms = 600'000;
    replies_[runner] = send(idle);
  }
  void waitAll(int count) {
    for (int i = 0; i < count; ++i) wait("w:" + std::to_string(i));
  }
  // Ends the task that was given to the waiting runner, which then waits again.
  void end(TaskId id) {
    const std::string runner = state(id).runner_id;
    const auto reply = replies_.at(runner);
    ASSERT_TRUE(reply->has_value() && (**reply).ok() && (**reply)->order);
    accepted_[runner] = (**reply)->order->key;
    HeartbeatRequest result = beat(R::Finished, runner);
    const auto next = send(result);
    ASSERT_TRUE(next->has_value());
    if ((**next)->order) {
      replies_[runner] = next;
    } else {
      wait(runner);
    }
  }
  bool runs(TaskId id) const { return hasOpenAttempt(status(id)); }
  master::TaskEngine::Waiting why(TaskId id) {
    return rig_->engine.whyWaiting(*rig_->live.findTask(id));
  }
  void setWall(const char* time) { clock_.stepWall(*parseRfc3339(time) - clock_.wallNow()); }
  const master::LimitGate& gate(const std::string& name) {
    return *rig_->live.gates.find(LimitKind::Group, name);
  }

  std::map<std::string, ReplyRef> replies_;
};

// A name that a path swallows could be set and never be changed or taken away again.
TEST_F(FlowControlTest, NamesThatNoPathCanHoldAreRefused) {
  for (const LimitKind kind :
       {LimitKind::Group, LimitKind::Flow, LimitKind::User, LimitKind::Host}) {
    for (const char* name : {".", "..", "a/b", ""}) {
      const auto view = change(What::Replace, {.kind = kind, .name = name, .max = 1});
      ASSERT_FALSE(view.ok()) << toString(kind) << " \"" << name << "\"";
      EXPECT_EQ(view.error().code(), ErrorCode::InvalidArgument);
      EXPECT_EQ(view.error().field(), "name");
    }
    limit(kind, "...", 1);
  }
  EXPECT_FALSE(change(What::MinPriority,
                      {.kind = LimitKind::Group, .name = "..", .min_priority = Priority::High})
                   .ok());
}

TEST_F(FlowControlTest, AGroupRunsAsMuchAsItsLimitAndSaysWhatItWaitsFor) {
  // Aim: weights count, others are not held back, what ends lets the next on.
  group("g", 3);
  waitAll(4);
  const TaskId heavy = submit(grouped("g", 2));
  const TaskId light = submit(grouped("g"));
  const TaskId waits = submit(grouped("g"));
  const TaskId other = submit();
  EXPECT_TRUE(runs(heavy) && runs(light) && runs(other));
  EXPECT_EQ(status(waits), S::Queued);
  EXPECT_EQ(why(waits).code, WaitingCode::GroupLimit);
  EXPECT_EQ(why(waits).text, "group g: 3 of 3 units are in use, this task needs 1");
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::GroupLimit), 1U);
  end(light);
  EXPECT_TRUE(runs(waits));
  EXPECT_EQ(gate("g").in_use, 3);
}

TEST_F(FlowControlTest, ALimitMayChangeAtAnyTimeAndEndsNothing) {
  // Aim: lowered below what runs it only holds back; raised or taken away it lets on at once.
  waitAll(4);
  std::vector<TaskId> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(submit(grouped("g")));
  group("g", 1);
  tasks.push_back(submit(grouped("g")));
  EXPECT_TRUE(runs(tasks[0]) && runs(tasks[1]) && runs(tasks[2]));
  EXPECT_EQ(status(tasks[3]), S::Queued);
  end(tasks[0]);
  EXPECT_EQ(status(tasks[3]), S::Queued);
  group("g", 3);
  EXPECT_TRUE(runs(tasks[3]));
  group("g", 0);
  const TaskId last = submit(grouped("g"));
  EXPECT_EQ(why(last).text, "can never run: group g has a limit of 0: nothing of it runs");
  end(tasks[1]);
  EXPECT_EQ(status(last), S::Queued);
  ASSERT_TRUE(change(What::Remove, {.kind = LimitKind::Group, .name = "g"}).ok());
  EXPECT_TRUE(runs(last));
  EXPECT_EQ(change(What::Remove, {.kind = LimitKind::Group, .name = "g"}).error().code(),
            ErrorCode::NotFound);
}

TEST_F(FlowControlTest, AHeavyTaskIsNotStarvedByLightOnes) {
  // Aim: the first in order that is refused for its weight keeps what becomes free.
  group("g", 4);
  waitAll(6);
  std::vector<TaskId> light;
  for (int i = 0; i < 4; ++i) light.push_back(submit(grouped("g")));
  const TaskId heavy = submit(grouped("g", 3));
  std::vector<TaskId> behind;
  for (int i = 0; i < 2; ++i) behind.push_back(submit(grouped("g")));
  end(light[0]);
  end(light[1]);
  EXPECT_FALSE(runs(behind[0]));
  EXPECT_EQ(
      why(behind[0]).text,
      fmt::format("group g: 2 of 4 units are in use, and what is free is kept for task {}", heavy));
  const TaskId urgent = submit(grouped("g", 1, Priority::Critical));
  EXPECT_TRUE(runs(urgent)) << "who stands ahead goes ahead";
  end(urgent);
  end(light[2]);
  EXPECT_TRUE(runs(heavy));
  end(light[3]);
  EXPECT_TRUE(runs(behind[0]));
  EXPECT_FALSE(runs(behind[1]));
}

TEST_F(FlowControlTest, NothingIsKeptForATaskThatNobodyCanRun) {
  // Aim: a heavy task with labels that no runner has, or whose flow is full, blocks nobody.
  group("g", 2);
  limit(LimitKind::Flow, "f", 0);
  waitAll(3);
  const TaskId first = submit(grouped("g"));
  TaskSpec strange = grouped("g", 2);
  strange.policy.labels = {{"gpu", "yes"}};
  const TaskId unmatched = submit(strange);
  TaskSpec full = grouped("g", 2);
  full.policy.scope.flow = "f";
  const TaskId of_flow = submit(full);
  const TaskId second = submit(grouped("g"));
  EXPECT_TRUE(runs(first) && runs(second));
  EXPECT_EQ(why(unmatched).code, WaitingCode::NoRunnerMatches);
  EXPECT_EQ(why(of_flow).code, WaitingCode::FlowLimit);
  EXPECT_EQ(why(of_flow).text, "can never run: flow f has a limit of 0: nothing of it runs");
}

TEST_F(FlowControlTest, NothingIsKeptForATaskWhoseHostsTakeNone) {
  // Aim: a heavy task keeps the room of its group only while one of its hosts takes tasks.
  group("g", 2);
  HeartbeatRequest zone = beat(R::Idle, "z:0");
  zone.labels = {{"zone", "a"}};
  exchange(zone);
  TaskSpec here = grouped("g", 2);
  here.policy.labels = {{"zone", "a"}};
  const TaskId first = submit(grouped("g"));
  waitAll(2);
  EXPECT_TRUE(runs(first));
  const TaskId heavy = submit(here);
  EXPECT_EQ(why(heavy).text, "group g: 1 of 2 units are in use, this task needs 2");
  exchange([&] {
    HeartbeatRequest again = beat(R::Idle, "z:0");
    again.labels = {{"zone", "a"}};
    return again;
  }());
  const TaskId behind = submit(grouped("g"));
  EXPECT_FALSE(runs(behind)) << why(behind).text;
  bool drained = false;
  rig_->dispatcher.post([&] {
    rig_->host_commands.change({.verb = master::api::HostChange::Verb::Drain,
                                .host = "z",
                                .reason = "new disk",
                                .labels = {}},
                               [&](const auto& views) { drained = views.ok(); });
  });
  settle();
  ASSERT_TRUE(drained);
  EXPECT_TRUE(runs(behind));
  EXPECT_EQ(why(heavy).code, WaitingCode::HostExcluded);
}

TEST_F(FlowControlTest, NothingIsKeptForATaskThatHasRoomAndNoRunner) {
  // Aim: a heavy task keeps room while it lacks room; while it lacks a runner others go on.
  group("g", 2);
  HeartbeatRequest zone = beat(R::Idle, "z:0");
  zone.labels = {{"zone", "a"}};
  TaskSpec busy = spec();
  busy.policy.labels = {{"zone", "a"}};
  const TaskId alone = submit(busy);
  exchange(zone);
  ASSERT_TRUE(runs(alone));
  const TaskId first = submit(grouped("g"));
  waitAll(2);
  ASSERT_TRUE(runs(first));
  TaskSpec here = grouped("g", 2);
  here.policy.labels = {{"zone", "a"}};
  const TaskId heavy = submit(here);
  const TaskId behind = submit(grouped("g"));
  end(first);
  EXPECT_TRUE(runs(behind)) << why(behind).text;
  EXPECT_FALSE(runs(heavy));
}

TEST_F(FlowControlTest, NamesThatDifferByBlanksAreRefused) {
  // Aim: what two names are here, two rows are in the database.
  for (const char* name : {"a ", " a", " "}) {
    const auto refused =
        change(What::Replace, {.kind = LimitKind::User, .name = name, .max = int64_t{1}});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().field(), "name");
  }
  const auto zone = change(What::Replace, {.kind = LimitKind::Group,
                                           .name = "w",
                                           .window = "01:00-02:00",
                                           .time_zone = std::string("Europe/Berlin\0x", 15)});
  EXPECT_FALSE(zone.ok());
}

TEST_F(FlowControlTest, AWeightAboveTheLimitIsRefusedOrShownAsNeverRunning) {
  // Aim: BUG-147: no task waits for ever without a word.
  group("g", 2);
  master::api::Submission submission;
  submission.tasks = {grouped("g"), grouped("g", 4)};
  submission.bulk = true;
  const auto refused = offer(submission);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().field(), "tasks[1].weight");
  EXPECT_EQ(refused.error().message(), "is 4, but group g has a limit of 2: it could never run");
  EXPECT_TRUE(rig_->live.tasks.empty());
  const TaskId heavy = submit(grouped("h", 4));
  group("h", 2);
  const TaskId light = submit(grouped("h", 2));
  waitAll(2);
  EXPECT_TRUE(runs(light)) << "it reserves nothing";
  EXPECT_EQ(why(heavy).code, WaitingCode::GroupLimit);
  EXPECT_EQ(why(heavy).text, "can never run: its weight is 4 and group h has a limit of 2");
  group("h", 6);
  EXPECT_TRUE(runs(heavy));
}

// A worker's id in place of the name of its host would limit nothing, in silence.
TEST_F(FlowControlTest, ALimitForAWorkersIdIsRefused) {
  wait("w:0");
  rig_->live.setHost(rig_->live.workers.at("w"), "vm");
  const auto refused = change(What::Replace, {.kind = LimitKind::Host, .name = "w", .max = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field(), "name");
  EXPECT_EQ(refused.error().message(),
            "is w, the id of a worker; a limit holds for all workers of a host together, expected "
            "its name: vm");
  EXPECT_EQ(change(What::Remove, {.kind = LimitKind::Host, .name = "w"}).error().code(),
            ErrorCode::NotFound);
  limit(LimitKind::Host, "vm", 1);
  limit(LimitKind::Host, "not-here-yet", 1);
}

TEST_F(FlowControlTest, UsersAndHostsHaveLimitsToo) {
  // Aim: each names itself, and a host at its limit leaves its idle runners alone.
  limit(LimitKind::User, "p", 1);
  limit(LimitKind::Host, "w", 1);
  waitAll(2);
  const TaskId one = submit();
  const TaskId two = submit();
  EXPECT_TRUE(runs(one));
  EXPECT_EQ(why(two).text, "user p: 1 tasks run, the limit is 1");
  ASSERT_TRUE(change(What::Remove, {.kind = LimitKind::User, .name = "p"}).ok());
  EXPECT_FALSE(runs(two));
  EXPECT_EQ(why(two).code, WaitingCode::HostLimit);
  EXPECT_EQ(why(two).text, "host w: 1 tasks run, the limit is 1");
  EXPECT_EQ(rig_->engine.waitingByReason().at(WaitingCode::HostLimit), 1U);
  EXPECT_EQ(say(R::Idle, "w:5").command, Command::GoOn) << "the other side of a pick";
  wait("v:0");
  EXPECT_EQ(state(two).runner_id, "v:0");
  const TaskId three = submit();
  limit(LimitKind::Host, "w", 2);
  EXPECT_TRUE(runs(three));
}

TEST_F(FlowControlTest, ADegradedClusterStartsOnlyWhatIsImportant) {
  // Aim: the rest waits with that reason, and goes on when it is over; the same for a group.
  const auto degrade = [&](std::optional<Priority> least, LimitKind kind, std::string name) {
    ASSERT_TRUE(
        change(What::MinPriority, {.kind = kind, .name = name, .min_priority = least}).ok());
  };
  degrade(Priority::High, LimitKind::Cluster, "");
  waitAll(5);
  const TaskId normal = submit();
  const TaskId high = submit(grouped("", 1, Priority::High));
  EXPECT_TRUE(runs(high));
  EXPECT_EQ(why(normal).code, WaitingCode::Degraded);
  EXPECT_EQ(why(normal).text,
            "only tasks of priority high and above are started, this one has normal");
  degrade(std::nullopt, LimitKind::Cluster, "");
  EXPECT_TRUE(runs(normal));
  degrade(Priority::Critical, LimitKind::Group, "g");
  const TaskId of_group = submit(grouped("g", 1, Priority::High));
  const TaskId free = submit();
  EXPECT_TRUE(runs(free));
  EXPECT_EQ(why(of_group).text,
            "only tasks of priority critical and above are started in group g, this one has high");
  degrade(std::nullopt, LimitKind::Group, "g");
  EXPECT_TRUE(runs(of_group));
}

TEST_F(FlowControlTest, AWindowOpensByItself) {
  // Aim: one timer, no polling; outside of it tasks wait and say when they go on.
  setWall("2026-06-01T12:00:00Z");
  settle();
  LimitRecord record{.kind = LimitKind::Group, .name = "night"};
  record.window = "12:30-13:00";
  record.time_zone = "UTC";
  ASSERT_TRUE(change(What::Replace, record).ok());
  const TaskId id = submit(grouped("night"));
  EXPECT_EQ(say(R::Idle).command, Command::GoOn);
  EXPECT_EQ(why(id).code, WaitingCode::Window);
  EXPECT_EQ(why(id).text,
            "group night starts tasks at 12:30-13:00 (UTC), next at 2026-06-01T12:30:00Z");
  clock_.advance(std::chrono::minutes(29));
  settle();
  EXPECT_FALSE(gate("night").open);
  clock_.advance(std::chrono::minutes(1));
  settle();
  EXPECT_TRUE(gate("night").open);
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::RunNew);
  const TaskId late = submit(grouped("night"));
  clock_.advance(std::chrono::minutes(30));
  settle();
  EXPECT_EQ(say(R::Idle, "u:0").command, Command::GoOn);
  EXPECT_EQ(why(late).code, WaitingCode::Window);
}

TEST_F(FlowControlTest, AClockThatIsSetOpensAWindowToo) {
  // Aim: the wall clock decides, whatever the timer was armed for.
  setWall("2026-06-01T12:00:00Z");
  settle();
  LimitRecord record{.kind = LimitKind::Group, .name = "g"};
  record.window = "20:00-21:00";
  record.time_zone = "UTC";
  ASSERT_TRUE(change(What::Replace, record).ok());
  EXPECT_FALSE(gate("g").open);
  setWall("2026-06-01T20:10:00Z");
  pass(Millis(200));
  EXPECT_TRUE(gate("g").open);
}

TEST_F(FlowControlTest, LimitsAndWhatCountsAgainstThemSurviveATakeover) {
  // Aim: rows are stored, and use is counted again from open attempts, those in doubt included.
  group("g", 3);
  limit(LimitKind::Host, "w", 2);
  ASSERT_TRUE(change(What::Max, {.kind = LimitKind::Cluster, .max = 7}).ok());
  waitAll(2);
  TaskSpec mine = grouped("g", 2);
  mine.policy.scope.flow = "f";
  const TaskId heavy = submit(mine);
  const TaskId waits = submit(grouped("g", 2));
  EXPECT_TRUE(runs(heavy));
  begin();
  EXPECT_EQ(gate("g").in_use, 2);
  EXPECT_EQ(gate("g").running, 1U);
  EXPECT_EQ(rig_->live.gates.find(LimitKind::Flow, "f")->in_use, 1);
  EXPECT_EQ(rig_->live.gates.find(LimitKind::User, "p")->in_use, 1);
  EXPECT_EQ(rig_->live.host_use.at("w").running, 1);
  EXPECT_EQ(rig_->live.host_use.at("w").max, 2);
  EXPECT_EQ(rig_->live.gates.runningMax(0), 7U);
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::GoOn);
  EXPECT_EQ(why(waits).code, WaitingCode::GroupLimit);
  ASSERT_TRUE(change(What::Remove, {.kind = LimitKind::Group, .name = "g"}).ok());
  begin();
  EXPECT_FALSE(gate("g").row.has_value());
  say(R::Idle, "v:0");  // Its specification is fetched.
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::RunNew);
}

TEST_F(FlowControlTest, TheLimitOfTheClusterIsSetAtRunTime) {
  // Aim: the setting is what holds while nobody said otherwise.
  ASSERT_TRUE(change(What::Max, {.kind = LimitKind::Cluster, .max = 1}).ok());
  waitAll(3);
  const TaskId one = submit();
  const TaskId two = submit();
  EXPECT_TRUE(runs(one));
  EXPECT_EQ(why(two).text, "1 tasks run, the limit of the cluster is 1");
  const auto view = change(What::Max, {.kind = LimitKind::Cluster});
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->configured, 0);
  EXPECT_TRUE(runs(two));
}

TEST_F(FlowControlTest, AWrongRowIsRefusedByField) {
  // Aim: nothing that could not be stored or understood is taken over.
  const auto field = [&](LimitRecord record) {
    const auto view = change(What::Replace, record);
    EXPECT_FALSE(view.ok());
    return view.ok() ? std::string() : view.error().field();
  };
  EXPECT_EQ(field({.kind = LimitKind::Group, .name = "a b"}), "name");
  EXPECT_EQ(field({.kind = LimitKind::Host, .name = "a\nb"}), "name");
  EXPECT_EQ(field({.kind = LimitKind::Group, .name = "g", .max = -1}), "limit");
  EXPECT_EQ(field({.kind = LimitKind::Group, .name = "g", .window = "22:00-06:00"}), "time_zone");
  EXPECT_EQ(field({.kind = LimitKind::Group, .name = "g", .time_zone = "UTC"}), "time_zone");
  EXPECT_EQ(field({.kind = LimitKind::Group, .name = "g", .window = "22-6", .time_zone = "UTC"}),
            "window");
  EXPECT_EQ(field({.kind = LimitKind::Group,
                   .name = "g",
                   .window = "22:00-06:00",
                   .time_zone = "Mars/Base"}),
            "time_zone");
  EXPECT_TRUE(database_.rows().limits.empty());
}

TEST_F(FlowControlTest, AGroupWithoutARowIsShownWhileItHasTasks) {
  // Aim: it is unlimited, and its tasks say so.
  run();
  const TaskId id = submit(grouped("g"));
  const auto view = rig_->limits.view(LimitKind::Group, "g");
  ASSERT_TRUE(view.ok());
  EXPECT_FALSE(view->has_row);
  EXPECT_EQ(view->queued, 1U);
  EXPECT_EQ(why(id).text, "every runner that fits is busy; group g has no limit");
  EXPECT_TRUE(rig_->limits.views(LimitKind::User).empty());
}

}  // namespace
}  // namespace baton::test
