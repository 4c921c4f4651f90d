#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

constexpr const char* kGroup =
    R"({"name":"g 1","limit":4,"weight_in_use":3,"running":2,"queued":7,"window":"22:00-06:00",)"
    R"("time_zone":"UTC","min_priority":null,"open":true,"description":"d","set":true})";

Json bodyOf(const net::HttpRequest& request) { return *parseJson(request.body); }

// What is not named stays as it is, "none" ends it, and a name is escaped.
TEST(LimitVerbsTest, GroupSetChangesOnlyWhatItNames) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/groups/g 1", kGroup);
  cluster.on("PUT /api/v1/groups/g 1", kGroup);
  EXPECT_EQ(cluster.run({"group", "set", "g 1", "--limit", "9"}), 0) << cluster.err.str();
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"limit", 9},
                                                     {"window", "22:00-06:00"},
                                                     {"time_zone", "UTC"},
                                                     {"min_priority", nullptr},
                                                     {"description", "d"}}));
  EXPECT_EQ(cluster.run({"group", "set", "g 1", "--limit", "none", "--window", "none",
                         "--min-priority", "high"}),
            0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"limit", nullptr},
                                                     {"window", nullptr},
                                                     {"time_zone", nullptr},
                                                     {"min_priority", "high"},
                                                     {"description", "d"}}));
  cluster.on("PUT /api/v1/groups/new", kGroup);
  EXPECT_EQ(cluster.run({"group", "set", "new", "--limit", "0"}), 0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"limit", 0}}));
}

// Wrong words are told before anybody is asked.
TEST(LimitVerbsTest, WrongWordsAreUsageErrors) {
  FakeCluster cluster;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"group", "set", "g", "--min-priority", "urgent"},
        {"limit", "set", "host", "h", "-1"},
        {"limit", "set", "host", "h", "two"},
        {"cluster", "limit", "many"},
        {"cluster", "degrade"},
        {"cluster", "degrade", "--off", "--min-priority", "high"},
        {"cluster", "degrade", "--min-priority", "urgent"}}) {
    EXPECT_EQ(cluster.run(words), kExitUsage) << words.back() << cluster.err.str();
  }
  EXPECT_TRUE(cluster.requests().empty());
}

// Lists show what counts against each limit; an unlimited group says none.
TEST(LimitVerbsTest, ListsShowUseBesideTheLimit) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/groups", std::string(R"({"items":[)") + kGroup +
                                       R"(,{"name":"free","limit":null}],"next_cursor":null})");
  EXPECT_EQ(cluster.run({"group", "list"}), 0);
  EXPECT_NE(cluster.out.str().find("22:00-06:00"), std::string::npos);
  EXPECT_NE(cluster.out.str().find("none"), std::string::npos);
  cluster.on("GET /api/v1/limits",
             R"({"items":[{"kind":"host","name":"db-1","limit":2,"running":1}],)"
             R"("next_cursor":null})");
  EXPECT_EQ(cluster.run({"limit", "list"}), 0);
  EXPECT_NE(cluster.out.str().find("db-1"), std::string::npos);
  EXPECT_EQ(cluster.run({"group", "get", "missing"}), kExitNotFound);
  EXPECT_EQ(cluster.run({"group", "list", "--unset", "--open", "-q", "et", "--name", "etl", "-n",
                         "2", "--total"}),
            0);
  EXPECT_EQ(cluster.requests().back().target,
            "/api/v1/groups?name=etl&q=et&set=false&open=true&limit=2&total=true");
  EXPECT_EQ(cluster.run({"limit", "list", "--kind", "host,user", "--kind", "flow", "-q", "b"}), 0);
  EXPECT_EQ(cluster.requests().back().target, "/api/v1/limits?kind=host%2Cuser%2Cflow&q=b");
  EXPECT_EQ(cluster.run({"group", "list", "--set", "--unset"}), kExitUsage);
  EXPECT_EQ(cluster.run({"group", "list", "--open", "--closed"}), kExitUsage);
}

// The cluster's verbs say what the API wants to hear.
TEST(LimitVerbsTest, TheClusterIsLimitedAndDegraded) {
  FakeCluster cluster;
  const std::string limits = R"({"running_max":5,"min_priority":null})";
  cluster.on("GET /api/v1/cluster", R"({"active":{"address":"h:1"}})");
  cluster.on("GET /api/v1/cluster/limits", limits);
  cluster.on("POST /api/v1/cluster/limit", limits);
  cluster.on("POST /api/v1/cluster/degrade", limits);
  cluster.on("PUT /api/v1/limits/flow/nightly", R"({"kind":"flow","name":"nightly","limit":3})");
  EXPECT_EQ(cluster.run({"cluster", "limit"}), 0);
  EXPECT_EQ(cluster.out.str(), "running_max: 5\n");
  cluster.on("GET /api/v1/cluster/limits", R"({"running_max":0,"running":0})");
  EXPECT_EQ(cluster.run({"cluster", "limit"}), 0);
  EXPECT_EQ(cluster.out.str(), "running:     0\nrunning_max: none\n");
  EXPECT_EQ(cluster.run({"group", "set", "g"}), kExitUsage);
  EXPECT_EQ(cluster.run({"cluster", "limit", "5"}), 0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"running_max", 5}}));
  EXPECT_EQ(cluster.run({"cluster", "limit", "default"}), 0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"running_max", nullptr}}));
  EXPECT_EQ(cluster.run({"cluster", "degrade", "--min-priority", "high", "--group", "g"}), 0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"min_priority", "high"}, {"group", "g"}}));
  EXPECT_EQ(cluster.run({"cluster", "degrade", "--off"}), 0);
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"min_priority", nullptr}}));
  EXPECT_EQ(cluster.run({"limit", "set", "flow", "nightly", "3"}), 0) << cluster.err.str();
  EXPECT_EQ(bodyOf(cluster.requests().back()), Json({{"limit", 3}}));
}

// Whoever changes something must read what was done; JSON stays what the master answers.
TEST(LimitVerbsTest, VerbsSayWhatTheyDid) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/cluster", R"({"role":"active","active":{"address":"h:1"}})");
  cluster.on("GET /api/v1/groups/g", kGroup);
  cluster.on("PUT /api/v1/groups/g", kGroup);
  cluster.on("DELETE /api/v1/groups/g", kGroup);
  cluster.on("PUT /api/v1/limits/host/h", R"({"kind":"host","name":"h","limit":2})");
  cluster.on("DELETE /api/v1/limits/host/h", R"({"kind":"host","name":"h","limit":2})");
  cluster.on("POST /api/v1/cluster/limit", R"({"running_max":5})");
  cluster.on("POST /api/v1/cluster/degrade", R"({"min_priority":"high"})");
  const std::pair<std::vector<std::string>, std::string> said[] = {
      {{"group", "set", "g", "--limit", "4"}, "group g set\n"},
      {{"group", "delete", "g"}, "group g deleted: nothing limits its tasks\n"},
      {{"limit", "set", "host", "h", "2"}, "limit of host h set to 2\n"},
      {{"limit", "delete", "host", "h"}, "limit of host h deleted\n"},
      {{"cluster", "limit", "5"}, "limit of the cluster set to 5\n"},
      {{"cluster", "degrade", "--min-priority", "high"},
       "the cluster starts only tasks of priority high and above\n"},
      {{"cluster", "degrade", "--off", "--group", "g"},
       "group g starts tasks of every priority again\n"}};
  for (const auto& [words, line] : said) {
    EXPECT_EQ(cluster.run(words), 0) << line << cluster.err.str();
    EXPECT_TRUE(cluster.out.str().starts_with(line)) << cluster.out.str();
    std::vector<std::string> as_json = words;
    as_json.insert(as_json.end(), {"-o", "json"});
    EXPECT_EQ(cluster.run(as_json), 0);
    EXPECT_TRUE(parseJson(cluster.out.str()).ok()) << cluster.out.str();
  }
}

// A task names its group and weight; a wrong weight is told at once.
TEST(LimitVerbsTest, ATaskIsSubmittedWithGroupAndWeight) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/tasks", R"({"id":"7"})");
  EXPECT_EQ(cluster.run({"task", "submit", "--group", "g", "--weight", "3", "--", "true"}), 0);
  const Json body = bodyOf(cluster.requests().back());
  EXPECT_EQ(body["group"], "g");
  EXPECT_EQ(body["weight"], 3);
  EXPECT_EQ(cluster.run({"task", "submit", "--weight", "0", "--", "true"}), kExitUsage);
  cluster.on("GET /api/v1/tasks", R"({"items":[],"next_cursor":null})");
  EXPECT_EQ(cluster.run({"task", "list", "--group", "g"}), 0);
  EXPECT_EQ(*cluster.requests().back().findQuery("group"), "g");
}

}  // namespace
}  // namespace baton::cli
