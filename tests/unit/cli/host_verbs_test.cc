#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

std::string hosts(const std::string& busy, const std::string& state) {
  return R"({"items":[{"worker_id":"w1","host":"h1","state":")" + state + R"(","busy":)" + busy +
         R"(,"held_back":"is drained: disk","reason":"disk"}],"next_cursor":null})";
}

// The words of an operator must arrive as they were said, and the table must say why.
TEST(HostVerbsTest, EachVerbSaysWhatWasAsked) {
  FakeCluster cluster;
  for (const char* action : {"drain", "exclude", "include", "unregister"}) {
    cluster.on(std::string("POST /api/v1/hosts/w1/") + action, hosts("0", "drained"));
  }
  EXPECT_EQ(cluster.run({"host", "drain", "w1", "--reason", "disk"}), 0);
  EXPECT_NE(cluster.out.str().find("is drained: disk"), std::string::npos);
  EXPECT_EQ(cluster.requests().back().body, R"({"reason":"disk"})");
  EXPECT_EQ(cluster.run({"host", "exclude", "w1"}), 0);
  EXPECT_EQ(cluster.requests().back().body, "");
  EXPECT_EQ(cluster.run({"host", "include", "w1"}), 0);
  EXPECT_TRUE(cluster.out.str().starts_with("worker w1: gets tasks\nWORKER"));
  EXPECT_EQ(cluster.run({"host", "unregister", "w1"}), 0);
  EXPECT_EQ(cluster.out.str(), "worker w1: unregistered\n");
  EXPECT_EQ(cluster.run({"host", "unregister", "w1", "--reason", "x"}), kExitUsage);
  EXPECT_EQ(cluster.run({"host", "drain", "nobody"}), kExitNotFound);
  cluster.on("POST /api/v1/hosts/w1/unregister", {{409, "conflict"}});
  EXPECT_EQ(cluster.run({"host", "unregister", "w1"}), kExitRefused);
}

// drain --wait must end when nothing is left, and not before.
TEST(HostVerbsTest, DrainWaitsForTheRunning) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/hosts/h1/drain", hosts("2", "draining"));
  cluster.on(
      "GET /api/v1/hosts",
      {{200, hosts("2", "draining")}, {200, hosts("1", "draining")}, {200, hosts("0", "drained")}});
  EXPECT_EQ(cluster.run({"host", "drain", "h1", "--wait"}), 0);
  EXPECT_EQ(cluster.requests().size(), 5u);
  EXPECT_EQ(cluster.requests()[1].target, "/api/v1/hosts?name=h1&limit=1000");
  EXPECT_NE(cluster.out.str().find("drained"), std::string::npos);
}

// The filters of the list go to the hosts or to the runners, and each knows its own.
TEST(HostVerbsTest, ListsAreFiltered) {
  FakeCluster cluster;
  const std::string none = R"({"items":[],"next_cursor":null,"total":0})";
  cluster.on("GET /api/v1/hosts", none);
  cluster.on("GET /api/v1/runners", none);
  EXPECT_EQ(cluster.run({"host", "list", "-s", "draining,drained", "--health", "dead", "--name",
                         "h1", "-q", "h", "-n", "5", "--total"}),
            0);
  EXPECT_EQ(cluster.requests().back().target,
            "/api/v1/hosts?state=draining%2Cdrained&name=h1&q=h&health=dead&limit=5&total=true");
  EXPECT_NE(cluster.err.str().find("0 in all"), std::string::npos);
  EXPECT_EQ(cluster.run({"host", "list", "--runners", "--state", "idle", "--worker", "w1", "--host",
                         "h1", "--all"}),
            0);
  EXPECT_EQ(cluster.requests().back().target,
            "/api/v1/runners?state=idle&worker=w1&host=h1&limit=1000");
  const size_t sent = cluster.requests().size();
  EXPECT_EQ(cluster.run({"host", "list", "--runners", "--health", "dead"}), kExitUsage);
  EXPECT_EQ(cluster.run({"host", "list", "--host", "h1"}), kExitUsage);
  EXPECT_NE(cluster.err.str().find("--host goes with --runners"), std::string::npos);
  EXPECT_EQ(cluster.run({"host", "list", "--worker", "w1"}), kExitUsage);
  EXPECT_EQ(cluster.requests().size(), sent);
}

// Labels are set with = and removed with -; anything else is wrong usage and is not sent.
TEST(HostVerbsTest, LabelsAreSetAndRemoved) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/hosts/w1/labels", hosts("0", "active"));
  EXPECT_EQ(cluster.run({"host", "label", "w1", "pool=etl", "old-"}), 0);
  EXPECT_EQ((*parseJson(cluster.requests().back().body)),
            (Json{{"labels", {{"pool", "etl"}, {"old", nullptr}}}}));
  const size_t sent = cluster.requests().size();
  for (const char* wrong : {"pool", "=x", "a=", "a=b c", "a b-"}) {
    EXPECT_EQ(cluster.run({"host", "label", "w1", wrong}), kExitUsage) << wrong;
    EXPECT_NE(cluster.err.str().find(wrong), std::string::npos) << wrong;
  }
  EXPECT_EQ(cluster.requests().size(), sent);
}

// The list of tasks says which of them stay too long where they are.
TEST(HostVerbsTest, AStuckTaskIsListedAsSuch) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/tasks",
             R"x({"items":[{"id":"7","name":"t","status":"DISPATCHED","stuck":true,)x"
             R"x("waiting_for":null}],"next_cursor":null})x");
  EXPECT_EQ(cluster.run({"task", "list", "--no-header"}), 0);
  EXPECT_NE(cluster.out.str().find("DISPATCHED  stuck"), std::string::npos) << cluster.out.str();
}

// The switches say what they now are, and how many workers they keep back.
TEST(HostVerbsTest, ThePolicyIsShownAndChanged) {
  FakeCluster cluster;
  const std::string policy =
      R"({"white_list":true,"min_version":"1.2.0","unapproved":2,"outdated":0})";
  cluster.on("GET /api/v1/hosts/policy", policy);
  cluster.on("POST /api/v1/hosts/policy", policy);
  EXPECT_EQ(cluster.run({"host", "policy"}), 0);
  EXPECT_EQ(cluster.out.str(), "white list on, version at least 1.2.0; 2 workers are not on it\n");
  EXPECT_EQ(cluster.run({"host", "whitelist", "on"}), 0);
  EXPECT_EQ(cluster.requests().back().body, R"({"white_list":true})");
  EXPECT_EQ(cluster.run({"host", "whitelist", "maybe"}), kExitUsage);
  EXPECT_EQ(cluster.run({"host", "min-version", "1.2.0"}), 0);
  EXPECT_EQ(cluster.requests().back().body, R"({"min_version":"1.2.0"})");
  EXPECT_EQ(cluster.run({"host", "min-version", "none"}), 0);
  EXPECT_EQ(cluster.requests().back().body, R"({"min_version":null})");
}

}  // namespace
}  // namespace baton::cli
