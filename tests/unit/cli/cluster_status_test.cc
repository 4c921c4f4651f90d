#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

// What a master says of the cluster: `role` and `state` are its own, m1 is at `active`.
std::string statusOf(const std::string& node, const std::string& role, const std::string& state,
                     const std::string& active, const std::string& more = {}) {
  return fmt::format(
      R"({{"cluster":"c","epoch":8,"node_id":"{}","role":"{}","state":"{}",)"
      R"("active":{{"node_id":"m1","address":"{}","since":"2026"}},"masters":[)"
      R"({{"node_id":"m1","role":"active","state":"ACTIVE","address":"{}","health":"ok"}},)"
      R"({{"node_id":"m2","role":"standby","state":"STANDBY","address":"x","health":"ok"}}]{}}})",
      node, role, state, active, active, more);
}

class ClusterStatusTest : public testing::Test {
 protected:
  void standby(const std::string& more = {}) {
    second_.on("GET /api/v1/cluster", statusOf("m2", "standby", "STANDBY", first_.address(), more));
  }
  void active(const std::string& state = "ACTIVE", const std::string& more = {}) {
    first_.on("GET /api/v1/cluster", statusOf("m1", "active", state, first_.address(), more));
  }
  bool said(const std::string& text) const {
    return second_.out.str().find(text) != std::string::npos;
  }
  bool warned(const std::string& text) const {
    return second_.err.str().find(text) != std::string::npos;
  }

  FakeCluster first_;
  FakeCluster second_;  // The one that is configured.
};

// Status must name the active one, and end with 5 when nobody leads.
TEST_F(ClusterStatusTest, NamesTheActive) {
  first_.on("GET /api/v1/cluster", statusOf("m1", "active", "ACTIVE", first_.address()));
  EXPECT_EQ(first_.run({"--masters", first_.address(), "cluster", "status"}), 0);
  EXPECT_NE(first_.out.str().find("active  m1 at " + first_.address() + " since 2026\n"),
            std::string::npos)
      << first_.out.str();
  EXPECT_NE(first_.out.str().find("NODE"), std::string::npos);
  EXPECT_EQ(first_.out.str().find("degraded"), std::string::npos);
  EXPECT_EQ(first_.err.str(), "");
  EXPECT_EQ(first_.run({"--masters", first_.address(), "cluster", "status", "-o", "json"}), 0);
  EXPECT_EQ((*parseJson(first_.out.str()))["epoch"], 8);
  first_.on("GET /api/v1/cluster",
            R"({"cluster":"c","epoch":8,"node_id":"m1","role":"standby","active":null})");
  EXPECT_EQ(first_.run({"--masters", first_.address(), "cluster", "status"}), kExitNoMaster);
  EXPECT_NE(first_.out.str().find("active  none"), std::string::npos);
}

// What holds the queue back and what troubles the active one must be seen, whoever is asked.
TEST_F(ClusterStatusTest, AsksTheActiveOneThatAStandbyNames) {
  standby();
  active("ACTIVE_ISOLATED", R"(,"alarm":"ZooKeeper is away","min_priority":"high")");
  EXPECT_EQ(second_.run({"cluster", "status"}), 0) << second_.err.str();
  EXPECT_TRUE(said("degraded: only tasks of priority high and above")) << second_.out.str();
  EXPECT_TRUE(said("alarm   m1: ZooKeeper is away"));
  EXPECT_TRUE(said("ACTIVE_ISOLATED")) << "its own word counts";
  EXPECT_EQ(second_.run({"cluster", "status", "-o", "json"}), 0);
  EXPECT_EQ((*parseJson(second_.out.str()))["node_id"], "m1");
  standby(R"(,"alarm":"the disk is full")");
  EXPECT_EQ(second_.run({"cluster", "status", "-o", "json"}), 0);
  EXPECT_TRUE(warned("baton: alarm of m2: the disk is full")) << second_.err.str();
}

// A standby that remembers a leader which is gone must not make all look well.
TEST_F(ClusterStatusTest, ALeaderThatIsGoneIsNoLeader) {
  const std::string gone = "127.0.0.1:1";
  second_.on("GET /api/v1/cluster", statusOf("m2", "standby", "STANDBY", gone));
  EXPECT_EQ(second_.run({"--masters", second_.address() + "," + gone, "cluster", "status"}),
            kExitNoMaster);
  EXPECT_TRUE(said("as last known; it does not answer")) << second_.out.str();
  EXPECT_TRUE(said("no answer"));
  EXPECT_TRUE(warned("baton: can't connect to 127.0.0.1:1: Connection refused\n"))
      << second_.err.str();
  EXPECT_TRUE(warned("no master that answers leads"));
}

// With nobody there it must say so at once, and of each why; a refused token is that.
TEST_F(ClusterStatusTest, NobodyIsWaitedFor) {
  const BootTime began = second_.clock.bootNow();
  EXPECT_EQ(second_.run({"--masters", "127.0.0.1:1,127.0.0.1:2", "cluster", "status"}),
            kExitNoMaster);
  EXPECT_EQ(second_.err.str(),
            "baton: can't connect to 127.0.0.1:1: Connection refused\n"
            "baton: can't connect to 127.0.0.1:2: Connection refused\n"
            "baton: no master answers\n");
  EXPECT_EQ(second_.clock.bootNow(), began) << "no pause";
  second_.on("GET /api/v1/cluster", {{401, "unauthenticated"}});
  EXPECT_EQ(second_.run({"cluster", "status"}), kExitRefused);
}

// A person who waits must learn what for; a file must not.
TEST_F(ClusterStatusTest, OtherVerbsSayThatTheySearch) {
  const std::vector<std::string> verb = {"--masters", "127.0.0.1:1", "--patience",
                                         "10s",       "task",        "list"};
  EXPECT_EQ(second_.run(verb), kExitNoMaster);
  EXPECT_FALSE(warned("yet")) << second_.err.str();
  EXPECT_TRUE(warned("within 10 s (can't connect to 127.0.0.1:1: Connection refused)"))
      << second_.err.str();
  second_.terminal = true;
  EXPECT_EQ(second_.run(verb), kExitNoMaster);
  EXPECT_TRUE(
      warned("baton: no active master yet (can't connect to 127.0.0.1:1: Connection "
             "refused), trying for another "))
      << second_.err.str();
}

// Who closes a pipe has seen enough; any other output that can't be written is a failure.
TEST_F(ClusterStatusTest, AReaderThatIsGoneIsNoError) {
  standby();
  active();
  const auto runOnBrokenOutput = [&] {
    std::istringstream in;
    std::ostream broken(nullptr);
    second_.err.str("");
    Surroundings surroundings{
        in, broken, second_.err, second_.clock, [](Millis) {}, false, second_.reader_gone};
    return cli::run({"cluster", "status"}, {}, surroundings);
  };
  EXPECT_EQ(runOnBrokenOutput(), kExitFailure);
  EXPECT_TRUE(warned("standard output can't be written"));
  second_.reader_gone = [] { return true; };
  EXPECT_EQ(runOnBrokenOutput(), kExitReaderGone);
  EXPECT_EQ(second_.err.str(), "");
}

}  // namespace
}  // namespace baton::cli
