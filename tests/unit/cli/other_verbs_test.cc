#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

// Lists must print as tables with and without their head, as JSON and as YAML.
TEST(ClusterVerbsTest, ListsPrintInEveryFormat) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/hosts",
             R"({"items":[{"worker_id":"w1","labels":{"a":"b"},"busy":0}],"next_cursor":null})");
  EXPECT_EQ(cluster.run({"host", "list"}), 0);
  EXPECT_EQ(cluster.out.str().substr(0, 6), "WORKER");
  EXPECT_NE(cluster.out.str().find("a=b"), std::string::npos);
  EXPECT_EQ(cluster.run({"host", "list", "--no-header"}), 0);
  EXPECT_EQ(cluster.out.str().substr(0, 2), "w1");
  ::setenv("BATON_OUTPUT_FORMAT", "yaml", 1);
  EXPECT_EQ(cluster.run({"host", "list"}), 0);
  EXPECT_EQ(cluster.out.str(),
            "items:\n  -\n    busy: 0\n    labels:\n      a: \"b\"\n    worker_id: \"w1\"\n"
            "next_cursor: null\n");
  ::unsetenv("BATON_OUTPUT_FORMAT");
}

// Verify must fail when memory and database differ.
TEST(ClusterVerbsTest, VerifyFailsOnDifferences) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/cluster/verify",
             R"({"tasks_compared":9,"differences":[],"differences_total":0})");
  EXPECT_EQ(cluster.run({"cluster", "verify"}), 0);
  cluster.on("POST /api/v1/cluster/verify",
             R"({"tasks_compared":9,"differences":["x"],"differences_total":1})");
  EXPECT_EQ(cluster.run({"cluster", "verify"}), kExitFailure);
}

// Sync returns when a later term than the one that it ended is open.
TEST(ClusterVerbsTest, SyncWaitsForTheNextTerm) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/cluster/sync", R"({"epoch":3})");
  cluster.on("GET /api/v1/cluster", R"({"epoch":4,"active":{"node_id":"m2"}})");
  cluster.on("GET /api/v1/stats", "{}");
  EXPECT_EQ(cluster.run({"cluster", "sync"}), 0);
  EXPECT_EQ(cluster.out.str(), "all is read again: epoch 4, active m2\n");
  cluster.on("GET /api/v1/cluster", R"({"epoch":3,"active":{"node_id":"m1"}})");
  EXPECT_EQ(cluster.run({"cluster", "sync"}), kExitFailure);
  EXPECT_NE(cluster.err.str().find("epoch 3"), std::string::npos);
}

// The version must be one line, or its parts.
TEST(CommandLineTest, VersionHasParts) {
  FakeCluster cluster;
  EXPECT_EQ(cluster.run({"version"}), 0);
  EXPECT_EQ(cluster.out.str(), "baton " BATON_VERSION "\n");
  EXPECT_EQ(cluster.run({"version", "-o", "json"}), 0);
  EXPECT_EQ((*parseJson(cluster.out.str()))["version"], BATON_VERSION);
}

// Verbs whose program is not linked in must not exist; the others get checked settings.
TEST(CommandLineTest, ProgramsGetTheirSettings) {
  FakeCluster cluster;
  EXPECT_EQ(cluster.run({"standalone"}), kExitUsage);
  Programs programs;
  conf::StandaloneConfig seen;
  programs.standalone = [&](const conf::StandaloneConfig& config) {
    seen = config;
    return 7;
  };
  EXPECT_EQ(cluster.run({"standalone", "--data-dir", "/d", "--port", "0", "--runners", "9", "--set",
                         "heartbeat.interval=1s"},
                        "", programs),
            7)
      << cluster.err.str();
  EXPECT_EQ(seen.data_dir, "/d");
  EXPECT_EQ(seen.http.port, 0);
  EXPECT_EQ(seen.runners, 9);
  EXPECT_EQ(seen.engine.heartbeat.interval, Millis(1'000));
  EXPECT_EQ(cluster.run({"standalone", "--runners", "010"}, "", programs), kExitUsage);
  EXPECT_EQ(cluster.run({"standalone", "--set", "nonsense"}, "", programs), kExitUsage);
  // What is wrong is told under the name that the person wrote.
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--set", "foo.bar=1"},
            "--set: foo.bar: is no setting of standalone.yaml; `baton config keys` lists all\n"},
           {{"--port", "99999"},
            "--port: http.port: is \"99999\", expected a whole number from 0 to 65535\n"},
           {{"--set", "worker.runners=2"},
            "--set: worker.runners: is no setting of standalone.yaml; did you mean "
            "standalone.runners?\n"}}) {
    std::vector<std::string> arguments = {"standalone"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_EQ(cluster.run(arguments, "", programs), kExitUsage);
    EXPECT_EQ(cluster.err.str(), told);
  }
  EXPECT_EQ(cluster.run({"standalone", "--set", "http.port=1", "--port", "2"}, "", programs), 7);
  EXPECT_EQ(seen.http.port, 2);
  EXPECT_EQ(cluster.run({"standalone", "--config", "/nonexistent"}, "", programs), kExitNotFound);
  std::vector<std::string> arguments;
  programs.shepherd = [&](const std::vector<std::string>& given) {
    arguments = given;
    return 0;
  };
  EXPECT_EQ(cluster.run({"shepherd", "--dir", "/x", "--help"}, "", programs), 0);
  EXPECT_EQ(arguments, (std::vector<std::string>{"--dir", "/x", "--help"}));
}

// What `cluster init` is asked for must arrive, checked.
TEST(CommandLineTest, InitGetsItsOptions) {
  FakeCluster cluster;
  const std::string file =
      std::filesystem::temp_directory_path() / fmt::format("baton-{}-master.yaml", ::getpid());
  const std::string token = file + ".token";
  const std::string worker_token = file + ".worker_token";
  std::ofstream(token) << "0123456789abcdef";
  std::ofstream(worker_token) << "fedcba9876543210";
  ::chmod(token.c_str(), 0600);
  ::chmod(worker_token.c_str(), 0600);
  std::ofstream(file) << fmt::format(
      "zookeeper:\n  hosts: [127.0.0.1:2181]\ndatabase:\n  host: db\nsecurity:\n"
      "  token_file: {}\n  worker_token_file: {}\n",
      token, worker_token);
  Programs programs;
  InitOptions seen;
  programs.cluster_init = [&](const conf::MasterConfig&, const InitOptions& options) {
    seen = options;
    return 0;
  };
  const std::vector<std::string> init{"cluster", "init", "--config", file};
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = init;
    line.insert(line.end(), more.begin(), more.end());
    return cluster.run(line, "", programs);
  };
  EXPECT_EQ(run({}), 0) << cluster.err.str();
  EXPECT_FALSE(seen.adopt);
  EXPECT_FALSE(seen.heartbeat.has_value());
  EXPECT_EQ(run({"--adopt", "--heartbeat", "5s"}), 0);
  EXPECT_TRUE(seen.adopt);
  EXPECT_EQ(seen.heartbeat, Millis(5'000));
  EXPECT_EQ(run({"--heartbeat", "1ms"}), kExitUsage);
  for (const std::string& made : {file, token, worker_token}) std::filesystem::remove(made);
}

// `config check` must say what is wrong with file, line and key, and need no master.
TEST(ConfigVerbsTest, CheckSaysWhatIsWrong) {
  FakeCluster cluster;
  const std::string file =
      std::filesystem::temp_directory_path() / fmt::format("baton-{}-standalone.yaml", ::getpid());
  std::ofstream(file) << "http:\n  port: 010\n";
  EXPECT_EQ(cluster.run({"config", "check", file}), kExitUsage);
  EXPECT_NE(cluster.err.str().find(file + ":2: http.port: is \"010\""), std::string::npos);
  std::ofstream(file) << "http:\n  port: 10\n";
  EXPECT_EQ(cluster.run({"config", "check", file}), 0);
  EXPECT_EQ(cluster.run({"config", "check", file, "--program", "nonsense"}), kExitUsage);
  std::filesystem::remove(file);
  EXPECT_EQ(cluster.run({"config", "check", file}), kExitNotFound);
  EXPECT_EQ(cluster.run({"config", "keys", "-o", "json"}), 0);
  EXPECT_GT(parseJson(cluster.out.str())->size(), 40U);
  EXPECT_TRUE(cluster.requests().empty());
}

// Nothing that a task's owner wrote may steer the terminal of who lists it.
TEST(OutputTest, ControlCharactersAreMadeHarmless) {
  std::ostringstream out;
  printTable(out, {memberColumn("NAME", "name")},
             *parseJson("[{\"name\":\"a\\u001b[31m\\u009b\\nb\"}]"), false);
  EXPECT_EQ(out.str(), "a?[31m??b\n");
}

// Columns must stay straight with wide characters.
TEST(OutputTest, WideCharactersCountDouble) {
  std::ostringstream out;
  printTable(out, {memberColumn("A", "a"), memberColumn("B", "b")},
             *parseJson(R"([{"a":"执行","b":1},{"a":"abcd","b":null}])"), true);
  EXPECT_EQ(out.str(), "A     B\n执行  1\nabcd  -\n");
}

// YAML must keep texts texts: "no", "010" and "" are quoted.
TEST(OutputTest, YamlKeepsTypes) {
  std::ostringstream out;
  printYaml(out, *parseJson(R"({"no":"no","n":10,"t":"010","e":"","l":[],"x":[1,["a"]]})"));
  EXPECT_EQ(out.str(),
            "e: \"\"\nl: []\n\"n\": 10\n\"no\": \"no\"\nt: \"010\"\nx:\n  - 1\n  -\n    - \"a\"\n");
}

}  // namespace
}  // namespace baton::cli
