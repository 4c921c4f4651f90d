#include "master/flow/run_engine.h"

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

// What the tasks of a run are given, and what bounds it.
class RunTextsTest : public FlowTest {};

TEST_F(RunTextsTest, WhatWasLeftOutOfTheOutputsIsTold) {
  // Aim: an output that is not there is named where its task is looked at, and where it is missed.
  define(R"(
flow: f
tasks:
  a: {command: [x], outputs: [rows, small]}
  g: {command: [x]}
  b: {command: [x, "${a.rows}"], needs: [a, g]}
  c: {command: [x, "${a.small}"], needs: [a, g]}
)");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  HeartbeatRequest request = beat(RunnerStatus::Finished);
  request.result.outputs = {{"small", "1"}};
  request.result.reason_text = "over 64 KB: rows and all behind it are left out";
  ASSERT_TRUE(exchange(request).order.has_value());  // g
  EXPECT_EQ(nodeStatus(run, "a"), TaskStatus::Finished);
  const std::string note = node(run, "a").state.reason_text;
  EXPECT_EQ(note,
            "over 64 KB: rows and all behind it are left out; not written, though the flow says "
            "so: rows");
  EXPECT_EQ(attempt(node(run, "a").state.id).reason_text, note);
  begin();  // Another master carries on, and knows no less.
  EXPECT_EQ(end(), "c");
  EXPECT_EQ(nodeReason(run, "b"), FailureReason::BadSpec);
  const std::string why = node(run, "b").state.reason_text;
  EXPECT_NE(why.find("${a.rows}: that output is not there (over 64 KB: rows"), std::string::npos)
      << why;
}

TEST_F(RunTextsTest, ADeclaredOutputThatWasNotWrittenIsTold) {
  // Aim: it fails nothing by itself, and a second try that wrote it clears the word.
  define("{flow: f, tasks: {a: {command: [x], outputs: [rows, n]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end(RunnerStatus::Finished, {{"n", "1"}});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_EQ(node(run, "a").state.reason_text, "not written, though the flow says so: rows");
  const RunId whole = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end(RunnerStatus::Finished, {{"n", "1"}, {"rows", "2"}});
  EXPECT_EQ(node(whole, "a").state.reason_text, "");
}

TEST_F(RunTextsTest, OutputsOfUpstreamTasksAreParameters) {
  // Aim: start > task > upstream > flow, for a command, a condition, a sub-flow and the
  // environment.
  define(R"(
flow: f
params: {rows: flow, n: flow}
tasks:
  a: {command: [x], outputs: [rows, n]}
  b: {command: ["${rows}", "${n}"], needs: [a], when: "${rows} > 41", params: {r: "<${rows}>"}}
  c: {command: ["${rows}"], needs: [b], params: {rows: own}}
  s: {flow: part, needs: [c], params: {r: "${rows}"}}
)");
  define("{flow: part, params: {r: null}, tasks: {p: {command: ['${r}']}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  ASSERT_EQ(end(RunnerStatus::Finished, {{"rows", "42"}}), "b");
  const Json b = *parseJson(node(run, "b").spec);
  EXPECT_EQ(b["command"], Json::array({"42", "flow"})) << "n was not written: the flow's counts";
  EXPECT_EQ(b["params"], (Json{{"n", "flow"}, {"r", "<42>"}, {"rows", "42"}}));
  ASSERT_EQ(end(), "c");
  EXPECT_EQ((*parseJson(node(run, "c").spec))["command"], Json::array({"own"}));
  EXPECT_EQ(end(), "p");
  const TaskRecord p = database_.rows().tasks.rbegin()->second;
  EXPECT_EQ(p.name, "p");
  EXPECT_EQ((*parseJson(p.spec))["command"], Json::array({"42"}));
  EXPECT_EQ(end(), "");
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  // What is given at the start is stronger.
  const RunId other = trigger("f", {.params = {{"n", "start"}}}).state.id;
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(RunnerStatus::Finished, {{"rows", "43"}, {"n", "1"}}), "b");
  EXPECT_EQ((*parseJson(node(other, "b").spec))["command"], Json::array({"43", "start"}));
}

TEST_F(RunTextsTest, ATaskThatAsksForWhatIsNotSupportedFailsAndNothingElse) {
  // Aim: a definition of an earlier version stays readable, also for a takeover, and its task does
  // not run as another user than it says.
  define(R"(
flow: f
tasks:
  a: {command: [x]}
  b: {command: [x], needs: [a], run_as: nobody}
)",
         {.stored = true});
  const RunId run = trigger("f").state.id;
  begin();
  EXPECT_EQ(work(), std::vector<std::string>{"a"});
  EXPECT_EQ(nodeReason(run, "b"), FailureReason::BadSpec);
  EXPECT_EQ(node(run, "b").state.reason_text, "run_as: is not supported by this version of baton");
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
}

TEST_F(RunTextsTest, WhatNobodyMeasuredBeforehandFailsTasksAndNotTheMaster) {
  // Aim: a sub-flow's parameters, which each of its many tasks would get; a row that is too large.
  std::string part = "flow: part\ntasks:\n";
  for (int i = 0; i < 300; ++i) part += fmt::format("  t{}: {{command: [x], hold: true}}\n", i);
  define(part);
  define("flow: f\ntasks: {s: {flow: part, params: {P: '" + std::string(120'000, 'x') + "'}}}\n");
  const RunId run = trigger("f").state.id;
  for (int i = 0; i < 20; ++i) settle();  // They are let go a part in each turn.
  size_t held = 0;
  for (const auto& [id, task] : database_.rows().tasks) {
    if (task.run_id == run) continue;
    held += task.state.status == TaskStatus::Created ? 1 : 0;
    if (task.state.status != TaskStatus::Failed) continue;
    EXPECT_EQ(task.state.reason, FailureReason::BadSpec);
    EXPECT_EQ(task.state.reason_text,
              "the specifications of the tasks of this run come to over 32 MB");
  }
  EXPECT_EQ(held, 32U * 1'048'576 / 120'140);

  database_.limitRows(64 * 1'024);
  define("flow: big\nparams: {P: '" + std::string(70'000, 'x') +
         "'}\ntasks: {a: {command: [x]}, s: {flow: part}, b: {noop: true}}\n");
  const RunId big = trigger("big").state.id;
  for (const std::string name : {"a", "s"}) {
    EXPECT_EQ(nodeReason(big, name), FailureReason::BadSpec);
    EXPECT_NE(node(big, name).state.reason_text.find("max_allowed_packet"), std::string::npos);
  }
  EXPECT_EQ(runStatus(big), RunStatus::Failed);
}

}  // namespace
}  // namespace baton::test
