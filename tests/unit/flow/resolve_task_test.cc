#include "flow/definition/resolve_task.h"

#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

const std::string kFlow =
    "flow: f\nschedule: {cron: 0 2 * * *, timezone: Europe/Berlin}\n"
    "params: {day: '${plan_time:%F,-1d}', mode: part, none: null}\n"
    "tasks:\n  load: {command: [x], outputs: [rows]}\n"
    "  t:\n    needs: [load]\n    command: [x, '${day}', 'rows=${load.rows}', '$${day}']\n"
    "    env: {A: '${mode}'}\n    dir: '/srv/${task}'\n    params: {mode: '${mode}+', n: "
    "'${rows}'}\n"
    "    priority: high\n    timeout: 1h\n"
    "  h: {needs: [load], http: {url: 'http://x/${day}', body: '${mode}', headers: {H: "
    "'${flow}'}}}\n"
    "  s: {script: 'echo ${day}'}\n"
    "  k: {kind: k, with: {a: ['${day}', 1.10], b: {c: '${run_id}'}}}\n"
    "  e: {event: {name: n, key: '${day}'}}\n";

class ResolveTaskTest : public testing::Test {
 protected:
  ResolveTaskTest() : flow_(flowOf(kFlow)) {
    context_.plan_time = *parseRfc3339("2026-03-29T00:30:00Z");
    context_.zone = *TimeZone::load(flow_.timezone);
    context_.flow = flow_.name;
    context_.run_id = "7";
    context_.at(ParamLevel::Flow) = &flow_.params;
    context_.at(ParamLevel::Upstream) = &upstream_;
    context_.outputs = &outputs_;
  }

  TaskNode resolvedNode(const std::string& name) {
    auto task = resolveTask(*flow_.find(name), context_);
    EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().text());
    return task.ok() ? *task : TaskNode{};
  }

  FlowSpec flow_;
  OutputMap outputs_{{"load", {{"rows", "$[yyyy] ${mode}"}}}};
  ParamMap upstream_{{"rows", "12"}};
  PlaceholderContext context_;
};

// What placeholders made of a text may be none that the task can have: no other event is waited
// for, and nothing runs in another folder.
TEST_F(ResolveTaskTest, WhatPlaceholdersMakeIsChecked) {
  for (const auto& [task, field] : {std::pair("e", "event.key"), {"t", "dir"}}) {
    TaskNode node = *flow_.find(task);
    (task == std::string("e") ? node.event.key : node.dir) = "${none}";
    const auto resolved = resolveTask(node, context_);
    ASSERT_FALSE(resolved.ok()) << task;
    EXPECT_EQ(resolved.error().field(), field);
    EXPECT_NE(resolved.error().message().find("is \"\", expected"), std::string::npos);
  }
}

// Every text of a task must be resolved, outputs as they are and scripts not at all.
TEST_F(ResolveTaskTest, ResolvesEveryText) {
  const TaskNode t = resolvedNode("t");
  EXPECT_EQ(t.command,
            (std::vector<std::string>{"x", "2026-03-28", "rows=$[yyyy] ${mode}", "${day}"}));
  EXPECT_EQ(t.env.at("A"), "part+");
  EXPECT_EQ(t.dir, "/srv/t");
  EXPECT_EQ(
      t.params,
      (ParamMap{{"day", "2026-03-28"}, {"mode", "part+"}, {"n", "12"}, {"none", std::nullopt}}));
  const TaskNode h = resolvedNode("h");
  EXPECT_EQ(h.http.url + h.http.body + h.http.headers.at("H"), "http://x/2026-03-28partf");
  EXPECT_EQ(resolvedNode("s").script, "echo ${day}");
  EXPECT_EQ(dumpJson(resolvedNode("k").with), R"({"a":["2026-03-28","1.10"],"b":{"c":"7"}})");
  EXPECT_EQ(resolvedNode("e").event.key, "2026-03-28");
}

// What a worker gets: parameters without a value are left out, the run's own variables are there.
TEST_F(ResolveTaskTest, MakesATaskToSubmit) {
  const auto spec = taskSpecOf(resolvedNode("t"), context_);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->name, "t");
  EXPECT_EQ(spec->priority, Priority::High);
  EXPECT_EQ(spec->policy.timeout, Millis(3'600'000));
  EXPECT_EQ(spec->params.count("none"), 0U);
  EXPECT_EQ(spec->env.at("BATON_FLOW") + spec->env.at("BATON_RUN_ID"), "f7");
  EXPECT_EQ(spec->env.at("BATON_PLAN_TIME"), "2026-03-29T01:30:00+01:00");
  EXPECT_EQ(spec->env.count("BATON_PREV_SUCCESS_TIME"), 0U);
  EXPECT_EQ(taskSpecOf(resolvedNode("e"), context_).error().code(), ErrorCode::Unsupported);
}

// Requests and plug-ins are submitted like commands; what placeholders made of them is checked.
TEST_F(ResolveTaskTest, MakesRequestsAndPlugInsToSubmit) {
  TaskNode h = resolvedNode("h");
  const auto request = taskSpecOf(h, context_);
  ASSERT_TRUE(request.ok()) << request.error().text();
  EXPECT_EQ(request->kind + request->http.url, "httphttp://x/2026-03-28");
  const auto plug_in = taskSpecOf(resolvedNode("k"), context_);
  ASSERT_TRUE(plug_in.ok());
  EXPECT_EQ(dumpJson(plug_in->with), R"({"a":["2026-03-28","1.10"],"b":{"c":"7"}})");
  h.http.headers["H"] = "two\nlines";
  const auto wrong = taskSpecOf(h, context_);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().field(), "http.headers");
  EXPECT_EQ(wrong.error().code(), ErrorCode::InvalidArgument);
}

// Outputs are stronger than the flow's parameters, but its values do not see them.
TEST_F(ResolveTaskTest, OutputsStandBetweenTaskAndFlow) {
  flow_.params = {{"rows", "flow"}, {"x", "<${rows}>"}};
  TaskNode t;
  t.command = {"${rows}", "${x}"};
  t.params = {{"own", "${rows}+"}};
  const auto task = resolveTask(t, context_);
  ASSERT_TRUE(task.ok()) << task.error().text();
  EXPECT_EQ(task->command, (std::vector<std::string>{"12", "<flow>"}));
  EXPECT_EQ(task->params, (ParamMap{{"own", "12+"}, {"rows", "12"}, {"x", "<flow>"}}));
  upstream_.clear();
  EXPECT_EQ(resolveTask(t, context_)->command.front(), "flow") << "it was not written";
}

// A stored definition may ask for what is not supported: its task is not run as if it did not.
TEST_F(ResolveTaskTest, WhatIsNotSupportedIsNotRun) {
  TaskNode t = resolvedNode("t");
  t.unsupported = "run_as";
  const auto spec = taskSpecOf(t, context_);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(spec.error().field(), "run_as");
}

// What does not resolve must name its place.
TEST_F(ResolveTaskTest, ErrorsNameThePlace) {
  outputs_.clear();
  const auto t = resolveTask(*flow_.find("t"), context_);
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.error().field(), "command[2]");
  upstream_.clear();
  EXPECT_EQ(resolveTask(*flow_.find("t"), context_).error().field(), "params.n");
}

}  // namespace
}  // namespace baton::flow
