// A takeover changes nothing: what is decided of a run behind one is what would have been decided
// without it, whatever was ordered before.
#include <random>
#include <set>

#include "tests/support/number_from_environment.h"
#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using master::api::RerunScope;
using master::api::RunCommand;
using master::api::TaskCommand;
using Log = std::vector<std::string>;

constexpr int kRunners = 16;  // Nothing ever waits for one.

// One life of a few flows, moved by a seed; the takeovers by another, so that two lives differ in
// them alone.
class Life : public FlowTest {
 public:
  Life(uint32_t seed, bool takeovers) : random_(seed), fates_(seed + 1), takeovers_(takeovers) {}

  Log play(int steps) {
    SetUp();
    defineAll();
    trigger("f");
    note("begin");
    for (int step = 0; step < steps; ++step) {
      const std::string did = act();
      pump();
      if (takeovers_ && fates_() % 3 == 0) {
        begin();
        pump();
      }
      note(did);
    }
    EXPECT_EQ(database_.violation(), "");
    TearDown();
    return log_;
  }

 private:
  void TestBody() override {}

  void defineAll() {
    define("{flow: inner, tasks: {i: {command: [x]}, j: {noop: true, needs: [i]}}}");
    define(R"(
flow: f
tasks:
  a: {command: [x], outputs: [n]}
  b: {command: [x], needs: [a]}
  c: {command: [x], needs: {a: failure}}
  d: {command: [x], needs: {b: done, c: done}, hold: true}
  n: {noop: true, needs: [b]}
  s: {flow: inner, needs: {a: done}}
  e: {event: {name: x, key: k}, needs: [a]}
  g: {command: [x], needs: [a], on_failure: ignore}
  z: {command: [x], needs: [n, s, e, g]}
)");
    for (const auto& [name, source] : {std::pair("t", "{flow: f}"), {"u", "{flow: f, task: n}"}}) {
      rig_->flows.flows[name].record.online = true;
      define(
          fmt::format("{{flow: {}, trigger: {{event: {}}}, overlap: {{policy: parallel, "
                      "max_runs: 100}}, tasks: {{q: {{noop: true}}}}}}",
                      name, source));
      rig_->events.onFlowChanged(rig_->flows.flows[name]);
    }
  }

  // Does something to something, and says what and whether it was taken.
  std::string act() {
    const uint32_t what = random_() % 16;
    if (what < 6) return endOne();
    if (what == 15) return sendEvent();
    std::vector<RunId> runs;
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.flow == "f" || run.flow == "inner") runs.push_back(id);
    }
    const RunRecord run = row(runs[random_() % runs.size()]);
    const std::vector<std::string> names =
        run.flow == "f" ? std::vector<std::string>{"a", "b", "c", "d", "n", "s", "e", "g", "z"}
                        : std::vector<std::string>{"i", "j"};
    const std::string name = names[random_() % names.size()];
    const auto ordered = [&](const std::string& text, master::api::RunOrder order) {
      order.id = run.state.id;
      order.request = requester();
      const auto answer = orderRun(std::move(order));
      return fmt::format("{} {} {}: {}", text, placeOf(run.state.id), name, said(answer.status()));
    };
    switch (what) {
      case 6:
        return ordered("rerun one",
                       {.command = RunCommand::Rerun, .scope = RerunScope::One, .task = name});
      case 7:
        return ordered("rerun from",
                       {.command = RunCommand::Rerun, .scope = RerunScope::From, .task = name});
      case 8:
        return ordered("rerun failed", {.command = RunCommand::Rerun});
      case 9:
        return ordered("force", {.command = RunCommand::ForceSuccess, .task = name});
      case 10:
        return ordered("skip", {.command = RunCommand::Skip, .task = name});
      case 11:
        return ordered("pause", {.command = RunCommand::Pause});
      case 12:
        return ordered("resume", {.command = RunCommand::Resume});
      case 13:
        if (random_() % 3 == 0) return ordered("stop", {.command = RunCommand::Stop});
        return ordered("rerun all", {.command = RunCommand::Rerun, .scope = RerunScope::All});
      default:
        break;
    }
    const bool begun = hasTask(run.state.id, name);
    if (!begun) return "nothing";
    constexpr std::pair<const char*, TaskCommand> kOrders[] = {{"hold", TaskCommand::Hold},
                                                               {"release", TaskCommand::Release},
                                                               {"stop", TaskCommand::Stop}};
    const auto& [text, order] = kOrders[random_() % 3];
    const auto answer = command(node(run.state.id, name).state.id, order);
    return fmt::format("{} task {}/{}: {}", text, placeOf(run.state.id), name,
                       said(answer.status()));
  }

  bool hasTask(RunId run, const std::string& name) const {
    for (const auto& [id, task] : database_.rows().tasks) {
      if (task.run_id == run && task.name == name) return true;
    }
    return false;
  }

  // One of the tasks that run ends, well or not.
  std::string endOne() {
    if (running_.empty()) return "nothing runs";
    auto it = running_.begin();
    std::advance(it, random_() % running_.size());
    const auto [task, runner] = *it;
    const bool well = random_() % 3 != 0;
    HeartbeatRequest request = beat(well ? RunnerStatus::Finished : RunnerStatus::Failed, runner);
    if (well && nameOf(task) == "a") request.result.outputs = {{"n", "1"}};
    running_.erase(it);
    take(runner, exchange(request));
    return fmt::format("{} {}", nameOf(task), well ? "finished" : "failed");
  }
  std::string sendEvent() {
    master::api::EventSend event;
    event.name = "x";
    event.key = "k";
    event.request = requester();
    rig_->dispatcher.post([this, event] { rig_->events.send(event, [](const auto&) {}); });
    settle();
    return "event";
  }

  void take(const std::string& runner, const HeartbeatReply& reply) {
    if (reply.order) running_[reply.order->key.task_id] = runner;
  }
  // Until no runner is told anything new.
  void pump() {
    for (bool news = true; news;) {
      news = false;
      for (int i = 0; i < kRunners; ++i) {
        const std::string runner = fmt::format("w:{}", i);
        const auto open = std::find_if(running_.begin(), running_.end(),
                                       [&](const auto& each) { return each.second == runner; });
        if (open == running_.end()) {
          const HeartbeatReply reply = say(RunnerStatus::Idle, runner);
          news = news || reply.order.has_value();
          take(runner, reply);
        } else if (say(RunnerStatus::Running, runner).command == Command::Reset) {
          running_.erase(open);
          take(runner, say(RunnerStatus::Idle, runner));
          news = true;
        }
      }
      settle();
    }
  }

  void note(const std::string& did) {
    std::string text = did;
    for (const auto& [id, run] : database_.rows().runs) {
      text += fmt::format("\n  run {} {} {} {} {}", placeOf(id), run.flow,
                          toString(run.state.status), toString(run.state.reason), run.state.reruns);
      for (const auto& [task_id, task] : database_.rows().tasks) {
        if (task.run_id != id) continue;
        const TaskState& state = task.state;
        text += fmt::format("\n    {} {} {} {}{}{}", task.name, toString(state.status),
                            toString(state.reason), state.attempt, state.hold ? " held" : "",
                            state.forced ? " forced" : "");
      }
    }
    log_.push_back(std::move(text));
  }
  // Each term numbers from a block of its own.
  size_t placeOf(RunId id) const {
    const auto& runs = database_.rows().runs;
    return 1 + static_cast<size_t>(std::distance(runs.begin(), runs.find(id)));
  }
  // Without the numbers.
  static std::string said(const Status& status) {
    std::string text = status.ok() ? "taken" : status.text();
    for (char& c : text) {
      if (c >= '0' && c <= '9') c = '.';
    }
    text.erase(
        std::unique(text.begin(), text.end(), [](char a, char b) { return a == '.' && b == '.'; }),
        text.end());
    return text;
  }

  std::mt19937 random_;
  std::mt19937 fates_;
  const bool takeovers_;
  std::map<TaskId, std::string> running_;  // With the runner.
  Log log_;
};

// BATON_SIM_RUNS changes the number of lives, one for a hundred simulated runs.
TEST(RunTakeoverTest, WhateverIsOrderedATakeoverChangesNothing) {
  const uint64_t lives =
      std::max<uint64_t>(10, numberFromEnvironment("BATON_SIM_RUNS", 6'000) / 100);
  for (uint32_t seed = 1; seed <= lives; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Log without = Life(seed, false).play(40);
    const Log with = Life(seed, true).play(40);
    ASSERT_EQ(without.size(), with.size());
    for (size_t i = 0; i < without.size(); ++i) {
      std::string before;
      for (size_t j = i > 6 ? i - 6 : 0; j < i; ++j) {
        before += without[j].substr(0, without[j].find('\n')) + "\n";
      }
      ASSERT_EQ(without[i], with[i]) << "step " << i << " behind\n"
                                     << before << (i > 0 ? without[i - 1] : "");
    }
  }
}

class TakenOverRunTest : public FlowTest {
 protected:
  Result<RunRecord> rerunOne(RunId run, const std::string& task) {
    return orderRun({.id = run,
                     .command = RunCommand::Rerun,
                     .scope = RerunScope::One,
                     .task = task,
                     .request = requester()});
  }
  Result<RunRecord> force(RunId run, const std::string& task) {
    return orderRun(
        {.id = run, .command = RunCommand::ForceSuccess, .task = task, .request = requester()});
  }
  void defineOnline(const std::string& name, const std::string& yaml) {
    rig_->flows.flows[name].record.online = true;
    define(yaml);
    rig_->events.onFlowChanged(rig_->flows.flows[name]);
  }
  size_t runsOf(const std::string& flow) const {
    size_t found = 0;
    for (const auto& [id, run] : database_.rows().runs) found += run.flow == flow ? 1 : 0;
    return found;
  }
  // The task runs on that runner, which says so from then on.
  void startOn(const std::string& runner, const std::string& task) {
    const HeartbeatReply reply = say(RunnerStatus::Idle, runner);
    ASSERT_TRUE(reply.order.has_value());
    ASSERT_EQ(nameOf(reply.order->key.task_id), task);
    say(RunnerStatus::Running, runner);
  }
};

// What runs while something it needs runs again is no waiting task for the next master either.
TEST_F(TakenOverRunTest, WhatRunsBehindARerunIsStoppedAndNotSkipped) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end();
  ASSERT_EQ(accepted_.at("w:0").task_id, node(run, "b").state.id);
  say(RunnerStatus::Running);
  ASSERT_TRUE(rerunOne(run, "a").ok());
  startOn("w:1", "a");
  for (const bool stopped : {false, true}) {
    if (stopped) {
      ASSERT_TRUE(stop(run).ok());
    }
    begin();
    EXPECT_EQ(nodeStatus(run, "b"), stopped ? TaskStatus::Terminating : TaskStatus::Running);
    EXPECT_EQ(say(RunnerStatus::Running).command, stopped ? Command::Reset : Command::GoOn);
    say(RunnerStatus::Running, "w:1");
  }
  say(RunnerStatus::Idle);
  say(RunnerStatus::Idle, "w:1");
  EXPECT_EQ(runStatus(run), RunStatus::Terminated);
}

TEST_F(TakenOverRunTest, WhatRunsGoesOnThoughItsNeedIsMetNoMore) {
  define("{flow: f, tasks: {a: {command: [x]}, b: {command: [x], needs: {a: failure}}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "a");
  end(RunnerStatus::Failed);
  say(RunnerStatus::Running);
  ASSERT_TRUE(force(run, "a").ok());
  begin();
  EXPECT_EQ(runStatus(run), RunStatus::Running);
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::GoOn);
  end();
  EXPECT_EQ(nodeStatus(run, "b"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

// Each end of a task begins a run, also of a kind that counts no attempts; an end that is only
// declared to have been another one begins none, and nobody is told of it again.
TEST_F(TakenOverRunTest, EachEndBeginsARunAndNoEndBeginsTwo) {
  defineOnline("t", "{flow: t, trigger: {event: {flow: f, task: n}}, tasks: {q: {noop: true}}}");
  defineOnline("u", "{flow: u, trigger: {event: {flow: f}}, tasks: {q: {noop: true}}}");
  define(R"(
flow: f
callbacks: [{on: [finished, failed], url: "http://one/x"}]
tasks:
  a: {command: [x]}
  n: {noop: true, needs: [a]}
  i: {command: [x], on_failure: ignore}
)");
  const RunId run = trigger("f").state.id;
  work({"i"});
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  ASSERT_TRUE(orderRun({.id = run,
                        .command = RunCommand::Rerun,
                        .scope = RerunScope::From,
                        .task = "a",
                        .request = requester()})
                  .ok());
  work();
  EXPECT_EQ(runsOf("t"), 2U);
  EXPECT_EQ(runsOf("u"), 2U);
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  ASSERT_TRUE(force(run, "i").ok());
  EXPECT_EQ(nodeStatus(run, "i"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_EQ(runsOf("u"), 2U);
  EXPECT_EQ(webhooks_.calls.size(), 2U);
  EXPECT_TRUE(rig_->flows.runs.empty());
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(TakenOverRunTest, ARunThatStaysFailedIsToldOnceAndSaysWhatIsLeft) {
  define(R"(
flow: f
callbacks: [{on: [finished, failed], url: "http://one/x"}]
tasks: {a: {command: [x]}, b: {command: [x]}}
)");
  const RunId run = trigger("f").state.id;
  work({"a", "b"});
  ASSERT_EQ(runStatus(run), RunStatus::Failed);
  const int32_t reruns = row(run).state.reruns;
  ASSERT_TRUE(force(run, "a").ok());
  EXPECT_EQ(runStatus(run), RunStatus::Failed);
  EXPECT_NE(row(run).state.reason_text.find("task b"), std::string::npos)
      << row(run).state.reason_text;
  EXPECT_EQ(row(run).state.reruns, reruns);
  ASSERT_TRUE(force(run, "b").ok());
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
  EXPECT_TRUE(rig_->flows.runs.empty());
  // The end that is another one has an id of its own.
  for (auto& call : webhooks_.calls) call.done({});
  settle();
  std::set<std::string> ids;
  for (const auto& call : webhooks_.calls) {
    for (const auto& [key, value] : call.webhook.headers) {
      if (key == "Baton-Delivery-Id") ids.insert(value);
    }
  }
  EXPECT_EQ(ids, (std::set<std::string>{fmt::format("{}/0/run_failed", run),
                                        fmt::format("{}/1/run_finished", run)}));
}

TEST_F(TakenOverRunTest, AWaitForAnEventGoesOnBehindARerunOfWhatItNeeded) {
  define("{flow: f, tasks: {a: {command: [x]}, e: {event: {name: x, key: k}, needs: [a]}}}");
  const RunId run = trigger("f").state.id;
  work();
  ASSERT_TRUE(rerunOne(run, "a").ok());
  ASSERT_EQ(next(), "a");
  begin();
  end();
  EXPECT_EQ(nodeStatus(run, "e"), TaskStatus::Running);
  EXPECT_NE(rig_->events.whyWaiting(node(run, "e").state.id), "");
  master::api::EventSend event;
  event.name = "x";
  event.key = "k";
  rig_->dispatcher.post([&] { rig_->events.send(event, [](const auto&) {}); });
  settle();
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

TEST_F(TakenOverRunTest, AnOlderSubRunTakesNothingFromTheTaskThatItWas) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: f, tasks: {t: {command: [x]}, p: {flow: inner, needs: [t]}}}");
  const RunId run = trigger("f").state.id;
  ASSERT_EQ(next(), "t");
  ASSERT_EQ(end(), "i");
  const RunId older = rig_->flows.sub_runs.at(node(run, "p").state.id);
  end(RunnerStatus::Failed);
  ASSERT_TRUE(orderRun({.id = older, .command = RunCommand::Rerun, .request = requester()}).ok());
  ASSERT_TRUE(orderRun({.id = run,
                        .command = RunCommand::Rerun,
                        .scope = RerunScope::All,
                        .request = requester()})
                  .ok());
  startOn("w:0", "i");
  startOn("w:1", "t");
  begin();
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::GoOn);
  EXPECT_EQ(say(RunnerStatus::Running, "w:1").command, Command::GoOn);
  exchange(beat(RunnerStatus::Finished));
  EXPECT_EQ(runStatus(older), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Created);
  exchange(beat(RunnerStatus::Finished, "w:1"));
  EXPECT_EQ(work(), std::vector<std::string>{"i"});
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(run), RunStatus::Finished);
}

// A sub-flow that was lost with its runner runs again by nobody's accident.
TEST_F(TakenOverRunTest, WhatMayStillRunInASubFlowNeedsForce) {
  define("{flow: inner, tasks: {i: {command: [x]}}}");
  define("{flow: f, tasks: {p: {flow: inner}}}");
  const RunId run = trigger("f").state.id;
  startOn("w:0", "i");
  begin();
  pass(20 * kH);
  ASSERT_EQ(nodeReason(run, "p"), FailureReason::SubFlowFailed);
  ASSERT_TRUE(node(run, "p").state.unproven);
  for (const bool taken_over : {false, true}) {
    if (taken_over) begin();
    const auto refused =
        orderRun({.id = run, .command = RunCommand::Rerun, .request = requester()});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().text().find("force"), std::string::npos);
  }
  EXPECT_TRUE(
      orderRun({.id = run, .command = RunCommand::Rerun, .force = true, .request = requester()})
          .ok());
  EXPECT_FALSE(node(run, "p").state.unproven);
  EXPECT_EQ(nodeStatus(run, "p"), TaskStatus::Running);
}

// The room of a run is that of its texts as they are, however often they are made.
TEST_F(TakenOverRunTest, PausesTakeNoRoom) {
  std::string tasks;
  for (int i = 0; i < 100; ++i) tasks += fmt::format("  t{}: {{command: [x]}}\n", i);
  define("flow: f\nparams: {p: \"" + std::string(120'000, 'x') + "\"}\ntasks:\n" + tasks);
  const RunId run = trigger("f").state.id;
  const auto order = [&](RunCommand command) {
    EXPECT_TRUE(orderRun({.id = run, .command = command, .request = requester()}).ok());
    for (int i = 0; i < 4; ++i) settle();  // So many texts are made over several turns.
  };
  for (int i = 0; i < 4; ++i) {
    order(RunCommand::Pause);
    order(RunCommand::Resume);
  }
  EXPECT_EQ(nodeStatus(run, "t99"), TaskStatus::Queued);
  ASSERT_TRUE(stop(run).ok());
}

}  // namespace
}  // namespace baton::test
