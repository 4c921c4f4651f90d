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
    for (int pass = 0; pass < 20 && !makeWell(); ++pass) {
      if (takeovers_ && fates_() % 3 == 0) begin();
      pump();
    }
    note("made well");
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
  h: {noop: true, needs: [a], when: "1 == 2"}
  k: {command: [x], needs: [h, b]}
  m: {noop: true, needs: [b], disabled: true}
  o: {command: [x], needs: {c: failure, m: done}}
  z: {command: [x], needs: [n, s, e, g, m]}
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
        run.flow == "f" ? std::vector<std::string>{"a", "b", "c", "d", "n", "s", "e",
                                                   "g", "h", "k", "m", "o", "z"}
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
  // Lets all of it end well, and runs again what has not; whether that is done. No run is left that
  // nothing can make FINISHED.
  bool makeWell() {
    bool done = true;
    const auto runs = database_.rows().runs;
    for (const auto& [id, run] : runs) {
      const RunStatus status = run.state.status;
      if (run.flow != "f" && isTerminal(status)) continue;  // A sub-flow's, maybe an older one.
      if (status == RunStatus::Finished) continue;
      done = false;
      master::api::RunOrder order{.id = id, .request = requester()};
      order.command = status == RunStatus::Paused ? RunCommand::Resume : RunCommand::Rerun;
      if (isTerminal(status) || status == RunStatus::Paused) {
        const auto answer = orderRun(order);
        EXPECT_TRUE(answer.ok()) << placeOf(id) << ": " << answer.status().text();
      }
    }
    const auto tasks = database_.rows().tasks;
    for (const auto& [id, task] : tasks) {
      if (task.state.hold && task.state.status == TaskStatus::Created) {
        (void)command(id, TaskCommand::Release);
      }
    }
    sendEvent();
    pump();
    while (!running_.empty()) {
      const auto [task, runner] = *running_.begin();
      running_.erase(running_.begin());
      HeartbeatRequest request = beat(RunnerStatus::Finished, runner);
      if (nameOf(task) == "a") request.result.outputs = {{"n", "1"}};
      take(runner, exchange(request));
    }
    settle();
    if (done) return true;
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.flow == "f" && run.state.status != RunStatus::Finished) return false;
    }
    return true;
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
    for (size_t at = 0; (at = with.back().find(" f ", at)) != std::string::npos; ++at) {
      EXPECT_EQ(with.back().substr(at, 11), " f FINISHED") << with.back();
    }
  }
}

}  // namespace
}  // namespace baton::test
