#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

constexpr const char* kAuditPage =
    R"({"items":[{"id":"31","at":"2026-11-29T06:00:00Z","principal":"client","remote":"10.0.0.7",)"
    R"("action":"task.stop","object":"42","outcome":"refused","detail":"task 42 is FINISHED",)"
    R"("params":{"force":true}},)"
    R"({"id":"30","at":"2026-11-29T05:00:00Z","principal":"client","remote":"10.0.0.7",)"
    R"("action":"run.rerun","object":"9","outcome":"done","detail":null,)"
    R"("params":{"scope":"all"},"before":{"status":"FAILED"},"after":{"status":"RUNNING"}}],"next_cursor":"a-1e"})";

class AuditVerbsTest : public testing::Test {
 protected:
  AuditVerbsTest() {
    cluster_.on("GET /api/v1/cluster", R"({"role":"active"})");
    cluster_.on("GET /api/v1/audit", kAuditPage);
  }
  FakeCluster cluster_;
};

TEST_F(AuditVerbsTest, ListShowsWhoOrderedWhat) {
  EXPECT_EQ(cluster_.run({"audit", "list"}), 0) << cluster_.err.str();
  const std::string text = cluster_.out.str();
  for (const char* word :
       {"AT", "WHO", "FROM", "ACTION", "OBJECT", "OUTCOME", "task.stop", "42", "refused",
        "task 42 is FINISHED", "scope", "scope=all status=FAILED -> status=RUNNING"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
  EXPECT_NE(cluster_.err.str().find("--cursor a-1e"), std::string::npos);
  EXPECT_EQ(cluster_.run({"audit", "list", "-o", "json"}), 0);
  EXPECT_EQ(*parseJson(cluster_.out.str()), *parseJson(kAuditPage));
}

TEST_F(AuditVerbsTest, ListSendsEveryFilter) {
  EXPECT_EQ(cluster_.run({"audit",
                          "list",
                          "--kind",
                          "task",
                          "--action",
                          "task.stop",
                          "--object",
                          "42",
                          "--principal",
                          "client",
                          "--request-id",
                          "r-1",
                          "--refused",
                          "--since",
                          "2026-11-01T00:00:00Z",
                          "--before",
                          "2026-12-01T00:00:00Z",
                          "-n",
                          "5",
                          "--cursor",
                          "a-1f"}),
            0)
      << cluster_.err.str();
  const auto request = cluster_.requests().back();
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"kind", "task"},
                                                        {"action", "task.stop"},
                                                        {"object", "42"},
                                                        {"principal", "client"},
                                                        {"request_id", "r-1"},
                                                        {"outcome", "refused"},
                                                        {"from", "2026-11-01T00:00:00Z"},
                                                        {"before", "2026-12-01T00:00:00Z"},
                                                        {"limit", "5"},
                                                        {"cursor", "a-1f"}}) {
    const std::string* sent = request.findQuery(name);
    ASSERT_NE(sent, nullptr) << name;
    EXPECT_EQ(*sent, value) << name;
  }
}

TEST_F(AuditVerbsTest, WrongOptionsAreWrongUsage) {
  EXPECT_EQ(cluster_.run({"audit", "list", "--since", "soon"}), kExitUsage);
  EXPECT_NE(cluster_.err.str().find("--since"), std::string::npos);
  EXPECT_EQ(cluster_.run({"audit"}), kExitUsage);
}

TEST_F(AuditVerbsTest, DeadCallbacksAreListedAndSentAgain) {
  const std::string path = "/api/v1/callbacks/dead";
  cluster_.on(
      "GET " + path,
      {{200, R"({"items":[{"id":"9","task_id":null,"run_id":"29","event":"run_failed","url":)"
             R"("https://h/x","tries":3,"last_error":"status 500"}],"next_cursor":"d-9"})"},
       {200, R"({"items":[{"id":"5","task_id":"7","run_id":null}],"next_cursor":null})"}});
  EXPECT_EQ(cluster_.run({"callback", "list", "--all"}), 0) << cluster_.err.str();
  for (const char* word : {"run 29", "task 7", "run_failed", "https://h/x", "status 500"}) {
    EXPECT_NE(cluster_.out.str().find(word), std::string::npos) << word;
  }
  cluster_.on("POST " + path + "/9/resend", {{409, "conflict"}});
  cluster_.on("POST " + path + "/5/resend", R"({"id":"5","state":"pending"})");
  cluster_.on("GET " + path, R"({"items":[{"id":"9"},{"id":"5"}],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"callback", "resend", "--all"}), 0) << cluster_.err.str();
  EXPECT_NE(cluster_.out.str().find("1 callbacks are sent again"), std::string::npos);
  EXPECT_EQ(cluster_.run({"callback", "resend", "9", "5"}), 4);
  EXPECT_NE(cluster_.out.str().find("1 callbacks are sent again"), std::string::npos);
  EXPECT_EQ(cluster_.run({"callback", "resend"}), 2);
  EXPECT_EQ(cluster_.run({"callback", "resend", "5", "--all"}), 2);
}

}  // namespace
}  // namespace baton::cli
