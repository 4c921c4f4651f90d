#include "tests/unit/webapi/web_fixture.h"

namespace baton::webapi::test {
namespace {

using master::api::LimitChange;
using master::api::LimitView;
using What = LimitChange::What;

class LimitApiTest : public WebTest {
 protected:
  net::HttpResponse put(const std::string& target, const std::string& body) {
    return send("PUT", target, body);
  }
  const LimitChange& last() { return groups_.changes.back(); }
};

// Every member of a group arrives, and what is left out or null is no limit.
TEST_F(LimitApiTest, AGroupIsSetAsAWhole) {
  const auto answer = put("/api/v1/groups/g.1", R"({"limit":4,"window":"22:00-06:00",
      "time_zone":"Europe/Berlin","min_priority":"high","description":"d"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(last().what, What::Replace);
  EXPECT_EQ(last().record.kind, LimitKind::Group);
  EXPECT_EQ(last().record.name, "g.1");
  EXPECT_EQ(last().record.max, 4);
  EXPECT_EQ(last().record.window, "22:00-06:00");
  EXPECT_EQ(last().record.time_zone, "Europe/Berlin");
  EXPECT_EQ(last().record.min_priority, Priority::High);
  EXPECT_EQ(last().record.description, "d");
  EXPECT_EQ(jsonOf(answer)["limit"], 4);
  ASSERT_EQ(put("/api/v1/groups/g", R"({"limit":null,"window":null,"min_priority":null})").status,
            200);
  EXPECT_FALSE(last().record.max.has_value());
  EXPECT_TRUE(last().record.window.empty());
  EXPECT_FALSE(last().record.min_priority.has_value());
}

// What is wrong is named, and the port is not asked.
TEST_F(LimitApiTest, WrongBodiesAreRefusedByField) {
  expectProblem(put("/api/v1/groups/g", R"({"limit":-1})"), 400, "invalid_argument", "limit");
  expectProblem(put("/api/v1/groups/g", R"({"limit":"4"})"), 400, "invalid_argument", "limit");
  expectProblem(put("/api/v1/groups/g", R"({"min_priority":"urgent"})"), 400, "invalid_argument",
                "min_priority");
  expectProblem(put("/api/v1/groups/g", R"({"max":4})"), 400, "invalid_argument", "max");
  expectProblem(put("/api/v1/groups/g", ""), 400, "invalid_argument");
  expectProblem(put("/api/v1/limits/host/h", R"({})"), 400, "invalid_argument", "limit");
  expectProblem(put("/api/v1/limits/host/h", R"({"limit":null})"), 400, "invalid_argument",
                "limit");
  expectProblem(put("/api/v1/limits/group/g", R"({"limit":1})"), 404, "not_found");
  expectProblem(get("/api/v1/limits/zone/g"), 404, "not_found");
  expectProblem(post("/api/v1/cluster/limit", "{}"), 400, "invalid_argument", "running_max");
  expectProblem(post("/api/v1/cluster/degrade", R"({"group":"g"})"), 400, "invalid_argument",
                "min_priority");
  EXPECT_TRUE(groups_.changes.empty());
}

// Limits of flows, users and hosts, by their decoded names.
TEST_F(LimitApiTest, OtherLimitsAreSetAndTakenAway) {
  ASSERT_EQ(put("/api/v1/limits/user/jo%20b", R"({"limit":0})").status, 200);
  EXPECT_EQ(last().record.kind, LimitKind::User);
  EXPECT_EQ(last().record.name, "jo b");
  EXPECT_EQ(last().record.max, 0);
  ASSERT_EQ(send("DELETE", "/api/v1/limits/host/h1").status, 200);
  EXPECT_EQ(last().what, What::Remove);
  EXPECT_EQ(last().record.kind, LimitKind::Host);
  ASSERT_EQ(send("DELETE", "/api/v1/groups/g").status, 200);
  EXPECT_EQ(last().record.kind, LimitKind::Group);
}

// The cluster's own: a number or the setting, a priority or everything.
TEST_F(LimitApiTest, TheClusterIsLimitedAndDegraded) {
  ASSERT_EQ(post("/api/v1/cluster/limit", R"({"running_max":5})").status, 200);
  EXPECT_EQ(last().what, What::Max);
  EXPECT_EQ(last().record.kind, LimitKind::Cluster);
  EXPECT_EQ(last().record.max, 5);
  ASSERT_EQ(post("/api/v1/cluster/limit", R"({"running_max":null})").status, 200);
  EXPECT_FALSE(last().record.max.has_value());
  ASSERT_EQ(post("/api/v1/cluster/degrade", R"({"min_priority":"critical"})").status, 200);
  EXPECT_EQ(last().what, What::MinPriority);
  EXPECT_EQ(last().record.kind, LimitKind::Cluster);
  EXPECT_EQ(last().record.min_priority, Priority::Critical);
  ASSERT_EQ(post("/api/v1/cluster/degrade", R"({"min_priority":null,"group":"g"})").status, 200);
  EXPECT_EQ(last().record.kind, LimitKind::Group);
  EXPECT_EQ(last().record.name, "g");
  EXPECT_FALSE(last().record.min_priority.has_value());
}

// What runs and waits is shown beside the limit.
TEST_F(LimitApiTest, LimitsAreShownWithWhatCountsAgainstThem) {
  LimitView group;
  group.record = {.kind = LimitKind::Group, .name = "g", .max = 4, .min_priority = Priority::High};
  group.in_use = 3;
  group.running = 2;
  group.queued = 9;
  LimitView bare;
  bare.record.name = "h";
  bare.has_row = false;
  LimitView host;
  host.record = {.kind = LimitKind::Host, .name = "db-1", .max = 2};
  LimitView cluster;
  cluster.record = {.kind = LimitKind::Cluster};
  cluster.configured = 50;
  groups_.views = {group, bare, host, cluster};
  const Json list = jsonOf(get("/api/v1/groups"));
  ASSERT_EQ(list["items"].size(), 2U);
  EXPECT_EQ(list["items"][0]["weight_in_use"], 3);
  EXPECT_EQ(list["items"][0]["min_priority"], "high");
  EXPECT_EQ(list["items"][0]["queued"], 9);
  EXPECT_EQ(list["items"][1]["set"], false);
  EXPECT_TRUE(list["items"][1]["limit"].is_null());
  EXPECT_EQ(jsonOf(get("/api/v1/groups/g"))["running"], 2);
  expectProblem(get("/api/v1/groups/x"), 404, "not_found");
  const Json others = jsonOf(get("/api/v1/limits"));
  ASSERT_EQ(others["items"].size(), 1U);
  EXPECT_EQ(others["items"][0]["kind"], "host");
  EXPECT_EQ(jsonOf(get("/api/v1/cluster/limits"))["running_max"], 50);
}

// A list of tasks goes by group.
TEST_F(LimitApiTest, TasksAreListedByGroup) {
  ASSERT_EQ(get("/api/v1/tasks?group=g").status, 200);
  EXPECT_EQ(tasks_.last_query.group, "g");
}

}  // namespace
}  // namespace baton::webapi::test
