#include <chrono>

#include "flow/definition/flow_circle.h"
#include "flow/definition/run_size.h"
#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

// BUG-155 and relatives: names must be known, unique and well-formed.
TEST(FlowParserTest, NamesAreChecked) {
  expectIssues({
      {"flow: f\ntasks:\n  a: {command: [x], needs: [nope]}\n",
       "f.yaml:3:29: tasks.a.needs: \"nope\" is no task of this flow"},
      {"flow: f\ntasks:\n  extract: {noop: true}\n  a: {command: [x], needs: [extrct]}\n",
       "did you mean extract?"},
      {"flow: f\ntasks:\n  a: {noop: true}\n  a: {noop: true}\n",
       "f.yaml:4:3: tasks.a: stands twice, first in line 3"},
      {"flow: f\ntasks:\n  Load: {noop: true}\n  load: {noop: true}\n",
       "f.yaml:4:3: tasks.load: differs from Load (line 3) in the case of letters alone"},
      {"flow: f\ntasks:\n  a: {noop: true, needs: [b, b]}\n  b: {noop: true}\n",
       "tasks.a.needs: names b twice"},
      {"flow: f\ntasks:\n  'a b': {noop: true}\n", "f.yaml:3:3: tasks.a b: is no name for a task"},
      {"flow: f\ntasks: {" + std::string(65, 'a') + ": {noop: true}}\n", "is no name for a task"},
      {"flow: ..\ntasks: {a: {noop: true}}\n", "f.yaml:1:7: flow: is \"..\", expected a name of"},
      {"flow: a/b\ntasks: {a: {noop: true}}\n", "f.yaml:1:7: flow: is \"a/b\", expected a name of"},
      {"tasks: {a: {noop: true}}\n", "f.yaml:1:1: flow: is missing"},
      {"flow: f\n", "tasks: is missing"},
      {"flow: f\ntasks: {}\n",
       "tasks: is an empty map, expected a map of names to tasks, at least one"},
      {"flow: f\ntasks: [a]\n", "f.yaml:2:8: tasks: is a list, expected a map"},
      {"flow: f\ntasks:\n  a:\n", "f.yaml:3:3: tasks.a: is empty, expected a map"},
      {"flow: f\ntasks:\n  a: x\n", "tasks.a: is \"x\", expected a map"},
      {"- a\n", "f.yaml:1:1: is a list, expected a map"},
      {"", "is empty, expected a map"},
      {"flow: f\ntask: {a: {noop: true}}\ntasks: {a: {noop: true}}\n",
       "f.yaml:2:1: task: is not a known key; did you mean tasks?"},
      {withTask(kRun + "timout: 1s\n"),
       "f.yaml:6:5: tasks.t.timout: is not a known key; did you mean timeout?"},
      {withTask(kRun + "nonsense: 1s\n"),
       "tasks.t.nonsense: is not a known key; known are callback, command, description, dir,"},
      {withTask("flow: F\n"), "tasks.t.flow: is the flow itself"},
  });
}

// BUG-154: a cycle must be named by its path, also one apart from the rest, each once.
TEST(FlowParserTest, CyclesAreNamed) {
  const auto flow = [](const std::string& tasks) { return "flow: f\ntasks:\n" + tasks; };
  expectIssues({
      {flow("  a: {noop: true, needs: [a]}\n"),
       "f.yaml:3:19: tasks.a.needs: the tasks wait for each other in a cycle: a -> a\n"},
      {flow("  a: {noop: true, needs: [c]}\n  b: {noop: true, needs: [a]}\n"
            "  c: {noop: true, needs: {b: done}}\n"),
       "in a cycle: a -> b -> c -> a\n"},
      {flow("  x: {noop: true}\n  y: {noop: true, needs: [x, b]}\n  a: {noop: true, needs: [b]}\n"
            "  b: {noop: true, needs: [a]}\n  z: {noop: true, needs: [a]}\n"),
       "f.yaml:5:19: tasks.a.needs: the tasks wait for each other in a cycle: a -> b -> a\n"},
  });
  std::string two;
  for (const std::string n : {"1", "2"}) {
    two += fmt::format(
        "  a{0}: {{noop: true, needs: [b{0}]}}\n  b{0}: {{noop: true, needs: [a{0}]}}\n", n);
  }
  const std::string issues = issuesOf(flow(two));
  EXPECT_NE(issues.find("a1 -> b1 -> a1"), std::string::npos);
  EXPECT_NE(issues.find("a2 -> b2 -> a2"), std::string::npos);
  EXPECT_EQ(std::count(issues.begin(), issues.end(), '\n'), 2) << issues;
}

// A placeholder that can never resolve must be told when saving.
TEST(FlowParserTest, PlaceholdersAreChecked) {
  const std::string tasks =
      "tasks:\n  up: {command: [x], outputs: [rows]}\n  other: {command: [x], needs: [up]}\n"
      "  last: {command: [x], needs: [other]}\n  apart: {command: [x]}\n  t: ";
  const auto flow = [&](const std::string& task, const std::string& params = "{}") {
    return "flow: f\nparams: " + params + "\n" + tasks + task + "\n";
  };
  expectIssues({
      {flow("{command: [x, '${bizdat}']}", "{bizdate: x}"),
       "f.yaml:8:20: tasks.t.command[1]: placeholder ${bizdat}: no parameter has that name; did "
       "you mean bizdate?"},
      {flow("{command: [x, '${rows}']}"), "no parameter has that name"},
      {flow("{command: [x, '${up.rows}']}"), "up is not upstream of t; add it to needs"},
      {flow("{command: [x, '${nope.rows}'], needs: [up]}"), "\"nope\" is no task of this flow"},
      {flow("{command: [x, '${up.row}'], needs: [up]}"),
       "up has no output row among its outputs; did you mean rows?"},
      {flow("{command: [x, '${plan_time:%Q}']}"), "\"%Q\" is no part of a date format"},
      {flow("{script: x, env: {A: '${no}'}}"), "tasks.t.env.A: placeholder ${no}"},
      {flow("{script: x, dir: '${no}'}"), "tasks.t.dir: placeholder ${no}"},
      {flow("{http: {url: 'http://${no}'}}"), "tasks.t.http.url: placeholder ${no}"},
      {flow("{kind: k, with: {a: ['${no}']}}"), "tasks.t.with.a[0]: placeholder ${no}"},
      {flow("{event: {name: e, key: '${no}'}}"), "tasks.t.event.key: placeholder ${no}"},
      {flow("{script: x, when: '${no} == 1'}"), "tasks.t.when: placeholder ${no}"},
      {flow("{script: x, when: '${apart.rows} == 1'}"), "apart is not upstream of t"},
      {flow("{script: x}", "{a: '${up.rows}'}"),
       "params.a: placeholder ${up.rows}: parameters of the flow are known before"},
      {flow("{script: x}", "{a: '${task}'}"), "params.a: placeholder ${task}: no parameter"},
      {flow("{script: x}", "{a: '${b}', b: '${a}'}"),
       "f.yaml:2:13: params.a: refers to itself: a -> b -> a"},
      {flow("{script: x}", "{a: '${a}'}"), "params.a: refers to itself"},
      {flow("{script: x, params: {a: '${b}'}}", "{b: '${a}'}"),
       "params.a: refers to itself: a -> b -> a"},
      {flow("{script: 'echo ${plan_time:%Y}'}"),
       "warning: tasks.t.script: \"${plan_time:%Y}\" is left to the shell"},
      {flow("{script: 'echo ${up.rows}', needs: [up]}"),
       "warning: tasks.t.script: \"${up.rows}\" is left to the shell"},
      {"flow: f\ntasks:\n  a: {script: x, outputs: [n]}\n  b: {script: x, outputs: [n]}\n"
       "  c: {command: [x, '${n}'], needs: [a, b]}\n",
       "tasks.c.command[1]: placeholder ${n}: a and b both write it, and neither waits for the "
       "other; write ${a.n}"},
      {flow("{script: x, params: {a: '${b}', b: '${a}'}}"), "refers to itself: a -> b -> a"},
      {flow("{script: x, needs: [up], params: {rows: '${rows}1', a: '${b}'}}", "{b: '${a}'}"),
       "tasks.t.params.a: refers to itself"},
  });
  for (const std::string& well :
       {flow("{command: [x, '${rows} ${up.rows} ${other.any}'], needs: [last]}"),
        flow("{command: [x, '${a} ${flow} ${run_id} ${task}'], params: {a: '${b}'}}", "{b: null}"),
        flow("{script: x, params: {a: '${a}1'}}", "{a: 'x'}"),
        flow("{script: 'echo ${bizdate} ${x.y}'}"), flow("{command: [x, '$${no} $no']}")}) {
    EXPECT_EQ(issuesOf(well), "");
  }
}

// A name must stand for the output of the last upstream task that declares it, by the levels of
// parameters.
TEST(FlowParserTest, NamesFindTheOutputsOfUpstreamTasks) {
  const FlowSpec flow = flowOf(R"(
flow: f
params: {rows: flow, x: "${rows}"}
tasks:
  a: {command: [x], outputs: [rows, n]}
  b: {command: ["${rows}"], needs: [a], outputs: [rows]}
  c: {command: ["${rows}", "${n}", "${x}"], needs: [b]}
  own: {command: ["${rows}"], needs: [b], params: {rows: mine}}
  more: {command: ["${rows}"], needs: [b], params: {rows: "${rows}+"}}
  apart: {command: ["${rows}"]}
  sub: {flow: g, needs: [a], params: {r: "${rows}"}, when: "${n} > 0"}
)");
  using Names = std::map<std::string, std::string>;
  EXPECT_EQ(flow.find("b")->upstream, (Names{{"rows", "a"}}));
  EXPECT_EQ(flow.find("c")->upstream, (Names{{"rows", "b"}, {"n", "a"}}));
  EXPECT_EQ(flow.find("own")->upstream, Names{});
  EXPECT_EQ(flow.find("more")->upstream, (Names{{"rows", "b"}}));
  EXPECT_EQ(flow.find("apart")->upstream, Names{});
  EXPECT_EQ(flow.find("sub")->upstream, (Names{{"rows", "a"}, {"n", "a"}}));
}

// Outputs of tasks that can have none must be refused when saving, not fail every run.
TEST(FlowParserTest, OutputsOfTasksThatHaveNoneAreRefused) {
  const auto flow = [](const std::string& upstream, const std::string& key = "rows") {
    return "flow: f\ntasks:\n  n: " + upstream + "\n  t: {command: ['${n." + key +
           "}'], needs: [n]}\n";
  };
  const std::vector<IssueCase> refused{
      {flow("{noop: true}"),
       "f.yaml:4:17: tasks.t.command[0]: placeholder ${n.rows}: a task of kind noop has no "
       "outputs"},
      {flow("{flow: g}"), "placeholder ${n.rows}: a task of kind flow has no outputs"},
      {flow("{event: {flow: g}}"), "placeholder ${n.rows}: the end of a flow or task has no data"},
      {flow("{http: {url: 'http://h'}}"), "its request captures nothing (http.capture)"},
      {flow("{http: {url: 'http://h', capture: body}}"), "its request captures body alone"},
      {flow("{noop: true, outputs: [rows]}"),
       "tasks.n.outputs: has rows, but a task of kind noop has no outputs"},
      {flow("{http: {url: 'http://h', capture: a}, outputs: [a, b]}", "a"),
       "tasks.n.outputs: has b, but its request captures a alone"},
  };
  expectIssues(refused);
  for (const IssueCase& c : refused) {
    EXPECT_TRUE(parseFlow("f", c.text, {.stored = true}).flow.has_value()) << c.text;
  }
  for (const std::string& well :
       {flow("{kind: k}"), flow("{script: x}"), flow("{event: {name: e}}"),
        flow("{http: {url: 'http://h', capture: rows}, outputs: [rows]}")}) {
    EXPECT_EQ(issuesOf(well), "");
  }
}

// Each task has a copy of the flow's parameters and defaults: what a run comes to must be bounded
// when saving, whichever way it grows.
TEST(FlowParserTest, WhatARunComesToIsBounded) {
  const std::string big(120'000, 'x');
  const auto tasks = [](int count, const std::string& task) {
    std::string out = "tasks:\n";
    for (int i = 0; i < count; ++i) out += fmt::format("  t{}: {}\n", i, task);
    return out;
  };
  std::string doubling = "params:\n  p0: '" + std::string(16, 'x') + "'\n";
  std::string empty = "params:\n  p0: ''\n";
  for (int i = 1; i < 13; ++i) {
    doubling += fmt::format("  p{0}: '${{p{1}}}${{p{1}}}'\n", i, i - 1);
    empty += fmt::format("  p{0}: '${{p{1}}}${{p{1}}}'\n", i, i - 1);
  }
  const std::string args = [&] {
    std::string out = "{command: [x";
    for (int i = 0; i < 4'000; ++i) out += ", '${P}'";
    return out + "]}";
  }();
  const std::string param = "flow: f\nparams: {P: '" + big + "'}\n";
  const std::string start = ": a run comes to about ";
  expectIssues({
      {param + tasks(9'000, "{script: x}"),
       "f.yaml:4:3: tasks" + start + "1031 MB of specifications: 9000 tasks"},
      {param + tasks(400, "{flow: g}"), start},
      {param + tasks(300, "{noop: true, when: '${P} == \"\"'}"), start},
      {"flow: f\ndefaults: {env: {P: '" + big + "'}}\n" + tasks(400, "{script: x}"), start},
      {param + tasks(1, args), start},
      {"flow: f\n" + doubling + tasks(100, "{script: x}"), start},
      {"flow: f\n" + empty + tasks(100, "{script: x}"), start},
  });
  const auto measured = [](const std::string& text, const ParamMap& startup = {}) {
    return measureRun(flowOf(text), startup);
  };
  const std::string plain = "flow: f\nparams: {day: '${plan_time:%F}', P: null}\n" +
                            tasks(10'000, "{command: [/opt/etl/load, --day, '${day}', '${P}']}");
  EXPECT_LT(measured(plain).bytes, kRunBytesMax / 8);
  const RunSize size = measured(plain, {{"P", big}});
  EXPECT_TRUE(size.tooLarge()) << "a start's parameters count as well";
  EXPECT_EQ(size.largest, "t0");
  EXPECT_FALSE(measured(param + tasks(200, "{script: x}")).tooLarge());
}

// A schedule that lies in the past must be told of when saving, and is no error.
TEST(FlowParserTest, AScheduleThatNeverFiresIsToldOf) {
  FlowSurroundings today;
  today.now = *parseRfc3339("2026-11-30T12:00:00Z");
  const auto issues = [&](const std::string& schedule) {
    return issuesOf("flow: f\nschedule: {" + schedule + "}\ntasks: {a: {noop: true}}\n", today);
  };
  const std::string never =
      "f.yaml:2:1: warning: schedule: never fires: it has no instant behind "
      "2026-11-30T12:00:00Z\n";
  EXPECT_EQ(issues("at: '2020-01-01T00:00:00Z'"), never);
  EXPECT_EQ(issues("every: 1h, end: '2020-01-01T00:00:00Z'"), never);
  EXPECT_EQ(issues("cron: '0 2 * * *', timezone: UTC, end: '2026-11-30T12:00:00Z'"), never);
  EXPECT_EQ(issues("cron: '0 0 2 * * ? 2020', timezone: UTC"), never);
  EXPECT_EQ(issues("cron: '0 2 * * *', timezone: UTC, end: '2026-12-02T00:00:00Z'"), "");
  // With a calendar that is known its days off count (2026-12-05 is a Saturday).
  const std::string on_days = "timezone: UTC, calendar: de, ";
  EXPECT_EQ(issues(on_days + "cron: '0 2 * * SAT'"), "");
  today.calendars = {{"de", std::make_shared<const WorkCalendar>()}};
  const std::string never_there =
      never.substr(0, never.size() - 1) + " on a workday of calendar de\n";
  EXPECT_EQ(issues(on_days + "cron: '0 2 * * SAT'"), never_there);
  EXPECT_EQ(issues(on_days + "every: 7d, start: '2026-12-05T02:00:00Z'"), never_there);
  EXPECT_EQ(issues(on_days + "at: '2026-12-05T02:00:00Z'"), never_there);
  EXPECT_EQ(issues(on_days + "cron: '0 2 * * SAT', off_day: next"), "");
  EXPECT_EQ(issues("at: '2026-11-30T12:00:01Z'"), "");
  EXPECT_EQ(issues("every: 1h"), "");
}

// One group that is not set must be one warning that names the tasks, not one for each.
TEST(FlowParserTest, AWarningOfAGroupIsToldOnceForAllItsTasks) {
  FlowSurroundings known;
  known.group_limits.emplace();
  (*known.group_limits)["shut"] = 0;
  std::string text = "flow: f\ntasks:\n";
  for (const char* name : {"a", "b", "c", "d", "e", "g"}) {
    text += fmt::format("  {}: {{command: [x], group: etl}}\n", name);
  }
  text += "  h: {command: [x], group: shut}\n  i: {command: [x], group: shut}\n";
  EXPECT_EQ(issuesOf(text, known),
            "f.yaml:3:21: warning: tasks.a.group: group etl is not set: nothing limits a, b, c and "
            "3 more until somebody does (baton group set etl --limit N)\n"
            "f.yaml:9:21: warning: tasks.h.group: group shut has a limit of 0: h and i can never "
            "run while that holds\n");
}

// A flow whose own end begins it again must be told when it is checked, without a master.
TEST(FlowParserTest, AFlowThatBeginsItselfIsRefused) {
  const std::string tasks = "tasks: {t: {noop: true}}\n";
  expectIssues({
      {"flow: f\ntrigger: {event: {flow: F}}\n" + tasks,
       "trigger.event.flow: is the flow itself: each run would begin the next one, for ever"},
      {"flow: f\ntrigger: {event: {flow: f, task: t}}\n" + tasks, "is the flow itself"},
      {"flow: f\ntasks: {w: {event: {flow: f}}}\n",
       "warning: tasks.w.event: waits for the end of this flow within same_day, which its own run "
       "lies in: it waits for itself"},
  });
  for (const std::string& well :
       {"flow: f\ntrigger: {event: {flow: g}}\n" + tasks, "flow: f\ntrigger: {event: f}\n" + tasks,
        std::string("flow: f\ntasks: {w: {event: {flow: f, window: last_day}}}\n"),
        std::string("flow: f\ntasks: {w: {event: {flow: f, task: a}}, a: {noop: true}}\n")}) {
    EXPECT_EQ(issuesOf(well), "");
  }
}

// Flows that would begin each other in a circle must be found when they are looked at together.
TEST(FlowParserTest, ACircleOfFlowsIsNamedByItsPath) {
  const auto circle = [](const std::vector<std::string>& texts) {
    std::vector<FlowSpec> specs;
    for (const std::string& text : texts) {
      auto parsed = parseFlow("f.yaml", text);
      EXPECT_TRUE(parsed.flow.has_value()) << text;
      specs.push_back(*parsed.flow);
    }
    std::vector<const FlowSpec*> flows;
    for (const FlowSpec& spec : specs) flows.push_back(&spec);
    return beginningCircle(flows);
  };
  const std::string a = "flow: a\ntrigger: {event: {flow: c}}\ntasks: {t: {noop: true}}\n";
  const std::string b = "flow: b\ntrigger: {event: {flow: A, task: t}}\ntasks: {t: {noop: true}}\n";
  EXPECT_EQ(circle({a, b}), "");
  EXPECT_EQ(circle({a, b, "flow: c\ntasks: {s: {flow: x}}\n"}), "");
  EXPECT_EQ(circle({"flow: c\ntrigger: {event: {flow: b}}\ntasks: {s: {noop: true}}\n", a, b}),
            "c -> a -> b -> c");
  EXPECT_EQ(circle({a,
                    "flow: b\ntrigger: {event: {flow: a, task: other}}\ntasks: {t: {noop: "
                    "true}}\n",
                    "flow: c\ntrigger: {event: {flow: b}}\ntasks: {s: {noop: true}}\n"}),
            "")
      << "a has no such task";
  EXPECT_EQ(circle({"flow: x\ntasks: {s: {flow: y}}\n", "flow: y\ntasks: {s: {flow: x}}\n"}),
            "x -> y -> x");
}

// Flows that are named and not there must be told, each once, with what becomes of the tasks.
TEST(FlowParserTest, WhatIsNamedAndNotThereIsToldOnce) {
  const std::string text =
      "flow: f\n"
      "trigger: {event: {flow: nightly}}\n"
      "tasks:\n"
      "  a: {flow: publish}\n"
      "  b: {flow: Publish}\n"
      "  w: {event: {flow: fx, task: rate}}\n"
      "  v: {event: {flow: f, task: c, window: last_day}}\n"
      "  e: {event: {name: outside, key: k}}\n";
  const auto told = [&](const KnownFlows& known) {
    std::string lines;
    for (const FlowIssue& issue : unmetReferences("f.yaml", parseFlow("f.yaml", text), known)) {
      EXPECT_TRUE(issue.warning);
      lines += issue.text() + " [" + issue.missing_flow + "]\n";
    }
    return lines;
  };
  const std::string own =
      "f.yaml:7:21: warning: tasks.v.event.flow: flow f has no task c: v waits "
      "until there is one []\n";
  EXPECT_EQ(told({}),
            "f.yaml:2:25: warning: trigger.event.flow: there is no flow nightly: nothing begins a "
            "run until there is one [nightly]\n"
            "f.yaml:4:13: warning: tasks.a.flow: there is no flow publish: a and b fail until "
            "there is one [publish]\n"
            "f.yaml:6:21: warning: tasks.w.event.flow: there is no flow fx: w waits until there is "
            "one [fx]\n" +
                own);
  EXPECT_EQ(told({{"nightly", std::set<std::string>{}},
                  {"publish", std::set<std::string>{"x"}},
                  {"fx", std::set<std::string>{"rates", "other"}}}),
            "f.yaml:6:21: warning: tasks.w.event.flow: flow fx has no task rate: w waits until "
            "there is one; did you mean rates? []\n" +
                own);
  EXPECT_EQ(told({{"nightly", std::nullopt}, {"publish", std::nullopt}, {"fx", std::nullopt}}), own)
      << "what can't be read is not judged";
}

// A key that no event can have is refused, unless a placeholder may make another one of it.
TEST(FlowParserTest, KeysOfEventsAreThoseThatEventsCanHave) {
  const auto issues = [](const std::string& key) {
    return issuesOf("flow: f\nparams: {d: x}\ntasks: {e: {event: {name: n, key: " + key + "}}}\n");
  };
  for (const std::string& key : {std::string("\"\""), std::string("' a'"), std::string("\"a\\tb\""),
                                 std::string(129, 'k')}) {
    EXPECT_NE(issues(key).find("tasks.e.event.key: is \""), std::string::npos) << key;
  }
  EXPECT_EQ(issues("'${d} '"), "");
  EXPECT_EQ(issues("a b"), "");
}

// What the cluster knows must be compared: groups and calendars.
TEST(FlowParserTest, SurroundingsAreCompared) {
  FlowSurroundings known;
  known.group_limits = {{"g", 2}, {"closed", 0}, {"free", std::nullopt}};
  known.calendars = {{"de", std::make_shared<const WorkCalendar>()}};
  const std::string schedule = "schedule: {cron: '0 2 * * *', timezone: UTC, calendar: ";
  EXPECT_NE(
      issuesOf(withTask(kRun + "group: g\nweight: 4\n"), known)
          .find("f.yaml:7:5: warning: tasks.t.weight: is 4, but group g has a limit of 2: it can "
                "never run while that holds"),
      std::string::npos);
  EXPECT_EQ(issuesOf(withTask(kRun + "group: g\nweight: 2\n"), known), "");
  EXPECT_NE(issuesOf(withTask(kRun + "group: closed\n"), known)
                .find("warning: tasks.t.group: group closed has a limit of 0"),
            std::string::npos);
  EXPECT_NE(issuesOf(withTask(kRun + "group: new\n"), known)
                .find("warning: tasks.t.group: group new is not set: nothing limits t until"),
            std::string::npos);
  EXPECT_EQ(issuesOf(withTask(kRun + "group: free\nweight: 1000\n"), known), "");
  EXPECT_EQ(issuesOf(withTask(kRun + "group: new\nweight: 1000\n")), "") << "nothing is known";
  EXPECT_NE(issuesOf(withTask(kRun, schedule + "us}\n"), known).find("\"us\" is no calendar"),
            std::string::npos);
  EXPECT_EQ(issuesOf(withTask(kRun, schedule + "de}\n"), known), "");
}

// Labels and kinds that nobody offers would leave a task waiting: that is told when saving.
TEST(FlowParserTest, WhatNobodyOffersIsToldOf) {
  FlowSurroundings known;
  known.offered = {{{"pool", "etl"}, {"kind.http", "true"}}, {{"os", "linux"}}};
  const auto issues = [&](const std::string& task) { return issuesOf(withTask(task), known); };
  EXPECT_EQ(issues(kRun + "labels: {pool: etl, os: linux}\n"),
            "f.yaml:4:3: warning: tasks.t.labels: no runner that is known has os: linux, pool: "
            "etl: it waits until one does\n");
  EXPECT_EQ(issues("kind: spark\n"),
            "f.yaml:4:3: warning: tasks.t.kind: no worker that is known carries tasks of kind "
            "spark: it waits until one does\n");
  EXPECT_EQ(issues("http: {url: 'http://h'}\nlabels: {os: linux}\n")
                .find("f.yaml:4:3: warning: "
                      "tasks.t.labels: "),
            0U);
  EXPECT_EQ(issues(kRun), "");
  EXPECT_EQ(issues(kRun + "labels: {os: linux}\n"), "");
  EXPECT_EQ(issues("http: {url: 'http://h'}\nlabels: {pool: etl}\n"), "");
  known.offered->clear();
  EXPECT_EQ(issues("kind: spark\n"), "") << "nobody is known yet";
}

// Hours of a task that no hour of its flow allows are told.
TEST(FlowParserTest, AWindowThatNeverOpensIsTold) {
  const auto issues = [](const std::string& task, const std::string& flow) {
    return issuesOf(withTask(kRun + "window: \"" + task + "\"\n", "window: \"" + flow + "\"\n"));
  };
  EXPECT_NE(issues("07:00-08:00", "22:00-06:00")
                .find("warning: tasks.t.window: is 07:00-08:00, never within the flow's window "
                      "22:00-06:00: it can never run"),
            std::string::npos);
  EXPECT_NE(issues("06:00-22:00", "22:00-06:00"), "");
  EXPECT_EQ(issues("05:59-08:00", "22:00-06:00"), "");
  EXPECT_EQ(issues("20:00-23:00", "22:00-06:00"), "");
  EXPECT_EQ(issues("23:00-01:00", "22:00-06:00"), "");
  EXPECT_EQ(issues("22:00-06:00", "23:00-01:00"), "");
  EXPECT_NE(issues("10:00-11:00", "11:00-12:00"), "");
}

// All that is wrong must be told at once, by place; JSON has places too.
TEST(FlowParserTest, AllIssuesAreTold) {
  const std::string issues = issuesOf(
      "{\n  \"flow\": \"f\",\n  \"priority\": \"x\",\n  \"tasks\": {\n    \"a\": {\"command\": [], "
      "\"weight\": 0},\n    \"b\": {\"needs\": [\"c\"]}\n  }\n}\n");
  EXPECT_EQ(
      issues,
      "f.yaml:3:15: priority: is \"x\", expected low, normal, high or critical\n"
      "f.yaml:5:22: tasks.a.command: is an empty list, expected a list of the program and its "
      "arguments\n"
      "f.yaml:5:36: tasks.a.weight: is \"0\", expected a whole number from 1 to 1000, in "
      "plain digits\n"
      "f.yaml:6:5: tasks.b: says not what to run; expected one of command, script, http, "
      "flow, event or noop, or kind\n"
      "f.yaml:6:21: tasks.b.needs: \"c\" is no task of this flow\n");
  EXPECT_EQ(
      issuesOf("flow: f\ntasks:\n  a: {noop: true, needs: [b]}\n"
               "  b: {scrpt: x, needs: [a, c], env: {A: '${no}'}}\n"),
      "f.yaml:3:19: tasks.a.needs: the tasks wait for each other in a cycle: a -> b -> a\n"
      "f.yaml:4:3: tasks.b: says not what to run; expected one of command, script, http, flow, "
      "event or noop, or kind\n"
      "f.yaml:4:7: tasks.b.scrpt: is not a known key; did you mean script?\n"
      "f.yaml:4:28: tasks.b.needs: \"c\" is no task of this flow\n"
      "f.yaml:4:41: tasks.b.env.A: placeholder ${no}: no parameter has that name; declare it "
      "in params (null: without a value), or set it for the project (baton param set)\n");
  std::string many = "flow: f\ntasks:\n";
  for (int i = 0; i < 5'000; ++i)
    many += fmt::format("  t{}: {{noop: true, needs: [x{}]}}\n", i, i);
  const ParsedFlow parsed = parseFlow("f", many);
  EXPECT_EQ(parsed.issues.size(), 201U);
  EXPECT_EQ(parsed.issues.back().message, "more is wrong; the first 200 are listed");
}

// BUG-161 and size: hostile and large texts must be judged quickly.
TEST(FlowParserTest, LargeFlowsAreReadQuickly) {
  std::string chain = "flow: f\ntasks:\n  t0: {script: x, outputs: [r]}\n";
  for (int i = 1; i < 10'000; ++i) {
    chain += fmt::format("  t{}: {{script: x, needs: [t{}], env: {{A: '${{r}}'}}}}\n", i, i - 1);
  }
  std::string wide = "flow: f\ntasks:\n";
  std::string names;
  for (int i = 0; i < 9'999; ++i) {
    wide += fmt::format("  t{}: {{noop: true}}\n", i);
    names += fmt::format("t{}, ", i);
  }
  wide += "  join: {noop: true, needs: [" + names + "]}\n";
  std::string ring = "flow: f\ntasks:\n";
  for (int i = 0; i < 10'000; ++i) {
    ring += fmt::format("  t{}: {{noop: true, needs: [t{}]}}\n", i, (i + 1) % 10'000);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(issuesOf(chain), "");
  EXPECT_EQ(issuesOf(wide), "");
  EXPECT_NE(issuesOf(ring).find("… (10000 tasks)"), std::string::npos);
  EXPECT_NE(issuesOf(wide + "  more: {noop: true}\n").find("has 10001 tasks"), std::string::npos);
  for (const std::string part : {"[", "{a: ", "- ", "{a:"}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += part;
    EXPECT_NE(issuesOf(deep), "");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace baton::flow
