#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

std::string paramJson(const std::string& value, bool created, bool changed) {
  return Json{{"name", "region"},
              {"version", 2},
              {"value", value},
              {"author", "client"},
              {"updated_at", "2026-11-01T00:00:00Z"},
              {"created", created},
              {"changed", changed}}
      .dump();
}

class ParamVerbsTest : public testing::Test {
 protected:
  FakeCluster cluster_;
};

// What JSON leaves raw and YAML does not have, or takes for a line end, is escaped there.
TEST_F(ParamVerbsTest, YamlIsYamlWhateverTheValue) {
  const std::string value = "a\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xc3\xa9";
  cluster_.on("GET /api/v1/params",
              R"({"items":[)" + paramJson(value, false, false) + R"(],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"param", "list", "-o", "yaml"}), kExitOk) << cluster_.err.str();
  EXPECT_NE(cluster_.out.str().find(R"("a\x7f\x85\u2028\u2029\ufeffé")"), std::string::npos)
      << cluster_.out.str();
}

TEST_F(ParamVerbsTest, ParametersAreShown) {
  const std::string long_value = std::string(100, 'x') + "\ny";
  cluster_.on("GET /api/v1/params",
              R"({"items":[)" + paramJson(long_value, false, false) + R"(],"next_cursor":null})");
  EXPECT_EQ(cluster_.run({"param", "list"}), kExitOk) << cluster_.err.str();
  EXPECT_NE(cluster_.out.str().find("region"), std::string::npos);
  EXPECT_NE(cluster_.out.str().find(std::string(57, 'x') + "…\n"), std::string::npos)
      << cluster_.out.str();
  EXPECT_EQ(cluster_.run({"param", "list", "-o", "json"}), kExitOk);
  EXPECT_EQ((*parseJson(cluster_.out.str()))["items"][0]["value"], long_value);
  cluster_.on("GET /api/v1/params/region", paramJson("eu", false, false));
  EXPECT_EQ(cluster_.run({"param", "get", "region"}), kExitOk);
  for (const char* words : {"region", "eu", "2 by client at 2026-11-01T00:00:00Z"}) {
    EXPECT_NE(cluster_.out.str().find(words), std::string::npos) << cluster_.out.str();
  }
  EXPECT_EQ(cluster_.run({"param", "get", "region", "-o", "yaml"}), kExitOk);
  EXPECT_NE(cluster_.out.str().find("value: \"eu\""), std::string::npos) << cluster_.out.str();
  EXPECT_EQ(cluster_.run({"param", "get", "nope"}), kExitNotFound);
}

// A value goes out as it was given, or as standard input has it.
TEST_F(ParamVerbsTest, AParameterIsSet) {
  const std::string put = "PUT /api/v1/params/region";
  cluster_.on(put, {{201, paramJson("eu", true, true)},
                    {200, paramJson("eu", false, true)},
                    {200, paramJson("eu", false, false)}});
  for (const char* said : {"created", "set", "unchanged"}) {
    EXPECT_EQ(cluster_.run({"param", "set", "region", "eu"}), kExitOk) << cluster_.err.str();
    EXPECT_EQ(cluster_.out.str(), fmt::format("parameter region version 2 {}\n", said));
  }
  EXPECT_EQ(cluster_.requests().at(0).body, R"({"value":"eu"})");
  EXPECT_EQ(cluster_.run({"param", "set", "region", "-"}, "a: 1\n\n"), kExitOk);
  EXPECT_EQ(cluster_.requests().at(3).body, R"({"value":"a: 1\n"})");
  EXPECT_EQ(cluster_.run({"param", "set", "region", "\xff"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"param", "set", "region"}), kExitUsage);
  cluster_.on(put, {{400, "invalid_argument"}});
  EXPECT_EQ(cluster_.run({"param", "set", "region", "x"}), kExitUsage);
}

TEST_F(ParamVerbsTest, AParameterThatIsUsedIsNotDeleted) {
  cluster_.on("DELETE /api/v1/params/region",
              {{200, paramJson("", false, false)}, {409, "conflict"}});
  cluster_.on("GET /api/v1/params/region", paramJson("", false, false));
  EXPECT_EQ(cluster_.run({"param", "delete", "region"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"param", "delete", "region", "-y"}), kExitOk);
  EXPECT_EQ(cluster_.out.str(), "parameter region deleted\n");
  EXPECT_EQ(cluster_.run({"param", "delete", "region", "-y"}), kExitRefused);
  EXPECT_EQ(cluster_.run({"param", "delete", "nope", "-y"}), kExitNotFound);
}

}  // namespace
}  // namespace baton::cli
