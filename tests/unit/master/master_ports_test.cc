// The master as the web API sees it: a real term with its threads over a database in memory.
#include "master/master_ports.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "master/flow_ports.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_database.h"

namespace baton::test {
namespace {

constexpr Epoch kEpoch = 1;

class LeadingFailover final : public ha::Failover {
 public:
  Status start(ha::IMasterActiveService&) override { return {}; }
  void stop() noexcept override {}
  ha::Permission permission() const noexcept override { return {kEpoch, true}; }
  void onFenced(uint64_t) noexcept override {}
  void onHigherEpoch(uint64_t) noexcept override {}
  void onServiceFailure(const std::string&, bool) noexcept override {}
  void handOver(const std::string& why) noexcept override { hand_overs.push_back(why); }
  ha::LeaderInfo leader() const override { return {}; }
  std::vector<ha::MemberInfo> members() const override { return {}; }
  ha::FailoverStats stats() const override {
    ha::FailoverStats stats;
    stats.state = state;
    return stats;
  }

  ha::FailoverState state = ha::FailoverState::Active;
  std::vector<std::string> hand_overs;
};

class SilentWebhooks final : public master::api::WebhookPort {
 public:
  void send(master::api::Webhook, std::function<void(Status)>) override {}
  Status checkReceiver(const std::string& url) const override {
    if (url == "http://listed/hook") return {};
    return Error(ErrorCode::PermissionDenied, "other:80 is not on the list of allowed targets");
  }
};

class MasterPortsTest : public testing::Test {
 protected:
  MasterPortsTest() {
    service_.setFailover(failover_);
    ports_.setFailover(failover_);
    ha::Leadership leadership;
    leadership.epoch = kEpoch;
    leadership.cluster_guid = "guid-1";
    const Status promoted = service_.promote(leadership, {});
    EXPECT_TRUE(promoted.ok()) << promoted.text();
  }

  Result<master::api::SubmitAnswer> submit(const std::string& key, const std::string& hash) {
    master::api::Submission submission;
    TaskSpec spec;
    spec.name = "t";
    spec.command = {"x"};
    submission.tasks.push_back(spec);
    submission.request.principal = "p";
    submission.request.idempotency_key = key;
    submission.request.request_hash = hash;
    std::promise<Result<master::api::SubmitAnswer>> answer;
    ports_.submit(std::move(submission), [&](auto result) { answer.set_value(result); });
    return answer.get_future().get();
  }

  void apply(const std::string& text, bool online) {
    std::promise<Result<master::api::FlowApplied>> answer;
    flows_.apply(
        {.name = {}, .file = {}, .text = text, .if_version = {}, .online = online, .request = {}},
        [&](auto result) { answer.set_value(result); });
    const auto applied = answer.get_future().get();
    ASSERT_TRUE(applied.ok()) << applied.status().text();
    ASSERT_TRUE(applied->errors.empty()) << applied->errors.front().message;
  }
  RunRecord trigger(const std::string& flow) {
    std::promise<Result<master::api::MadeRun>> answer;
    flows_.trigger({.flow = flow, .plan_time = {}, .params = {}, .priority = {}, .request = {}},
                   [&](auto result) { answer.set_value(result); });
    const auto run = answer.get_future().get();
    EXPECT_TRUE(run.ok()) << run.status().text();
    return run.ok() ? run->run : RunRecord{};
  }
  // Another term takes over what this one left.
  void takeOver() {
    service_.demote("test", clock_.bootNow());
    database_.rule(kEpoch + 1);
    ha::Leadership leadership;
    leadership.epoch = kEpoch + 1;
    leadership.cluster_guid = "guid-1";
    const Status promoted = service_.promote(leadership, {});
    ASSERT_TRUE(promoted.ok()) << promoted.text();
  }
  void expectMetric(const std::string& line) {
    const std::string text = ports_.metrics();
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << " is not in\n" << text;
  }

  FakeClock clock_;
  FakeDatabase database_{kEpoch};
  master::Metrics metrics_{"test"};
  SilentWebhooks webhooks_;
  LeadingFailover failover_;
  master::MasterActiveService service_{{clock_, database_, webhooks_, metrics_, ""}, {}};
  master::MasterPorts ports_{clock_, database_, service_, metrics_, {"n", "c", "guid-1"}};
  master::FlowPorts flows_{clock_, database_, ports_};
};

TEST_F(MasterPortsTest, AnIdempotencyKeyNamesItsFirstRequestForADay) {
  // Aim: within 24 hours a repeat gets the first answer; afterwards the key is new, also where the
  // old row still stands, which then is overwritten.
  const auto first = submit("k", "one");
  ASSERT_TRUE(first.ok());
  clock_.advance(std::chrono::hours(24) - Seconds(1));
  const auto repeat = submit("k", "one");
  ASSERT_TRUE(repeat.ok());
  EXPECT_TRUE(repeat->replayed);
  EXPECT_EQ(repeat->body, first->body);
  EXPECT_EQ(submit("k", "two").error().code(), ErrorCode::Conflict);
  IdempotencyRecord old = database_.rows().idempotency.at({"p", "k"});
  clock_.stepWall(Seconds(1));
  const auto later = submit("k", "two");
  ASSERT_TRUE(later.ok()) << later.status().text();
  EXPECT_FALSE(later->replayed);
  const IdempotencyRecord now = database_.rows().idempotency.at({"p", "k"});
  EXPECT_EQ(now.request_hash, "two");
  EXPECT_GT(now.created_at, old.created_at);
}

// The order and its audit row are durable before the role is given up.
TEST_F(MasterPortsTest, SyncRecordsTheOrderAndHandsOver) {
  const auto sync = [this] {
    std::promise<Result<master::api::SyncBegun>> answer;
    master::api::Request request;
    request.principal = "ann";
    ports_.sync(request, [&](auto begun) { answer.set_value(std::move(begun)); });
    return answer.get_future().get();
  };
  failover_.state = ha::FailoverState::ActiveIsolated;
  EXPECT_EQ(sync().error().code(), ErrorCode::Conflict);
  EXPECT_TRUE(failover_.hand_overs.empty());
  failover_.state = ha::FailoverState::Active;
  const auto begun = sync();
  ASSERT_TRUE(begun.ok()) << begun.status().text();
  EXPECT_EQ(begun->epoch, kEpoch);
  service_.demote("end of the test", {});
  EXPECT_EQ(failover_.hand_overs, std::vector<std::string>{"sync was asked for by ann"});
  ASSERT_EQ(database_.rows().audit.size(), 1U);
  EXPECT_EQ(database_.rows().audit[0].action, "cluster.sync");
}

TEST_F(MasterPortsTest, VerifyComparesEveryLiveTaskWithItsRow) {
  // Aim: all slices are looked at, and a difference of either side is named.
  for (int i = 0; i < 12'000; ++i) {
    const auto answer = submit("", "");
    ASSERT_TRUE(answer.ok()) << answer.status().text();
  }
  const auto same = ports_.verify();
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->tasks_compared, 12'000U);
  EXPECT_EQ(same->differences_total, 0U);
  TaskRecord row = database_.rows().tasks.at(5);
  row.state.attempt = 3;
  database_.direct().tasks.at(5) = row;
  database_.direct().tasks.erase(6);
  row.state.id = 1'000'000;
  database_.direct().tasks[row.state.id] = row;
  const auto differs = ports_.verify();
  ASSERT_TRUE(differs.ok());
  EXPECT_EQ(differs->differences_total, 3U);
}

TEST_F(MasterPortsTest, TheQueueDepthIsShownByReason) {
  // Aim: what waits and why is seen without a look at each task, in the metrics and the figures.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(submit("", "").ok());
  EXPECT_NE(
      ports_.metrics().find(R"(baton_queue_depth{cluster="test",reason="no_runner_matches"} 3)"),
      std::string::npos)
      << ports_.metrics();
  EXPECT_NE(ports_.metrics().find(R"(baton_queue_depth{cluster="test",reason="hold"} 0)"),
            std::string::npos);
  const auto stats = ports_.stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->waiting_by_reason.at("no_runner_matches"), 3U);
  EXPECT_EQ(stats->live_by_priority.at("normal"), 3U);
}

TEST_F(MasterPortsTest, VerifyComparesEveryLiveRunWithItsRow) {
  // Aim: a run that only one side knows, or that is elsewhere in its life, is named.
  apply("{flow: f, overlap: {policy: parallel, max_runs: 3}, tasks: {a: {command: [x]}}}", false);
  std::vector<RunId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(trigger("f").state.id);
  const auto same = ports_.verify();
  ASSERT_TRUE(same.ok()) << same.status().text();
  EXPECT_EQ(same->runs_compared, 5U);
  EXPECT_EQ(same->tasks_compared, 3U);
  EXPECT_EQ(same->differences, std::vector<std::string>());
  auto& rows = database_.direct().runs;
  RunRecord row = rows.at(ids[0]);
  rows.at(ids[1]).state.status = RunStatus::Paused;
  rows.at(ids[2]).state.status = RunStatus::Finished;
  rows.at(ids[4]).state.reruns = 2;
  row.state.id = 1'000'000;
  rows[row.state.id] = row;
  const auto differs = ports_.verify();
  ASSERT_TRUE(differs.ok()) << differs.status().text();
  std::vector<std::string> found = differs->differences;
  std::sort(found.begin(), found.end());
  std::vector<std::string> expected{
      fmt::format("run {}: RUNNING rerun 0 in memory, PAUSED rerun 0 in the database", ids[1]),
      fmt::format("run {}: RUNNING in memory, not live in the database", ids[2]),
      fmt::format("run {}: WAITING rerun 0 in memory, WAITING rerun 2 in the database", ids[4]),
      "run 1000000: RUNNING in the database, unknown in memory"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

TEST_F(MasterPortsTest, VerifyNamesLiveTasksOfRunsThatHaveEnded) {
  // Aim: such a task waits for ever, and nobody else would tell.
  apply("{flow: f, tasks: {a: {command: [x]}}}", false);
  trigger("f");
  const auto term = service_.term();
  const auto setRun = [&](RunId run) {
    return term->inspect([&] { term->live().tasks.begin()->second.part->run = run; });
  };
  ASSERT_TRUE(setRun(77));
  const auto differs = ports_.verify();
  ASSERT_TRUE(differs.ok()) << differs.status().text();
  ASSERT_EQ(differs->differences.size(), 1U);
  EXPECT_NE(differs->differences[0].find("its run 77 has ended"), std::string::npos);
  ASSERT_TRUE(setRun(1));
}

TEST_F(MasterPortsTest, AnExplanationSaysWhoEndedATask) {
  apply("{flow: f, tasks: {a: {command: [x]}}}", false);
  const RunId run = trigger("f").state.id;
  const auto nodes = flows_.nodes(run);
  ASSERT_TRUE(nodes.ok() && nodes->size() == 1);
  const TaskId task = nodes->front().task.record.state.id;
  std::promise<Result<master::api::TaskView>> answer;
  ports_.command(task, master::api::TaskCommand::Stop, false, {.principal = "ann"},
                 [&](auto result) { answer.set_value(result); });
  ASSERT_TRUE(answer.get_future().get().ok());
  const auto of_task = flows_.explainTask(task);
  ASSERT_TRUE(of_task.ok());
  EXPECT_EQ(of_task->reasons.back(), "stopped by ann");
  const auto of_run = flows_.explainRun(run);
  ASSERT_TRUE(of_run.ok());
  EXPECT_EQ(of_run->reasons.back(),
            fmt::format("task a (id {}) is TERMINATED: stopped by ann", task));
}

TEST_F(MasterPortsTest, AnExplanationGoesToWhereTheWaitingBegins) {
  apply("{flow: c, tasks: {a: {command: [x], labels: {gpu: big}}}}", false);
  apply("{flow: p, tasks: {s: {flow: c}, z: {command: [x], needs: [s]}}}", false);
  const RunId first = trigger("p").state.id;
  const RunId second = trigger("p").state.id;
  const auto nodes = flows_.nodes(first);
  ASSERT_TRUE(nodes.ok() && nodes->size() == 2);
  const auto sees = [](const Result<master::api::Explanation>& said) {
    ASSERT_TRUE(said.ok()) << said.status().text();
    EXPECT_NE(said->reasons.back().find("is QUEUED: waits (no_runner_matches)"), std::string::npos);
  };
  sees(flows_.explainTask((*nodes)[1].task.record.state.id));
  sees(flows_.explainTask((*nodes)[0].task.record.state.id));
  sees(flows_.explainRun(first));
  sees(flows_.explainRun(second));
}

TEST_F(MasterPortsTest, RunsAndThePlannerAreInTheFigures) {
  // Aim: how many runs are where, and whether the planner keeps up, is seen in figures and metrics.
  apply("{flow: f, overlap: {policy: parallel, max_runs: 2}, tasks: {a: {command: [x]}}}", false);
  apply("{flow: n, schedule: {cron: '0 2 * * *', timezone: UTC}, tasks: {a: {noop: true}}}", true);
  for (int i = 0; i < 3; ++i) trigger("f");
  EXPECT_EQ(trigger("n").state.status, RunStatus::Finished);
  const auto stats = ports_.stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->runs_by_status,
            (std::map<std::string, uint64_t>{{"FINISHED", 1}, {"RUNNING", 2}, {"WAITING", 1}}));
  EXPECT_EQ(stats->schedules, 1U);
  EXPECT_EQ(stats->planner_behind, 0U);
  EXPECT_EQ(stats->planner_lag_ms, 0);
  expectMetric(R"(baton_runs{cluster="test",status="RUNNING"} 2)");
  expectMetric(R"(baton_runs{cluster="test",status="PAUSED"} 0)");
  expectMetric(R"(baton_runs_total{cluster="test",status="FINISHED"} 1)");
  expectMetric(R"(baton_schedules{cluster="test"} 1)");
  expectMetric(R"(baton_planner_lag_seconds{cluster="test"} 0)");
}

TEST_F(MasterPortsTest, TheInternalsTellOfFlows) {
  // Aim: whoever looks why nothing moves sees runs, places, waits and the planner.
  apply("{flow: f, tasks: {a: {command: [x]}, e: {event: {name: n, key: k}}}}", false);
  apply("{flow: n, schedule: {cron: '0 2 * * *', timezone: UTC}, tasks: {a: {noop: true}}}", true);
  for (int i = 0; i < 2; ++i) trigger("f");
  const auto text = ports_.internals();
  ASSERT_TRUE(text.ok());
  const Json flows = (*parseJson(*text))["flows"];
  EXPECT_EQ(flows["known"], 2);
  EXPECT_EQ(flows["live_runs"], (Json{{"RUNNING", 1}, {"WAITING", 1}}));
  EXPECT_EQ(flows["runs_in_places"], 1);
  EXPECT_EQ(flows["runs_waiting_for_places"], 1);
  EXPECT_EQ(flows["event_waits"], 1);
  EXPECT_EQ(flows["planner"]["planned"], 1);
}

TEST_F(MasterPortsTest, TheInternalsTellOfGates) {
  // Aim: whoever looks why nothing moves sees which limit or hours hold it back.
  apply("{flow: f, owner: dwh, tasks: {a: {command: [x], group: g, weight: 2}}}", false);
  for (int i = 0; i < 2; ++i) trigger("f");
  const auto text = ports_.internals();
  ASSERT_TRUE(text.ok());
  const Json all = *parseJson(*text);
  EXPECT_TRUE(all.contains("watch_events_kept"));
  std::map<std::string, Json> gates;
  for (const Json& gate : all["gates"]) gates[gate["kind"]] = gate;
  ASSERT_EQ(gates.size(), 3U) << all["gates"];
  EXPECT_EQ(gates["group"], (Json{{"kind", "group"},
                                  {"name", "g"},
                                  {"open", true},
                                  {"max", nullptr},
                                  {"in_use", 0},
                                  {"running", 0},
                                  {"queued", 1},
                                  {"queues_held_back", 0},
                                  {"kept_for_task", nullptr}}));
  EXPECT_EQ(gates["flow"]["name"], "f");
  EXPECT_EQ(gates["user"]["name"], "dwh");
}

TEST_F(MasterPortsTest, FlowsAreListedWithTheirSchedules) {
  // Aim: also those that nobody has needed since the takeover; who reads them for a list keeps
  // them.
  apply(
      "{flow: a, schedule: {cron: '0 2 * * *', timezone: Europe/Berlin}, tasks: {a: {noop: true}}}",
      true);
  apply("{flow: b, schedule: {every: 30s}, tasks: {a: {noop: true}}}", false);
  apply("{flow: c, tasks: {a: {noop: true}}}", true);
  takeOver();
  for (int i = 0; i < 2; ++i) {
    const auto list = flows_.flows({});
    ASSERT_TRUE(list.ok()) << list.status().text();
    ASSERT_EQ(list->items.size(), 3U);
    EXPECT_EQ(list->items[0].schedule, "cron 0 2 * * * Europe/Berlin");
    EXPECT_NE(list->items[0].record.next_at, WallTime{});
    EXPECT_EQ(list->items[1].schedule, "every 30s");
    EXPECT_EQ(list->items[2].schedule, "");
  }
  EXPECT_EQ(trigger("b").state.status, RunStatus::Finished);
}

TEST_F(MasterPortsTest, NoMoreInstantsAreShownThanAreLeft) {
  // Aim: `count` bounds what is announced: what has passed since going online is used up.
  apply("{flow: a, schedule: {every: 1h, count: 3}, tasks: {a: {noop: true}}}", true);
  apply(
      "{flow: b, schedule: {every: 1h, start: '2030-01-01T00:00:00Z', end: "
      "'2030-01-02T00:00:00Z', count: 1}, tasks: {a: {noop: true}}}",
      false);
  auto view = flows_.flow("a", {});
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->next_instants.size(), 3U);
  EXPECT_EQ(view->schedule, "every 1h, 3 times");
  database_.direct().flows.at("a").fired = 2;  // Nobody writes just now.
  view = flows_.flow("a", {});
  EXPECT_EQ(view->next_instants.size(), 1U);
  view = flows_.flow("b", {});
  EXPECT_EQ(view->next_instants.size(), 1U);
  EXPECT_EQ(view->schedule,
            "every 1h, from 2030-01-01T00:00:00Z, until 2030-01-02T00:00:00Z, once");
}

TEST_F(MasterPortsTest, FlowsAreListedByOwnerAndTag) {
  // Aim: what only definitions say filters over all pages, with the right cursor and total, also
  // behind a takeover, when nothing has been read yet.
  for (int i = 0; i < 12; ++i) {
    apply(fmt::format("{{flow: F{:02}, owner: {}, tags: [{}], tasks: {{a: {{noop: true}}}}}}", i,
                      i % 2 == 0 ? "ann" : "bob", i % 3 == 0 ? "x, y" : "x"),
          i < 6);
  }
  takeOver();
  const auto names = [&](master::api::FlowListQuery query) {
    const auto list = flows_.flows(query);
    EXPECT_TRUE(list.ok()) << list.status().text();
    std::string text;
    for (const auto& view : list->items) {
      text += view.record.name + (view.owner == "ann" ? "a " : "b ");
    }
    text += list->more ? "more" : "end";
    return text + (list->total ? fmt::format(" of {}", *list->total) : "");
  };
  master::api::FlowListQuery query;
  query.owner = "ann";
  EXPECT_EQ(names(query), "F00a F02a F04a F06a F08a F10a end");
  query.tag = "y";
  query.total = true;
  EXPECT_EQ(names(query), "F00a F06a end of 2");
  query.limit = 1;
  EXPECT_EQ(names(query), "F00a more of 2");
  query.after = "f00";
  EXPECT_EQ(names(query), "F06a end of 2");
  query.tag = "x";
  query.total = false;
  EXPECT_EQ(names(query), "F02a more");
  query.limit = 9;
  query.online = true;
  query.text = "F0";
  EXPECT_EQ(names(query), "F02a F04a end");
  query = {.online = false, .text = {}, .owner = {}, .tag = {}, .after = {}, .total = true};
  EXPECT_EQ(names(query), "F06a F07b F08a F09b F10a F11b end of 6");
  query.tag = "none";
  EXPECT_EQ(names(query), "end of 0");
}

TEST_F(MasterPortsTest, AnInstantThatWasNotRunIsExplained) {
  apply(
      "{flow: f, schedule: {cron: '0 2 * * *', timezone: UTC, misfire: {max: 3}}, tasks: {a: "
      "{noop: true}}}",
      true);
  MissedRecord missed;
  missed.flow = "f";
  missed.plan_time = *parseRfc3339("2020-01-01T02:00:00Z");
  missed.recorded_at = missed.plan_time + Seconds(7200);
  missed.reason = "over_max";
  database_.direct().missed[{missed.plan_time, "f"}] = missed;
  auto said = flows_.explainMissed("F", missed.plan_time);
  ASSERT_TRUE(said.ok()) << said.status().text();
  EXPECT_EQ(said->status, "missed");
  EXPECT_EQ(said->reasons,
            (std::vector<std::string>{
                "over_max: nobody could begin it in time, and newer ones made up the number of "
                "misfire.max; found 2h late",
                "the misfire policy of version 1 is all, 3 at most, none older than 14d, oldest "
                "first",
                "`baton missed run f 2020-01-01T02:00:00Z` runs it now"}));
  said = flows_.explainMissed("f", *parseRfc3339("2020-01-02T02:00:00Z"));
  EXPECT_EQ(said->status, "none");
  EXPECT_NE(said->reasons.at(0).find("offline then"), std::string::npos);
  said = flows_.explainMissed("f", *parseRfc3339("2020-01-02T03:00:00Z"));
  EXPECT_NE(said->reasons.at(0).find("has no such instant"), std::string::npos);
  said = flows_.explainMissed("f", *parseRfc3339("2199-01-02T02:00:00Z"));
  EXPECT_EQ(said->status, "to_come");
  EXPECT_EQ(flows_.explainMissed("g", missed.plan_time).error().code(), ErrorCode::NotFound);
}

TEST_F(MasterPortsTest, ApplySaysWhichCallbacksCantBeSent) {
  // Aim: a receiver that no master may call is told when the flow is stored, and not by a dead
  // callback after its first run.
  const std::string text = R"(
flow: f
callbacks:
  - {url: "http://listed/hook"}
  - {url: "http://other/hook"}
tasks:
  a: {command: [x], callback: {url: "http://other/task"}}
)";
  std::promise<Result<master::api::FlowApplied>> answer;
  flows_.apply(
      {.name = {}, .file = "f.yaml", .text = text, .if_version = {}, .online = {}, .request = {}},
      [&](auto result) { answer.set_value(result); });
  const auto applied = answer.get_future().get();
  ASSERT_TRUE(applied.ok()) << applied.status().text();
  ASSERT_EQ(applied->flow.warnings.size(), 2U);
  EXPECT_EQ(applied->flow.warnings[0].key, "callbacks[1].url");
  EXPECT_EQ(applied->flow.warnings[0].line, 5);
  EXPECT_EQ(applied->flow.warnings[0].message,
            "other:80 is not on the list of allowed targets: its callbacks will not be sent "
            "(callback.allow of the masters)");
  EXPECT_EQ(applied->flow.warnings[1].key, "tasks.a.callback.url");
  EXPECT_TRUE(applied->created);
}

TEST_F(MasterPortsTest, ADeletedFlowSaysWhoNamesIt) {
  // Aim: also where nobody has read those definitions since the takeover, and in another case.
  apply("{flow: rates, tasks: {a: {noop: true}}}", false);
  apply("{flow: part, tasks: {a: {flow: rates}}}", false);
  apply("{flow: wait, tasks: {a: {event: {flow: Rates, task: a, window: same_day}}}}", false);
  apply("{flow: after, trigger: {event: {flow: RATES}}, tasks: {a: {noop: true}}}", true);
  apply("{flow: other, tasks: {rates: {noop: true}}}", false);
  takeOver();
  const auto remove = [&](const std::string& name) {
    std::promise<Result<master::api::FlowView>> answer;
    flows_.remove(name, {}, [&](auto result) { answer.set_value(result); });
    const auto view = answer.get_future().get();
    EXPECT_TRUE(view.ok()) << view.status().text();
    return view.ok() ? view->named_by : std::vector<std::string>();
  };
  EXPECT_EQ(remove("part"), std::vector<std::string>());
  EXPECT_EQ(remove("Rates"), (std::vector<std::string>{"after", "wait"}));
}

TEST_F(MasterPortsTest, LargeDefinitionsAreReadBehindATakeoverBeforeSomebodyNeedsThem) {
  // Aim: the dispatcher does not stand still for one when it is due.
  std::string large = "{flow: large, tasks: {";
  for (int i = 0; i < 1'000; ++i) large += fmt::format("n{}: {{command: [x, \"{}\"]}}, ", i, i);
  apply(large + "}}", false);
  apply("{flow: small, tasks: {a: {noop: true}}}", false);
  takeOver();
  const auto term = ports_.activeTerm();
  ASSERT_TRUE(term.ok());
  const auto isRead = [&](const std::string& key) {
    bool read = false;
    EXPECT_TRUE((*term)->inspect([&] { read = (*term)->flows().flows.at(key).newest != nullptr; }));
    return read;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!isRead("large") && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(isRead("large"));
  EXPECT_FALSE(isRead("small"));
}

}  // namespace
}  // namespace baton::test
