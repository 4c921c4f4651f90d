#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "common/model/task_spec.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

const std::string kRun =
    R"({"id":"12","flow":"f","version":3,"status":"WAITING","waiting_text":"for run 11",)"
    R"("trigger":"schedule","plan_time":"2026-11-29T02:00:00Z","priority":"normal","reruns":0,)"
    R"("late":false,"compensates":true,"params":{"a":"1"}})";

class RunVerbsTest : public testing::Test {
 protected:
  RunVerbsTest() { cluster_.on("GET /api/v1/cluster", R"({"role":"active"})"); }
  // The request of that kind that was sent last.
  net::HttpRequest lastPost() {
    net::HttpRequest last;
    for (auto& request : cluster_.requests()) {
      if (request.method == "POST") last = request;
    }
    return last;
  }

  FakeCluster cluster_;
};

TEST_F(RunVerbsTest, GetShowsARun) {
  cluster_.on("GET /api/v1/runs/12", kRun);
  EXPECT_EQ(cluster_.run({"run", "get", "12"}), 0) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(),
            "run:         12\n"
            "flow:        f version 3\n"
            "plan time:   2026-11-29T02:00:00Z\n"
            "status:      WAITING\n"
            "waits for:   for run 11\n"
            "trigger:     schedule\n"
            "priority:    normal\n"
            "params:      a=1\n"
            "compensates: yes\n");
  EXPECT_EQ(cluster_.run({"run", "get", "12", "-o", "json"}), 0);
  EXPECT_EQ(*parseJson(cluster_.out.str()), *parseJson(kRun));
  EXPECT_EQ(cluster_.run({"run", "get", "13"}), kExitNotFound);
  EXPECT_EQ(cluster_.run({"run", "get"}), kExitUsage);
}

TEST_F(RunVerbsTest, ListSendsEveryFilter) {
  cluster_.on("GET /api/v1/runs", "{\"items\":[" + kRun + "],\"next_cursor\":null,\"total\":9}");
  EXPECT_EQ(cluster_.run({"run",        "list",
                          "--flow",     "f",
                          "-s",         "WAITING,RUNNING",
                          "--status",   "FAILED",
                          "--trigger",  "manual",
                          "--backfill", "5",
                          "--since",    "2026-11-01T00:00:00Z",
                          "--late",     "-n",
                          "5",          "--cursor",
                          "r-1f",       "--total"}),
            0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.requests()[0].target,
            "/api/v1/runs?flow=f&status=WAITING%2CRUNNING%2CFAILED&trigger=manual&backfill=5"
            "&late=true&plan_from=2026-11-01T00%3A00%3A00Z&limit=5&total=true&cursor=r-1f");
  EXPECT_NE(cluster_.out.str().find("12  f     2026-11-29T02:00:00Z  WAITING  place  "),
            std::string::npos)
      << cluster_.out.str();
  EXPECT_EQ(cluster_.err.str(), "9 in all\n");
  EXPECT_EQ(cluster_.run({"run", "list", "--since", "yesterday"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"run", "list", "--before", "1"}), kExitUsage);
}

// Times of a table are to the second, and what one looks for first is how long it took.
TEST_F(RunVerbsTest, TablesShowHowLongItTook) {
  cluster_.clock.stepWall(*parseRfc3339("2026-11-30T12:00:00Z") - cluster_.clock.wallNow());
  const auto row = [](const std::string& started, const std::string& finished) {
    return Json{{"id", "12"},
                {"flow", "f"},
                {"status", "RUNNING"},
                {"started_at", started},
                {"finished_at", finished.empty() ? Json(nullptr) : Json(finished)}};
  };
  const std::pair<Json, std::string> rows[] = {
      {row("2026-11-30T11:59:59.296974Z", "2026-11-30T12:00:03.5Z"),
       "2026-11-30T11:59:59Z  4.2s\n"},
      {row("2026-11-30T11:50:55.9Z", ""), "2026-11-30T11:50:55Z  9m04s\n"},
      {row("2026-11-30T10:00:00Z", ""), "2026-11-30T10:00:00Z  2h00m\n"},
      {row("2026-11-28T11:00:00Z", ""), "2026-11-28T11:00:00Z  2d01h\n"},
      {row("2026-11-30T12:00:01Z", ""), "2026-11-30T12:00:01Z  0.0s\n"},
      {row("", ""), "-  -\n"}};
  for (const auto& [run, end] : rows) {
    cluster_.on("GET /api/v1/runs",
                dumpJson(Json{{"items", Json::array({run})}, {"next_cursor", nullptr}}));
    EXPECT_EQ(cluster_.run({"run", "list", "--no-header"}), 0);
    EXPECT_TRUE(cluster_.out.str().ends_with(end)) << cluster_.out.str();
  }
}

// A backfill that was a mistake must end with one verb, what waits before what runs.
TEST_F(RunVerbsTest, StopEndsAWholeBackfill) {
  cluster_.on("GET /api/v1/runs", {{200, R"({"items":[{"id":"3"}],"next_cursor":"x"})"},
                                   {200, R"({"items":[{"id":"2"}],"next_cursor":null})"},
                                   {200, R"({"items":[{"id":"1"}],"next_cursor":null})"}});
  for (const char* id : {"1", "3"}) {
    cluster_.on(fmt::format("POST /api/v1/runs/{}/stop", id),
                fmt::format(R"({{"id":"{}","status":"TERMINATED"}})", id));
  }
  cluster_.on("POST /api/v1/runs/2/stop", {{409, "conflict"}});  // It has ended meanwhile.
  EXPECT_EQ(cluster_.run({"run", "stop", "--backfill", "9"}), 0) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "run 3 TERMINATED\nrun 1 TERMINATED\n");
  EXPECT_EQ(cluster_.requests()[0].target, "/api/v1/runs?backfill=9&status=WAITING&limit=1000");
  EXPECT_EQ(lastPost().target, "/api/v1/runs/1/stop");
  cluster_.on("GET /api/v1/runs", R"({"items":[],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"run", "stop", "--backfill", "9"}), kExitNotFound);
  EXPECT_EQ(cluster_.run({"run", "stop"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"run", "stop", "1", "--backfill", "9"}), kExitUsage);
}

TEST_F(RunVerbsTest, TasksAreListedWithTheirPlace) {
  cluster_.on("GET /api/v1/runs/12/tasks",
              R"x({"items":[{"id":"70","name":"load","status":"QUEUED",)x"
              R"x("needs":["extract (success)"],)x"
              R"x("waiting_for":{"code":"all_runners_busy"}}],"next_cursor":null})x");
  EXPECT_EQ(cluster_.run({"run", "tasks", "12", "--no-header"}), 0);
  EXPECT_EQ(cluster_.out.str(),
            "load  70  QUEUED  all_runners_busy  extract (success)  -  -  -  -  -\n");
  EXPECT_EQ(cluster_.requests()[0].target, "/api/v1/runs/12/tasks");
  EXPECT_EQ(cluster_.run({"run", "tasks", "13"}), kExitNotFound);
}

// What a person or the definition declared a success must be told from one that was.
TEST_F(RunVerbsTest, IgnoredAndForcedAreShown) {
  cluster_.on(
      "GET /api/v1/runs/12/tasks",
      R"({"items":[{"id":"70","name":"a","status":"FAILED","reason":"exit_code","return_code":4,)"
      R"("ignored":true,"forced":false},{"id":"71","name":"b","status":"FINISHED",)"
      R"("reason":"exit_code","return_code":1,"ignored":false,"forced":true},)"
      R"({"id":"72","name":"c","status":"FINISHED","ignored":false,"forced":false},)"
      R"({"id":"73","name":"d","status":"RUNNING","reason":"timeout"}],)"
      R"("next_cursor":null})");
  EXPECT_EQ(cluster_.run({"run", "tasks", "12", "--no-header"}), 0);
  EXPECT_EQ(cluster_.out.str(),
            "a  70  FAILED    exit_code 4, ignored  -  -  -  -  -  -\n"
            "b  71  FINISHED  forced                -  -  -  -  -  -\n"
            "c  72  FINISHED  -                     -  -  -  -  -  -\n"
            "d  73  RUNNING   -                     -  -  -  -  -  -\n")
      << "what an attempt before this one failed of is over";
}

// Explanations come line by line, for runs and tasks alike.
TEST_F(RunVerbsTest, ExplainSaysWhy) {
  const std::string why =
      R"({"status":"WAITING","reasons":["flow f: overlap queue","run 11 runs"]})";
  cluster_.on("GET /api/v1/runs/12/explain", why);
  cluster_.on("GET /api/v1/tasks/70/explain", why);
  EXPECT_EQ(cluster_.run({"run", "explain", "12"}), 0);
  EXPECT_EQ(cluster_.out.str(), "run 12 WAITING\n  flow f: overlap queue\n  run 11 runs\n");
  EXPECT_EQ(cluster_.run({"task", "explain", "70"}), 0);
  EXPECT_EQ(cluster_.out.str().substr(0, 16), "task 70 WAITING\n");
  EXPECT_EQ(cluster_.run({"task", "explain", "70", "-o", "json"}), 0);
  EXPECT_EQ(*parseJson(cluster_.out.str()), *parseJson(why));
  EXPECT_EQ(cluster_.run({"task", "explain", "71"}), kExitNotFound);
  EXPECT_EQ(cluster_.run({"run", "explain"}), kExitUsage);
}

// Every verb must arrive as its own order.
TEST_F(RunVerbsTest, OrdersAreSent) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> verbs = {
      {{"stop", "12"}, ""},
      {{"pause", "12"}, ""},
      {{"resume", "12"}, ""},
      {{"skip", "12"}, ""},
      {{"skip", "12", "--task", "a"}, R"({"task":"a"})"},
      {{"force-success", "12", "--task", "a"}, R"({"task":"a"})"},
      {{"priority", "12", "high"}, R"({"priority":"high"})"},
      {{"rerun", "12"}, R"({"scope":"failed"})"},
      {{"rerun", "12", "--failed"}, R"({"scope":"failed"})"},
      {{"rerun", "12", "--all", "--force"}, R"({"force":true,"scope":"all"})"},
      {{"rerun", "12", "--from", "a"}, R"({"scope":"from","task":"a"})"},
      {{"rerun", "12", "--task", "a"}, R"({"scope":"one","task":"a"})"}};
  for (const auto& [words, body] : verbs) {
    const std::string action = words.front();
    cluster_.on("POST /api/v1/runs/12/" + action, R"({"id":"12","status":"RUNNING"})");
    std::vector<std::string> line{"run"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(cluster_.run(line), 0) << action << cluster_.err.str();
    EXPECT_EQ(cluster_.out.str(), "run 12 RUNNING\n");
    EXPECT_EQ(lastPost().target, "/api/v1/runs/12/" + action);
    EXPECT_EQ(lastPost().body, body);
  }
}

TEST_F(RunVerbsTest, WrongUsageSendsNothing) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"stop"},
                                             {"rerun", "12", "--all", "--failed"},
                                             {"rerun", "12", "--from", "a", "--task", "b"},
                                             {"force-success", "12"},
                                             {"priority", "12"},
                                             {"wait", "12", "--timeout", "x"},
                                             {"nonsense"},
                                             {}}) {
    std::vector<std::string> line{"run"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(cluster_.run(line), kExitUsage) << fmt::format("{}", fmt::join(line, " "));
  }
  EXPECT_TRUE(cluster_.requests().empty());
}

// Refusals keep their exit codes; a rerun is not repeated into the dark.
TEST_F(RunVerbsTest, RefusalsHaveTheirExitCodes) {
  cluster_.on("POST /api/v1/runs/12/pause", {{409, "conflict"}});
  EXPECT_EQ(cluster_.run({"run", "pause", "12"}), kExitRefused);
  cluster_.on("POST /api/v1/runs/12/priority", {{400, "invalid_argument"}});
  EXPECT_EQ(cluster_.run({"run", "priority", "12", "top"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"run", "stop", "13"}), kExitNotFound);
  cluster_.on("GET /api/v1/cluster", R"({"role":"standby"})");
  EXPECT_EQ(cluster_.run({"run", "rerun", "12", "--patience", "1s"}), kExitNoMaster);
  EXPECT_NE(lastPost().target, "/api/v1/runs/12/rerun");
}

TEST_F(RunVerbsTest, WaitEndsWithItsTimeout) {
  cluster_.on("GET /api/v1/runs/12", kRun);
  EXPECT_EQ(cluster_.run({"run", "wait", "12", "--timeout", "30s"}), kExitTimeout);
  EXPECT_EQ(cluster_.err.str(), "baton: run 12 is still WAITING after 30s: for run 11\n");
  cluster_.on("GET /api/v1/runs/12", R"({"id":"12","status":"FINISHED"})");
  EXPECT_EQ(cluster_.run({"run", "wait", "12"}), 0);
  EXPECT_EQ(cluster_.err.str(), "run 12 FINISHED\n");
  EXPECT_EQ(cluster_.run({"run", "wait", "12", "-o", "json"}), 0);
  EXPECT_EQ((*parseJson(cluster_.out.str()))["status"], "FINISHED");
  EXPECT_EQ(cluster_.run({"run", "wait", "13"}), kExitNotFound);
}

// Tasks can be found by their run and flow.
TEST_F(RunVerbsTest, TasksOfARunCanBeListed) {
  cluster_.on("GET /api/v1/tasks", R"({"items":[],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"task", "list", "--run", "12", "--flow", "f"}), 0);
  EXPECT_EQ(cluster_.requests()[0].target, "/api/v1/tasks?run=12&flow=f");
}

// An event is sent once, whatever happens to the answers.
TEST_F(RunVerbsTest, EventsAreSentAndListed) {
  cluster_.on("POST /api/v1/events", {{503, "not_active"},
                                      {201, R"({"id":"9","name":"fx","key":"k","known":false})"},
                                      {200, R"({"id":"9","name":"fx","key":"k","known":true})"}});
  EXPECT_EQ(cluster_.run(
                {"event", "send", "fx", "k", "--data", "rows=5", "--at", "2026-11-29T06:00:00Z"}),
            0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "event 9 (fx, k) stored\n");
  EXPECT_EQ(*parseJson(lastPost().body), (Json{{"name", "fx"},
                                               {"key", "k"},
                                               {"data", {{"rows", "5"}}},
                                               {"happened_at", "2026-11-29T06:00:00Z"}}));
  const auto requests = cluster_.requests();
  EXPECT_EQ(requests[0].headers.get("Idempotency-Key"), requests[1].headers.get("Idempotency-Key"));
  EXPECT_EQ(cluster_.run({"event", "send", "fx", "k"}), 0);
  EXPECT_EQ(cluster_.out.str(), "event 9 (fx, k) was there already; nothing changed\n");
  EXPECT_EQ(cluster_.run({"event", "send", "fx"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"event", "send", "fx", "k", "--data", "x"}), kExitUsage);
  cluster_.on("POST /api/v1/events", {{400, "invalid_argument"}});
  EXPECT_EQ(cluster_.run({"event", "send", "f x", "k"}), kExitUsage);
  cluster_.on(
      "GET /api/v1/events",
      R"({"items":[{"id":"9","name":"fx","key":"k","data":{"a":"b"}}],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"event", "list", "--name", "fx", "--no-header"}), 0);
  EXPECT_EQ(cluster_.out.str(), "9  fx  k  -  a=b\n");
  EXPECT_EQ(cluster_.requests().back().target, "/api/v1/events?name=fx");
  EXPECT_EQ(cluster_.run({"event", "list", "-q", "f", "--key", "k", "--since",
                          "2026-11-28T02:00:00Z", "--before", "2026-11-29T02:00:00Z", "--total"}),
            0);
  EXPECT_EQ(cluster_.requests().back().target,
            "/api/v1/events?q=f&key=k&happened_from=2026-11-28T02%3A00%3A00Z"
            "&happened_before=2026-11-29T02%3A00%3A00Z&total=true");
}

// A missed instant is found and run.
TEST_F(RunVerbsTest, MissedInstantsAreListedAndRun) {
  cluster_.on("GET /api/v1/missed",
              R"({"items":[{"flow":"f","plan_time":"2026-11-28T02:00:00Z","reason":"over_max",)"
              R"("run_id":null,"reason_text":"why"}],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"missed", "list", "--flow", "f", "--no-header"}), 0);
  EXPECT_EQ(cluster_.out.str(), "f  2026-11-28T02:00:00Z  over_max  -  -  why\n");
  EXPECT_EQ(cluster_.run({"missed", "list", "-q", "f", "--reason", "too_old,over_max", "--since",
                          "2026-11-28T02:00:00Z", "--before", "2026-11-29T02:00:00Z", "--total"}),
            0);
  EXPECT_EQ(cluster_.requests().back().target,
            "/api/v1/missed?q=f&reason=too_old%2Cover_max&plan_from=2026-11-28T02%3A00%3A00Z"
            "&plan_before=2026-11-29T02%3A00%3A00Z&total=true");
  EXPECT_EQ(cluster_.run({"missed", "list", "--since", "soon"}), kExitUsage);
  cluster_.on("GET /api/v1/runs", R"({"items":[],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"run", "list", "-q", "f", "--reason", "queue_full", "--principal", "ann",
                          "--created-since", "2026-11-28T02:00:00Z", "--created-before",
                          "2026-11-29T02:00:00Z"}),
            0);
  EXPECT_EQ(cluster_.requests().back().target,
            "/api/v1/runs?q=f&reason=queue_full&principal=ann"
            "&created_from=2026-11-28T02%3A00%3A00Z&created_before=2026-11-29T02%3A00%3A00Z");
  EXPECT_EQ(cluster_.run({"run", "list", "--created-since", "soon"}), kExitUsage);
  cluster_.on("GET /api/v1/missed/explain", R"({"status":"missed","reasons":["over_max: why"]})");
  EXPECT_EQ(cluster_.run({"missed", "explain", "f", "2026-11-28T02:00:00Z"}), 0);
  EXPECT_EQ(cluster_.out.str(), "f 2026-11-28T02:00:00Z missed\n  over_max: why\n");
  EXPECT_EQ(cluster_.requests().back().target,
            "/api/v1/missed/explain?flow=f&plan_time=2026-11-28T02%3A00%3A00Z");
  cluster_.on("POST /api/v1/missed/run", {{201, R"({"id":"12"})"}, {409, "conflict"}});
  EXPECT_EQ(cluster_.run({"missed", "run", "f", "2026-11-28T02:00:00Z"}), 0);
  EXPECT_EQ(cluster_.out.str(), "12\n");
  EXPECT_EQ(lastPost().body, R"({"flow":"f","plan_time":"2026-11-28T02:00:00Z"})");
  EXPECT_FALSE(lastPost().headers.get("Idempotency-Key").empty());
  EXPECT_EQ(cluster_.run({"missed", "run", "f", "2026-11-28T02:00:00Z"}), kExitRefused);
  EXPECT_EQ(cluster_.run({"missed", "run", "f"}), kExitUsage);
}

}  // namespace
}  // namespace baton::cli
