#include <gtest/gtest.h>

#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

using master::api::TaskCommand;

class TaskApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    tasks_.known[7] = sample(7);
  }
  static master::api::TaskView sample(TaskId id) {
    master::api::TaskView view;
    view.record.name = "nightly";
    view.record.kind = "command";
    view.record.spec = R"({"kind":"command","command":["a","b"],"env":{"X":"1"}})";
    TaskPolicy policy;
    policy.retry.max = 3;
    policy.timeout = Millis(90'000);
    view.record.policy = policyToText(policy);
    view.record.tags = {"etl"};
    view.record.created_at = wallFromMicros(1'700'000'000'000'000);
    view.record.outputs = R"({"rows":"5"})";
    view.record.state.id = id;
    view.record.state.status = TaskStatus::Queued;
    view.waiting_for = WaitingCode::AllRunnersBusy;
    view.waiting_text = "all 4 runners are busy";
    return view;
  }
};

// A task is shown with what was submitted, what became of it and why it waits.
TEST_F(TaskApiTest, ATaskIsShownWhole) {
  const auto response = get("/api/v1/tasks/7");
  ASSERT_EQ(response.status, 200) << response.body;
  const Json task = jsonOf(response);
  EXPECT_EQ(task["id"], "7");
  EXPECT_EQ(task["status"], "QUEUED");
  EXPECT_EQ(task["command"], Json({"a", "b"}));
  EXPECT_EQ(task["env"]["X"], "1");
  EXPECT_EQ(task["timeout"], "90s");
  EXPECT_EQ(task["retry"]["max"], 3);
  EXPECT_EQ(task["tags"], Json::array({"etl"}));
  EXPECT_EQ(task["outputs"]["rows"], "5");
  EXPECT_EQ(task["waiting_for"]["code"], "all_runners_busy");
  EXPECT_EQ(task["waiting_for"]["text"], "all 4 runners are busy");
  EXPECT_EQ(task["created_at"], "2023-11-14T22:13:20Z");
  for (const char* name : {"reason", "runner_id", "return_code", "signal", "queued_at",
                           "started_at", "finished_at", "run_id", "flow", "not_before"}) {
    ASSERT_TRUE(task.contains(name)) << name;
    EXPECT_TRUE(task[name].is_null()) << name;
  }
}

// A task of a run names it and its flow.
TEST_F(TaskApiTest, ATaskOfARunNamesIt) {
  tasks_.known[7].record.run_id = 12;
  tasks_.known[7].record.flow = "nightly";
  const Json task = jsonOf(get("/api/v1/tasks/7"));
  EXPECT_EQ(task["run_id"], "12");
  EXPECT_EQ(task["flow"], "nightly");
}

// A task that ended shows how.
TEST_F(TaskApiTest, AFailedTaskShowsItsReason) {
  TaskState& state = tasks_.known[7].record.state;
  state.status = TaskStatus::Failed;
  state.reason = FailureReason::ExitCode;
  state.reason_text = "exit code 3";
  state.return_code = 3;
  state.attempt = 2;
  state.runner_id = "h1:0";
  tasks_.known[7].waiting_for = WaitingCode::None;
  const Json task = jsonOf(get("/api/v1/tasks/7"));
  EXPECT_EQ(task["reason"], "exit_code");
  EXPECT_EQ(task["return_code"], 3);
  EXPECT_EQ(task["runner_id"], "h1:0");
  EXPECT_TRUE(task["waiting_for"].is_null());
}

// What no task can be called is not found, and so is a task that is not there.
TEST_F(TaskApiTest, UnknownTasksAreNotFound) {
  for (const char* id : {"8", "0", "007", "-1", "abc", "..", "%2e%2e", "99999999999999999999"}) {
    expectProblem(get(std::string("/api/v1/tasks/").append(id)), 404, "not_found");
  }
}

// Each action reaches the port as itself and answers the task.
TEST_F(TaskApiTest, ActionsReachThePort) {
  const std::vector<std::pair<const char*, TaskCommand>> actions = {
      {"stop", TaskCommand::Stop},   {"skip", TaskCommand::Skip},
      {"hold", TaskCommand::Hold},   {"release", TaskCommand::Release},
      {"rerun", TaskCommand::Rerun}, {"force-success", TaskCommand::ForceSuccess}};
  for (const auto& [name, command] : actions) {
    const auto response = post(std::string("/api/v1/tasks/7/").append(name));
    ASSERT_EQ(response.status, 200) << name << response.body;
    EXPECT_EQ(jsonOf(response)["id"], "7");
    EXPECT_EQ(tasks_.commands.back().command, command);
    EXPECT_FALSE(tasks_.commands.back().force);
  }
  EXPECT_EQ(post("/api/v1/tasks/7/rerun", R"({"force":true})").status, 200);
  EXPECT_TRUE(tasks_.commands.back().force);
}

// Bodies of actions are as strict as others.
TEST_F(TaskApiTest, ActionsRefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(post("/api/v1/tasks/7/stop", "{}").status, 200);
  tasks_.commands.clear();
  expectProblem(post("/api/v1/tasks/7/stop", R"({"force":true})"), 400, "invalid_argument",
                "force");
  expectProblem(post("/api/v1/tasks/7/rerun", R"({"force":"yes"})"), 400, "invalid_argument",
                "force");
  expectProblem(post("/api/v1/tasks/7/rerun?force=true"), 400, "invalid_argument", "force");
  EXPECT_TRUE(tasks_.commands.empty());
  tasks_.fail = Error::conflict("task 7 is FINISHED");
  expectProblem(post("/api/v1/tasks/7/stop"), 409, "conflict");
}

// Every filter reaches the port; words of other schedulers are understood.
TEST_F(TaskApiTest, FiltersReachThePort) {
  const auto response = get(
      "/api/v1/tasks?status=running,pending&status=FINISHED&priority=high&priority=low&name=n&q=x"
      "&tag=etl&host=h1&runner=h1:0&run=12&flow=nightly&created_from=2026-01-01T00:00:00Z"
      "&created_before=2026-01-02T00:00:00%2B01:00&limit=3&total=true");
  ASSERT_EQ(response.status, 200) << response.body;
  const auto& query = tasks_.last_query;
  EXPECT_EQ(query.statuses, (std::vector<TaskStatus>{TaskStatus::Running, TaskStatus::Created,
                                                     TaskStatus::Finished}));
  EXPECT_EQ(query.priorities, (std::vector<Priority>{Priority::High, Priority::Low}));
  EXPECT_EQ(query.name, "n");
  EXPECT_EQ(query.text, "x");
  EXPECT_EQ(query.tag, "etl");
  EXPECT_EQ(query.host, "h1");
  EXPECT_EQ(query.runner_id, "h1:0");
  EXPECT_EQ(query.run_id, 12u);
  EXPECT_EQ(query.flow, "nightly");
  EXPECT_EQ(formatRfc3339(query.created_from), "2026-01-01T00:00:00Z");
  EXPECT_EQ(formatRfc3339(query.created_before), "2026-01-01T23:00:00Z");
  EXPECT_EQ(query.limit, 3u);
  EXPECT_TRUE(query.total);
}

// A word that names a reason too becomes both, alone.
TEST_F(TaskApiTest, AStatusWordMayNameAReason) {
  ASSERT_EQ(get("/api/v1/tasks?status=timeout").status, 200);
  EXPECT_EQ(tasks_.last_query.statuses, std::vector<TaskStatus>{TaskStatus::Failed});
  EXPECT_EQ(tasks_.last_query.reason, FailureReason::Timeout);
  expectProblem(get("/api/v1/tasks?status=timeout,running"), 400, "invalid_argument", "status");
  expectProblem(get("/api/v1/tasks?status=timeout&reason=oom"), 400, "invalid_argument", "reason");
  EXPECT_FALSE(tasks_.last_query.ignored.has_value());
  // 忽略失败: failures that are ignored, and no others.
  const std::string ignored = "/api/v1/tasks?status=%E5%BF%BD%E7%95%A5%E5%A4%B1%E8%B4%A5";
  ASSERT_EQ(get(ignored).status, 200);
  EXPECT_EQ(tasks_.last_query.statuses, std::vector<TaskStatus>{TaskStatus::Failed});
  EXPECT_EQ(tasks_.last_query.ignored, true);
  expectProblem(get(ignored + ",running"), 400, "invalid_argument", "status");
  expectProblem(get(ignored + "&ignored=false"), 400, "invalid_argument", "ignored");
  ASSERT_EQ(get("/api/v1/tasks?ignored=false").status, 200);
  EXPECT_EQ(tasks_.last_query.ignored, false);
}

// The cursor of a page leads to the next one; the last page has none.
TEST_F(TaskApiTest, PagesAreJoinedByTheCursor) {
  tasks_.list.items = {sample(300), sample(299)};
  tasks_.list.more = true;
  tasks_.list.total = 17;
  for (auto& item : tasks_.list.items) item.record.spec.clear();
  const Json page = jsonOf(get("/api/v1/tasks?limit=2&total=true"));
  EXPECT_EQ(page["items"].size(), 2u);
  EXPECT_EQ(page["total"], 17);
  const std::string cursor = page["next_cursor"];
  tasks_.list.more = false;
  const Json last = jsonOf(get(std::string("/api/v1/tasks?cursor=").append(cursor)));
  EXPECT_EQ(tasks_.last_query.before, 299u);
  EXPECT_TRUE(last["next_cursor"].is_null());
}

// A filter that can't be right is refused by name and never ignored.
TEST_F(TaskApiTest, BadFiltersAreRefused) {
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"colour=red", "colour"},
      {"status=sleeping", "status"},
      {"status=", "status"},
      {"status=running,,queued", "status"},
      {"priority=urgent", "priority"},
      {"reason=bad", "reason"},
      {"limit=0", "limit"},
      {"limit=1001", "limit"},
      {"limit=-1", "limit"},
      {"limit=+5", "limit"},
      {"limit=1e2", "limit"},
      {"limit=", "limit"},
      {"limit=99999999999999999999", "limit"},
      {"total=1", "total"},
      {"cursor=7", "cursor"},
      {"cursor=t-zz", "cursor"},
      {"cursor=t-0", "cursor"},
      {"created_from=yesterday", "created_from"},
      {"run=x", "run"},
      {"run=0", "run"},
      {"flow=", "flow"},
      {"name=", "name"},
      {"name=a&name=b", "name"},
      {"name=%ff", "name"}};
  for (const auto& [query, field] : bad) {
    SCOPED_TRACE(query);
    expectProblem(get(std::string("/api/v1/tasks?").append(query)), 400, "invalid_argument", field);
  }
  // What is known is said beside what is not.
  const std::pair<const char*, const char*> known[] = {
      {"status=FOO",
       "status: \"FOO\" is not one of CREATED, QUEUED, DISPATCHED, RUNNING, CALLBACK, FINISHED, "
       "FAILED, SKIPPED, TERMINATING, TERMINATED, RETRYING"},
      {"priority=urgent", "priority: \"urgent\" is not one of low, normal, high, critical"},
      {"reason=bad", "reason: \"bad\" is not one of exit_code, signal, timeout, oom, "},
      {"colour=red", "colour: is not a parameter of this address; known are status, priority, "}};
  for (const auto& [query, said] : known) {
    const std::string detail = jsonOf(get(std::string("/api/v1/tasks?").append(query)))["detail"];
    EXPECT_TRUE(detail.starts_with(said)) << detail;
  }
}

// Attempts are shown in order with what came late.
TEST_F(TaskApiTest, AttemptsAreShown) {
  AttemptRecord attempt;
  attempt.task_id = 7;
  attempt.number = 1;
  attempt.nonce = "secret-nonce";
  attempt.runner_id = "h1:0";
  attempt.status = AttemptStatus::Failed;
  attempt.reason = FailureReason::RunnerLost;
  attempt.epoch = 3;
  attempt.late_report = R"({"return_code":0})";
  tasks_.tries[7] = {attempt};
  const auto response = get("/api/v1/tasks/7/attempts");
  const Json item = jsonOf(response)["items"].at(0);
  EXPECT_EQ(item["attempt"], 1);
  EXPECT_EQ(item["status"], "FAILED");
  EXPECT_EQ(item["reason"], "runner_lost");
  EXPECT_EQ(item["late_report"]["return_code"], 0);
  EXPECT_EQ(response.body.find("secret-nonce"), std::string::npos);
}

// A stored row that makes no sense is our fault and says so without its text.
TEST_F(TaskApiTest, ACorruptRowIsAnInternalError) {
  tasks_.known[7].record.spec = "{broken";
  expectProblem(get("/api/v1/tasks/7"), 500, "internal");
}

// A GET with a body is not what its sender thinks it is.
TEST_F(TaskApiTest, ReadsTakeNoBody) {
  expectProblem(send("GET", "/api/v1/tasks/7", "{}"), 400, "invalid_argument");
}

}  // namespace
}  // namespace baton::webapi::test
