#include "master/flow/event_desk.h"

#include "tests/unit/master/flow_fixture.h"

namespace baton::test {
namespace {

using master::api::EventSend;
using master::api::EventSent;

WallTime at(const std::string& text) {
  const auto parsed = parseRfc3339(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

const std::string kSource =
    "flow: src\noverlap: {policy: parallel, max_runs: 100}\n"
    "tasks: {a: {command: [x]}, b: {command: [x], needs: [a]}}\n";
const std::string kNight = "2026-11-29T02:00:00Z";
const std::string kMorning = "2026-11-29T05:00:00Z";

class EventDeskTest : public FlowTest {
 protected:
  // A flow with one task that waits, and one behind it.
  void defineWaiting(const std::string& wait, const std::string& more = {}) {
    define("flow: dst\n" + more + "tasks:\n  w: {event: " + wait +
           "}\n  t: {needs: [w], command: [y]}\n");
  }
  void defineOnline(const std::string& yaml, bool online = true) {
    const std::string key = yaml.substr(6, yaml.find('\n') - 6);
    rig_->flows.flows[key].record.online = online;
    define(yaml);
    rig_->events.onFlowChanged(rig_->flows.flows[key]);
  }
  RunRecord runAt(const std::string& flow, const std::string& plan_time) {
    return trigger(flow, {.plan_time = at(plan_time)});
  }
  std::string why(RunId run, const std::string& task = "w") {
    return rig_->events.whyWaiting(node(run, task).state.id);
  }

  void post(EventSend event, std::optional<Result<EventSent>>& answer) {
    rig_->dispatcher.post([this, event = std::move(event), &answer] {
      rig_->events.send(event, [&](auto result) { answer = result; });
    });
  }
  Result<EventSent> offerEvent(EventSend event) {
    std::optional<Result<EventSent>> answer;
    post(std::move(event), answer);
    settle();
    EXPECT_TRUE(answer.has_value());
    return *answer;
  }
  EventSent send(EventSend event) {
    auto answer = offerEvent(std::move(event));
    EXPECT_TRUE(answer.ok()) << answer.status().text();
    return *answer;
  }
  static EventSend event(const std::string& key, const std::string& happened_at = {}) {
    EventSend event;
    event.name = "fx-rates";
    event.key = key;
    event.data = {{"rate", "1.10"}};
    if (!happened_at.empty()) event.happened_at = at(happened_at);
    event.request.principal = "p";
    return event;
  }
  std::vector<RunRecord> runsOf(const std::string& flow) const {
    std::vector<RunRecord> found;
    for (const auto& [id, run] : database_.rows().runs) {
      if (run.flow == flow) found.push_back(run);
    }
    return found;
  }
};

// --------------------------------------------------------------------------- ends of flows

TEST_F(EventDeskTest, WhoeverWaitsIsToldOfTheEnd) {
  define(kSource);
  defineWaiting("{flow: SRC}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  EXPECT_EQ(why(waiting),
            "waits for flow src, plan times from 2026-11-29T00:00:00+00:00 to before "
            "2026-11-30T00:00:00+00:00: there is no run yet");
  const RunId source = runAt("src", kNight).state.id;
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(), "b");
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  end();
  settle();
  EXPECT_EQ(runStatus(source), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
  EXPECT_EQ(work(), std::vector<std::string>{"t"});
  EXPECT_EQ(runStatus(waiting), RunStatus::Finished);
}

TEST_F(EventDeskTest, WhoeverComesLaterFindsTheEnd) {
  define(kSource);
  defineWaiting("{flow: src}");
  runAt("src", kNight);
  work();
  const RunId waiting = runAt("dst", kMorning).state.id;
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
  // Another day is another matter.
  const RunId other = runAt("dst", "2026-11-30T05:00:00Z").state.id;
  EXPECT_EQ(work(), std::vector<std::string>{"t"});
  EXPECT_EQ(nodeStatus(other, "w"), TaskStatus::Running);
  EXPECT_NE(why(other).find("there is no run yet"), std::string::npos) << why(other);
}

TEST_F(EventDeskTest, AWaitForATaskEndsWithTheTask) {
  define(kSource);
  defineWaiting("{flow: src, task: a}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  const RunId source = runAt("src", kNight).state.id;
  EXPECT_EQ(next(), "a");
  end();
  settle();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
  EXPECT_EQ(runStatus(source), RunStatus::Running);
}

TEST_F(EventDeskTest, ATaskThatDoesNotExistIsToldOf) {
  define(kSource);
  defineWaiting("{flow: src, task: c}");
  runAt("src", kNight);
  work();
  const RunId waiting = runAt("dst", kMorning).state.id;
  EXPECT_NE(why(waiting).find("is without such a task"), std::string::npos) << why(waiting);
  defineWaiting("{flow: nowhere}");
  const RunId other = runAt("dst", "2026-11-30T05:00:00Z").state.id;
  EXPECT_TRUE(stop(waiting).ok());
  settle();
  EXPECT_EQ(runStatus(waiting), RunStatus::Terminated);
  EXPECT_TRUE(why(waiting).empty());
  EXPECT_NE(why(other).find("there is no flow of that name"), std::string::npos) << why(other);
}

TEST_F(EventDeskTest, AFailedNewestRunIsWaitedForUntilItWasRerun) {
  define(kSource);
  defineWaiting("{flow: src}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  const RunId failing = runAt("src", "2026-11-29T03:00:00Z").state.id;
  work({"a"});
  EXPECT_EQ(runStatus(failing), RunStatus::Failed);
  EXPECT_NE(why(waiting).find("of 2026-11-29T03:00:00+00:00, is FAILED"), std::string::npos)
      << why(waiting);
  // An older plan time does not help, however late it runs.
  runAt("src", kNight);
  work();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  ASSERT_TRUE(orderRun({.id = failing, .command = master::api::RunCommand::Rerun}).ok());
  work();
  EXPECT_EQ(runStatus(failing), RunStatus::Finished);
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, ASuccessByForceIsAnEnd) {
  define(kSource);
  defineWaiting("{flow: src, task: a}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  const RunId source = runAt("src", kNight).state.id;
  work({"a"});
  EXPECT_EQ(runStatus(source), RunStatus::Failed);
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  const master::api::RunOrder force{
      .id = source, .command = master::api::RunCommand::ForceSuccess, .task = "a"};
  ASSERT_TRUE(orderRun(force).ok());
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, ADayWaitsForAllOfIts25Hours) {
  define(
      "flow: src\nschedule: {cron: '0 * * * *', timezone: Europe/Berlin}\n"
      "overlap: {policy: parallel, max_runs: 100}\ntasks: {a: {command: [x]}}\n");
  defineWaiting("{flow: src, task: a, window: {last_24_hours: all}}", "timezone: Europe/Berlin\n");
  const RunId waiting = runAt("dst", "2026-10-26T00:30:00+01:00").state.id;
  const WallTime first = at("2026-10-25T00:00:00+02:00");
  for (int hour = 24; hour > 0; --hour) {  // In any order.
    if (hour != 3) trigger("src", {.plan_time = first + Seconds(3'600 * hour)});
  }
  trigger("src", {.plan_time = first});
  work();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  EXPECT_NE(why(waiting).find("1 of 25 are not there: 2026-10-25T02:00:00+01:00 has no run yet"),
            std::string::npos)
      << why(waiting);
  trigger("src", {.plan_time = first + Seconds(3 * 3'600)});
  work();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, WhatAScheduleNoLongerAsksForIsNotWaitedFor) {
  define("flow: src\nschedule: {cron: '0 2,3 * * *', timezone: UTC}\ntasks: {a: {noop: true}}\n");
  defineWaiting("{flow: src, window: {same_day: all}}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  runAt("src", kNight);
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  rig_->flows.flows["src"].recurrence.reset();
  define("flow: src\nschedule: {cron: '0 2 * * *', timezone: UTC}\ntasks: {a: {noop: true}}\n");
  rig_->events.onFlowChanged(rig_->flows.flows["src"]);
  settle();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, AWaitThatTakesTooLongFails) {
  define(kSource);
  define("flow: dst\ntasks:\n  w: {event: {flow: src}, timeout: 2s}\n");
  const RunId waiting = runAt("dst", kMorning).state.id;
  pass(Millis(2'100));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Failed);
  EXPECT_EQ(nodeReason(waiting, "w"), FailureReason::Timeout);
  EXPECT_TRUE(why(waiting).empty());
  runAt("src", kNight);
  work();  // Too late, and nobody minds.
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Failed);
}

TEST_F(EventDeskTest, ManyWhoWaitForOneThingAreToldAtOnce) {
  define(kSource);
  std::string yaml = "flow: dst\ntasks:\n";
  for (int i = 0; i < 200; ++i) yaml += fmt::format("  w{}: {{event: {{flow: src}}}}\n", i);
  define(yaml);
  const RunId waiting = runAt("dst", kMorning).state.id;
  runAt("src", kNight);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(), "b");
  settle();
  const uint64_t before = database_.commits();
  end();
  settle();
  EXPECT_EQ(runStatus(waiting), RunStatus::Finished);
  EXPECT_LE(database_.commits() - before, 4u);
}

TEST_F(EventDeskTest, ALookUpThatFailsIsRepeated) {
  define(kSource);
  defineWaiting("{flow: src}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  runAt("src", kNight);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(), "b");
  database_.failReads(ErrorCode::Unavailable);
  end();
  settle();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  EXPECT_NE(why(waiting).find("it can't be read"), std::string::npos) << why(waiting);
  database_.failReads(std::nullopt);
  pass(Millis(1'100));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, TheNextMasterFindsWhatItsPredecessorDidNotTell) {
  define(kSource);
  defineWaiting("{flow: src}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  runAt("src", kNight);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(), "b");
  database_.failReads(ErrorCode::Unavailable);
  end();
  settle();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  database_.failReads(std::nullopt);
  begin();
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
}

// --------------------------------------------------------------------- events from outside

TEST_F(EventDeskTest, AnEventMeetsWhoeverWaitsForItsKey) {
  define(
      "flow: dst\nparams: {day: '${plan_time:%Y-%m-%d}'}\ntasks:\n"
      "  w: {event: {name: fx-rates, key: '${day}'}}\n"
      "  t: {needs: [w], command: [y, '${w.rate}']}\n");
  const RunId waiting = runAt("dst", kMorning).state.id;
  EXPECT_EQ(why(waiting), "waits for event fx-rates, key \"2026-11-29\": it has not come yet");
  send(event("2026-11-28"));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  send(event("2026-11-29"));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
  EXPECT_EQ(node(waiting, "w").outputs, R"({"rate":"1.10"})");
  EXPECT_EQ(work(), std::vector<std::string>{"t"});

  const RunId later = runAt("dst", "2026-11-28T05:00:00Z").state.id;
  EXPECT_EQ(nodeStatus(later, "w"), TaskStatus::Finished);
  EXPECT_EQ(node(later, "w").outputs, R"({"rate":"1.10"})");
}

TEST_F(EventDeskTest, WindowsLookAtWhenAnEventHappened) {
  defineWaiting("{name: fx-rates, window: last_day}");
  const RunId waiting = runAt("dst", kMorning).state.id;
  send(event("a", "2026-11-29T00:00:00Z"));
  send(event("b", "2026-11-27T23:59:59Z"));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Running);
  send(event("c", "2026-11-28T23:59:59Z"));
  EXPECT_EQ(nodeStatus(waiting, "w"), TaskStatus::Finished);
  work();
  const RunId later = runAt("dst", "2026-11-30T05:00:00Z").state.id;
  EXPECT_EQ(nodeStatus(later, "w"), TaskStatus::Finished);
}

TEST_F(EventDeskTest, AnEventIsStoredOnce) {
  std::optional<Result<EventSent>> first;
  std::optional<Result<EventSent>> second;
  post(event("k"), first);
  EventSend repeat = event("k");
  repeat.data = {{"rate", "2"}};
  post(repeat, second);  // Before the first is stored.
  settle();
  ASSERT_TRUE(first && first->ok() && second && second->ok());
  EXPECT_FALSE((*first)->known);
  EXPECT_EQ((*first)->event.happened_at, clock_.wallNow());
  EXPECT_TRUE((*second)->known);
  EXPECT_EQ((*second)->event.id, (*first)->event.id);
  EXPECT_EQ((*second)->event.data, R"({"rate":"1.10"})");
  EXPECT_TRUE(send(event("k")).known);
  EXPECT_FALSE(send(event("K")).known);  // Another one.
  begin();
  EXPECT_TRUE(send(event("k")).known);
  EXPECT_EQ(database_.rows().events.size(), 2u);
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(EventDeskTest, WrongEventsAreRefusedByField) {
  const auto refused = [&](const std::function<void(EventSend&)>& spoil) {
    EventSend bad = event("k");
    spoil(bad);
    const auto answer = offerEvent(bad);
    return answer.ok() ? "ok" : answer.status().error().field();
  };
  EXPECT_EQ(refused([](EventSend& e) { e.name = std::string(128, 'n'); }), "ok");
  EXPECT_EQ(refused([](EventSend& e) { e.name = std::string(129, 'n'); }), "name");
  EXPECT_EQ(refused([](EventSend& e) { e.name = ""; }), "name");
  EXPECT_EQ(refused([](EventSend& e) { e.name = "a b"; }), "name");
  EXPECT_EQ(refused([](EventSend& e) { e.key = std::string(129, 'k'); }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = ""; }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = "a\nb"; }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = "a\xc2\x85"; }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = "a "; }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = "\xff"; }), "key");
  EXPECT_EQ(refused([](EventSend& e) { e.key = "Zürich /2026 11"; }), "ok");
  EXPECT_EQ(refused([](EventSend& e) { e.data = {{"a-b", ""}}; }), "data.a-b");
  EXPECT_EQ(refused([](EventSend& e) { e.data = {{"BATON_X", ""}}; }), "data.BATON_X");
  EXPECT_EQ(refused([](EventSend& e) { e.data = {{"plan_time", ""}}; }), "data.plan_time");
  EXPECT_EQ(refused([](EventSend& e) { e.data = {{"a", std::string(65'528, 'x')}}; }), "ok");
  EXPECT_EQ(refused([](EventSend& e) { e.data = {{"a", std::string(65'529, 'x')}}; }), "data");
  rig_->events.close();
  EXPECT_EQ(offerEvent(event("late")).status().error().code(), ErrorCode::NotActive);
}

TEST_F(EventDeskTest, ASendThatCantBeLookedUpIsRefused) {
  database_.failReads(ErrorCode::Unavailable);
  EXPECT_EQ(offerEvent(event("k")).status().error().code(), ErrorCode::Unavailable);
  database_.failReads(std::nullopt);
  EXPECT_FALSE(send(event("k")).known);
}

// -------------------------------------------------------------------------------- triggers

TEST_F(EventDeskTest, AnEventBeginsARunOfEachFlowThatIsOnline) {
  const std::string tasks = "trigger: {event: fx-rates}\ntasks: {t: {command: [y]}}\n";
  defineOnline("flow: one\n" + tasks);
  defineOnline("flow: two\n" + tasks);
  defineOnline("flow: off\n" + tasks, false);
  const EventSent sent = send(event("k", kNight));
  send(event("k", kNight));
  for (const std::string flow : {"one", "two"}) {
    const auto runs = runsOf(flow);
    ASSERT_EQ(runs.size(), 1u) << flow;
    EXPECT_EQ(runs[0].trigger, RunTrigger::Event);
    EXPECT_EQ(runs[0].trigger_key, fmt::format("event:{}", sent.event.id));
    EXPECT_EQ(runs[0].plan_time, at(kNight));
    EXPECT_EQ(runs[0].params, R"({"rate":"1.10"})");
  }
  EXPECT_TRUE(runsOf("off").empty());
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(EventDeskTest, TriggersAreKnownToTheNextMaster) {
  defineOnline("flow: one\ntrigger: {event: fx-rates}\ntasks: {t: {command: [y]}}\n");
  begin();
  send(event("k"));
  EXPECT_EQ(runsOf("one").size(), 1u);
}

TEST_F(EventDeskTest, OnlyAnEndThatIsWellBeginsARun) {
  define(kSource);
  defineOnline("flow: one\ntrigger: {event: {flow: Src}}\ntasks: {t: {noop: true}}\n");
  const RunId source = runAt("src", kNight).state.id;
  work({"b"});
  EXPECT_TRUE(runsOf("one").empty());
  ASSERT_TRUE(orderRun({.id = source, .command = master::api::RunCommand::Rerun}).ok());
  work();
  auto runs = runsOf("one");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].trigger_key, fmt::format("run:{}:1", source));
  EXPECT_EQ(runs[0].plan_time, at(kNight));
  EXPECT_EQ(runs[0].state.status, RunStatus::Finished);
  // Offline it is none of its business.
  rig_->flows.flows["one"].record.online = false;
  rig_->events.onFlowChanged(rig_->flows.flows["one"]);
  runAt("src", kNight);
  work();
  EXPECT_EQ(runsOf("one").size(), 1u);
}

TEST_F(EventDeskTest, TheEndOfATaskBeginsARun) {
  define(kSource);
  defineOnline("flow: one\ntrigger: {event: {flow: src, task: a}}\ntasks: {t: {noop: true}}\n");
  const RunId source = runAt("src", kNight).state.id;
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(), "b");
  const auto runs = runsOf("one");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].trigger_key, fmt::format("task:{}:1:0", node(source, "a").state.id));
}

TEST_F(EventDeskTest, RunsBeginWithTheEventAlsoWithoutNumbersInHand) {
  // Aim: a master that dies before numbers are reserved leaves no trigger behind unmet.
  begin(defaults(), 4, 1);
  for (int i = 0; i < 12; ++i) {
    defineOnline(
        fmt::format("flow: f{}\ntrigger: {{event: fx-rates}}\ntasks: {{t: {{noop: true}}}}\n", i));
  }
  bool stored = false;
  database_.on_commit = [&] {
    if (stored) return;
    const auto& rows = database_.direct();
    stored = !rows.events.empty();
    EXPECT_EQ(rows.runs.size(), stored ? 12U : 0U);
  };
  send(event("k"));
  database_.on_commit = nullptr;
  EXPECT_EQ(database_.rows().runs.size(), 12U);
  // Whoever comes next gives none of these numbers again.
  begin(defaults(), 4);
  for (int i = 0; i < 12; ++i) runAt(fmt::format("f{}", i), kNight);
  EXPECT_EQ(database_.rows().runs.size(), 24U);
  EXPECT_EQ(database_.violation(), "");
}

TEST_F(EventDeskTest, FlowsThatBeginEachOtherAreRefused) {
  defineOnline("flow: a\ntrigger: {event: {flow: c}}\ntasks: {t: {noop: true}}\n");
  defineOnline("flow: b\ntrigger: {event: {flow: a, task: t}}\ntasks: {t: {noop: true}}\n");
  const auto check = [&](const std::string& yaml) {
    const auto parsed = flow::parseFlow("test", yaml);
    EXPECT_TRUE(parsed.flow.has_value());
    const auto circle = rig_->events.findCircle({master::makeFlowVersion(1, *parsed.flow)});
    return circle ? circle->error.message() : std::string();
  };
  EXPECT_EQ(check("flow: c\ntrigger: {event: {flow: x}}\ntasks: {t: {noop: true}}\n"), "");
  EXPECT_EQ(check("flow: c\ntrigger: {event: a}\ntasks: {t: {noop: true}}\n"), "");
  EXPECT_EQ(check("flow: c\ntrigger: {event: {flow: a, task: other}}\ntasks: {t: {noop: true}}\n"),
            "");
  EXPECT_EQ(check("flow: c\ntrigger: {event: {flow: B}}\ntasks: {t: {noop: true}}\n"),
            "a run of flow c would begin the next one, for ever: c -> a -> b -> c");
  EXPECT_FALSE(flow::parseFlow("test",
                               "flow: x\ntrigger: {event: {flow: x}}\n"
                               "tasks: {t: {noop: true}}\n")
                   .flow.has_value())
      << "seen without a look at others";
  // A part of a flow ends as well.
  EXPECT_EQ(check("flow: y\ntrigger: {event: {flow: b}}\ntasks: {t: {flow: c}}\n"),
            "a run of flow y would begin the next one, for ever: y -> c -> a -> b -> y");

  // Even if they got in, nothing turns for ever.
  defineOnline("flow: c\ntrigger: {event: {flow: b}}\ntasks: {t: {noop: true}}\n");
  runAt("c", kNight);
  EXPECT_TRUE(runsOf("a").empty());
}

}  // namespace
}  // namespace baton::test
