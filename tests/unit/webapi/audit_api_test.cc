#include <gtest/gtest.h>

#include <set>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/open_api.h"

namespace baton::webapi::test {
namespace {

class AuditApiTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    AuditRecord row;
    row.id = 31;
    row.at = *parseRfc3339("2026-11-29T06:00:00Z");
    row.principal = "client";
    row.remote = "10.0.0.7";
    row.request_id = "r-1";
    row.action = "task.stop";
    row.object = "42";
    row.params = R"({"force":true})";
    row.before = R"({"status":"RUNNING"})";
    row.after = R"({"status":"TERMINATING"})";
    audit_.list.items = {row};
  }
};

TEST_F(AuditApiTest, RowsAreShownWhole) {
  const Json page = jsonOf(get("/api/v1/audit"));
  EXPECT_EQ(page["items"][0], (Json{{"id", "31"},
                                    {"at", "2026-11-29T06:00:00Z"},
                                    {"principal", "client"},
                                    {"remote", "10.0.0.7"},
                                    {"request_id", "r-1"},
                                    {"action", "task.stop"},
                                    {"object", "42"},
                                    {"outcome", "done"},
                                    {"detail", nullptr},
                                    {"params", {{"force", true}}},
                                    {"before", {{"status", "RUNNING"}}},
                                    {"after", {{"status", "TERMINATING"}}}}));
  EXPECT_TRUE(page["next_cursor"].is_null());
  std::set<std::string> shown;
  for (const auto& [name, value] : page["items"][0].items()) shown.insert(name);
  std::set<std::string> documented;
  const Json schemas = openApiSchemas();
  for (const auto& [name, schema] : schemas["Audit"]["properties"].items()) {
    documented.insert(name);
  }
  EXPECT_EQ(shown, documented);
  audit_.list.items[0].refused = true;
  audit_.list.items[0].detail = "task 42 is FINISHED";
  audit_.list.items[0].after.clear();
  const Json refused = jsonOf(get("/api/v1/audit"))["items"][0];
  EXPECT_EQ(refused["outcome"], "refused");
  EXPECT_EQ(refused["detail"], "task 42 is FINISHED");
  EXPECT_TRUE(refused["after"].is_null());
  audit_.list.items[0].params = "broken";
  expectProblem(get("/api/v1/audit"), 500, "internal");
}

TEST_F(AuditApiTest, EveryFilterReachesTheMaster) {
  audit_.list.more = true;
  audit_.list.total = 8;
  const Json page = jsonOf(
      get("/api/v1/audit?kind=task&action=task.stop&object=42&principal=client&request_id=r-1"
          "&outcome=refused&from=2026-11-01T00:00:00Z&before=2026-12-01T00:00:00Z&limit=7"
          "&total=true"));
  EXPECT_EQ(page["total"], 8);
  const auto asked = audit_.asked;
  EXPECT_EQ(asked.kind, "task");
  EXPECT_EQ(asked.action, "task.stop");
  EXPECT_EQ(asked.object, "42");
  EXPECT_EQ(asked.principal, "client");
  EXPECT_EQ(asked.request_id, "r-1");
  EXPECT_EQ(asked.refused, true);
  EXPECT_EQ(asked.from, *parseRfc3339("2026-11-01T00:00:00Z"));
  EXPECT_EQ(asked.until, *parseRfc3339("2026-12-01T00:00:00Z"));
  EXPECT_EQ(asked.limit, 7U);
  EXPECT_TRUE(asked.total);
  EXPECT_EQ(asked.before, 0U);
  get("/api/v1/audit?outcome=done&cursor=" + page["next_cursor"].get<std::string>());
  EXPECT_EQ(audit_.asked.before, 31U);
  EXPECT_EQ(audit_.asked.refused, false);
}

TEST_F(AuditApiTest, WrongFiltersAreRefusedByName) {
  for (const auto& [query, field] :
       std::vector<std::pair<std::string, std::string>>{{"outcome=maybe", "outcome"},
                                                        {"from=yesterday", "from"},
                                                        {"before=1", "before"},
                                                        {"limit=0", "limit"},
                                                        {"cursor=e-1", "cursor"},
                                                        {"kind=", "kind"},
                                                        {"kind=tasks", "kind"},
                                                        {"action=task.end", "action"},
                                                        {"who=x", "who"}}) {
    SCOPED_TRACE(query);
    expectProblem(get("/api/v1/audit?" + query), 400, "invalid_argument", field);
  }
  EXPECT_EQ(jsonOf(get("/api/v1/audit?kind=tasks"))["detail"],
            "kind: \"tasks\" is not one of task, run, flow, missed, event, calendar, callback, "
            "host, limit, param, cluster");
  EXPECT_EQ(get("/api/v1/audit?kind=callback&action=callback.resend").status, 200);
  audit_.fail = Error(ErrorCode::NotActive, "");
  expectProblem(get("/api/v1/audit"), 503, "not_active");
}

// Orders tell the master who asks and from where; the answer names the request.
TEST_F(AuditApiTest, OrdersCarryTheirRequester) {
  tasks_.known[7].record.state.id = 7;
  tasks_.known[7].record.policy = policyToText({});
  const auto stopped = post("/api/v1/tasks/7/stop", {}, {{"X-Request-Id", "mine-1"}});
  EXPECT_EQ(stopped.status, 200) << stopped.body;
  EXPECT_EQ(stopped.headers.get("X-Request-Id"), "mine-1");
  const auto& request = tasks_.commands.at(0).request;
  EXPECT_EQ(request.principal, "client");
  EXPECT_EQ(request.remote, "127.0.0.1");
  EXPECT_EQ(request.request_id, "mine-1");

  const auto submitted = post("/api/v1/tasks", R"({"command":["x"]})");
  EXPECT_EQ(submitted.status, 201);
  const std::string made(submitted.headers.get("X-Request-Id"));
  EXPECT_EQ(made.size(), 16U);
  EXPECT_EQ(tasks_.submissions.at(0).request.request_id, made);
  EXPECT_EQ(tasks_.submissions.at(0).request.remote, "127.0.0.1");

  post("/api/v1/flows/f/online");
  send("DELETE", "/api/v1/flows/f");
  ASSERT_EQ(flows_.requests.size(), 2U);
  for (const auto& of_flow : flows_.requests) {
    EXPECT_EQ(of_flow.principal, "client");
    EXPECT_EQ(of_flow.remote, "127.0.0.1");
    EXPECT_FALSE(of_flow.request_id.empty());
  }
  // What is no sensible word is not taken over.
  for (const std::string& bad : {std::string(65, 'x'), std::string("a b")}) {
    const auto answer = post("/api/v1/tasks/7/stop", {}, {{"X-Request-Id", bad}});
    EXPECT_NE(answer.headers.get("X-Request-Id"), bad);
    EXPECT_EQ(answer.headers.get("X-Request-Id").size(), 16U);
  }
}

}  // namespace
}  // namespace baton::webapi::test
