#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

using master::api::RerunScope;
using master::api::RunCommand;

WallTime timeOf(const char* text) { return *parseRfc3339(text); }

class RunApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    runs_.view = sampleRun(12);
  }
  static master::api::RunView sampleRun(RunId id) {
    master::api::RunView view;
    RunRecord& record = view.record;
    record.flow = "nightly";
    record.version = 3;
    record.trigger = RunTrigger::Schedule;
    record.trigger_key = "hidden-key";
    record.plan_time = timeOf("2026-11-29T02:00:00Z");
    record.params = R"({"a":"1","b":null})";
    record.parent_run = 4;
    record.created_at = timeOf("2026-11-29T02:00:01Z");
    record.state.id = id;
    record.state.status = RunStatus::Waiting;
    view.waiting_text = "for run 11 of nightly (overlap: queue)";
    return view;
  }
};

// A run is shown with what it waits for, and without keys of the database.
TEST_F(RunApiTest, ARunIsShown) {
  const auto response = get("/api/v1/runs/12");
  ASSERT_EQ(response.status, 200) << response.body;
  const Json run = jsonOf(response);
  EXPECT_EQ(run["id"], "12");
  EXPECT_EQ(run["flow"], "nightly");
  EXPECT_EQ(run["status"], "WAITING");
  EXPECT_EQ(run["waiting_text"], "for run 11 of nightly (overlap: queue)");
  EXPECT_EQ(run["trigger"], "schedule");
  EXPECT_EQ(run["plan_time"], "2026-11-29T02:00:00Z");
  EXPECT_EQ(run["params"], (Json{{"a", "1"}, {"b", nullptr}}));
  EXPECT_EQ(run["parent_run"], "4");
  EXPECT_TRUE(run["parent_task"].is_null());
  EXPECT_TRUE(run["reason"].is_null());
  EXPECT_EQ(response.body.find("hidden-key"), std::string::npos);
}

TEST_F(RunApiTest, UnknownRunsAreNotFound) {
  for (const char* id : {"13", "0", "012", "-1", "abc"}) {
    const std::string path = std::string("/api/v1/runs/").append(id);
    expectProblem(get(path), 404, "not_found");
    expectProblem(get(path + "/tasks"), 404, "not_found");
  }
  for (const char* action : {"stop", "pause", "resume", "rerun", "skip"}) {
    expectProblem(post(std::string("/api/v1/runs/x/").append(action)), 404, "not_found");
  }
  expectProblem(get("/api/v1/runs/x/explain"), 404, "not_found");
  expectProblem(get("/api/v1/tasks/x/explain"), 404, "not_found");
  runs_.fail = Error::notFound("there is no run 12");
  expectProblem(get("/api/v1/runs/12/explain"), 404, "not_found");
  expectProblem(post("/api/v1/runs/12/stop"), 404, "not_found");
}

// A stored row that makes no sense is our fault.
TEST_F(RunApiTest, ACorruptRunIsAnInternalError) {
  runs_.view.record.params = "{broken";
  expectProblem(get("/api/v1/runs/12"), 500, "internal");
}

// Every filter reaches the port; parameters are no part of lists.
TEST_F(RunApiTest, FiltersReachThePort) {
  runs_.list.items = {sampleRun(300)};
  runs_.list.items[0].record.params.clear();
  runs_.list.more = true;
  runs_.list.total = 8;
  const Json page = jsonOf(
      get("/api/v1/runs?flow=nightly&status=running,WAITING&status=running&trigger=manual,sub_flow"
          "&backfill=5&plan_from=2026-11-01T00:00:00Z&plan_before=2026-12-01T00:00:00Z&late=true"
          "&reason=queue_full,OVERLAP_SKIP&q=ight&principal=ann&created_from=2026-11-02T00:00:00Z"
          "&created_before=2026-11-03T00:00:00Z&limit=1&total=true"));
  const auto& query = runs_.last_query;
  EXPECT_EQ(query.reasons, (std::vector<RunReason>{RunReason::QueueFull, RunReason::OverlapSkip}));
  EXPECT_EQ(query.text, "ight");
  EXPECT_EQ(query.principal, "ann");
  EXPECT_EQ(query.created_from, timeOf("2026-11-02T00:00:00Z"));
  EXPECT_EQ(query.created_before, timeOf("2026-11-03T00:00:00Z"));
  EXPECT_EQ(query.flow, "nightly");
  EXPECT_EQ(query.statuses, (std::vector<RunStatus>{RunStatus::Running, RunStatus::Waiting}));
  EXPECT_EQ(query.triggers, (std::vector<RunTrigger>{RunTrigger::Manual, RunTrigger::SubFlow}));
  EXPECT_EQ(query.backfill, 5U);
  EXPECT_EQ(query.plan_from, timeOf("2026-11-01T00:00:00Z"));
  EXPECT_EQ(query.plan_before, timeOf("2026-12-01T00:00:00Z"));
  EXPECT_TRUE(query.late);
  EXPECT_TRUE(query.total);
  EXPECT_EQ(query.limit, 1U);
  EXPECT_EQ(page["total"], 8);
  EXPECT_FALSE(page["items"][0].contains("params"));
  runs_.list.more = false;
  const std::string cursor = page["next_cursor"];
  EXPECT_TRUE(jsonOf(get("/api/v1/runs?cursor=" + cursor))["next_cursor"].is_null());
  EXPECT_EQ(runs_.last_query.before, 300U);
}

TEST_F(RunApiTest, BadFiltersAreRefused) {
  for (const auto& [query, field] :
       std::vector<std::pair<const char*, const char*>>{{"status=QUEUED", "status"},
                                                        {"status=", "status"},
                                                        {"trigger=cron", "trigger"},
                                                        {"backfill=x", "backfill"},
                                                        {"plan_from=today", "plan_from"},
                                                        {"plan_before=1", "plan_before"},
                                                        {"late=false", "late"},
                                                        {"late=1", "late"},
                                                        {"cursor=t-1", "cursor"},
                                                        {"limit=1001", "limit"},
                                                        {"reason=why", "reason"},
                                                        {"created_from=1", "created_from"},
                                                        {"owner=x", "owner"}}) {
    SCOPED_TRACE(query);
    expectProblem(get(std::string("/api/v1/runs?").append(query)), 400, "invalid_argument", field);
  }
}

// The tasks of a run are tasks with their place in it.
TEST_F(RunApiTest, TheTasksOfARunAreShown) {
  master::api::NodeView node;
  node.task.record.name = "publish";
  node.task.record.kind = "flow";
  node.task.record.run_id = 12;
  node.task.record.flow = "nightly";
  node.task.record.state.id = 70;
  node.needs = {"load (success)"};
  node.sub_run = 15;
  runs_.node_list = {node};
  const Json list = jsonOf(get("/api/v1/runs/12/tasks"));
  EXPECT_TRUE(list["next_cursor"].is_null());
  const Json& task = list["items"].at(0);
  EXPECT_EQ(task["id"], "70");
  EXPECT_EQ(task["run_id"], "12");
  EXPECT_EQ(task["flow"], "nightly");
  EXPECT_EQ(task["needs"], Json::array({"load (success)"}));
  EXPECT_EQ(task["sub_run"], "15");
}

// Explanations are told line by line as the master gives them.
TEST_F(RunApiTest, ExplanationsAreTold) {
  runs_.reasons = {"flow nightly is paused", "task load waits for extract"};
  EXPECT_EQ(jsonOf(get("/api/v1/runs/12/explain")),
            (Json{{"status", "run 12"}, {"reasons", runs_.reasons}}));
  EXPECT_EQ(jsonOf(get("/api/v1/tasks/70/explain"))["status"], "task 70");
}

// Each order reaches the port as itself and answers the run.
TEST_F(RunApiTest, OrdersReachThePort) {
  const std::vector<std::tuple<const char*, const char*, RunCommand>> orders = {
      {"stop", "", RunCommand::Stop},
      {"pause", "", RunCommand::Pause},
      {"resume", "{}", RunCommand::Resume},
      {"rerun", "", RunCommand::Rerun},
      {"skip", "", RunCommand::Skip},
      {"force-success", R"({"task":"load"})", RunCommand::ForceSuccess},
      {"priority", R"({"priority":"critical"})", RunCommand::SetPriority}};
  for (const auto& [name, body, command] : orders) {
    const auto response = post(std::string("/api/v1/runs/12/").append(name), body);
    ASSERT_EQ(response.status, 200) << name << response.body;
    EXPECT_EQ(jsonOf(response)["id"], "12");
    EXPECT_EQ(runs_.orders.back().id, 12U);
    EXPECT_EQ(runs_.orders.back().command, command);
    EXPECT_EQ(runs_.orders.back().request.principal, "client");
  }
  EXPECT_EQ(runs_.orders[3].scope, RerunScope::Failed);
  EXPECT_EQ(runs_.orders[4].task, "");
  EXPECT_EQ(runs_.orders[5].task, "load");
  EXPECT_EQ(runs_.orders[6].priority, Priority::Critical);
}

TEST_F(RunApiTest, RerunsSayWhatTheyMean) {
  const std::vector<std::tuple<const char*, RerunScope, const char*, bool>> reruns = {
      {R"({"scope":"all"})", RerunScope::All, "", false},
      {R"({"scope":"failed","force":true})", RerunScope::Failed, "", true},
      {R"({"scope":"from","task":"load"})", RerunScope::From, "load", false},
      {R"({"scope":"one","task":"load"})", RerunScope::One, "load", false}};
  for (const auto& [body, scope, task, force] : reruns) {
    ASSERT_EQ(post("/api/v1/runs/12/rerun", body).status, 200) << body;
    EXPECT_EQ(runs_.orders.back().scope, scope);
    EXPECT_EQ(runs_.orders.back().task, task);
    EXPECT_EQ(runs_.orders.back().force, force);
  }
  EXPECT_EQ(post("/api/v1/runs/12/skip", R"({"task":"load"})").status, 200);
  EXPECT_EQ(runs_.orders.back().task, "load");
}

TEST_F(RunApiTest, BadOrdersAreRefusedByField) {
  const std::vector<std::tuple<const char*, const char*, const char*>> bad = {
      {"stop", R"({"force":true})", "force"},
      {"pause", R"({"task":"a"})", "task"},
      {"rerun", R"({"scope":"some"})", "scope"},
      {"rerun", R"({"scope":"from"})", "task"},
      {"rerun", R"({"scope":"one","task":""})", "task"},
      {"rerun", R"({"scope":"all","task":"a"})", "task"},
      {"rerun", R"({"task":"a"})", "task"},
      {"rerun", R"({"force":"yes"})", "force"},
      {"skip", R"({"task":7})", "task"},
      {"force-success", R"({})", "task"},
      {"priority", R"({})", "priority"},
      {"priority", R"({"priority":"top"})", "priority"}};
  for (const auto& [action, body, field] : bad) {
    SCOPED_TRACE(body);
    expectProblem(post(std::string("/api/v1/runs/12/").append(action), body), 400,
                  "invalid_argument", field);
  }
  expectProblem(post("/api/v1/runs/12/force-success"), 400, "invalid_argument");
  EXPECT_TRUE(runs_.orders.empty());
  runs_.fail = Error::conflict("run 12 is FINISHED");
  expectProblem(post("/api/v1/runs/12/pause"), 409, "conflict");
  runs_.fail = Error(ErrorCode::NotActive, "");
  expectProblem(post("/api/v1/runs/12/pause"), 503, "not_active");
}

// Missed instants are listed by pages with their reasons.
TEST_F(RunApiTest, MissedInstantsAreListed) {
  MissedRecord missed;
  missed.flow = "Nightly";
  missed.plan_time = timeOf("2026-11-28T02:00:00Z");
  missed.reason = "over_max";
  missed.recorded_at = timeOf("2026-11-29T02:00:00Z");
  runs_.missed_list.items = {missed};
  runs_.missed_list.more = true;
  const Json page = jsonOf(get("/api/v1/missed?flow=nightly&limit=1"));
  EXPECT_EQ(page["items"][0], (Json{{"flow", "Nightly"},
                                    {"plan_time", "2026-11-28T02:00:00Z"},
                                    {"reason", "over_max"},
                                    {"reason_text",
                                     "nobody could begin it in time, and newer ones made up the "
                                     "number of misfire.max; found 1d late"},
                                    {"recorded_at", "2026-11-29T02:00:00Z"},
                                    {"run_id", nullptr}}));
  const std::string cursor = page["next_cursor"];
  EXPECT_EQ(get("/api/v1/missed?cursor=" + cursor).status, 200);
  EXPECT_EQ(runs_.missed_asked.before, missed.plan_time);
  EXPECT_EQ(runs_.missed_asked.before_key, "nightly");
  EXPECT_EQ(runs_.missed_asked.limit, 50U);
  runs_.missed_list.total = 4;
  EXPECT_EQ(
      jsonOf(get("/api/v1/missed?flow=n&q=ig&reason=over_max,too_old&total=true"
                 "&plan_from=2026-11-28T00:00:00Z&plan_before=2026-11-29T00:00:00Z"))["total"],
      4);
  const auto& asked = runs_.missed_asked;
  EXPECT_EQ(asked.flow, "n");
  EXPECT_EQ(asked.text, "ig");
  EXPECT_EQ(asked.reasons, (std::vector<std::string>{"over_max", "too_old"}));
  EXPECT_EQ(asked.plan_from, timeOf("2026-11-28T00:00:00Z"));
  EXPECT_EQ(asked.plan_before, timeOf("2026-11-29T00:00:00Z"));
  EXPECT_TRUE(asked.total);
  EXPECT_EQ(
      jsonOf(get("/api/v1/missed?reason=late"))["detail"],
      "reason: \"late\" is not one of policy_none, not_the_latest, over_max, too_old, offline, "
      "redefined");
  for (const char* wrong : {"m-1", "m-.a", "m-1.", "r-1.a", "m-1.a%20b"}) {
    expectProblem(get(std::string("/api/v1/missed?cursor=").append(wrong)), 400, "invalid_argument",
                  "cursor");
  }
}

// What became of an instant is asked for by flow and time.
TEST_F(RunApiTest, AnInstantIsExplained) {
  runs_.reasons = {"over_max: why"};
  EXPECT_EQ(jsonOf(get("/api/v1/missed/explain?flow=nightly&plan_time=2026-11-28T02:00:00Z")),
            (Json{{"status", "nightly 2026-11-28T02:00:00Z"}, {"reasons", {"over_max: why"}}}));
  expectProblem(get("/api/v1/missed/explain?flow=nightly"), 400, "invalid_argument", "plan_time");
  expectProblem(get("/api/v1/missed/explain?plan_time=2026-11-28T02:00:00Z"), 400,
                "invalid_argument", "flow");
}

TEST_F(RunApiTest, AMissedInstantIsRunByHand) {
  const auto response =
      post("/api/v1/missed/run", R"({"flow":"nightly","plan_time":"2026-11-28T02:00:00Z"})",
           {{"Idempotency-Key", "k"}});
  EXPECT_EQ(response.status, 201) << response.body;
  EXPECT_EQ(response.headers.get("Location"), "/api/v1/runs/12");
  EXPECT_EQ(std::get<0>(runs_.missed_runs.at(0)), "nightly");
  EXPECT_EQ(std::get<1>(runs_.missed_runs.at(0)), timeOf("2026-11-28T02:00:00Z"));
  EXPECT_EQ(std::get<2>(runs_.missed_runs.at(0)).idempotency_key, "k");
  for (const auto& [body, field] : std::vector<std::pair<const char*, const char*>>{
           {R"({"plan_time":"2026-11-28T02:00:00Z"})", "flow"},
           {R"({"flow":"a b","plan_time":"2026-11-28T02:00:00Z"})", "flow"},
           {R"({"flow":"a"})", "plan_time"},
           {R"({"flow":"a","plan_time":"x"})", "plan_time"},
           {R"({"flow":"a","plan_time":"2026-11-28T02:00:00Z","x":1})", "x"}}) {
    expectProblem(post("/api/v1/missed/run", body), 400, "invalid_argument", field);
  }
  runs_.fail = Error::conflict("run 9 is of that instant");
  expectProblem(
      post("/api/v1/missed/run", R"({"flow":"nightly","plan_time":"2026-11-28T02:00:00Z"})"), 409,
      "conflict");
}

}  // namespace
}  // namespace baton::webapi::test
