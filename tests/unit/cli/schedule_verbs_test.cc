#include <gtest/gtest.h>

#include <fstream>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

// A preview needs no master, and shows UTC, local time, weekday and the next change of the clock.
TEST(ScheduleVerbsTest, PreviewShowsTheNextInstants) {
  FakeCluster cluster;
  const std::vector<std::string> line{"schedule",   "preview",
                                      "--cron",     "30 2 * * *",
                                      "--timezone", "America/New_York",
                                      "--after",    "2026-03-07T00:00:00-05:00",
                                      "-n",         "2"};
  EXPECT_EQ(cluster.run(line), 0) << cluster.err.str();
  EXPECT_EQ(
      cluster.out.str(),
      "UTC                   LOCAL                      WEEKDAY\n"
      "2026-03-07T07:30:00Z  2026-03-07T02:30:00-05:00  Saturday\n"
      "2026-03-08T07:00:00Z  2026-03-08T03:00:00-04:00  Sunday\n"
      "The clock of America/New_York next goes forward by 1h at 2026-03-08T03:00:00-04:00.\n");
  std::vector<std::string> json = line;
  json.insert(json.end(), {"-o", "json", "--gap", "skip"});
  EXPECT_EQ(cluster.run(json), 0);
  const auto preview = parseJson(cluster.out.str());
  ASSERT_TRUE(preview.ok());
  EXPECT_EQ(preview->at("items")[1].at("utc"), "2026-03-09T06:30:00Z");
  EXPECT_EQ(preview->at("next_clock_change").at("shift"), "forward by 1h");
}

// As a shell has them; quotes are single ones.
std::vector<std::string> shellWords(std::string_view line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  return found;
}

// What docs/schedules.md shows is what the program says.
TEST(ScheduleVerbsTest, ExamplesOfTheDocumentationAreRight) {
  std::ifstream page(BATON_SOURCE_DIR "/docs/schedules.md");
  std::string line, command, expected;
  size_t checked = 0;
  const auto check = [&] {
    if (command.empty()) return;
    FakeCluster cluster;
    EXPECT_EQ(cluster.run(shellWords(command)), 0) << command << cluster.err.str();
    EXPECT_EQ(cluster.out.str(), expected) << command;
    ++checked;
    command.clear();
    expected.clear();
  };
  constexpr std::string_view kPrompt = "$ baton ";
  bool shown = false;
  while (std::getline(page, line)) {
    const bool begins = line.starts_with(kPrompt);
    if (begins || line.starts_with("```")) check();
    if (line.starts_with("```")) {
      shown = line == "```console";
    } else if (begins) {
      command = line.substr(kPrompt.size());
    } else if (shown) {
      expected += line + "\n";
    }
  }
  EXPECT_GT(checked, 8U);
}

TEST(ScheduleVerbsTest, PreviewSaysThatNothingComesAnyMore) {
  FakeCluster cluster;
  EXPECT_EQ(cluster.run({"schedule", "preview", "--cron", "0 0 0 1 1 ? 2020", "--timezone", "UTC"}),
            0);
  EXPECT_NE(cluster.out.str().find("It never fires again."), std::string::npos);
}

// What is wrong is named with its value and what is expected; exit code 2.
TEST(ScheduleVerbsTest, PreviewRefusesByName) {
  struct Case {
    std::vector<std::string> options;
    std::string said;
  };
  const std::vector<Case> cases{
      {{"--cron", "90 * * * *", "--timezone", "UTC"}, "'90' is out of range; expected 0 to 59"},
      {{"--cron", "0 0 30 2 *", "--timezone", "UTC"}, "no date ever matches"},
      {{"--cron", "* * * * *", "--timezone", "Mars/Base"}, "'Mars/Base' is not in"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "--gap", "x"}, "gap: is \"x\", expected"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "--overlap", "x"},
       "overlap: is \"x\", expected"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "--dialect", "x"},
       "dialect: is \"x\", expected"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "--after", "x"}, "--after: is \"x\", expected"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "-n", "0"},
       "--limit: is \"0\", expected a whole number from 1 to 1000"},
      // BUG-164: neither 8 nor 16.
      {{"--cron", "* * * * *", "--timezone", "UTC", "-n", "010"}, "is \"010\", expected a whole"},
      {{"--cron", "* * * * *", "--timezone", "UTC", "--limit", "0x10"}, "is \"0x10\", expected"},
      {{"--cron", std::string(5000, '*'), "--timezone", "UTC"}, "has 1 fields"}};
  for (const Case& c : cases) {
    FakeCluster cluster;
    std::vector<std::string> line{"schedule", "preview"};
    line.insert(line.end(), c.options.begin(), c.options.end());
    EXPECT_EQ(cluster.run(line), kExitUsage) << c.said;
    EXPECT_NE(cluster.err.str().find(c.said), std::string::npos) << cluster.err.str();
    EXPECT_LT(cluster.err.str().size(), 400U);
  }
}

}  // namespace
}  // namespace baton::cli
