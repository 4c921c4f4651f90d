#include <gtest/gtest.h>

#include <set>

#include "tests/unit/webapi/web_fixture.h"
#include "webapi/cluster_json.h"
#include "webapi/open_api.h"

namespace baton::webapi::test {
namespace {

using Verb = master::api::HostChange::Verb;

class HostApiTest : public WebTest {};

// Each verb reaches the port with what was said, and the hosts that it covers come back.
TEST_F(HostApiTest, WhatOperatorsSayReachesTheMaster) {
  master::api::HostView host;
  host.worker_id = "w1";
  host.state = "draining";
  host.busy = 2;
  host.health = "healthy";
  host.reason = "disk";
  hosts_.host_list = {host};
  const Json drained = jsonOf(post("/api/v1/hosts/w1/drain", R"({"reason":"disk"})"));
  EXPECT_EQ(drained["items"].at(0)["state"], "draining");
  EXPECT_EQ(drained["items"].at(0)["busy"], 2);
  EXPECT_EQ(drained["items"].at(0)["reason"], "disk");
  EXPECT_EQ(post("/api/v1/hosts/a.b%3Ac/exclude").status, 200);
  EXPECT_EQ(post("/api/v1/hosts/w1/include", "{}").status, 200);
  EXPECT_EQ(post("/api/v1/hosts/w1/unregister").status, 200);
  EXPECT_EQ(post("/api/v1/hosts/w1/labels", R"({"labels":{"a":"b","c":null}})").status, 200);
  ASSERT_EQ(hosts_.changes.size(), 5u);
  EXPECT_EQ(hosts_.changes[0].verb, Verb::Drain);
  EXPECT_EQ(hosts_.changes[0].reason, "disk");
  EXPECT_EQ(hosts_.changes[1].verb, Verb::Exclude);
  EXPECT_EQ(hosts_.changes[1].host, "a.b:c");
  EXPECT_EQ(hosts_.changes[2].verb, Verb::Include);
  EXPECT_EQ(hosts_.changes[3].verb, Verb::Unregister);
  EXPECT_EQ(hosts_.changes[4].labels.at("a"), "b");
  EXPECT_FALSE(hosts_.changes[4].labels.at("c").has_value());
}

// What can't be right is refused by name before the master hears of it.
TEST_F(HostApiTest, WrongRequestsAreRefused) {
  expectProblem(post("/api/v1/hosts/w1/drain", R"({"why":"x"})"), 400, "invalid_argument", "why");
  expectProblem(post("/api/v1/hosts/w1/drain", R"({"reason":"a\nb"})"), 400, "invalid_argument",
                "reason");
  const std::string longest(257, 'x');
  expectProblem(post("/api/v1/hosts/w1/drain", "{\"reason\":\"" + longest + "\"}"), 400,
                "invalid_argument", "reason");
  expectProblem(post("/api/v1/hosts/" + longest + "/drain"), 400, "invalid_argument", "host");
  expectProblem(post("/api/v1/hosts/a%0Ab/drain"), 400, "invalid_argument", "host");
  expectProblem(post("/api/v1/hosts/%2E%2E/drain"), 400, "invalid_argument", "host");
  expectProblem(post("/api/v1/hosts/w1/labels", R"({"labels":{}})"), 400, "invalid_argument",
                "labels");
  expectProblem(post("/api/v1/hosts/w1/labels", R"({"labels":{"a":"no blanks"}})"), 400,
                "invalid_argument", "labels.a");
  expectProblem(post("/api/v1/hosts/w1/labels", R"({"labels":{"a":1}})"), 400, "invalid_argument",
                "labels.a");
  expectProblem(post("/api/v1/hosts/w1/labels", R"({"labels":{"kind.http":"x"}})"), 400,
                "invalid_argument", "labels.kind.http");
  expectProblem(post("/api/v1/hosts/policy", "{}"), 400, "invalid_argument");
  expectProblem(post("/api/v1/hosts/policy", R"({"min_version":7})"), 400, "invalid_argument",
                "min_version");
  expectProblem(post("/api/v1/hosts/policy", R"({"white_list":"on"})"), 400, "invalid_argument",
                "white_list");
  EXPECT_TRUE(hosts_.changes.empty());
  EXPECT_TRUE(hosts_.policy_changes.empty());
  hosts_.fail = Error::conflict("worker w1 has 2 open attempts; expected none");
  expectProblem(post("/api/v1/hosts/w1/unregister"), 409, "conflict");
}

// The policy is changed part by part; null takes a version back.
TEST_F(HostApiTest, ThePolicyIsShownAndChanged) {
  hosts_.host_policy = {.white_list = true, .min_version = "", .unapproved = 3, .outdated = 0};
  const Json policy = jsonOf(get("/api/v1/hosts/policy"));
  EXPECT_EQ(policy["white_list"], true);
  EXPECT_TRUE(policy["min_version"].is_null());
  EXPECT_EQ(policy["unapproved"], 3);
  EXPECT_EQ(post("/api/v1/hosts/policy", R"({"white_list":false})").status, 200);
  EXPECT_EQ(post("/api/v1/hosts/policy", R"({"min_version":"1.2.0"})").status, 200);
  EXPECT_EQ(post("/api/v1/hosts/policy", R"({"min_version":null})").status, 200);
  ASSERT_EQ(hosts_.policy_changes.size(), 3u);
  EXPECT_EQ(hosts_.policy_changes[0].white_list, false);
  EXPECT_FALSE(hosts_.policy_changes[0].min_version.has_value());
  EXPECT_EQ(hosts_.policy_changes[1].min_version, "1.2.0");
  EXPECT_EQ(hosts_.policy_changes[2].min_version, "");
}

// A host has the fields that its schema promises, and no others.
TEST_F(HostApiTest, TheHostSchemaIsWhatIsShown) {
  std::set<std::string> shown, documented;
  const Json host = hostToJson({});
  const Json schemas = openApiSchemas();
  for (const auto& [name, value] : host.items()) shown.insert(name);
  for (const auto& [name, schema] : schemas["Host"]["properties"].items()) documented.insert(name);
  EXPECT_EQ(shown, documented);
}

}  // namespace
}  // namespace baton::webapi::test
