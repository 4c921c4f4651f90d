#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "worker/output_values.h"
#include "worker/proc_info.h"
#include "worker/process_tree.h"
#include "worker/shepherd_message.h"
#include "worker/task_environment.h"

namespace baton::worker {
namespace {

// The program's name may hold anything; only the last bracket ends it.
TEST(ProcInfoTest, ReadsStatLinesWithOddNames) {
  const auto stat = parseProcStat(
      "4711 (a ) R (b) S 12 4711 4710 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 98765 1 2 3");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->pid, 4711);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 12);
  EXPECT_EQ(stat->group, 4711);
  EXPECT_EQ(stat->session, 4710);
  EXPECT_EQ(stat->threads, 3);
  EXPECT_EQ(stat->start_ticks, 98765U);
}

TEST(ProcInfoTest, RefusesHalfLines) {
  for (const char* text : {"", "x", "1 (a", "1 (a)", "1 (a) S", "1 (a) S 1 2 3 4 5"}) {
    EXPECT_FALSE(parseProcStat(text).has_value()) << text;
  }
}

// A first thread that has ended does not make the process dead.
TEST(ProcInfoTest, TellsZombiesFromProcessesWhoseFirstThreadEnded) {
  EXPECT_TRUE((ProcStat{.state = 'Z', .threads = 1}.isDead()));
  EXPECT_TRUE((ProcStat{.state = 'Z', .threads = 0}.isDead()));
  EXPECT_FALSE((ProcStat{.state = 'Z', .threads = 2}.isDead()));
  EXPECT_FALSE((ProcStat{.state = 'D', .threads = 1}.isDead()));
}

TEST(ProcInfoTest, KnowsThisProcess) {
  const auto self = readProcStat(getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_TRUE(isAlive(getpid(), self->start_ticks));
  EXPECT_FALSE(isAlive(getpid(), self->start_ticks + 1));
  EXPECT_FALSE(signalProcess({.pid = getpid(), .start_ticks = self->start_ticks + 1}, 9));
  EXPECT_FALSE(readBootId().empty());
}

TEST(ProcInfoTest, FindsVariablesByTheirWholeName) {
  const std::string block("AB=1\0A=2\0C=\0D", 14);
  EXPECT_EQ(findInEnvironment(block, "A"), "2");
  EXPECT_EQ(findInEnvironment(block, "AB"), "1");
  EXPECT_EQ(findInEnvironment(block, "C"), "");
  EXPECT_FALSE(findInEnvironment(block, "D").has_value());
  EXPECT_FALSE(findInEnvironment("", "A").has_value());
}

TEST(OutputValuesTest, TakesLinesOfKeyAndValue) {
  const OutputValues outputs = parseOutputValues("a=1\n\n# note\nb=x=y\na=2\nc=");
  EXPECT_EQ(outputs.values,
            (std::map<std::string, std::string>{{"a", "2"}, {"b", "x=y"}, {"c", ""}}));
  EXPECT_EQ(outputs.problem, "");
}

TEST(OutputValuesTest, SaysWhatItLeavesOut) {
  const OutputValues outputs = parseOutputValues("a=1\n=x\nb=\xff\nc=2");
  EXPECT_EQ(outputs.values, (std::map<std::string, std::string>{{"a", "1"}, {"c", "2"}}));
  EXPECT_NE(outputs.problem.find("line 2"), std::string::npos);
}

// What is captured may have lines; it is read back as it was, whatever stands in it.
TEST(OutputValuesTest, KeepsValuesOfSeveralLines) {
  const OutputValues outputs =
      parseOutputValues("a<<EOF\none\n\n# two=2\nEOF\nb<<X\nX\nc<<d=e\nd=1");
  EXPECT_EQ(outputs.values, (std::map<std::string, std::string>{
                                {"a", "one\n\n# two=2"}, {"b", ""}, {"c<<d", "e"}, {"d", "1"}}));
  EXPECT_EQ(outputs.problem, "");
  for (const std::string value :
       {"", "x", "a=b", "# x", "one\ntwo", "\n", "END\nEND", "a\n\n\r\nb"}) {
    const auto lines = formatOutputValue("k", value);
    ASSERT_TRUE(lines.ok());
    EXPECT_EQ(parseOutputValues("x=1\n" + *lines + "y=2").values,
              (std::map<std::string, std::string>{{"k", value}, {"x", "1"}, {"y", "2"}}));
  }
}

TEST(OutputValuesTest, RefusesValuesThatCouldNotBeReadBack) {
  EXPECT_EQ(formatOutputValue("k", "\xff").error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(formatOutputValue("k", std::string_view("a\0b", 3)).error().code(),
            ErrorCode::InvalidArgument);
  EXPECT_TRUE(formatOutputValue("k", std::string(kOutputsBytesMax - 3, 'x')).ok());
  EXPECT_EQ(formatOutputValue("k", std::string(kOutputsBytesMax - 2, 'x')).error().code(),
            ErrorCode::TooLarge);
  const OutputValues cut = parseOutputValues("a=1\nb<<END\nx\ny");
  EXPECT_EQ(cut.values, (std::map<std::string, std::string>{{"a", "1"}}));
  EXPECT_NE(cut.problem.find("line 2"), std::string::npos);
}

// A value that was cut in half is none.
TEST(OutputValuesTest, StopsAtTheCapOnALineEnd) {
  std::string text;
  while (text.size() <= kOutputsBytesMax) text += fmt::format("key{}=value\n", text.size());
  const OutputValues outputs = parseOutputValues(text);
  EXPECT_NE(outputs.problem.find("65536"), std::string::npos);
  for (const auto& [key, value] : outputs.values) EXPECT_EQ(value, "value");
}

// Whoever misses an output can see which ones were left out.
TEST(OutputValuesTest, NamesTheFirstThatTheCapLeavesOut) {
  const std::string large(70'000, 'x');
  const OutputValues line = parseOutputValues("a=1\nk=" + large + "\nz=2\n");
  EXPECT_EQ(line.values, (std::map<std::string, std::string>{{"a", "1"}}));
  EXPECT_EQ(line.problem,
            "the outputs have more than 65536 bytes (64 KB): k and all behind it are left out");
  const OutputValues lines = parseOutputValues("a=1\nm<<END\nx\n" + large + "\nEND\n");
  EXPECT_EQ(lines.values, line.values);
  EXPECT_NE(lines.problem.find(": m and all behind it"), std::string::npos) << lines.problem;
  const OutputValues nonsense = parseOutputValues("a=1\n" + large);
  EXPECT_NE(nonsense.problem.find(" left out"), std::string::npos) << nonsense.problem;
  EXPECT_LT(nonsense.problem.size(), 300U);
}

// A result with more of them than a master takes would be sent for ever.
TEST(OutputValuesTest, StopsAtTheNumberThatAMasterTakes) {
  std::string text;
  for (int i = 1; i <= 10'940; ++i) text += fmt::format("{}=\n", i);
  ASSERT_LE(text.size() + 4, kOutputsBytesMax);
  const OutputValues outputs = parseOutputValues(text + "1=x\n");
  EXPECT_EQ(outputs.values.size(), kOutputsCountMax);
  EXPECT_EQ(outputs.values.at("1"), "x");
  EXPECT_EQ(outputs.problem, "outputs past 10000 are left out");
}

TEST(ReportTest, TheCommandIsShownUpToAMeasure) {
  const std::vector<std::string> short_ones{"sh", "-c", "true"};
  EXPECT_EQ(shownArguments(short_ones), short_ones);
  std::vector<std::string> many{"prog"};
  for (int i = 0; i < 15; ++i) many.push_back(std::string(100'000, 'a'));
  const std::vector<std::string> shown = shownArguments(many);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0], "prog");
  EXPECT_TRUE(shown[1].ends_with("…"));
  EXPECT_LE(dumpJson(Json(shown)).size(), 64U * 1024 + 8);
  EXPECT_EQ(shownArguments(std::vector<std::string>(100'000, "")).back(), "…");
}

EnvironmentInput environmentInput() {
  return {.identity = {.user = "jo", .home = "/home/jo", .shell = "/bin/sh", .zone = "Asia/Tokyo"},
          .worker_id = "host-a",
          .runner_id = "host-a:3",
          .data_dir = "/data",
          .key = {.task_id = 17, .attempt = 4, .nonce = "n"},
          .epoch = 12};
}

// BUG-124: exactly these, whatever the worker's own environment holds.
TEST(TaskEnvironmentTest, HasTheDocumentedVariablesOnly) {
  setenv("BATON_SECRET", "x", 1);
  EXPECT_EQ(taskEnvironment(environmentInput(), {}),
            (std::vector<std::string>{
                "BATON_ATTEMPT=4", "BATON_EPOCH=12",
                "BATON_OUTPUT=/data/attempts/17.4/.baton-output", "BATON_RUNNER=host-a:3",
                "BATON_TASK_ID=17", "BATON_WORKER=host-a", "HOME=/home/jo", "LANG=C.UTF-8",
                "LOGNAME=jo", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "SHELL=/bin/sh", "TZ=Asia/Tokyo", "USER=jo"}));
  unsetenv("BATON_SECRET");
}

// env wins over params, both over the defaults, and nothing over the names a stop relies on.
TEST(TaskEnvironmentTest, ReplacesInTheDocumentedOrder) {
  TaskSpec spec;
  spec.params = {{"HOME", "/p"}, {"P", "p"}, {"BATON_TASK_ID", "1"}};
  spec.env = {{"P", "e"}, {"LANG", "de_DE"}, {"BATON_WORKER", "other"}, {"BAD=NAME", "x"}};
  const auto environment = taskEnvironment(environmentInput(), spec);
  const auto has = [&](const std::string& entry) {
    return std::count(environment.begin(), environment.end(), entry) == 1;
  };
  EXPECT_TRUE(has("HOME=/p"));
  EXPECT_TRUE(has("P=e"));
  EXPECT_TRUE(has("LANG=de_DE"));
  EXPECT_TRUE(has("BATON_TASK_ID=17"));
  EXPECT_TRUE(has("BATON_WORKER=host-a"));
  EXPECT_FALSE(has("BAD=NAME=x"));
}

// docs/plugins.md has these members; a plug-in is written against them.
TEST(TaskInputTest, DescribesTheTask) {
  TaskSpec spec;
  spec.name = "n";
  spec.kind = "copy";
  spec.with = {{"rows", 3}};
  spec.params = {{"P", "p"}};
  spec.env = {{"E", "e"}};
  const Json input = *parseJson(taskInput(environmentInput(), spec, Millis(1'500)));
  const Json wanted = {{"id", "17"},           {"attempt", 4},
                       {"epoch", 12},          {"name", "n"},
                       {"kind", "copy"},       {"worker", "host-a"},
                       {"runner", "host-a:3"}, {"output", "/data/attempts/17.4/.baton-output"},
                       {"timeout_ms", 1'500},  {"params", {{"P", "p"}}},
                       {"env", {{"E", "e"}}},  {"with", {{"rows", 3}}}};
  EXPECT_EQ(input, wanted);
  spec.with = nullptr;
  EXPECT_EQ((*parseJson(taskInput(environmentInput(), spec, Millis(0))))["with"], Json::object());
  spec.kind = "http";
  spec.http.url = "http://h/";
  const Json request = *parseJson(taskInput(environmentInput(), spec, Millis(0)));
  EXPECT_EQ(request["http"], (Json{{"url", "http://h/"}}));
  EXPECT_FALSE(request.contains("with"));
  EXPECT_EQ(taskArguments(spec), (std::vector<std::string>{"GET", "http://h/"}));
}

TEST(ShepherdMessageTest, RequestsSurviveTheWire) {
  StartRequest start;
  start.key = {.task_id = 9, .attempt = 2, .nonce = "abc"};
  start.argv = {"a", "b c"};
  start.env = {"X=1\n2"};
  start.dir = "/tmp";
  start.has_script = true;
  start.script = "";
  start.input = "{\"a\":\"\\n\"}";
  std::string line = toLine(ShepherdRequest(start));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = parseShepherdRequest(line);
  ASSERT_TRUE(parsed.ok());
  const auto& back = std::get<StartRequest>(*parsed);
  EXPECT_EQ(back.key, start.key);
  EXPECT_EQ(back.argv, start.argv);
  EXPECT_EQ(back.env, start.env);
  EXPECT_EQ(back.dir, start.dir);
  EXPECT_TRUE(back.has_script);
  EXPECT_EQ(back.input, start.input);
  EXPECT_FALSE(parseShepherdRequest(R"({"op":"start","task":1,"attempt":1,"argv":[]})").ok());
  EXPECT_FALSE(parseShepherdRequest(R"({"op":"dance"})").ok());
  EXPECT_FALSE(parseShepherdRequest("nonsense").ok());
}

TEST(ShepherdMessageTest, NotesSurviveTheWire) {
  EndedNote ended;
  ended.key = {.task_id = 9, .attempt = 2, .nonce = "abc"};
  ended.result.signal = 15;
  ended.result.reason = FailureReason::Signal;
  ended.result.outputs = {{"k", "v"}};
  ended.ended_us = 5;
  ended.why = StopReason::Timeout;
  ended.stderr_cut = true;
  const HelloNote hello{.pid = 3,
                        .version = "1",
                        .running = {{.key = ended.key, .pid = 4, .started_us = 6}},
                        .ended = {ended},
                        .takes_input = true};
  const auto parsed = parseShepherdNote(toLine(ShepherdNote(hello)));
  ASSERT_TRUE(parsed.ok());
  const auto& back = std::get<HelloNote>(*parsed);
  EXPECT_TRUE(back.takes_input);
  // A shepherd from before there was any input.
  EXPECT_FALSE(std::get<HelloNote>(*parseShepherdNote(R"({"op":"hello","pid":3})")).takes_input);
  ASSERT_EQ(back.running.size(), 1U);
  EXPECT_EQ(back.running[0].started_us, 6);
  ASSERT_EQ(back.ended.size(), 1U);
  EXPECT_EQ(back.ended[0].result.signal, 15);
  EXPECT_EQ(back.ended[0].result.outputs, ended.result.outputs);
  EXPECT_EQ(back.ended[0].why, StopReason::Timeout);
  EXPECT_TRUE(back.ended[0].stderr_cut);
}

TEST(LineSplitterTest, JoinsPiecesAndCutsLines) {
  LineSplitter splitter;
  std::string line;
  splitter.add("ab");
  EXPECT_FALSE(splitter.next(line));
  splitter.add("c\nd\n\ne");
  ASSERT_TRUE(splitter.next(line));
  EXPECT_EQ(line, "abc");
  ASSERT_TRUE(splitter.next(line));
  EXPECT_EQ(line, "d");
  ASSERT_TRUE(splitter.next(line));
  EXPECT_EQ(line, "");
  EXPECT_FALSE(splitter.next(line));
  EXPECT_EQ(splitter.pendingBytes(), 1U);
}

}  // namespace
}  // namespace baton::worker
