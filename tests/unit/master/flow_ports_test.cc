// Flows and runs as the web API sees them, over a real term.
#include "tests/unit/master/ports_fixture.h"

namespace baton::test {
namespace {

class FlowPortsTest : public PortsTest {};

TEST_F(FlowPortsTest, AnExplanationSaysWhoEndedATask) {
  apply("{flow: f, tasks: {a: {command: [x]}}}", false);
  const RunId run = trigger("f").state.id;
  const auto nodes = flows_.nodes(run);
  ASSERT_TRUE(nodes.ok() && nodes->size() == 1);
  const TaskId task = nodes->front().task.record.state.id;
  std::promise<Result<master::api::TaskView>> answer;
  ports_.command(task, master::api::TaskCommand::Stop, false, {.principal = "ann"},
                 [&](auto result) { answer.set_value(result); });
  ASSERT_TRUE(answer.get_future().get().ok());
  const auto of_task = flows_.explainTask(task);
  ASSERT_TRUE(of_task.ok());
  EXPECT_EQ(of_task->reasons.back(), "stopped by ann");
  const auto of_run = flows_.explainRun(run);
  ASSERT_TRUE(of_run.ok());
  EXPECT_EQ(of_run->reasons.back(),
            fmt::format("task a (id {}) is TERMINATED: stopped by ann", task));
}

TEST_F(FlowPortsTest, ARunNamesTheEventThatBeganIt) {
  apply("{flow: src, tasks: {a: {noop: true}}}", false);
  apply("{flow: dst, trigger: {event: {flow: src}}, tasks: {a: {command: [x]}}}", true);
  apply("{flow: part, trigger: {event: {flow: src, task: a}}, tasks: {a: {command: [x]}}}", true);
  const RunId source = trigger("src").state.id;
  const auto of = [&](const std::string& flow) {
    master::api::RunListQuery query;
    query.flow = flow;
    const auto runs = flows_.runs(query);
    EXPECT_TRUE(runs.ok() && runs->items.size() == 1);
    const RunId id = runs->items.front().record.state.id;
    const auto explained = flows_.explainRun(id);
    EXPECT_TRUE(explained.ok());
    const std::string by = flows_.run(id)->begun_by;
    EXPECT_NE(explained->reasons.front().find("begun by " + by), std::string::npos);
    return by;
  };
  EXPECT_EQ(of("dst"), fmt::format("the end of run {} of src", source));
  EXPECT_NE(of("part").find(fmt::format(" of run {} of src", source)), std::string::npos);
  EXPECT_EQ(flows_.run(source)->begun_by, "");
}

TEST_F(FlowPortsTest, AnExplanationGoesToWhereTheWaitingBegins) {
  apply("{flow: c, tasks: {a: {command: [x], labels: {gpu: big}}}}", false);
  apply("{flow: p, tasks: {s: {flow: c}, z: {command: [x], needs: [s]}}}", false);
  const RunId first = trigger("p").state.id;
  const RunId second = trigger("p").state.id;
  const auto nodes = flows_.nodes(first);
  ASSERT_TRUE(nodes.ok() && nodes->size() == 2);
  const auto sees = [](const Result<master::api::Explanation>& said) {
    ASSERT_TRUE(said.ok()) << said.status().text();
    EXPECT_NE(said->reasons.back().find("is QUEUED: waits (no_runner_matches)"), std::string::npos);
  };
  sees(flows_.explainTask((*nodes)[1].task.record.state.id));
  sees(flows_.explainTask((*nodes)[0].task.record.state.id));
  sees(flows_.explainRun(first));
  sees(flows_.explainRun(second));
}

TEST_F(FlowPortsTest, FlowsAreListedWithTheirSchedules) {
  // Aim: also those that nobody has needed since the takeover; who reads them for a list keeps
  // them.
  apply(
      "{flow: a, schedule: {cron: '0 2 * * *', timezone: Europe/Berlin}, tasks: {a: {noop: true}}}",
      true);
  apply("{flow: b, schedule: {every: 30s}, tasks: {a: {noop: true}}}", false);
  apply("{flow: c, tasks: {a: {noop: true}}}", true);
  takeOver();
  for (int i = 0; i < 2; ++i) {
    const auto list = flows_.flows({});
    ASSERT_TRUE(list.ok()) << list.status().text();
    ASSERT_EQ(list->items.size(), 3U);
    EXPECT_EQ(list->items[0].schedule, "cron 0 2 * * * Europe/Berlin");
    EXPECT_NE(list->items[0].record.next_at, WallTime{});
    EXPECT_EQ(list->items[1].schedule, "every 30s");
    EXPECT_EQ(list->items[2].schedule, "");
  }
  EXPECT_EQ(trigger("b").state.status, RunStatus::Finished);
}

TEST_F(FlowPortsTest, NoMoreInstantsAreShownThanAreLeft) {
  // Aim: `count` bounds what is announced: what has passed since going online is used up.
  apply("{flow: a, schedule: {every: 1h, count: 3}, tasks: {a: {noop: true}}}", true);
  apply(
      "{flow: b, schedule: {every: 1h, start: '2030-01-01T00:00:00Z', end: "
      "'2030-01-02T00:00:00Z', count: 1}, tasks: {a: {noop: true}}}",
      false);
  auto view = flows_.flow("a", {});
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->next_instants.size(), 3U);
  EXPECT_EQ(view->schedule, "every 1h, 3 times");
  database_.direct().flows.at("a").fired = 2;  // Nobody writes just now.
  view = flows_.flow("a", {});
  EXPECT_EQ(view->next_instants.size(), 1U);
  view = flows_.flow("b", {});
  EXPECT_EQ(view->next_instants.size(), 1U);
  EXPECT_EQ(view->schedule,
            "every 1h, from 2030-01-01T00:00:00Z, until 2030-01-02T00:00:00Z, once");
}

TEST_F(FlowPortsTest, FlowsAreListedByOwnerAndTag) {
  // Aim: what only definitions say filters over all pages, with the right cursor and total, also
  // behind a takeover, when nothing has been read yet.
  for (int i = 0; i < 12; ++i) {
    apply(fmt::format("{{flow: F{:02}, owner: {}, tags: [{}], tasks: {{a: {{noop: true}}}}}}", i,
                      i % 2 == 0 ? "ann" : "bob", i % 3 == 0 ? "x, y" : "x"),
          i < 6);
  }
  takeOver();
  const auto names = [&](master::api::FlowListQuery query) {
    const auto list = flows_.flows(query);
    EXPECT_TRUE(list.ok()) << list.status().text();
    std::string text;
    for (const auto& view : list->items) {
      text += view.record.name + (view.owner == "ann" ? "a " : "b ");
    }
    text += list->more ? "more" : "end";
    return text + (list->total ? fmt::format(" of {}", *list->total) : "");
  };
  master::api::FlowListQuery query;
  query.owner = "ann";
  EXPECT_EQ(names(query), "F00a F02a F04a F06a F08a F10a end");
  query.tag = "y";
  query.total = true;
  EXPECT_EQ(names(query), "F00a F06a end of 2");
  query.limit = 1;
  EXPECT_EQ(names(query), "F00a more of 2");
  query.after = "f00";
  EXPECT_EQ(names(query), "F06a end of 2");
  query.tag = "x";
  query.total = false;
  EXPECT_EQ(names(query), "F02a more");
  query.limit = 9;
  query.online = true;
  query.text = "F0";
  EXPECT_EQ(names(query), "F02a F04a end");
  query = {.online = false, .text = {}, .owner = {}, .tag = {}, .after = {}, .total = true};
  EXPECT_EQ(names(query), "F06a F07b F08a F09b F10a F11b end of 6");
  query.tag = "none";
  EXPECT_EQ(names(query), "end of 0");
}

TEST_F(FlowPortsTest, AnInstantThatWasNotRunIsExplained) {
  apply(
      "{flow: f, schedule: {cron: '0 2 * * *', timezone: UTC, misfire: {max: 3}}, tasks: {a: "
      "{noop: true}}}",
      true);
  MissedRecord missed;
  missed.flow = "f";
  missed.plan_time = *parseRfc3339("2020-01-01T02:00:00Z");
  missed.recorded_at = missed.plan_time + Seconds(7200);
  missed.reason = "over_max";
  database_.direct().flows.at("f").created_at = missed.plan_time;
  database_.direct().missed[{missed.plan_time, "f"}] = missed;
  auto said = flows_.explainMissed("F", missed.plan_time);
  ASSERT_TRUE(said.ok()) << said.status().text();
  EXPECT_EQ(said->status, "missed");
  EXPECT_EQ(said->reasons,
            (std::vector<std::string>{
                "over_max: nobody could begin it in time, and newer ones made up the number of "
                "misfire.max; found 2h late",
                "the misfire policy of version 1 is all, 3 at most, none older than 14d, oldest "
                "first",
                "`baton missed run f 2020-01-01T02:00:00Z` runs it now"}));
  said = flows_.explainMissed("f", *parseRfc3339("2020-01-02T02:00:00Z"));
  EXPECT_EQ(said->status, "none");
  EXPECT_NE(said->reasons.at(0).find("offline then"), std::string::npos);
  said = flows_.explainMissed("f", *parseRfc3339("2020-01-02T03:00:00Z"));
  EXPECT_NE(said->reasons.at(0).find("has no such instant"), std::string::npos);
  said = flows_.explainMissed("f", *parseRfc3339("2199-01-02T02:00:00Z"));
  EXPECT_EQ(said->status, "to_come");
  EXPECT_EQ(flows_.explainMissed("g", missed.plan_time).error().code(), ErrorCode::NotFound);
}

TEST_F(FlowPortsTest, ApplySaysWhichCallbacksCantBeSent) {
  // Aim: a receiver that no master may call is told when the flow is stored, and not by a dead
  // callback after its first run.
  const std::string text = R"(
flow: f
callbacks:
  - {url: "http://listed/hook"}
  - {url: "http://other/hook"}
tasks:
  a: {command: [x], callback: {url: "http://other/task"}}
)";
  std::promise<Result<master::api::FlowApplied>> answer;
  flows_.apply(
      {.name = {}, .file = "f.yaml", .text = text, .if_version = {}, .online = {}, .request = {}},
      [&](auto result) { answer.set_value(result); });
  const auto applied = answer.get_future().get();
  ASSERT_TRUE(applied.ok()) << applied.status().text();
  ASSERT_EQ(applied->flow.warnings.size(), 2U);
  EXPECT_EQ(applied->flow.warnings[0].key, "callbacks[1].url");
  EXPECT_EQ(applied->flow.warnings[0].line, 5);
  EXPECT_EQ(applied->flow.warnings[0].message,
            "other:80 is not on the list of allowed targets: its callbacks will not be sent "
            "(callback.allow of the masters)");
  EXPECT_EQ(applied->flow.warnings[1].key, "tasks.a.callback.url");
  EXPECT_TRUE(applied->created);
}

TEST_F(FlowPortsTest, ADeletedFlowSaysWhoNamesIt) {
  // Aim: also where nobody has read those definitions since the takeover, and in another case.
  apply("{flow: rates, tasks: {a: {noop: true}}}", false);
  apply("{flow: part, tasks: {a: {flow: rates}}}", false);
  apply("{flow: wait, tasks: {a: {event: {flow: Rates, task: a, window: same_day}}}}", false);
  apply("{flow: after, trigger: {event: {flow: RATES}}, tasks: {a: {noop: true}}}", true);
  apply("{flow: other, tasks: {rates: {noop: true}}}", false);
  takeOver();
  const auto remove = [&](const std::string& name) {
    std::promise<Result<master::api::FlowView>> answer;
    flows_.remove(name, {}, [&](auto result) { answer.set_value(result); });
    const auto view = answer.get_future().get();
    EXPECT_TRUE(view.ok()) << view.status().text();
    return view.ok() ? view->named_by : std::vector<std::string>();
  };
  EXPECT_EQ(remove("part"), std::vector<std::string>());
  EXPECT_EQ(remove("Rates"), (std::vector<std::string>{"after", "wait"}));
}

TEST_F(FlowPortsTest, LargeDefinitionsAreReadBehindATakeoverBeforeSomebodyNeedsThem) {
  // Aim: the dispatcher does not stand still for one when it is due.
  std::string large = "{flow: large, tasks: {";
  for (int i = 0; i < 1'000; ++i) large += fmt::format("n{}: {{command: [x, \"{}\"]}}, ", i, i);
  apply(large + "}}", false);
  apply("{flow: small, tasks: {a: {noop: true}}}", false);
  takeOver();
  const auto term = ports_.activeTerm();
  ASSERT_TRUE(term.ok());
  const auto isRead = [&](const std::string& key) {
    bool read = false;
    EXPECT_TRUE((*term)->inspect([&] { read = (*term)->flows().flows.at(key).newest != nullptr; }));
    return read;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!isRead("large") && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(isRead("large"));
  EXPECT_FALSE(isRead("small"));
}

}  // namespace
}  // namespace baton::test
