#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"
#include "tests/unit/conf/temporary_folder.h"

namespace baton::cli {
namespace {

const std::string kWell = "flow: f\ntasks:\n  a: {command: [x], timeout: 1h}\n";
const std::string kWrong =
    "flow: g\ntasks:\n  a: {command: [x], timout: 1h}\n  b: {script: x, needs: [c]}\n";

class FlowVerbsTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }

  FakeCluster cluster_;
  conf::TemporaryFolder folder_;
};

// A file that is well must be said to be, without a master.
TEST_F(FlowVerbsTest, ValidateAcceptsWhatIsWell) {
  const std::string well = file("well.yaml", kWell);
  EXPECT_EQ(cluster_.run({"flow", "validate", well}), kExitOk) << cluster_.err.str();
  EXPECT_EQ(cluster_.out.str(), well + ": well (flow f, 1 task)\n");
  EXPECT_EQ(cluster_.run({"flow", "validate", "-"}, kWell), kExitOk);
  EXPECT_EQ(cluster_.out.str(), "standard input: well (flow f, 1 task)\n");
  EXPECT_TRUE(cluster_.requests().empty());
}

// All that is wrong must be listed with its place; exit code 2.
TEST_F(FlowVerbsTest, ValidateListsWhatIsWrong) {
  const std::string well = file("well.yaml", kWell);
  const std::string wrong = file("wrong.yaml", kWrong);
  EXPECT_EQ(cluster_.run({"flow", "validate", wrong, well}), kExitUsage);
  EXPECT_EQ(cluster_.err.str(),
            wrong + ":3:21: tasks.a.timout: is not a known key; did you mean timeout?\n" + wrong +
                ":4:26: tasks.b.needs: \"c\" is no task of this flow\n");
  EXPECT_EQ(cluster_.out.str(), well + ": well (flow f, 1 task)\n");
  EXPECT_EQ(cluster_.run({"flow", "validate", "-o", "json", wrong}), kExitUsage);
  const auto json = parseJson(cluster_.out.str());
  ASSERT_TRUE(json.ok()) << cluster_.out.str();
  EXPECT_EQ(json->at("items").size(), 2U);
  EXPECT_EQ(json->at("items")[1], (Json{{"file", wrong},
                                        {"line", 4},
                                        {"column", 26},
                                        {"key", "tasks.b.needs"},
                                        {"message", "\"c\" is no task of this flow"},
                                        {"severity", "error"}}));
}

// Warnings are told, but no hindrance.
TEST_F(FlowVerbsTest, ValidateTellsWarnings) {
  const std::string odd =
      file("odd.yaml", "flow: f\ntasks:\n  a: {script: 'echo ${plan_time:%Y}'}\n");
  EXPECT_EQ(cluster_.run({"flow", "validate", odd}), kExitOk);
  EXPECT_NE(cluster_.err.str().find(odd + ":3:3: warning: tasks.a.script: "), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "validate", odd, "-o", "json"}), kExitOk);
  EXPECT_NE(cluster_.out.str().find("\"severity\": \"warning\""), std::string::npos);
}

// BUG-155 (c): two files of one flow, also in another case, are told.
TEST_F(FlowVerbsTest, ValidateTellsFlowsThatStandTwice) {
  const std::string a = file("a.yaml", kWell);
  const std::string b = file("b.yaml", "flow: F\ntasks: {a: {noop: true}}\n");
  EXPECT_EQ(cluster_.run({"flow", "validate", a, b}), kExitUsage);
  EXPECT_EQ(cluster_.err.str(), b + ":1:1: flow: F is the flow of " + a + " as well\n");
}

TEST_F(FlowVerbsTest, ValidateNeedsAFile) {
  EXPECT_EQ(cluster_.run({"flow", "validate"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"flow", "validate", folder_.path() + "/none.yaml"}), kExitNotFound);
  EXPECT_NE(cluster_.err.str().find("No such file"), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "validate", folder_.path()}), kExitUsage);
  EXPECT_NE(cluster_.err.str().find("is no regular file"), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "validate", "-", "-o", "xml"}, kWell), kExitUsage);
  // Whatever a pipe gives is not kept for ever.
  EXPECT_EQ(cluster_.run({"flow", "validate", "-"}, std::string(2'000'000, '#')), kExitUsage);
  EXPECT_EQ(cluster_.err.str(), "baton: standard input: is over 1048576 bytes\n");
}

// Parameters of the project are known by name alone where no master is asked.
TEST_F(FlowVerbsTest, ValidateIsToldTheParametersOfTheProject) {
  const std::string text = "flow: f\ntasks:\n  a: {command: [x, '${root}', '${zone}']}\n";
  EXPECT_EQ(cluster_.run({"flow", "validate", "-"}, text), kExitUsage);
  EXPECT_EQ(
      cluster_.run({"flow", "validate", "--project-param", "root", "--project-param", "zone", "-"},
                   text),
      kExitOk)
      << cluster_.err.str();
  EXPECT_EQ(cluster_.run({"flow", "diff", "--project-param", "root", "-"}, text), 255);
}

// A schedule that lies in the past as seen by the clock must be told of; it is no error.
TEST_F(FlowVerbsTest, ValidateTellsWhatNeverFires) {
  const std::string text =
      "flow: f\nschedule: {at: '1971-01-01T00:00:00Z'}\ntasks:\n  a: {noop: true}\n";
  EXPECT_EQ(cluster_.run({"flow", "validate", "-"}, text), kExitOk);
  EXPECT_EQ(cluster_.err.str().find("standard input:2:1: warning: schedule: never fires: it has no "
                                    "instant behind "),
            0U)
      << cluster_.err.str();
}

// diff has exit codes of its own: 0 the same, 1 changes, 255 an error.
TEST_F(FlowVerbsTest, DiffSaysWhatChanges) {
  const std::string before = file("before.yaml", kWell);
  const std::string same = file("same.yaml",
                                "flow: f\ndefaults: {timeout: 60m}\n"
                                "tasks: {a: {command: [x]}}\n");
  const std::string after =
      file("after.yaml", "flow: f\ntasks:\n  a: {command: [x], timeout: 2h}\n  b: {noop: true}\n");
  EXPECT_EQ(cluster_.run({"flow", "diff", before, same}), 0) << cluster_.out.str();
  EXPECT_EQ(cluster_.out.str(), "");
  EXPECT_EQ(cluster_.run({"flow", "diff", before, after}), 1);
  EXPECT_EQ(cluster_.out.str(), "task a: timeout 1h -> 2h\ntask b added\n");
  EXPECT_EQ(cluster_.run({"flow", "diff", "-o", "json", before, after}), 1);
  EXPECT_EQ(*parseJson(cluster_.out.str()),
            (Json{{"items", {"task a: timeout 1h -> 2h", "task b added"}}}));
  EXPECT_EQ(cluster_.run({"flow", "diff", before, file("wrong.yaml", kWrong)}), 255);
  EXPECT_NE(cluster_.err.str().find("wrong.yaml:3:21: "), std::string::npos);
  EXPECT_EQ(cluster_.run({"flow", "diff", folder_.path() + "/none", after}), 255);
  EXPECT_EQ(cluster_.run({"flow", "diff"}), kExitUsage);
  EXPECT_EQ(cluster_.run({"flow", "diff", before, same, after}), kExitUsage);
}

}  // namespace
}  // namespace baton::cli
