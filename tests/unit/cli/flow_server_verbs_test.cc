#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"
#include "tests/unit/conf/temporary_folder.h"

namespace baton::cli {
namespace {

const std::string kText = "flow: f\ntasks:\n  a: {command: [x]}\n";
const std::string kProblem =
    R"({"status":400,"code":"invalid_definition","detail":"the definition is wrong",)"
    R"("errors":[{"file":"f","line":3,"column":21,"key":"tasks.a.timout",)"
    R"("message":"is not a known key"}],)"
    R"("warnings":[{"file":"f","line":4,"column":1,"key":"","message":"is odd"}]})";

std::string applied(const std::string& name, bool created, bool changed) {
  return Json{{"name", name},
              {"version", 2},
              {"online", true},
              {"next_at", "2026-11-30T01:00:00Z"},
              {"created", created},
              {"changed", changed},
              {"changes", changed && !created ? Json::array({"task b added"}) : Json::array()},
              {"warnings", Json::array()}}
      .dump();
}

std::string appliedAll(const std::vector<std::string>& items) {
  Json answer = {{"items", Json::array()}};
  for (const std::string& item : items) answer["items"].push_back(*parseJson(item));
  return answer.dump();
}

class FlowServerVerbsTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text = kText) {
    return folder_.write(name, text);
  }
  Json bodyOf(size_t index) { return *parseJson(cluster_.requests().at(index).body); }

  FakeCluster cluster_;
  conf::TemporaryFolder folder_;
};

// All files must go out in one request, so that they are stored together or not at all.
TEST_F(FlowServerVerbsTest, ApplySendsAllAtOnce) {
  cluster_.on("POST /api/v1/flows/apply",
              appliedAll({applied("f", true, true), applied("g", false, true)}));
  const std::string f = file("f.yaml");
  EXPECT_EQ(cluster_.run({"flow", "apply", f, file("g.yaml", "flow: g\n"), "--online"}), 0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(),
            "flow f version 2 created, online, next 2026-11-30T01:00:00Z\n"
            "flow g version 2 stored, online, next 2026-11-30T01:00:00Z\n  task b added\n");
  const auto requests = cluster_.requests();
  EXPECT_EQ(requests.back().target, "/api/v1/flows/apply");
  EXPECT_EQ(requests.back().headers.get("Idempotency-Key").size(), 36U);
  const Json body = *parseJson(requests.back().body);
  EXPECT_EQ(body["online"], true);
  EXPECT_FALSE(body.contains("dry_run"));
  ASSERT_EQ(body["flows"].size(), 2U);
  EXPECT_EQ(body["flows"][0], (Json{{"file", f}, {"text", kText}}));
  EXPECT_EQ(body["flows"][1]["text"], "flow: g\n");
  for (const auto& request : requests) EXPECT_NE(request.method, "PUT");
}

// A failover before the answer must be ridden out with the same key.
TEST_F(FlowServerVerbsTest, ApplyRidesOutAFailover) {
  cluster_.on("POST /api/v1/flows/apply",
              {{503, "not_active"}, {200, appliedAll({applied("f", false, false)})}});
  EXPECT_EQ(cluster_.run({"flow", "apply", "-", "--offline"}, kText), 0) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "flow f version 2 unchanged, online, next 2026-11-30T01:00:00Z\n");
  const auto requests = cluster_.requests();
  ASSERT_GE(requests.size(), 2U);
  const Json body = *parseJson(requests.back().body);
  EXPECT_EQ(body["online"], false);
  EXPECT_EQ(body["flows"][0]["file"], "standard input");
  EXPECT_EQ(requests.front().headers.get("Idempotency-Key"),
            requests.back().headers.get("Idempotency-Key"));
}

// What is wrong must be told with file, line and column, and that nothing was applied.
TEST_F(FlowServerVerbsTest, ApplyIsAllOrNothing) {
  const std::string wrong = file("wrong.yaml");
  const std::string problem =
      R"({"status":400,"code":"invalid_definition","detail":"the definition is wrong",)"
      R"("errors":[{"file":")" +
      wrong +
      R"(","line":3,"column":21,"key":"tasks.a.timout","message":"is not a known key"}],)"
      R"("warnings":[{"file":")" +
      wrong + R"(","line":4,"column":1,"key":"","message":"is odd"}]})";
  cluster_.on("POST /api/v1/flows/apply", {FakeCluster::Answer{400, "", "", problem}});
  EXPECT_EQ(cluster_.run({"flow", "apply", file("f.yaml"), wrong}), kExitUsage);
  EXPECT_EQ(cluster_.err.str(), wrong + ":3:21: tasks.a.timout: is not a known key\n" + wrong +
                                    ":4:1: warning: is odd\nbaton: nothing was applied\n");
  EXPECT_EQ(cluster_.out.str(), "");
}

// A file that is not there, or no text, must keep the others from being sent.
TEST_F(FlowServerVerbsTest, ApplyRefusesMissingFiles) {
  const std::string none = folder_.path() + "/none";
  EXPECT_EQ(cluster_.run({"flow", "apply", file("f.yaml"), none}), kExitNotFound);
  EXPECT_NE(cluster_.err.str().find("nothing was applied"), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "apply", "-"}, "flow: \xff\n"), kExitUsage);
  EXPECT_NE(cluster_.err.str().find("standard input: is no UTF-8 text"), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "apply"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"flow", "apply", "-", "--online", "--offline"}, kText), kExitUsage);
  for (const auto& request : cluster_.requests()) EXPECT_NE(request.method, "POST");
}

// A dry run must be one for the master, and say what would be.
TEST_F(FlowServerVerbsTest, ApplyCanBeTried) {
  cluster_.on("POST /api/v1/flows/apply", appliedAll({applied("f", false, true)}));
  EXPECT_EQ(cluster_.run({"flow", "apply", "-", "--dry-run"}, kText), 0);
  EXPECT_EQ(cluster_.out.str(), "flow f would change\n  task b added\n");
  EXPECT_EQ((*parseJson(cluster_.requests().back().body))["dry_run"], true);
  EXPECT_EQ(cluster_.run({"flow", "apply", "-", "--dry-run", "-o", "json"}, kText), 0);
  EXPECT_EQ((*parseJson(cluster_.out.str()))["items"][0]["name"], "f");
}

// What the master refuses to store keeps its exit code.
TEST_F(FlowServerVerbsTest, ApplyTellsARefusal) {
  cluster_.on("POST /api/v1/flows/apply", {{409, "conflict"}});
  EXPECT_EQ(cluster_.run({"flow", "apply", file("f.yaml"), file("g.yaml")}), kExitRefused);
  EXPECT_NE(cluster_.err.str().find("refused: conflict"), std::string::npos);
  EXPECT_NE(cluster_.err.str().find("nothing was applied"), std::string::npos);
  cluster_.on("POST /api/v1/flows/apply", {{413, "too_large"}});
  EXPECT_EQ(cluster_.run({"flow", "apply", "-"}, kText), kExitUsage);
  cluster_.on("POST /api/v1/flows/apply", {{403, "permission_denied"}});
  EXPECT_EQ(cluster_.run({"flow", "apply", "-"}, kText), kExitRefused);
}

// diff of one file asks the master; its exit codes are 0, 1 and 255.
TEST_F(FlowServerVerbsTest, DiffComparesWithTheMaster) {
  const std::string f = file("f.yaml");
  cluster_.on("POST /api/v1/flows/validate", applied("f", false, false));
  EXPECT_EQ(cluster_.run({"flow", "diff", f}), 0);
  EXPECT_EQ(cluster_.out.str(), "");
  cluster_.on("POST /api/v1/flows/validate", applied("f", false, true));
  EXPECT_EQ(cluster_.run({"flow", "diff", f}), 1);
  EXPECT_EQ(cluster_.out.str(), "task b added\n");
  cluster_.on("POST /api/v1/flows/validate", applied("f", true, true));
  EXPECT_EQ(cluster_.run({"flow", "diff", f, "-o", "json"}), 1);
  EXPECT_EQ(*parseJson(cluster_.out.str()), (Json{{"items", Json::array({"flow f is new"})}}));
  cluster_.on("POST /api/v1/flows/validate", {FakeCluster::Answer{400, "", "", kProblem}});
  EXPECT_EQ(cluster_.run({"flow", "diff", f}), 255);
  EXPECT_NE(cluster_.err.str().find(f + ":3:21: "), std::string::npos);
  cluster_.on("POST /api/v1/flows/validate", {{401, ""}});
  EXPECT_EQ(cluster_.run({"flow", "diff", f}), 255);
  EXPECT_EQ(cluster_.run({"flow", "diff", folder_.path() + "/none"}), 255);
  EXPECT_EQ(cluster_.run({"flow", "diff", f, "--masters", "nohost"}), 255);
}

const std::string kFlow =
    R"({"name":"f","version":2,"newest_version":3,"author":"client","changed_at":"2026-11-01T00:00:00Z",)"
    R"("online":true,"online_since":"2026-11-02T00:00:00Z","schedule":"0 2 * * * UTC",)"
    R"("next_at":"2026-11-30T02:00:00Z","last_success":null,"live_runs":1,"text":"flow: f",)"
    R"("next_instants":["2026-11-30T02:00:00Z","2026-12-01T02:00:00Z"]})";

// get shows the facts, or the definition as it was stored.
TEST_F(FlowServerVerbsTest, GetShowsAFlow) {
  cluster_.on("GET /api/v1/flows/f", kFlow);
  EXPECT_EQ(cluster_.run({"flow", "get", "f", "--version", "2"}), 0) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(),
            "flow:            f\n"
            "version:         2 (the newest is 3) by client at 2026-11-01T00:00:00Z\n"
            "state:           online since 2026-11-02T00:00:00Z\n"
            "schedule:        0 2 * * * UTC\n"
            "next:            2026-11-30T02:00:00Z\n"
            "by this version: 2026-11-30T02:00:00Z\n"
            "                 2026-12-01T02:00:00Z\n"
            "live runs:       1\n");
  EXPECT_EQ(cluster_.requests().back().target, "/api/v1/flows/f?version=2");
  EXPECT_EQ(cluster_.run({"flow", "get", "f", "-o", "json"}), 0);
  EXPECT_EQ((*parseJson(cluster_.out.str()))["version"], 2);
  cluster_.on("GET /api/v1/flows/f", kText.substr(0, kText.size() - 1));
  EXPECT_EQ(cluster_.run({"flow", "get", "f", "-o", "yaml"}), 0);
  EXPECT_EQ(cluster_.out.str(), kText);
  EXPECT_EQ(cluster_.requests().back().headers.get("Accept"), "application/yaml");
  EXPECT_EQ(cluster_.run({"flow", "get", "other"}), kExitNotFound);
  EXPECT_EQ(cluster_.run({"flow", "get"}), kExitUsage);
}

// Lists go by pages, with filters.
TEST_F(FlowServerVerbsTest, FlowsAndVersionsAreListed) {
  cluster_.on("GET /api/v1/flows", {{200, "{\"items\":[" + kFlow + "],\"next_cursor\":\"f-f\"}"},
                                    {200, R"({"items":[],"next_cursor":null})"}});
  EXPECT_EQ(cluster_.run({"flow", "list", "--online", "-q", "f", "--all"}), 0);
  EXPECT_NE(cluster_.out.str().find("f     2        online  0 2 * * * UTC"), std::string::npos)
      << cluster_.out.str();
  const auto requests = cluster_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].target, "/api/v1/flows?q=f&online=true&limit=1000&cursor=f-f");
  EXPECT_EQ(cluster_.run({"flow", "list", "--owner", "me", "-t", "dwh", "--total"}), 0);
  EXPECT_EQ(cluster_.requests().back().target, "/api/v1/flows?owner=me&tag=dwh&total=true");
  EXPECT_EQ(cluster_.run({"flow", "list", "--online", "--offline"}), kExitUsage);
  cluster_.on("GET /api/v1/flows/f/versions",
              R"({"items":[{"version":3,"author":"client"}],"next_cursor":"v-3"})");
  EXPECT_EQ(cluster_.run({"flow", "versions", "f", "-n", "1", "--no-header"}), 0);
  EXPECT_EQ(cluster_.out.str(), "3  client  -\n");
  EXPECT_NE(cluster_.err.str().find("--cursor v-3"), std::string::npos);
}

TEST_F(FlowServerVerbsTest, OnlineAndOfflineTakeSeveral) {
  cluster_.on("POST /api/v1/flows/f/online", kFlow);
  cluster_.on("POST /api/v1/flows/f/offline", kFlow);
  EXPECT_EQ(cluster_.run({"flow", "online", "other", "f"}), kExitNotFound);
  EXPECT_EQ(cluster_.out.str(), "flow f online, next 2026-11-30T02:00:00Z\n");
  EXPECT_EQ(cluster_.run({"flow", "offline", "f"}), 0);
  EXPECT_EQ(cluster_.out.str(), "flow f offline\n");
}

// Nothing is deleted before a person or -y has said so.
TEST_F(FlowServerVerbsTest, DeleteAsks) {
  cluster_.on("GET /api/v1/cluster", R"({"role":"active"})");
  cluster_.on("DELETE /api/v1/flows/f", kFlow);
  EXPECT_EQ(cluster_.run({"flow", "delete", "f"}, "y\n"), kExitNotFound);
  cluster_.on("GET /api/v1/flows/f", kFlow);
  EXPECT_EQ(cluster_.run({"flow", "delete", "f"}, "y\n"), kExitUsage) << "no terminal";
  EXPECT_EQ(cluster_.requests().size(), 2U);
  cluster_.terminal = true;
  EXPECT_EQ(cluster_.run({"flow", "delete", "f"}, "\n"), kExitFailure);
  EXPECT_EQ(cluster_.run({"flow", "delete", "f"}, ""), kExitFailure);
  EXPECT_EQ(cluster_.requests().size(), 2U);
  EXPECT_EQ(cluster_.run({"flow", "delete", "f"}, "y\n"), 0);
  EXPECT_NE(cluster_.err.str().find("Delete flow f with its schedule"), std::string::npos);
  cluster_.terminal = false;
  EXPECT_EQ(cluster_.run({"flow", "delete", "f", "-y"}), 0);
  EXPECT_EQ(cluster_.out.str(), "flow f deleted\n");
  EXPECT_EQ(cluster_.run({"flow", "delete", "other", "-y"}), kExitNotFound);
  // Who is left behind is told.
  Json gone = *parseJson(kFlow);
  gone["named_by"] = {"a", "b", "c", "d", "e", "g", "h"};
  cluster_.on("DELETE /api/v1/flows/f", gone.dump());
  EXPECT_EQ(cluster_.run({"flow", "delete", "f", "-y"}), 0);
  EXPECT_NE(cluster_.err.str().find("warning: flow f is named by a, b, c, d, e and 2 more: "),
            std::string::npos)
      << cluster_.err.str();
}

// A trigger sends what was asked for, with a key, and prints the id.
TEST_F(FlowServerVerbsTest, TriggerSendsEveryOption) {
  cluster_.on("POST /api/v1/flows/f/trigger",
              {{503, "not_active"}, {201, R"({"id":"12","status":"RUNNING"})"}});
  EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "-p", "a=1=2", "--param", "b=", "--plan-time",
                          "2026-11-29T02:00:00Z", "--priority", "high"}),
            0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "12\n");
  EXPECT_EQ(bodyOf(1), (Json{{"params", {{"a", "1=2"}, {"b", ""}}},
                             {"plan_time", "2026-11-29T02:00:00Z"},
                             {"priority", "high"}}));
  const auto requests = cluster_.requests();
  EXPECT_FALSE(requests[0].headers.get("Idempotency-Key").empty());
  EXPECT_EQ(requests[0].headers.get("Idempotency-Key"), requests[1].headers.get("Idempotency-Key"));
  EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "--idempotency-key", "k", "-o", "json"}), 0);
  EXPECT_EQ(cluster_.requests().back().headers.get("Idempotency-Key"), "k");
  EXPECT_EQ(cluster_.requests().back().body, "{}");
  EXPECT_EQ((*parseJson(cluster_.out.str()))["id"], "12");
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"flow", "trigger"},
           {"flow", "trigger", "f", "-p", "nope"},
           {"flow", "trigger", "f", "--wait-timeout", "1s"},
           {"flow", "trigger", "f", "--wait", "--wait-timeout", "long"}}) {
    const size_t before = cluster_.requests().size();
    EXPECT_EQ(cluster_.run(wrong), kExitUsage) << fmt::format("{}", fmt::join(wrong, " "));
    EXPECT_EQ(cluster_.requests().size(), before);
  }
  cluster_.on("POST /api/v1/flows/f/trigger", {{400, "invalid_argument"}});
  EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "--plan-time", "x"}), kExitUsage);
}

// A parameter that the definition does not declare is most often a slip: the run begins, with a
// word.
TEST_F(FlowServerVerbsTest, TriggerWarnsOfWhatIsNotDeclared) {
  cluster_.on("POST /api/v1/flows/f/trigger", {{201, R"({"id":"12"})"}});
  const std::string text = "flow: f\nparams: {region: ~, full: no}\ntasks: {a: {command: [x]}}\n";
  cluster_.on("GET /api/v1/flows/f", Json{{"name", "f"}, {"text", text}}.dump());
  EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "-p", "regoin=eu", "-p", "full=yes"}), 0);
  EXPECT_EQ(cluster_.out.str(), "12\n");
  EXPECT_EQ(cluster_.err.str(),
            "baton: warning: flow f declares no parameter regoin; did you mean region?\n");
  EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "-p", "region=eu"}), 0);
  EXPECT_EQ(cluster_.err.str(), "");
}

// What is left to the schedule must be said, not passed over.
TEST_F(FlowServerVerbsTest, BackfillSaysThatTheFutureIsLeftOut) {
  cluster_.on("POST /api/v1/flows/f/backfill", R"({"id":"5","items":[]})");
  const std::vector<std::string> line{"flow", "backfill", "f", "--from", "2023-01-01T00:00:00Z",
                                      "--to"};
  for (const auto& [to, said] :
       {std::pair("2099-01-01T00:00:00Z", true), std::pair("2023-02-01T00:00:00Z", false)}) {
    std::vector<std::string> words = line;
    words.emplace_back(to);
    EXPECT_EQ(cluster_.run(words), 0) << cluster_.err.str();
    EXPECT_EQ(cluster_.err.str().find("--to lies in the future") != std::string::npos, said) << to;
  }
}

// Flows that begin each other must be found without a master too, when they are looked at together.
TEST_F(FlowServerVerbsTest, ValidateLooksAtItsFilesTogether) {
  const auto begunBy = [](const std::string& name, const std::string& source) {
    return "flow: " + name + "\ntrigger: {event: {flow: " + source +
           "}}\ntasks: {a: {command: [x]}}\n";
  };
  const std::string a = file("a.yaml", begunBy("a", "b"));
  const std::string b = file("b.yaml", begunBy("b", "a"));
  const std::string why = "runs of these flows would begin each other, for ever: a -> b -> a";
  EXPECT_EQ(cluster_.run({"flow", "validate", a, b}), kExitUsage);
  EXPECT_NE(cluster_.err.str().find(why), std::string::npos) << cluster_.err.str();
  EXPECT_EQ(cluster_.run({"flow", "validate", a}), 0);
}

// Waiting returns 0 for FINISHED alone, and shows its progress to people.
TEST_F(FlowServerVerbsTest, TriggerWaitsForTheEnd) {
  cluster_.on("POST /api/v1/flows/f/trigger", {{201, R"({"id":"12"})"}});
  cluster_.on("GET /api/v1/runs/12/tasks",
              R"({"items":[{"status":"FINISHED"},{"status":"RUNNING"}],"next_cursor":null})");
  for (const auto& [end, code] : std::vector<std::pair<std::string, int>>{
           {R"("status":"FINISHED")", 0},
           {R"("status":"FAILED","reason":"task_failed","reason_text":"load")", 1},
           {R"("status":"TERMINATED")", 1},
           {R"("status":"SKIPPED","reason":"overlap_skip")", 1}}) {
    cluster_.on("GET /api/v1/runs/12",
                {{200, R"({"id":"12","status":"WAITING","waiting_text":"for run 11"})"},
                 {503, "not_active"},
                 {200, R"({"id":"12","status":"RUNNING"})"},
                 {200, R"({"id":"12","status":"RUNNING"})"},
                 {200, "{\"id\":\"12\"," + end + "}"}});
    cluster_.terminal = code != 0;
    EXPECT_EQ(cluster_.run({"flow", "trigger", "f", "--wait"}), code) << end;
    EXPECT_EQ(cluster_.out.str(), "12\n");
    const std::string progress =
        "run 12 WAITING: for run 11\nrun 12 RUNNING: 1 of 2 tasks ended, 1 running\n";
    const bool shown = cluster_.err.str().find(progress) != std::string::npos;
    EXPECT_EQ(shown, cluster_.terminal) << cluster_.err.str();
  }
  EXPECT_NE(cluster_.err.str().find("run 12 SKIPPED (overlap_skip)\n"), std::string::npos);
}

// A backfill names a range or plan times, and shows what it makes.
TEST_F(FlowServerVerbsTest, BackfillSendsEveryOption) {
  cluster_.on("POST /api/v1/flows/f/backfill",
              R"({"id":"5","items":[{"plan_time":"2026-11-01T02:00:00Z","run_id":"31"}]})");
  cluster_.on("GET /api/v1/flows/f", dumpJson(Json{{"name", "f"}, {"text", kText}}));
  cluster_.clock.stepWall(Seconds(4 * 366 * 86'400));  // Behind these times.
  EXPECT_EQ(cluster_.run({"flow", "backfill", "f", "--from", "2026-11-01T00:00:00Z", "--to",
                          "2026-11-02T00:00:00Z", "--parallel", "3", "--newest-first",
                          "--keep-going", "-p", "a=1"}),
            0)
      << cluster_.err.str();
  EXPECT_EQ(bodyOf(0), (Json{{"from", "2026-11-01T00:00:00Z"},
                             {"to", "2026-11-02T00:00:00Z"},
                             {"parallel", 3},
                             {"newest_first", true},
                             {"keep_going", true},
                             {"dry_run", false},
                             {"params", {{"a", "1"}}}}));
  EXPECT_EQ(cluster_.out.str(), "PLAN_TIME             RUN\n2026-11-01T02:00:00Z  31\n");
  EXPECT_EQ(cluster_.err.str(),
            "backfill 5: 1 run; baton run list --backfill 5\n"
            "baton: warning: overlap of flow f is queue: one of its runs at a time, whatever "
            "--parallel says\n");
  EXPECT_FALSE(cluster_.requests()[0].headers.get("Idempotency-Key").empty());
  EXPECT_EQ(cluster_.run({"flow", "backfill", "f", "--at", "2026-11-01T02:00:00Z", "--at",
                          "2026-11-03T02:00:00Z", "--dry-run"}),
            0);
  EXPECT_EQ(bodyOf(2)["plan_times"].size(), 2U);
  EXPECT_EQ(cluster_.err.str(), "1 run would be made\n");
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{},
                                             {"--from", "2026-11-01T00:00:00Z"},
                                             {"--to", "2026-11-01T00:00:00Z"},
                                             {"--from", "a", "--to", "b", "--at", "c"},
                                             {"--at", "c", "--parallel", "many"},
                                             {"--at", "c", "--parallel", "010"},
                                             {"--at", "c", "-p", "nope"}}) {
    std::vector<std::string> line{"flow", "backfill", "f"};
    line.insert(line.end(), options.begin(), options.end());
    EXPECT_EQ(cluster_.run(line), kExitUsage) << fmt::format("{}", fmt::join(line, " "));
  }
  EXPECT_EQ(cluster_.requests().size(), 3U);
}

// Who takes one kind of definition for the other must learn that in one line.
TEST_F(FlowServerVerbsTest, ACalendarIsNoFlow) {
  const std::string calendar = folder_.write("c.yaml", "# days\ncalendar: cn\nholidays: []\n");
  EXPECT_EQ(cluster_.run({"flow", "apply", calendar}), kExitUsage);
  EXPECT_EQ(cluster_.err.str(), "baton: " + calendar +
                                    ": is a calendar; baton calendar apply stores it\n"
                                    "baton: nothing was applied\n");
  const std::string flow = folder_.write("f.yaml", kText);
  EXPECT_EQ(cluster_.run({"calendar", "apply", flow}), kExitUsage);
  EXPECT_NE(cluster_.err.str().find(flow + ": is a flow; baton flow apply stores it\n"),
            std::string::npos)
      << cluster_.err.str();
  EXPECT_TRUE(cluster_.requests().empty());
}

// A person must see what begins a flow, what it takes and when it is due on the flow's own clock.
TEST_F(FlowServerVerbsTest, GetShowsWhatTheDefinitionSays) {
  const std::string text =
      "flow: f\ndescription: books\ntimezone: Asia/Shanghai\ntrigger: {event: rates}\n"
      "params: {region: eu, day: null}\ndeadline: {finish_by: \"06:30\"}\n"
      "tasks:\n  a: {command: [x]}\n";
  cluster_.on("GET /api/v1/flows/f",
              dumpJson(Json{{"name", "f"},
                            {"version", 1},
                            {"newest_version", 1},
                            {"online", true},
                            {"online_since", "2026-11-30T21:11:13.496974Z"},
                            {"owner", "ann"},
                            {"text", text},
                            {"next_instants", Json::array({"2026-12-31T10:00:00Z"})}}));
  EXPECT_EQ(cluster_.run({"flow", "get", "f"}), 0);
  EXPECT_EQ(cluster_.out.str(),
            "flow:        f\n"
            "version:     1\n"
            "owner:       ann\n"
            "state:       online since 2026-11-30T21:11:13Z\n"
            "next:        2026-12-31T10:00:00Z  2026-12-31T18:00:00+08:00\n"
            "description: books\n"
            "begun by:    event rates\n"
            "finish by:   06:30 Asia/Shanghai\n"
            "overlap:     queue\n"
            "parameters:  day, region\n"
            "tasks:       1\n");
}

}  // namespace
}  // namespace baton::cli
