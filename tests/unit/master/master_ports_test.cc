// The master as the web API sees it: a real term with its threads over a database in memory.
#include "tests/unit/master/ports_fixture.h"

namespace baton::test {
namespace {

class MasterPortsTest : public PortsTest {};

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

}  // namespace
}  // namespace baton::test
