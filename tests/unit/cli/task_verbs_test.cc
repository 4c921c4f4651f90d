#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/task_submit.h"
#include "common/model/task_spec.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

class TaskVerbsTest : public ::testing::Test {
 protected:
  Json sentBody() {
    const auto requests = cluster_.requests();
    CHECK(!requests.empty());
    return *parseJson(requests.front().body);
  }
  FakeCluster cluster_;
};

// Every option of submit must arrive under its wire name, and the id alone on standard output.
TEST_F(TaskVerbsTest, SubmitSendsEveryOption) {
  cluster_.on("POST /api/v1/tasks", {{201, R"({"id":"42"})"}});
  const int code = cluster_.run({"task",
                                 "submit",
                                 "--name",
                                 "n",
                                 "--priority",
                                 "high",
                                 "--label",
                                 "gpu=a",
                                 "-l",
                                 "zone=b",
                                 "--env",
                                 "A=1=2",
                                 "--param",
                                 "P=",
                                 "--timeout",
                                 "90s",
                                 "--retry",
                                 "3",
                                 "--retry-delay",
                                 "2s",
                                 "--not-before",
                                 "2026-11-29T12:00:00Z",
                                 "--hold",
                                 "--tag",
                                 "t1",
                                 "--tag",
                                 "t2",
                                 "--dir",
                                 "/tmp",
                                 "--kill-grace",
                                 "5s",
                                 "--dispatch-timeout",
                                 "1m",
                                 "--callback",
                                 "http://x/y",
                                 "--idempotency-key",
                                 "key-9",
                                 "--",
                                 "echo",
                                 "-l",
                                 "--",
                                 "x"});
  EXPECT_EQ(code, 0) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "42\n");
  const Json wanted = {{"name", "n"},
                       {"priority", "high"},
                       {"labels", {{"gpu", "a"}, {"zone", "b"}}},
                       {"env", {{"A", "1=2"}}},
                       {"params", {{"P", ""}}},
                       {"timeout", "90s"},
                       {"retry", {{"max", 3}, {"delay", "2s"}}},
                       {"not_before", "2026-11-29T12:00:00Z"},
                       {"hold", true},
                       {"tags", {"t1", "t2"}},
                       {"dir", "/tmp"},
                       {"kill_grace", "5s"},
                       {"dispatch_timeout", "1m"},
                       {"callback", {{"url", "http://x/y"}}},
                       {"command", {"echo", "-l", "--", "x"}}};
  EXPECT_EQ(sentBody(), wanted);
  EXPECT_EQ(cluster_.requests()[0].headers.get("Idempotency-Key"), "key-9");
}

// What submit sends must be what the model accepts.
TEST_F(TaskVerbsTest, SubmitIsAcceptedByTheModel) {
  std::istringstream in("echo hi\n");
  SubmitOptions options;
  options.script = "-";
  options.interpreter = "bash  -e";
  options.not_before = "+10m";
  options.retry = "2";
  const auto task = taskFromOptions(options, in, wallFromMicros(1'700'000'000'000'000));
  ASSERT_TRUE(task.ok()) << task.error().text();
  const auto spec = parseTaskSpec(*task);
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_EQ(spec->kind, "script");
  EXPECT_EQ(spec->script, "echo hi\n");
  EXPECT_EQ(spec->interpreter, (std::vector<std::string>{"bash", "-e"}));
  EXPECT_EQ(toMicros(spec->not_before), 1'700'000'600'000'000);
  EXPECT_EQ(spec->policy.retry.max, 2);
}

// Requests and plug-ins: each option under its wire name, and the model takes what is sent.
TEST_F(TaskVerbsTest, SubmitsRequestsAndPlugIns) {
  const auto specOf = [](const SubmitOptions& options, const std::string& input = {}) {
    std::istringstream in(input);
    const auto task = taskFromOptions(options, in, WallTime{});
    return task.ok() ? parseTaskSpec(*task) : Result<TaskSpec>(task.error());
  };
  SubmitOptions request;
  request.http = "http://h/x";
  request.method = "PUT";
  request.headers = {"A: b: c", "B:"};
  request.body = "@-";
  request.expect = "200,3xx";
  request.capture = "answer";
  const auto http = specOf(request, "the body");
  ASSERT_TRUE(http.ok()) << http.error().text();
  EXPECT_EQ(http->kind + http->http.url + http->http.method + http->http.body + http->http.capture,
            "httphttp://h/xPUTthe bodyanswer");
  EXPECT_EQ(http->http.headers, (std::map<std::string, std::string>{{"A", "b: c"}, {"B", ""}}));
  EXPECT_EQ(http->http.expect, (std::vector<std::string>{"200", "3xx"}));
  SubmitOptions plug_in;
  plug_in.kind = "copy";
  EXPECT_EQ(specOf(plug_in)->kind, "copy");
  plug_in.with = R"({"rows": 3})";
  EXPECT_EQ(specOf(plug_in)->with, (Json{{"rows", 3}}));
  plug_in.with = "-";
  EXPECT_EQ(specOf(plug_in, R"({"rows": 4})")->with, (Json{{"rows", 4}}));
  EXPECT_FALSE(specOf(plug_in, "rows").ok());
}

TEST_F(TaskVerbsTest, OptionsOfOtherKindsAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> kRefusals{
      {{"--http", "http://h", "--", "x"}, "--http and a command contradict each other"},
      {{"--kind", "a", "--http", "http://h"}, "--kind and --http contradict each other"},
      {{"--with", "{}", "--", "x"}, "--with belongs to --kind"},
      {{"--capture", "a", "--", "x"}, "belong to --http"},
      {{"--http", "http://h", "--interpreter", "x"}, "--interpreter belongs to --script"},
      {{"--http", "http://h", "--header", "x"}, "expected \"NAME: VALUE\""},
      {{"--kind", "a", "--with", "{"}, "--with: "},
      {{"--file", "x", "--kind", "a"}, "--file holds whole tasks"},
  };
  for (const auto& [options, text] : kRefusals) {
    std::vector<std::string> words{"task", "submit"};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_EQ(cluster_.run(words), kExitUsage) << text;
    EXPECT_NE(cluster_.err.str().find(text), std::string::npos) << cluster_.err.str();
  }
}

// A file may hold one task, a list, or {"tasks"}; lists go in one step.
TEST_F(TaskVerbsTest, FilesOfTasks) {
  cluster_.on("POST /api/v1/tasks", {{201, R"({"id":"1"})"}});
  cluster_.on("POST /api/v1/tasks/bulk", {{201, R"({"ids":["1","2"]})"}});
  EXPECT_EQ(cluster_.run({"task", "submit", "--file", "-"}, R"({"command":["a"]})"), 0);
  EXPECT_EQ(cluster_.out.str(), "1\n");
  EXPECT_EQ(cluster_.run({"task", "submit", "--file", "-"}, R"([{"command":["a"]},{}])"), 0);
  EXPECT_EQ(cluster_.out.str(), "1\n2\n");
  EXPECT_EQ(cluster_.run({"task", "submit", "--file", "-"}, R"({"tasks":[{"command":["a"]}]})"), 0);
  const auto requests = cluster_.requests();
  EXPECT_EQ(requests[0].path, "/api/v1/tasks");
  EXPECT_EQ(requests[1].path, "/api/v1/tasks/bulk");
  EXPECT_EQ(requests[1].body, R"({"tasks":[{"command":["a"]},{}]})");
  EXPECT_EQ(requests[2].path, "/api/v1/tasks/bulk");
}

// Wrong usage must end with 2, a reason, and nothing sent.
TEST_F(TaskVerbsTest, WrongUsageIsTwo) {
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"nonsense"},
      {"task"},
      {"task", "submit"},
      {"task", "submit", "--nonsense"},
      {"task", "submit", "echo", "hi"},
      {"task", "submit", "--label", "nope", "--", "true"},
      {"task", "submit", "--timeout", "10", "--", "true"},
      {"task", "submit", "--retry", "many", "--", "true"},
      {"task", "submit", "--retry-delay", "1s", "--", "true"},
      {"task", "submit", "--not-before", "+soon", "--", "true"},
      {"task", "submit", "--script", "-", "--", "true"},
      {"task", "submit", "--interpreter", "x", "--", "true"},
      {"task", "submit", "--file", "-", "--name", "x"},
      {"task", "submit", "--file", "-"},
      {"task", "get"},
      {"task", "get", "1", "2"},
      {"task", "get", "1", "--", "x"},
      {"task", "logs", "1", "--stream", "stdin"},
      {"task", "logs", "1", "--tail", "0"},
      {"task", "logs", "1", "--follow", "--attempt", "1"},
      {"task", "wait", "1", "--timeout", "long"},
      {"task", "list", "--since", "yesterday"},
      {"task", "get", "1", "-o", "xml"},
      {"task", "get", "1", "--patience", "x"},
      {"task", "get", "1", "--masters", "nohost"}};
  for (const auto& line : lines) {
    EXPECT_EQ(cluster_.run(line), kExitUsage) << fmt::format("{}", fmt::join(line, " "));
    EXPECT_NE(cluster_.err.str(), "") << fmt::format("{}", fmt::join(line, " "));
  }
  EXPECT_TRUE(cluster_.requests().empty());
}

// A file that is not there is "not found", whatever the master would say.
TEST_F(TaskVerbsTest, MissingFileIsThree) {
  EXPECT_EQ(cluster_.run({"task", "submit", "--script", "/nonexistent/x"}), kExitNotFound);
}

// Refusals of the master must become the exit codes of the contract.
TEST_F(TaskVerbsTest, RefusalsHaveTheirExitCodes) {
  const std::pair<int, int> codes[] = {
      {400, kExitUsage},   {401, kExitRefused}, {403, kExitRefused}, {404, kExitNotFound},
      {409, kExitRefused}, {413, kExitUsage},   {500, kExitFailure}};
  for (const auto& [status, code] : codes) {
    cluster_.on("GET /api/v1/tasks/1", {{status, ""}});
    EXPECT_EQ(cluster_.run({"task", "get", "1"}), code) << status;
    EXPECT_NE(cluster_.err.str(), "");
    EXPECT_EQ(cluster_.out.str(), "");
  }
}

// Without an active master the verb must give up after its patience with 5.
TEST_F(TaskVerbsTest, NoActiveMasterIsFive) {
  cluster_.on("GET /api/v1/tasks/1", {{503, "not_active"}});
  const BootTime start = cluster_.clock.bootNow();
  EXPECT_EQ(cluster_.run({"task", "get", "1", "--patience", "2s"}), kExitNoMaster);
  EXPECT_GE(cluster_.clock.bootNow() - start, Millis(2'000));
  EXPECT_LT(cluster_.clock.bootNow() - start, Millis(5'000));
}

// --wait must return the task's own exit code and say how it ended.
TEST_F(TaskVerbsTest, WaitReturnsTheTasksExitCode) {
  const std::pair<std::string, int> ends[] = {
      {R"("status":"FINISHED","return_code":0)", 0},
      {R"("status":"FAILED","reason":"exit_code","return_code":3)", 3},
      {R"("status":"FAILED","reason":"signal","signal":9)", 137},
      {R"("status":"FAILED","reason":"timeout","signal":15)", 124},
      {R"("status":"FAILED","reason":"start_failed","return_code":null)", 1},
      {R"("status":"FAILED","reason":"runner_lost")", 1},
      {R"("status":"TERMINATED","signal":15)", 143},
      {R"("status":"TERMINATED","signal":null)", 1},
      {R"("status":"SKIPPED")", 1},
      {R"("status":"FINISHED","forced":true,"return_code":7)", 0}};
  for (const auto& [end, code] : ends) {
    cluster_.on("POST /api/v1/tasks", {{201, R"({"id":"5"})"}});
    cluster_.on("GET /api/v1/tasks/5", {{200, R"({"id":"5","status":"QUEUED"})"},
                                        {503, "not_active"},
                                        {200, R"({"id":"5","status":"RUNNING"})"},
                                        {200, "{\"id\":\"5\"," + end + "}"}});
    EXPECT_EQ(cluster_.run({"task", "submit", "--wait", "--", "x"}), code) << end;
    EXPECT_EQ(cluster_.out.str(), "5\n");
    EXPECT_NE(cluster_.err.str().find("task 5 "), std::string::npos);
  }
}

// One task as a person looks at it: first things first, the command as a shell has it.
TEST_F(TaskVerbsTest, GetShowsFirstThingsFirst) {
  cluster_.on("GET /api/v1/tasks/5",
              R"({"attempt":1,"command":["sh","-c","echo a,b it's"],"created_at":"2026-11-30",)"
              R"("forced":false,"hold":true,"id":"5","labels":{"gpu":"x"},"name":"n","params":{},)"
              R"("status":"QUEUED","waiting_for":{"code":"hold","text":"it is held"}})");
  EXPECT_EQ(cluster_.run({"task", "get", "5"}), 0);
  EXPECT_EQ(cluster_.out.str(),
            "id:          5\n"
            "name:        n\n"
            "status:      QUEUED\n"
            "waiting_for: hold: it is held\n"
            "command:     sh -c 'echo a,b it'\\''s'\n"
            "attempt:     1\n"
            "created_at:  2026-11-30\n"
            "hold:        true\n"
            "labels:      gpu=x\n");
}

// Who waits must learn why without having to ask again.
TEST_F(TaskVerbsTest, WaitSaysWhy) {
  cluster_.on(
      "GET /api/v1/tasks/5",
      R"({"id":"5","status":"FAILED","reason":"start_failed","reason_text":"no such file"})");
  EXPECT_EQ(cluster_.run({"task", "wait", "5"}), kExitFailure);
  EXPECT_EQ(cluster_.err.str(), "task 5 FAILED (start_failed: no such file)\n");
  cluster_.on("GET /api/v1/tasks/5/logs", R"()");
  EXPECT_EQ(cluster_.run({"task", "logs", "5"}), 0);
  EXPECT_EQ(cluster_.err.str(), "baton: task 5 FAILED (start_failed: no such file)\n");
  cluster_.on("GET /api/v1/tasks/5",
              R"({"id":"5","status":"QUEUED","waiting_for":{"code":"no_runner_matches",)"
              R"("text":"no runner announces the kind x"}})");
  EXPECT_EQ(cluster_.run({"task", "wait", "5", "--timeout", "1s"}), kExitTimeout);
  EXPECT_EQ(cluster_.err.str(),
            "baton: task 5 is still QUEUED after 1s: no runner announces the kind x\n");
}

// Waiting must end with 124 when its own time is over.
TEST_F(TaskVerbsTest, WaitEndsWithItsTimeout) {
  cluster_.on("GET /api/v1/tasks/5", R"({"id":"5","status":"RUNNING"})");
  const BootTime start = cluster_.clock.bootNow();
  EXPECT_EQ(cluster_.run({"task", "wait", "5", "--timeout", "30s"}), kExitTimeout);
  EXPECT_EQ(cluster_.clock.bootNow() - start, Millis(30'000));
  EXPECT_LT(cluster_.requests().size(), 60U) << "it must not poll busily";
}

// A task that ended meanwhile has its output all the same: what was cut says nothing of the rest.
TEST_F(TaskVerbsTest, FollowOutlivesACutAfterTheEnd) {
  cluster_.on("GET /api/v1/tasks/5", {{200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"FINISHED","attempt":1})"}});
  FakeCluster::Answer first{200, "abc"};
  FakeCluster::Answer second{200, "def"};
  first.cut = second.cut = true;
  cluster_.on("GET /api/v1/tasks/5/logs", {first, second, {200, "ghi"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow", "--stream", "stdout"}), 0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "abcdefghi");
  EXPECT_EQ(*cluster_.requests().back().findQuery("offset"), "6");
}

// Logs must be copied byte for byte, each stream to its own.
TEST_F(TaskVerbsTest, LogsAreCopiedByteForByte) {
  const std::string bytes("a\0b\xff\n", 5);
  cluster_.on("GET /api/v1/tasks/5/logs", {{200, bytes, "5"}, {200, "oops\n", "5"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5"}), 0);
  EXPECT_EQ(cluster_.out.str(), bytes);
  EXPECT_EQ(cluster_.err.str(), "oops\n");
}

// A task that never wrote to one of its streams has output all the same.
TEST_F(TaskVerbsTest, StreamThatWasNeverWrittenIsEmpty) {
  cluster_.on("GET /api/v1/tasks/5/logs", {{200, "hi\n", "3"}, {404, "not_found"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5"}), 0);
  EXPECT_EQ(cluster_.out.str(), "hi\n");
  EXPECT_EQ(cluster_.err.str(), "");
  cluster_.on("GET /api/v1/tasks/6/logs", {{404, "not_found"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "6"}), kExitNotFound);
}

// The output of a host that is gone must be told as that, at once.
TEST_F(TaskVerbsTest, LogsOfAHostThatIsGoneEndAtOnce) {
  cluster_.on("GET /api/v1/tasks/5/logs", {{503, "worker_unreachable"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5"}), kExitFailure);
  EXPECT_EQ(cluster_.err.str(), "baton: refused: worker_unreachable\n");
  EXPECT_EQ(cluster_.requests().size(), 1U);
}

// Who follows a living task sees its worker come back; that of an ended one is not waited for.
TEST_F(TaskVerbsTest, FollowOutlivesTheWorkersRestart) {
  cluster_.on("GET /api/v1/tasks/5", {{200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"FINISHED","attempt":1})"}});
  cluster_.on("GET /api/v1/tasks/5/logs", {{503, "worker_unreachable"},
                                           {503, "worker_unreachable"},
                                           {200, "end", "3"},
                                           {200, "", "0"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow"}), 0);
  EXPECT_EQ(cluster_.out.str(), "end");
  EXPECT_EQ(cluster_.err.str(), "baton: refused: worker_unreachable; trying again\n");
  cluster_.on("GET /api/v1/tasks/5/logs", {{503, "worker_unreachable"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow"}), kExitFailure);
}

// A log that comes in pieces must be asked for from where the last one ended.
TEST_F(TaskVerbsTest, LongLogsComeInPieces) {
  cluster_.on("GET /api/v1/tasks/5/logs", {{200, "abc", "7"}, {200, "defg", "7"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--stream", "stdout", "--attempt", "2"}), 0);
  EXPECT_EQ(cluster_.out.str(), "abcdefg");
  const auto requests = cluster_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(*requests[1].findQuery("offset"), "3");
  EXPECT_EQ(*requests[1].findQuery("attempt"), "2");
  EXPECT_EQ(*requests[1].findQuery("stream"), "stdout");
}

// Following must go over to the next attempt and end with the task, without losing its last lines.
TEST_F(TaskVerbsTest, FollowGoesOverRetries) {
  cluster_.on("GET /api/v1/tasks/5", {{200, R"({"id":"5","status":"QUEUED","attempt":0})"},
                                      {200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"RUNNING","attempt":2})"},
                                      {200, R"({"id":"5","status":"FINISHED","attempt":2})"}});
  cluster_.on("GET /api/v1/tasks/5/logs", {{200, "one"},        // Attempt 1.
                                           {404, "not_found"},  // Its standard error.
                                           {200, "two"},        // Attempt 2.
                                           {200, "oops\n"}});
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow"}), 0);
  EXPECT_EQ(cluster_.out.str(), "onetwo");
  EXPECT_EQ(cluster_.err.str(), "baton: attempt 2 of task 5\noops\n");
  for (const net::HttpRequest& request : cluster_.requests()) {
    const bool of_logs = request.path.ends_with("/logs");
    EXPECT_EQ(request.findQuery("follow") != nullptr, of_logs) << request.target;
  }
}

// Whoever follows a task that does not start must be told why, once.
TEST_F(TaskVerbsTest, FollowSaysWhatATaskWaitsFor) {
  std::vector<FakeCluster::Answer> answers(
      30, {200, R"({"id":"5","status":"CREATED","attempt":0,"waiting_for":{"code":"hold"}})"});
  answers.push_back({200, R"({"id":"5","status":"TERMINATED","attempt":0})"});
  cluster_.on("GET /api/v1/tasks/5", answers);
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow"}), 0);
  EXPECT_EQ(cluster_.err.str(), "baton: task 5 is CREATED: hold\n");
}

// An output that was cut (the master was taken over from) must go on at the byte that was reached.
TEST_F(TaskVerbsTest, FollowGoesOnWhereItWasCut) {
  cluster_.on("GET /api/v1/tasks/5", {{200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"RUNNING","attempt":1})"},
                                      {200, R"({"id":"5","status":"FINISHED","attempt":1})"}});
  FakeCluster::Answer cut{200, "abc"};
  cut.cut = true;
  cluster_.on("GET /api/v1/tasks/5/logs", {cut, {503, "not_active"}, {200, "def"}});
  cluster_.terminal = true;
  EXPECT_EQ(cluster_.run({"task", "logs", "5", "--follow", "--stream", "stdout"}), 0)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), "abcdef");
  EXPECT_EQ(cluster_.err.str(),
            "baton: the connection to the master was lost, looking for the active one\n");
  const auto requests = cluster_.requests();
  EXPECT_EQ(*requests.at(1).findQuery("offset"), "0");
  EXPECT_EQ(*requests.at(4).findQuery("offset"), "3");
  EXPECT_EQ(*requests.at(4).findQuery("attempt"), "1");
}

// Filters must go out under the names of the API, ages as times.
TEST_F(TaskVerbsTest, ListSendsFilters) {
  cluster_.on("GET /api/v1/tasks", R"({"items":[],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"task", "list", "-s", "RUNNING,QUEUED", "--status", "失败", "--tag",
                          "a b", "--host", "h", "--since", "1h", "-n", "5", "--total"}),
            0);
  const auto requests = cluster_.requests();
  const net::HttpRequest& request = requests.front();
  EXPECT_EQ(*request.findQuery("status"), "RUNNING,QUEUED,失败");
  EXPECT_EQ(*request.findQuery("tag"), "a b");
  EXPECT_EQ(*request.findQuery("host"), "h");
  EXPECT_EQ(*request.findQuery("limit"), "5");
  EXPECT_EQ(*request.findQuery("total"), "true");
  EXPECT_EQ(*request.findQuery("created_from"),
            formatRfc3339(cluster_.clock.wallNow() - Seconds(3'600)));
  EXPECT_EQ(request.findQuery("name"), nullptr);
}

// --all must follow the cursors to the end and give one list.
TEST_F(TaskVerbsTest, ListFollowsCursors) {
  cluster_.on("GET /api/v1/tasks", {{200, R"({"items":[{"id":"2"}],"next_cursor":"t-2"})"},
                                    {200, R"({"items":[{"id":"1"}],"next_cursor":null})"}});
  EXPECT_EQ(cluster_.run({"task", "list", "--all", "-o", "json"}), 0);
  EXPECT_EQ(*parseJson(cluster_.out.str()),
            *parseJson(R"({"items":[{"id":"2"},{"id":"1"}],"next_cursor":null})"));
  EXPECT_EQ(*cluster_.requests()[1].findQuery("cursor"), "t-2");
}

// Actions must call their address; rerun asks first who leads, because it must not run twice.
TEST_F(TaskVerbsTest, ActionsCallTheirAddress) {
  const std::string task = R"({"id":"5","status":"TERMINATING"})";
  for (const std::string action : {"stop", "hold", "release", "skip"}) {
    cluster_.on("POST /api/v1/tasks/5/" + action, task);
    EXPECT_EQ(cluster_.run({"task", action, "5"}), 0) << action;
    EXPECT_EQ(cluster_.out.str(), "task 5 TERMINATING\n");
  }
  cluster_.on("GET /api/v1/cluster", R"({"role":"active"})");
  cluster_.on("POST /api/v1/tasks/5/rerun", task);
  EXPECT_EQ(cluster_.run({"task", "rerun", "5", "--force"}), 0);
  const auto requests = cluster_.requests();
  EXPECT_EQ(requests[4].path, "/api/v1/cluster");
  EXPECT_EQ(requests[5].body, R"({"force":true})");
}

// An id with strange characters must stay one segment of the path.
TEST_F(TaskVerbsTest, IdsAreEscaped) {
  EXPECT_EQ(cluster_.run({"task", "get", "../../x?y"}), kExitNotFound);
  EXPECT_EQ(cluster_.requests()[0].target, "/api/v1/tasks/..%2F..%2Fx%3Fy");
}

}  // namespace
}  // namespace baton::cli
