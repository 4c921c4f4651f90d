#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

// The example of the design must be read with every key, and defaults worked in.
TEST(FlowParserTest, ReadsEveryKey) {
  const FlowSpec flow = flowOf(R"(
flow: nightly-sales
description: loads yesterday's sales
owner: dwh-team
tags: [b, a, b]
schedule:
  cron: "0 2 * * *"
  timezone: Europe/Berlin
  dst: {gap: skip, overlap: both}
  start: 2026-01-01T00:00:00+01:00
  end: 2027-01-01T00:00:00+01:00
  count: 100
  calendar: cn-workdays
  off_day: next
  misfire: {policy: all, max: 7, within: 14d, order: newest_first}
trigger: {event: {flow: fx-rates, task: rates}}
params:
  bizdate: "${plan_time:%Y%m%d,-1d}"
overlap: {policy: parallel, max_runs: 3, max_queued: 0}
priority: high
on_failure: stop
timeout: 6h
deadline: {finish_by: 06:30}
window: 22:00-06:00
defaults:
  retry: {max: 2, delay: 30s, backoff: 2.5, max_delay: 10m}
  timeout: 1h
  labels: {pool: etl}
  env: {A: a, B: b}
tasks:
  extract:
    command: [/opt/etl/extract, --date, "${bizdate}"]
  load:
    description: into the warehouse
    needs: [extract]
    script: |
      psql -v d="$bizdate" -f load.sql
    interpreter: [/bin/bash, -e]
    group: warehouse
    weight: 2
    labels: {os: linux}
    retry: {max: 5}
    env: {B: c}
    params: {mode: 0755}
    outputs: [rows]
    dir: /srv
    priority: low
    dispatch_timeout: 5m
    kill_grace: 3s
    window: "08:00-09:30"
    on_disconnect: keep
    tags: [x]
    callback: {url: "http://ops.example/t", on: [skipped], wait: true, on_failure: fail}
  check:
    needs: [load]
    when: "${load.rows} > 0"
    on_failure: ignore
    hold: true
    http: {url: "http://h/${bizdate}", method: POST, headers: {A: b}, body: x, expect: [200, 3xx, 400-404], capture: answer}
  publish:
    needs: {load: success, check: done}
    flow: publish-sales
    params: {d: "${bizdate}"}
    timeout: 2h
  wait-fx:
    disabled: true
    event: {flow: fx-rates, task: rates, window: {last_24_hours: all}}
  wait-file:
    event: {name: file, key: "sales-${bizdate}"}
  join:
    needs: {wait-fx: failure}
    noop:
  spark:
    kind: spark
    with: {class: a.B, args: ["${bizdate}", 1.10, null], deep: {x: no}}
callbacks: [{on: [failed, finished], url: http://ops.example/hook, wait: false}]
)");
  EXPECT_EQ(flow.name, "nightly-sales");
  EXPECT_EQ(flow.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(flow.timezone, "Europe/Berlin");
  ASSERT_TRUE(flow.schedule);
  EXPECT_EQ(flow.schedule->gap, GapPolicy::Skip);
  EXPECT_EQ(flow.schedule->clock_overlap, OverlapPolicy::Both);
  EXPECT_EQ(flow.schedule->count, 100);
  EXPECT_EQ(flow.schedule->off_day, OffDayPolicy::Next);
  ASSERT_TRUE(flow.schedule->misfire);
  EXPECT_EQ(flow.schedule->misfire->max, 7U);
  EXPECT_FALSE(flow.schedule->misfire->oldest_first);
  EXPECT_EQ(flow.trigger->flow, "fx-rates");
  EXPECT_EQ(flow.overlap.policy, OverlapSpec::Policy::Parallel);
  EXPECT_EQ(flow.overlap.max_runs, 3);
  EXPECT_EQ(flow.overlap.max_queued, 0);
  EXPECT_TRUE(flow.stop_on_failure);
  EXPECT_EQ(flow.finish_by, "06:30");
  EXPECT_EQ(flow.window->from_minute, 22 * 60);
  ASSERT_EQ(flow.callbacks.size(), 1U);
  const TaskNode& load = *flow.find("load");
  EXPECT_EQ(load.kind, "script");
  EXPECT_EQ(load.policy.retry.max, 5);
  EXPECT_EQ(load.policy.retry.delay, Millis(30'000));
  EXPECT_EQ(load.policy.retry.backoff, 2.5);
  EXPECT_EQ(load.policy.timeout, Millis(3'600'000));
  EXPECT_EQ(load.policy.labels, (LabelMap{{"os", "linux"}, {"pool", "etl"}}));
  EXPECT_EQ(load.env.at("A") + load.env.at("B"), "ac");
  EXPECT_EQ(load.params.at("mode"), "0755");
  EXPECT_TRUE(load.policy.callback.wait);
  EXPECT_TRUE(flow.find("check")->ignore_failure);
  EXPECT_EQ(flow.find("check")->policy.retry.max, 2);
  EXPECT_EQ(flow.find("publish")->needs.at("check"), NeedOn::Done);
  EXPECT_EQ(flow.find("publish")->policy.retry.max, 0);
  EXPECT_EQ(flow.find("publish")->policy.timeout, Millis(7'200'000));
  EXPECT_TRUE(flow.find("wait-fx")->event.window.all);
  EXPECT_EQ(flow.find("join")->kind, "noop");
  EXPECT_EQ(dumpJson(flow.find("spark")->with),
            R"({"args":["${bizdate}","1.10",null],"class":"a.B","deep":{"x":"no"}})");
  // The whole must come back the same from its canonical text, and stay so.
  const std::string canonical = canonicalText(flow);
  EXPECT_EQ(canonicalText(flowOf(canonical)), canonical);
  EXPECT_NE(recurrenceOf(flow, WallTime{}, nullptr).next(WallTime{}), std::nullopt);
}

// Equal definitions must have one text, whatever the order, the quotes and the way of writing.
TEST(FlowParserTest, EqualDefinitionsHaveEqualTexts) {
  const std::string a =
      canonicalText(flowOf("flow: f\ndefaults: {timeout: 90s}\ntasks:\n  a: {command: [x, '1']}\n"
                           "  b: {needs: {a: success}, script: y, weight: 1}\n"));
  const std::string b = canonicalText(
      flowOf("{\"tasks\": {\"b\": {\"script\": \"y\", \"timeout\": \"1m30s\", \"needs\": [\"a\"]}, "
             "\"a\": {\"timeout\": \"90s\", \"command\": [\"x\", \"1\"]}}, \"flow\": \"f\", "
             "\"overlap\": \"queue\"}"));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, R"({"flow":"f","tasks":{"a":{"command":["x","1"],"timeout":"90s"},)"
               R"("b":{"needs":["a"],"script":"y","timeout":"90s"}}})");
  // Without a priority of its own a task has that of its run.
  EXPECT_NE(canonicalText(flowOf("{flow: f, tasks: {a: {noop: true, priority: normal}}}")),
            canonicalText(flowOf("{flow: f, tasks: {a: {noop: true}}}")));
}

// BUG-163: parameters must stay what was written; null and empty are told apart.
TEST(FlowParserTest, ParametersStayAsWritten) {
  const FlowSpec flow = flowOf(
      withTask(kRun,
               "params:\n  country: no\n  ver: 1.10\n  mode: 0755\n  at: 12:30\n  sha: 12345e04\n"
               "  n: null\n  t: ~\n  nothing:\n  e: \"\"\n  q: \"null\"\n  d: 2026-01-01\n"));
  const ParamMap expected{{"country", "no"},   {"ver", "1.10"},           {"mode", "0755"},
                          {"at", "12:30"},     {"sha", "12345e04"},       {"n", std::nullopt},
                          {"t", std::nullopt}, {"nothing", std::nullopt}, {"e", ""},
                          {"q", "null"},       {"d", "2026-01-01"}};
  EXPECT_EQ(flow.params, expected);
  EXPECT_EQ(flowOf(canonicalText(flow)).params, expected);
}

// BUG-164: numbers whose reading depends on the version of YAML must be refused.
TEST(FlowParserTest, AmbiguousNumbersAreRefused) {
  for (const std::string value : {"010", "1e2", "0x10", "yes", "1_0", "+1", "-1", "1.0", "\"2\"",
                                  "null", "[2]", "''", "99999999999999999999"}) {
    for (const std::string key : {"retry: {max: ", "weight: {x: "}) {
      const bool retry = key.starts_with("retry");
      const std::string line = retry ? key + value + "}\n" : "weight: " + value + "\n";
      const std::string issues = issuesOf(withTask(kRun + line));
      EXPECT_NE(issues.find("f.yaml:6:"), std::string::npos) << line << issues;
      EXPECT_NE(issues.find("expected a whole number from"), std::string::npos) << line << issues;
    }
  }
  for (const std::string value : {"yes", "no", "on", "True", "1", "\"true\"", "null"}) {
    EXPECT_NE(issuesOf(withTask(kRun + "hold: " + value + "\n")).find("expected true or false"),
              std::string::npos)
        << value;
  }
  for (const std::string value :
       {"1e2", "10", "010s", "yes", "1.5h", "-1s", "367d", "null", "[1s]"}) {
    EXPECT_NE(issuesOf(withTask(kRun + "timeout: " + value + "\n")).find("expected a duration"),
              std::string::npos)
        << value;
  }
}

// What a task runs must be said once, and its keys must fit.
TEST(FlowParserTest, KindsAndTheirKeys) {
  expectIssues({
      {withTask("needs: [up]\n"),
       "tasks.t: says not what to run; expected one of command, script,"},
      {withTask(kRun + "script: x\n"), "tasks.t.script: stands beside command"},
      {withTask("kind: script\ncommand: [x]\n"),
       "tasks.t.kind: is \"script\", but the task has command"},
      {withTask("kind: script\n"), "tasks.t.script: is missing"},
      {withTask("command: x\n"), "tasks.t.command: is \"x\", expected a list of texts"},
      {withTask("command: []\n"), "expected a list of the program and its arguments"},
      {withTask("command: [x, null]\n"),
       "f.yaml:5:18: tasks.t.command[1]: is null, expected a text"},
      {withTask("command: [x, {a: b}]\n"), "tasks.t.command[1]: is a map, expected a text"},
      {withTask("script: ''\n"), "tasks.t.script: is \"\", expected the lines to run"},
      {withTask("noop: maybe\n"), "tasks.t.noop: is \"maybe\", expected true"},
      {withTask("noop: true\nretry: {max: 1}\n"),
       "tasks.t.retry: has no meaning for kind noop, which takes no runner"},
      {withTask("flow: g\ngroup: x\n"), "tasks.t.group: has no meaning for kind flow"},
      {withTask(kRun + "interpreter: [x]\n"),
       "tasks.t.interpreter: has a meaning for a script alone"},
      {withTask("kind: scrpt\n"),
       "warning: tasks.t.kind: \"scrpt\" is a plug-in's; did you mean script?"},
      {withTask("http: {}\n"), "tasks.t.http.url: is missing"},
      {withTask("http: {url: ftp://x}\n"), "tasks.t.http.url: is \"ftp://x\", expected an http://"},
      {withTask("http: {url: https://x}\n"), "tasks.t.http.url: https is not supported"},
      {withTask("http: {url: http://x, headers: {Host: y}}\n"), "has \"Host\", which baton sets"},
      {withTask("kind: x\nwith: text\n"), "tasks.t.with: is a string, expected a map"},
      {withTask("kind: x12345678901234567890123456789012\n"), "tasks.t.kind: is \"x123"},
      {withTask(kRun + "labels: {kind.x: y}\n"), "names beginning with kind."},
      {withTask("http: {url: http://x, method: get}\n"),
       "tasks.t.http.method: is \"get\", expected GET, POST"},
      {withTask("http: {url: http://x, expect: 600}\n"), "has \"600\", expected a status"},
      {withTask("http: {url: http://x, expect: [300-200]}\n"),
       "has \"300-200\", expected a status"},
      {withTask("event: {}\n"), "tasks.t.event.name: expected one of name"},
      {withTask("event: {name: a, flow: b}\n"), "expected one of name"},
      {withTask("event: {name: a, task: b}\n"), "tasks.t.event.task: needs flow beside it"},
      {withTask("event: {flow: a, key: b}\n"), "tasks.t.event.key: has a meaning only with name"},
      {withTask("event: {flow: a, window: today}\n"),
       "is \"today\", expected a window such as same_day"},
      {withTask("event: {flow: a, window: last_0_days}\n"), "expected a window"},
      {withTask("event: {flow: a, window: last_N_days}\n"), "expected a window"},
      {withTask("event: {name: a, window: {last_3_days: all}}\n"),
       "tasks.t.event.window: asks for all; nobody knows how many events"},
      {withTask("event: {flow: a, window: {last_3_days: any}}\n"),
       "is \"any\", expected all or newest"},
      {withTask(kRun + "needs: up\n"),
       "tasks.t.needs: is \"up\", expected a list of tasks, or a map"},
      {withTask(kRun + "needs: {up: ok}\n"),
       "tasks.t.needs.up: is \"ok\", expected success, failure or done"},
      {withTask(kRun + "needs: [[up]]\n"),
       "tasks.t.needs[0]: is a list, expected the name of a task"},
      {withTask(kRun + "priority: urgent\n"),
       "tasks.t.priority: is \"urgent\", expected low, normal, high or critical"},
      {withTask(kRun + "on_failure: stop\n"),
       "tasks.t.on_failure: is \"stop\", expected fail or ignore"},
      {withTask(kRun + "weight: 0\n"),
       "tasks.t.weight: is \"0\", expected a whole number from 1 to 1000"},
      {withTask(kRun + "labels: {a: b c}\n"),
       "tasks.t.labels: has a: b c; names and values have 1 to 64"},
      {withTask(kRun + "on_disconnect: maybe\n"), "is \"maybe\", expected keep or stop"},
      {withTask("noop: true\nrun_as: etl\n"), "tasks.t.run_as: has no meaning for kind noop"},
      {withTask(kRun + "env: {1A: x}\n"), "tasks.t.env: 1A is not a variable name"},
      {withTask(kRun + "params: {BATON_X: x}\n"),
       "tasks.t.params.BATON_X: names beginning with BATON_"},
      {withTask(kRun + "params: {plan_time: x}\n"), "is a name that baton fills in itself"},
      {withTask(kRun + "params: {a: [x]}\n"),
       "tasks.t.params.a: is a list, expected a single value"},
      {withTask(kRun + "dir: tmp\n"), "tasks.t.dir: is \"tmp\", expected an absolute path"},
      {withTask(kRun + "window: 25:00-06:00\n"),
       "tasks.t.window: is \"25:00-06:00\", expected times of day"},
      {withTask(kRun + "window: 06:00-06:00\n"), "expected times of day"},
      {withTask(kRun + "tags: ['a b']\n"), "has \"a b\"; a tag has 1 to 64"},
      {withTask(kRun + "outputs: [1]\n"), "tasks.t.outputs: 1 is not a variable name"},
      {withTask(kRun + "callback: {on: [ended]}\n"), "tasks.t.callback.url: is missing"},
      {withTask(kRun + "callback: {url: http://x, on: [ended]}\n"),
       "has \"ended\", expected failed, finished"},
      {withTask(kRun + "retry: {max: 1, on_lost: 1}\n"), "on_lost: is \"1\", expected"},
      {withTask(kRun + "when: '${up.x} > '\n"),
       "tasks.t.when: is \"${up.x} > \": column 11: ends too early"},
      {withTask("command: [sh, -c, 'echo ${flow}']\n"),
       "warning: tasks.t.command[2]: puts a value into text that a shell runs"},
  });
}

// What this version can't do must be refused where a submitted task is, and never passed over.
TEST(FlowParserTest, WhatIsNotSupportedIsRefusedByName) {
  const std::string callback = "tasks.t.callback.";
  const auto called = [](const std::string& url) {
    return withTask(kRun + "callback: {url: \"" + url + "\"}\n");
  };
  const auto flowCalls = [](const std::string& map) {
    return withTask(kRun, "callbacks: [" + map + "]\n");
  };
  const std::vector<IssueCase> refused{
      {withTask(kRun + "run_as: nobody\n"),
       "f.yaml:6:5: tasks.t.run_as: is not supported by this version of baton"},
      {withTask(kRun + "run_as: ~\n"), "tasks.t.run_as: is not supported"},
      {withTask(kRun + "limits: {memory: 2G}\n"), "tasks.t.limits: is not supported"},
      {withTask(kRun + "on_disconnect: stop\n"),
       "tasks.t.on_disconnect: \"stop\" is not supported by this version"},
      {withTask(kRun, "defaults: {run_as: etl}\n"), "defaults.run_as: is not supported"},
      {withTask(kRun, "defaults: {limits: {cpu: 150%}}\n"), "defaults.limits: is not supported"},
      {withTask(kRun, "defaults: {on_disconnect: stop}\n"), "defaults.on_disconnect: \"stop\""},
      {called("HTTPS://h/x"), callback + "url: https is not supported by this version of baton"},
      {called("http://h/${run_id}"),
       callback + "url: is \"http://h/${run_id}\": no placeholders are read here"},
      {flowCalls("{url: 'http://h/${nosuch}'}"), "callbacks[0].url: is \"http://h/${nosuch}\": no"},
      {withTask("script: x\ninterpreter: [sh, '${g}']\n"),
       "tasks.t.interpreter: is \"${g}\": no placeholders are read here"},
      {called("http://h:99999/"), callback + "url: has \":99999\" behind its host, expected"},
      {called("http:///x"), callback + "url: has no host"},
      {called("http://[::1"), callback + "url: has \"[::1\", expected an IPv6 address"},
      {called("http://h/a b"), callback + "url: has a character that must be escaped"},
      {called("http://u@h/"), callback + "url: has user information"},
      {called("http://h\\u00e9/"), "must be escaped"},
      {withTask("http: {url: 'http://h:0/'}\n"), "tasks.t.http.url: has \":0\" behind its host"},
      {withTask("noop: true\ncallback: {url: 'http://h', wait: true}\n"),
       callback + "wait: true has no meaning for kind noop, whose end waits for no receiver"},
      {withTask("flow: g\ncallback: {url: 'http://h', on_failure: fail}\n"),
       callback + "on_failure: fail has no meaning for kind flow"},
      {withTask("event: {name: n}\ncallback: {url: 'http://h', wait: true}\n"),
       callback + "wait: true has no meaning for kind event"},
      {flowCalls("{url: 'http://h', wait: true}"),
       "callbacks[0].wait: true is not offered for the callbacks of a flow"},
      {flowCalls("{url: 'http://h', on_failure: fail}"),
       "callbacks[0].on_failure: fail is not offered for the callbacks of a flow"},
      {flowCalls("{url: 'https://h'}"), "callbacks[0].url: https is not supported"},
  };
  expectIssues(refused);
  for (const IssueCase& c : refused) {
    EXPECT_TRUE(parseFlow("f", c.text, {.stored = true}).flow.has_value())
        << "a master that is upgraded can still read it\n"
        << c.text << issuesOf(c.text, {.stored = true});
  }
  for (const std::string& well :
       {called("HTTP://H.example:8080/x?y=%20"), called("http://[::1]:80"),
        called("http://10.0.0.1"), flowCalls("{url: 'http://h', wait: false, on_failure: finish}"),
        withTask("http: {url: 'http://${host}:${port}/x'}\n", "params: {host: h, port: 1}\n")}) {
    EXPECT_EQ(issuesOf(well), "");
  }
}

// A task whose stored definition asks for such a key must be told from one that does not.
TEST(FlowParserTest, StoredKeysThatAreNotSupportedMarkTheirTask) {
  const auto stored = [](const std::string& text) {
    return *parseFlow("f", text, {.stored = true}).flow;
  };
  const FlowSpec flow = stored(
      "flow: f\ndefaults: {on_disconnect: stop}\ntasks:\n  a: {command: [x]}\n"
      "  b: {command: [x], on_disconnect: keep}\n  c: {command: [x], run_as: nobody}\n"
      "  d: {noop: true}\n");
  EXPECT_EQ(flow.find("a")->unsupported, "on_disconnect");
  EXPECT_EQ(flow.find("b")->unsupported, "");
  EXPECT_EQ(flow.find("c")->unsupported, "run_as");
  EXPECT_EQ(flow.find("d")->unsupported, "");
  EXPECT_NE(canonicalText(stored(withTask(kRun + "run_as: x\n"))),
            canonicalText(flowOf(withTask(kRun))))
      << "the same without the key is another definition";
}

TEST(FlowParserTest, ScheduleAndFlowKeys) {
  const auto flow = [](const std::string& lines) { return withTask(kRun, lines); };
  const auto cron = [&](const std::string& more) {
    return flow("schedule: {cron: '0 2 * * *', timezone: UTC" + more + "}\n");
  };
  expectIssues({
      {flow("schedule: {}\n"), "schedule: says not when; expected one of cron, every, at"},
      {flow("schedule: {every: 1h, at: 2026-01-01T00:00:00Z}\n"),
       "schedule: has 2 of cron, every, at"},
      {flow("schedule: {cron: '90 * * * *', timezone: UTC}\n"), "f.yaml:2:18: schedule.cron: "},
      {flow("schedule: {cron: '90 * * * *', timezone: UTC}\n"),
       "'90' is out of range; expected 0 to 59"},
      {flow("schedule: {cron: '0 0 30 2 *', timezone: UTC}\n"), "no date ever matches"},
      {flow("schedule: {cron: '0 0 * * *'}\n"),
       "schedule.timezone: is missing; a cron schedule needs one"},
      {flow("schedule: {cron: '0 0 * * *', timezone: Mars/Base}\n"),
       "time zone 'Mars/Base' is not in"},
      {cron(", dialect: quartz"), "schedule.cron: "},
      {cron(", dialect: vixie"), "schedule.dialect: is \"vixie\", expected unix5 or quartz"},
      {cron(", dst: {gap: run}"), "schedule.dst.gap: is \"run\", expected run_after or skip"},
      {flow("schedule: {every: 1h, dst: {gap: skip}}\n"),
       "schedule.dst: has a meaning for cron alone"},
      {flow("schedule: {every: 500ms}\n"), "schedule.every: is \"500ms\", expected a duration"},
      {flow("schedule: {every: 1500ms}\n"),
       "schedule.every: is \"1500ms\", expected whole seconds"},
      {flow("schedule: {at: tomorrow}\n"),
       "schedule.at: is \"tomorrow\", expected an instant with its zone"},
      {flow("schedule: {at: 2026-01-01T00:00:00Z, count: 2}\n"),
       "schedule.count: has no meaning with at"},
      {flow("schedule: {at: 2026-01-01T00:00:00Z, end: 2026-01-01T00:00:00Z}\n"),
       "schedule.at: never fires"},
      {cron(", start: 2026-01-02T00:00:00Z, end: 2026-01-01T00:00:00Z"),
       "schedule.end: is 2026-01-01T00:00:00Z, expected a time behind start"},
      {cron(", off_day: next"), "schedule.off_day: has a meaning only with a calendar"},
      {cron(", count: 0"), "schedule.count: is \"0\", expected a whole number from 1"},
      {cron(", misfire: {max: 1001}"),
       "schedule.misfire.max: is \"1001\", expected a whole number from 1 to 1000"},
      {cron(", misfire: {max: 0}"), "expected a whole number from 1 to 1000"},
      {cron(", misfire: {within: 367d}"),
       "schedule.misfire.within: is \"367d\", expected a duration"},
      {cron(", misfire: {policy: latest, max: 3}"),
       "schedule.misfire.max: has no meaning with policy latest"},
      {cron(", misfire: some"), "schedule.misfire: is \"some\", expected none, latest or all"},
      {flow("schedule: {every: 1h}\ntimezone: UTC\n"),
       "timezone: stands beside a schedule; write it there"},
      {flow("timezone: local\n"), "time zone 'local' is not in"},
      {flow("trigger: {}\n"), "trigger.event: is missing"},
      {flow("trigger: {event: {task: x}}\n"), "trigger.event.name: expected one of name"},
      {flow("overlap: allow\n"),
       "overlap: is \"allow\", expected queue, skip, cancel_running or parallel"},
      {flow("overlap: {max_runs: 2}\n"), "overlap.policy: is missing"},
      {flow("overlap: {policy: queue, max_runs: 2}\n"),
       "overlap.max_runs: has no meaning with policy queue"},
      {flow("overlap: {policy: skip, max_queued: 2}\n"),
       "overlap.max_queued: has no meaning with policy skip"},
      {flow("overlap: {policy: parallel, max_runs: 0}\n"),
       "expected a whole number from 1 to 1000"},
      {flow("deadline: {}\n"), "deadline.finish_by: is missing"},
      {flow("deadline: {finish_by: 6:30}\n"),
       "deadline.finish_by: is \"6:30\", expected a time of day"},
      {flow("deadline: 06:30\n"), "deadline: is \"06:30\", expected a map"},
      {flow("callbacks: {url: http://x}\n"), "callbacks: is a map, expected a list"},
      {flow("callbacks: [{url: x}]\n"), "callbacks[0].url: is \"x\", expected an http://"},
      {flow("defaults: {needs: [x]}\n"), "defaults.needs: is not a known key"},
      {flow("params: [a]\n"), "params: is a list, expected a map"},
      {flow("params: {a-b: 1}\n"), "params.a-b: is not a variable name"},
  });
}

}  // namespace
}  // namespace baton::flow
