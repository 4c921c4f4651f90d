#include "master/host/host_commands.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using S = TaskStatus;
using R = RunnerStatus;
using Verb = master::api::HostChange::Verb;
using Views = std::vector<master::api::HostView>;

class HostCommandsTest : public MasterTest {
 protected:
  void SetUp() override { begin(options()); }
  static master::ActiveOptions options() {
    master::ActiveOptions options = defaults();
    options.quarantine = {.failures_max = 3, .window = Seconds(60), .cooldown = Seconds(5)};
    options.stuck_after = Seconds(8);
    return options;
  }

  Result<Views> change(master::api::HostChange change) {
    std::optional<Result<Views>> answer;
    rig_->dispatcher.post(
        [&] { rig_->host_commands.change(change, [&](auto result) { answer = result; }); });
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }
  Result<Views> change(Verb verb, const std::string& host, const std::string& reason = {}) {
    return change({.verb = verb, .host = host, .reason = reason, .labels = {}});
  }
  master::api::HostPolicy set(std::optional<bool> white_list,
                              std::optional<std::string> version = {}) {
    std::optional<Result<master::api::HostPolicy>> answer;
    rig_->dispatcher.post([&] {
      rig_->host_commands.setPolicy({white_list, version}, [&](auto result) { answer = result; });
    });
    settle();
    EXPECT_TRUE(answer.has_value() && answer->ok());
    return **answer;
  }
  master::api::HostView view(const std::string& worker) {
    const Views views = rig_->registry.hostViews(worker);
    EXPECT_EQ(views.size(), 1u) << worker;
    return views.empty() ? master::api::HostView{} : views.front();
  }
  master::TaskEngine::Waiting why(TaskId id) {
    return rig_->engine.whyWaiting(*rig_->live.findTask(id));
  }
  // An idle heartbeat that waits for work.
  ReplyRef wait(const std::string& runner, HeartbeatRequest (*with)(HeartbeatRequest) = nullptr) {
    HeartbeatRequest request = beat(R::Idle, runner);
    request.wait_ms = 500;
    request.version = "1.9.0";
    if (with != nullptr) request = with(std::move(request));
    return send(std::move(request));
  }
  // Takes over the order that a held heartbeat was answered with; false: it was not.
  bool took(const ReplyRef& reply, const std::string& runner) {
    if (!reply->has_value() || !(*reply)->ok() || !(**reply)->order) return false;
    accepted_[runner] = (**reply)->order->key;
    return true;
  }
  // A new task that the runner can't start.
  void failStart(const std::string& runner) {
    dispatch(spec(), runner);
    HeartbeatRequest failed = beat(R::Failed, runner);
    failed.result = {};
    failed.result.reason = FailureReason::StartFailed;
    exchange(failed);
  }
  void quarantine(const std::string& runner) {
    for (int i = 0; i < 3; ++i) failStart(runner);
  }
};

TEST_F(HostCommandsTest, ADrainedHostGoesOnWithWhatItHasAndGetsNothingNew) {
  // Aim: drain touches nothing that runs; the held heartbeat of a free runner gets no order, and
  // whoever waits for that host alone is told why.
  const TaskId running = run(spec(), "w:0");
  const ReplyRef held = wait("w:1");
  const auto drained = change(Verb::Drain, "w", "disk is swapped");
  ASSERT_TRUE(drained.ok());
  EXPECT_EQ(drained->front().state, "draining");
  EXPECT_EQ(drained->front().busy, 1);
  EXPECT_EQ(drained->front().reason, "disk is swapped");
  const TaskId id = submit();
  EXPECT_FALSE(held->has_value());
  EXPECT_EQ(why(id).code, WaitingCode::HostExcluded);
  EXPECT_NE(why(id).text.find("w is drained: disk is swapped"), std::string::npos) << why(id).text;
  EXPECT_EQ(say(R::Finished, "w:0").command, Command::Reset) << "no next task behind a result";
  EXPECT_EQ(status(running), S::Finished);
  EXPECT_EQ(view("w").state, "drained");
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::GoOn);
  EXPECT_EQ(status(id), S::Queued);
  // Back: the runner that is still held gets it at once.
  ASSERT_TRUE(change(Verb::Include, "w").ok());
  EXPECT_TRUE(took(held, "w:1"));
  EXPECT_EQ(status(id), S::Dispatched);
}

TEST_F(HostCommandsTest, AnExclusionIsKnownBeforeTheHostReportsAndSurvivesATakeover) {
  // Aim: the black list is durable, and about names and not about who happens to be there.
  const auto excluded = change(Verb::Exclude, "w", "stolen");
  ASSERT_TRUE(excluded.ok());
  EXPECT_EQ(excluded->front().worker_id, "");
  EXPECT_EQ(excluded->front().health, "unknown");
  EXPECT_EQ(excluded->front().state, "excluded");
  EXPECT_EQ(database_.rows().host.hosts.at("w").word, HostWord::Exclude);
  begin(options());
  const TaskId id = submit();
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::GoOn);
  EXPECT_EQ(view("w").held_back, "is excluded: stolen");
  EXPECT_EQ(status(id), S::Queued);
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::RunNew) << "others are not touched";
}

TEST_F(HostCommandsTest, TheSameAgainChangesNothing) {
  // Aim: a client may repeat what it got no answer to.
  say(R::Idle);
  ASSERT_TRUE(change(Verb::Drain, "w", "x").ok());
  const WallTime at = database_.rows().host.hosts.at("w").changed_at;
  pass(Seconds(1));
  ASSERT_TRUE(change(Verb::Drain, "w", "x").ok());
  EXPECT_EQ(database_.rows().host.hosts.at("w").changed_at, at);
  ASSERT_TRUE(change(Verb::Drain, "w", "y").ok());
  EXPECT_EQ(view("w").reason, "y");
  EXPECT_EQ(change(Verb::Drain, "nobody").status().error().code(), ErrorCode::NotFound);
}

TEST_F(HostCommandsTest, AnOrderThatNeverReachedADrainedHostIsTakenBack) {
  // Aim: what is proved undelivered is nothing that runs: it goes elsewhere, without a retry.
  const TaskId id = submit();
  send(beat(R::Idle, "w:0"));  // The reply with the order is lost.
  ASSERT_EQ(status(id), S::Dispatched);
  ASSERT_TRUE(change(Verb::Drain, "w").ok());
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::GoOn);
  EXPECT_EQ(status(id), S::Queued);
  EXPECT_EQ(attempt(id).status, AttemptStatus::Undelivered);
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::RunNew);
}

TEST_F(HostCommandsTest, UnderAWhiteListOnlyIncludedHostsGetTasks) {
  // Aim: the switch works at once, both ways, and survives a takeover.
  say(R::Idle, "w:0");
  say(R::Idle, "v:0");
  ASSERT_TRUE(change(Verb::Include, "v").ok());
  EXPECT_EQ(set(true).unapproved, 1u);
  begin(options());
  submit();
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::GoOn);
  EXPECT_EQ(view("w").state, "unapproved");
  EXPECT_EQ(say(R::Idle, "v:0").command, Command::RunNew);
  set(false);
  submit();
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::RunNew);
}

TEST_F(HostCommandsTest, WorkersOfAnOlderVersionGetNoTasksUntilTheyAreUpgraded) {
  // Aim: 1.9 is older than 1.10, and the upgrade counts with the first beat.
  EXPECT_EQ(set({}, "1.10.0").min_version, "1.10.0");
  const ReplyRef old = wait("w:0");
  const TaskId id = submit();
  EXPECT_EQ(view("w").state, "outdated");
  EXPECT_NE(why(id).text.find("w has version 1.9.0, 1.10.0 is required"), std::string::npos)
      << why(id).text;
  const ReplyRef upgraded = wait("w:0", [](HeartbeatRequest request) {
    request.incarnation = 2;
    request.seq = 1;
    request.version = "1.10.0";
    return request;
  });
  EXPECT_TRUE(took(upgraded, "w:0"));
  std::optional<Result<master::api::HostPolicy>> answer;
  rig_->dispatcher.post([&] {
    rig_->host_commands.setPolicy({{}, "newest"}, [&](auto result) { answer = result; });
  });
  settle();
  EXPECT_EQ(answer->status().error().field(), "min_version");
}

TEST_F(HostCommandsTest, LabelsOfOperatorsPlaceTasksAndMoveHeldRunners) {
  // Aim: a label counts at once for runners that wait, is stronger than the worker's own, and
  // what the worker says comes back when it is removed.
  const auto own = [](HeartbeatRequest request) {
    request.labels = {{"disk", "hdd"}};
    return request;
  };
  ReplyRef held = wait("w:0", own);
  TaskSpec wants = spec();
  wants.policy.labels = {{"disk", "ssd"}, {"pool", "etl"}};
  const TaskId id = submit(wants);
  EXPECT_EQ(why(id).code, WaitingCode::NoRunnerMatches);
  const auto label = [&](std::map<std::string, std::optional<std::string>> labels) {
    const auto changed = change({.verb = Verb::Label, .host = "w", .reason = {}, .labels = labels});
    EXPECT_TRUE(changed.ok()) << changed.status().text();
    return changed.ok() ? changed->front().labels : LabelMap{};
  };
  EXPECT_EQ(label({{"disk", "ssd"}, {"pool", "etl"}}),
            (LabelMap{{"disk", "ssd"}, {"pool", "etl"}}));
  EXPECT_TRUE(took(held, "w:0"));
  EXPECT_EQ(say(R::Finished, "w:0").command, Command::Reset);
  begin(options());
  EXPECT_EQ(view("w").operator_labels.size(), 2u);
  EXPECT_EQ(label({{"disk", std::nullopt}, {"pool", std::nullopt}}), LabelMap{});
  wait("w:0", own);
  EXPECT_EQ(view("w").labels, (LabelMap{{"disk", "hdd"}}));
}

TEST_F(HostCommandsTest, OnlyWhoIsDoneWithIsForgotten) {
  // Aim: unregister refuses with the reason, and leaves nothing behind in memory and database.
  run(spec(), "w:0");
  wait("w:1");
  const auto busy = change(Verb::Unregister, "w");
  EXPECT_EQ(busy.status().error().code(), ErrorCode::Conflict);
  EXPECT_NE(busy.status().text().find("1 open attempts"), std::string::npos);
  say(R::Finished, "w:0");
  say(R::Idle, "w:0");
  EXPECT_NE(change(Verb::Unregister, "w").status().text().find("drain it first"),
            std::string::npos);
  ASSERT_TRUE(change(Verb::Drain, "w").ok());
  const ReplyRef held = wait("w:1");
  ASSERT_TRUE(change(Verb::Unregister, "w").ok());
  EXPECT_TRUE(held->has_value());
  EXPECT_TRUE(rig_->live.runners.empty());
  EXPECT_TRUE(rig_->live.workers.empty());
  EXPECT_EQ(rig_->live.classes.classCount(), 0u);
  EXPECT_TRUE(database_.rows().runners.empty());
  // It reports after all: still drained, as the operator left it.
  EXPECT_EQ(say(R::Idle, "w:0").command, Command::GoOn);
  EXPECT_EQ(view("w").state, "drained");
  EXPECT_EQ(database_.rows().runners.count("w:0"), 1u);
  // Dead: all goes. The black list alone stays.
  pass(Millis(3'200));
  ASSERT_TRUE(change(Verb::Unregister, "w").ok());
  EXPECT_TRUE(database_.rows().host.hosts.empty());
  EXPECT_EQ(change(Verb::Unregister, "w").status().error().code(), ErrorCode::NotFound);
  ASSERT_TRUE(change(Verb::Exclude, "w").ok());
  ASSERT_TRUE(change(Verb::Unregister, "w").ok());
  EXPECT_EQ(database_.rows().host.hosts.count("w"), 1u);
}

TEST_F(HostCommandsTest, AForgottenRunnerThatReportsInTheSameBatchIsStored) {
  // Aim: the later of deletion and row counts, also when one commit carries both.
  say(R::Idle, "w:0");
  ASSERT_TRUE(change(Verb::Drain, "w").ok());
  rig_->dispatcher.post([&] {
    rig_->host_commands.change({.verb = Verb::Unregister, .host = "w", .reason = {}, .labels = {}},
                               [](const auto&) {});
    rig_->heartbeats.handle(beat(R::Idle, "w:0"), [](const auto&) {});
  });
  settle();
  EXPECT_EQ(database_.rows().runners.count("w:0"), 1u);
  rig_->dispatcher.post([&] {
    rig_->heartbeats.handle(beat(R::Idle, "w:1"), [](const auto&) {});
    rig_->host_commands.change({.verb = Verb::Unregister, .host = "w", .reason = {}, .labels = {}},
                               [](const auto&) {});
  });
  settle();
  EXPECT_TRUE(database_.rows().runners.empty());
}

TEST_F(HostCommandsTest, AHostWhereNothingStartsIsLeftAloneAndTriedAgain) {
  // Aim: quarantine, cool-down, one probing task, and back.
  say(R::Idle, "v:0");
  quarantine("w:0");
  EXPECT_EQ(view("w").health, "quarantined");
  EXPECT_FALSE(view("w").takes_tasks);
  // The other one is taken; what comes next waits for the cool-down.
  ASSERT_TRUE(change(Verb::Drain, "v").ok());
  wait("w:0");
  wait("w:1");
  const TaskId id = submit();
  const TaskId next = submit();
  EXPECT_EQ(why(id).code, WaitingCode::HostExcluded);
  EXPECT_NE(why(id).text.find("w is quarantined until"), std::string::npos) << why(id).text;
  for (int i = 0; i < 12; ++i) {  // Both go on reporting while time passes.
    pass(Millis(400));
    wait("w:0");
    wait("w:1");
  }
  EXPECT_EQ(status(id), S::Queued);
  pass(Millis(600));
  wait("w:0");
  wait("w:1");
  EXPECT_EQ(status(id), S::Dispatched);
  EXPECT_EQ(status(next), S::Queued) << "one task alone tries";
}

TEST_F(HostCommandsTest, AProbeThatStartsEndsTheQuarantine) {
  // Aim: the report that it runs is enough; nobody waits for its end.
  say(R::Idle, "v:0");
  quarantine("w:0");
  ASSERT_TRUE(change(Verb::Drain, "v").ok());
  for (int i = 0; i < 12; ++i) {
    pass(Millis(450));
    say(R::Idle, "w:0");
  }
  const TaskId id = dispatch(spec(), "w:0");
  const TaskId next = submit();
  EXPECT_EQ(say(R::Idle, "w:1").command, Command::GoOn);
  say(R::Running, "w:0");
  EXPECT_EQ(status(id), S::Running);
  EXPECT_EQ(view("w").health, "healthy");
  EXPECT_EQ(say(R::Idle, "w:1").command, Command::RunNew);
  EXPECT_EQ(status(next), S::Dispatched);
}

TEST_F(HostCommandsTest, AQuarantineSurvivesATakeoverAndLeavesNoRowBehind) {
  // Aim: the next master leaves the host alone for the rest of the cool-down and no longer, and
  // tries it then; what an operator said stays when the quarantine is over.
  say(R::Idle, "v:0");
  quarantine("w:0");
  const WallTime until = database_.rows().host.hosts.at("w").quarantined_until;
  EXPECT_EQ(until, clock_.wallNow() + Seconds(5));
  pass(Seconds(1));
  begin(options());
  say(R::Idle, "w:0");
  EXPECT_EQ(view("w").health, "quarantined");
  EXPECT_NE(view("w").held_back.find(formatRfc3339(until)), std::string::npos)
      << view("w").held_back;
  ASSERT_TRUE(change(Verb::Include, "w").ok());
  EXPECT_FALSE(view("w").takes_tasks) << "the cool-down goes on";
  for (int i = 0; i < 10; ++i) {
    pass(Millis(450));
    say(R::Idle, "w:0");
  }
  begin(options());  // Behind the cool-down it is still on trial.
  say(R::Idle, "w:0");
  pass(Millis(450));
  dispatch(spec(), "w:0");
  submit();
  EXPECT_EQ(say(R::Idle, "w:1").command, Command::GoOn) << "one task alone tries";
  say(R::Running, "w:0");
  EXPECT_EQ(database_.rows().host.hosts.at("w").quarantined_until, WallTime{});
  EXPECT_EQ(database_.rows().host.hosts.at("w").word, HostWord::Include);
  // A row that says nothing any more goes.
  say(R::Finished, "w:0");
  say(R::Idle, "v:0");
  quarantine("x:0");
  ASSERT_EQ(database_.rows().host.hosts.count("x"), 1u);
  for (int i = 0; i < 12; ++i) {
    pass(Millis(450));
    say(R::Idle, "x:0");
  }
  run(spec(), "x:0");
  EXPECT_EQ(database_.rows().host.hosts.count("x"), 0u);
}

TEST_F(HostCommandsTest, AClockThatWasSetMakesNoQuarantineLonger) {
  // Aim: the row holds wall time; a day back must not close the host for a day.
  say(R::Idle, "v:0");
  quarantine("w:0");
  clock_.stepWall(-std::chrono::hours(24));
  begin(options());
  for (int i = 0; i < 13; ++i) {
    pass(Millis(450));
    say(R::Idle, "w:0");
  }
  EXPECT_NE(view("w").health, "quarantined");
}

TEST_F(HostCommandsTest, TheLastHostThatTakesTasksIsNeverQuarantined) {
  // Aim: bad tasks alone can't stop a cluster, nor a standalone.
  quarantine("w:0");
  failStart("w:0");
  EXPECT_EQ(view("w").health, "suspect");
  EXPECT_TRUE(view("w").takes_tasks);
  run(spec(), "w:0");
}

TEST_F(HostCommandsTest, ASuspectHostIsUsedLast) {
  // Aim: it gets what no better one can take, and only that.
  const auto low_memory = [](HeartbeatRequest request) {
    request.figures = HostFigures{.load1 = 0,
                                  .cpu_count = 4,
                                  .memory_total_bytes = 1'000'000,
                                  .memory_free_bytes = 10'000,
                                  .disk_free_bytes = 0};
    return request;
  };
  run(spec(), "b:0");  // b is half busy, a is not.
  const ReplyRef suspect = wait("a:0", low_memory);
  const ReplyRef better = wait("b:1");
  EXPECT_EQ(view("a").health, "suspect");
  submit();
  EXPECT_TRUE(took(better, "b:1"));
  EXPECT_FALSE(suspect->has_value());
  submit();
  EXPECT_TRUE(took(suspect, "a:0"));
}

TEST_F(HostCommandsTest, OfHealthyHostsTheOneWithTheLeastUseGetsTheTask) {
  // Aim: load and memory count beside busy runners.
  const auto busy_elsewhere = [](HeartbeatRequest request) {
    request.figures = HostFigures{.load1 = 4,
                                  .cpu_count = 4,
                                  .memory_total_bytes = 1'000'000'000,
                                  .memory_free_bytes = 200'000'000,
                                  .disk_free_bytes = 0};
    return request;
  };
  const auto quiet = [](HeartbeatRequest request) {
    request.figures = HostFigures{.load1 = 0,
                                  .cpu_count = 4,
                                  .memory_total_bytes = 1'000'000'000,
                                  .memory_free_bytes = 900'000'000,
                                  .disk_free_bytes = 0};
    return request;
  };
  const ReplyRef loaded = wait("a:0", busy_elsewhere);
  const ReplyRef idle = wait("b:0", quiet);
  submit();
  EXPECT_TRUE(took(idle, "b:0"));
  EXPECT_FALSE(loaded->has_value());
}

TEST_F(HostCommandsTest, ATaskThatStaysTooLongIsFlaggedOnce) {
  // Aim: DISPATCHED with a runner that beats but never says what became of it is told; leaving
  // the status ends it.
  const TaskId id = dispatch();
  for (int i = 0; i < 10; ++i) {
    pass(Millis(700));
    say(R::Idle, "v:0");
    // Keeps the runner alive without evidence: the order goes out again each time.
    HeartbeatRequest again = beat(R::Idle);
    again.has_last_order = false;
    again.last_order = {};
    exchange(again);
  }
  EXPECT_FALSE(rig_->engine.isStuck(*rig_->live.findTask(id)));
  for (int i = 0; i < 3; ++i) {
    pass(Millis(700));
    HeartbeatRequest again = beat(R::Idle);
    again.has_last_order = false;
    again.last_order = {};
    exchange(again);
  }
  EXPECT_EQ(status(id), S::Dispatched);
  EXPECT_TRUE(rig_->engine.isStuck(*rig_->live.findTask(id)));
  say(R::Running);
  EXPECT_FALSE(rig_->engine.isStuck(*rig_->live.findTask(id)));
  EXPECT_TRUE(rig_->live.passing.empty());
}

}  // namespace
}  // namespace baton::test
