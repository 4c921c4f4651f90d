// What people ask of flows: definitions and their versions, runs by hand, backfills, missed
// instants.
#include "master/flow/flow_commands.h"

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::api::EventSent;
using master::api::FlowApplied;
using master::api::FlowApply;
using master::api::FlowBackfill;
using master::api::FlowTrigger;
using master::api::FlowView;
using master::api::MadeRun;
using Code = ErrorCode;

class FlowCommandsTest : public PlannerTest {
 protected:
  Status remove(const std::string& name) {
    return ask<FlowView>([&](auto done) { rig_->flow_commands.remove(name, requester(), done); })
        .status();
  }
  Result<RunRecord> run(const FlowTrigger& request, bool replayed = false) {
    return runOf(ask<MadeRun>([&](auto done) { rig_->flow_commands.trigger(request, done); }),
                 replayed);
  }
  static Result<RunRecord> runOf(Result<MadeRun> made, bool replayed) {
    if (!made.ok()) return made.error();
    EXPECT_EQ(made->replayed, replayed);
    return made->run;
  }
  Result<RunRecord> runMissed(const std::string& flow, const std::string& at,
                              const std::string& key = {}, bool replayed = false) {
    MissedRecord missed;
    missed.flow = flow;
    missed.plan_time = instant(at);
    return runOf(ask<MadeRun>([&](auto done) {
                   rig_->flow_commands.runMissed(missed, {"p", key, "h"}, done);
                 }),
                 replayed);
  }
};

const char* const kOneTask = "{flow: F, tasks: {a: {command: [x]}}}";

// Runs that wait take the places of a new definition when it is stored.
TEST_F(FlowCommandsTest, PlacesOfANewDefinitionAreFilled) {
  apply("{flow: F, tasks: {a: {command: [x]}}}");
  FlowTrigger trigger;
  trigger.flow = "F";
  trigger.request = requester();
  const RunId first = run(trigger)->state.id;
  const RunId second = run(trigger)->state.id;
  ASSERT_EQ(runStatus(first), RunStatus::Running);
  ASSERT_EQ(runStatus(second), RunStatus::Waiting);
  apply("{flow: F, overlap: {policy: parallel, max_runs: 2}, tasks: {a: {command: [x]}}}");
  EXPECT_EQ(runStatus(second), RunStatus::Running);
}

// A repetition is answered as the first time, and stores nothing over what came between.
TEST_F(FlowCommandsTest, DefinitionsAreStoredOnceByTheirKey) {
  master::api::FlowApply request;
  request.text = "{flow: F, tasks: {a: {command: [x]}}}";
  request.request = {.principal = "p", .idempotency_key = "k", .request_hash = "h"};
  const auto first = tryApply(request);
  ASSERT_TRUE(first.ok() && first->created);
  apply("{flow: F, tasks: {a: {command: [y]}}}");
  for (const bool taken_over : {false, true}) {
    if (taken_over) begin();
    const auto again = tryApply(request);
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_TRUE(again->created && again->changed && again->replayed);
    EXPECT_EQ(again->flow.record.version, 1U);
    EXPECT_EQ(flowRow("f").version, 2U);
  }
  request.request.request_hash = "other";
  EXPECT_EQ(tryApply(request).error().code(), ErrorCode::Conflict);
  // A key of another kind of request.
  request.request = {.principal = "p", .idempotency_key = "t", .request_hash = "h"};
  FlowTrigger trigger;
  trigger.flow = "F";
  trigger.request = request.request;
  ASSERT_TRUE(run(trigger).ok());
  EXPECT_EQ(tryApply(request).error().code(), ErrorCode::Conflict);
}

TEST_F(FlowCommandsTest, ADefinitionThatMeansTheSameMakesNoVersion) {
  const FlowApplied first = apply("{flow: F, tasks: {a: {command: [x], timeout: 60s}}}");
  EXPECT_TRUE(first.created && first.changed);
  EXPECT_EQ(first.flow.record.version, 1U);
  EXPECT_TRUE(first.flow.record.online);
  const FlowApplied same =
      apply("flow: F\ntasks:\n  a:\n    timeout: 1m\n    command: ['x']\n", std::nullopt);
  EXPECT_FALSE(same.created || same.changed);
  EXPECT_TRUE(same.changes.empty());
  EXPECT_EQ(same.flow.record.version, 1U);
  const FlowApplied other =
      apply("{flow: f, tasks: {a: {command: [x], timeout: 2m}}}", std::nullopt);
  EXPECT_TRUE(other.changed && !other.created);
  EXPECT_EQ(other.flow.record.version, 2U);
  EXPECT_EQ(other.changes, (std::vector<std::string>{"flow F -> f", "task a: timeout 1m -> 2m"}));
  EXPECT_TRUE(flowRow("f").online);
  EXPECT_EQ(flowRow("f").name, "f");
  const auto rows = database_.rows();
  ASSERT_EQ(rows.flow_versions.size(), 2U);
  EXPECT_EQ(rows.flow_versions.at({"f", 2}).text,
            "{flow: f, tasks: {a: {command: [x], timeout: 2m}}}");
}

TEST_F(FlowCommandsTest, AComparisonCountsOnlyAgainstTheNewestVersion) {
  // Aim: definitions are compared before the dispatcher's turn, and another one may come between.
  apply(kOneTask);
  const auto first = rig_->flows.flows.at("f").newest;
  apply("{flow: F, tasks: {b: {command: [x]}}}");
  const auto second = rig_->flows.flows.at("f").newest;
  FlowApply request;
  request.text = kOneTask;
  const auto same = master::compareVersions(first, first->spec);
  EXPECT_TRUE(same.changes.empty());
  EXPECT_FALSE(same.other_times);
  const auto back = tryApply(request, same);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->changed);
  EXPECT_EQ(back->flow.record.version, 3U);
  EXPECT_EQ(back->changes.size(), 2U);
  // What was read from an older text does not come back either.
  rig_->flows.learn("f", second->number, second);
  EXPECT_EQ(rig_->flows.flows.at("f").newest->number, 3U);
}

TEST_F(FlowCommandsTest, AnExpectedVersionIsChecked) {
  FlowApply request;
  request.text = kOneTask;
  request.if_version = 1;
  EXPECT_EQ(tryApply(request).error().code(), Code::Conflict);
  request.if_version = 0;
  ASSERT_TRUE(tryApply(request).ok());
  // A repetition finds what it wanted.
  EXPECT_FALSE(tryApply(request)->changed);
  request.text = "{flow: F, tasks: {b: {command: [x]}}}";
  const auto refused = tryApply(request);
  EXPECT_EQ(refused.error().message(), "flow F is at version 1, and 0 was expected");
  EXPECT_EQ(refused.error().field(), "version");
  request.if_version = 1;
  EXPECT_EQ(tryApply(request)->flow.record.version, 2U);
}

TEST_F(FlowCommandsTest, SeveralDefinitionsAreStoredTogetherOrNotAtAll) {
  // Aim: cycles among them are found, those that only the stored definitions would make are none,
  // and what is refused leaves no trace in memory or in the database.
  const auto part = [](const std::string& name, const std::string& of) {
    return "{flow: " + name + ", tasks: {t: {flow: " + of + "}}}";
  };
  const auto leaf = [](const std::string& name) {
    return "{flow: " + name + ", tasks: {t: {noop: true}}}";
  };
  const auto circle = applyTexts({part("xa", "xb"), part("xb", "xa")});
  ASSERT_FALSE(circle.ok());
  EXPECT_EQ(circle.error().code(), Code::InvalidArgument);
  EXPECT_EQ(circle.error().message().find("a: tasks: a run of flow xa would begin the next one"),
            0U)
      << circle.error().message();
  EXPECT_EQ(rig_->flows.flows.size(), 0U);
  EXPECT_EQ(database_.rows().flows.size() + database_.rows().audit.size(), 0U);

  const auto stored = applyTexts({part("xa", "xb"), leaf("xb")});
  ASSERT_TRUE(stored.ok()) << stored.status().text();
  EXPECT_TRUE(stored->flows[0].created && stored->flows[1].created);
  EXPECT_EQ(stored->flows[1].flow.record.name, "xb");
  EXPECT_EQ(database_.rows().audit.size(), 2U) << "a row for each";
  // The other way round: each is a circle with what is stored of the other, and both are none.
  const auto turned = applyTexts({part("xb", "xa"), leaf("xa")});
  ASSERT_TRUE(turned.ok()) << turned.status().text();
  EXPECT_EQ(flowRow("xa").version, 2U);
  EXPECT_EQ(flowRow("xb").version, 2U);

  // Over triggers; the flow goes on as it was.
  const auto fired =
      applyTexts({"{flow: xa, trigger: {event: {flow: new}}, tasks: {t: {noop: true}}}",
                  "{flow: new, trigger: {event: {flow: xa}}, tasks: {t: {noop: true}}}"});
  ASSERT_FALSE(fired.ok());
  EXPECT_EQ(flowRow("xa").version, 2U);
  EXPECT_EQ(rig_->flows.flows.at("xa").newest->number, 2U);
  EXPECT_FALSE(rig_->flows.flows.contains("new"));
  const auto again = applyTexts({leaf("xa"), leaf("new")});
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_FALSE(again->flows[0].changed);
  EXPECT_EQ(database_.rows().audit.size(), 5U) << "none for what stays as it is";
}

TEST_F(FlowCommandsTest, OneThatCanNotBeStoredKeepsAllFromBeingStored) {
  // Aim: an edit in between, a calendar that is not there, in the last of them.
  apply("{flow: f, tasks: {t: {noop: true}}}");
  std::vector<master::FlowDefinition> definitions;
  for (const std::string name : {"g", "f"}) {
    FlowApply request;
    request.text = "{flow: " + name + ", tasks: {t: {command: [x]}}}";
    request.if_version = name == "g" ? 0 : 7;
    flow::ParsedFlow parsed = flow::parseFlow(name, request.text);
    definitions.push_back({request, master::makeFlowVersion(0, *parsed.flow), {}});
  }
  const auto refused = applyAll(std::move(definitions));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field(), "version");
  EXPECT_FALSE(rig_->flows.flows.contains("g"));
  EXPECT_EQ(database_.rows().audit.back().object, "f");
  EXPECT_TRUE(database_.rows().audit.back().refused);
  const auto calendar = applyTexts({"{flow: g, tasks: {t: {noop: true}}}",
                                    "{flow: h, schedule: {every: 1h, calendar: none}, tasks: {t: "
                                    "{noop: true}}}"});
  ASSERT_FALSE(calendar.ok());
  EXPECT_EQ(calendar.error().message(), "b: schedule.calendar: there is no calendar none");
  EXPECT_EQ(database_.rows().flows.size(), 1U);
}

TEST_F(FlowCommandsTest, ADryRunSaysWhatWouldBeAndChangesNothing) {
  apply(kOneTask, false);
  const uint64_t commits = database_.commits();
  FlowApply request;
  request.text = "{flow: F, tasks: {b: {command: [x]}}}";
  request.dry_run = true;
  const auto would = tryApply(request);
  ASSERT_TRUE(would.ok());
  EXPECT_EQ(would->changes.size(), 2U);
  EXPECT_EQ(would->flow.record.version, 2U);
  EXPECT_EQ(database_.commits(), commits);
  EXPECT_EQ(rig_->flows.flows.at("f").record.version, 1U);
}

TEST_F(FlowCommandsTest, NumbersOfVersionsRiseOverDeletionAndTakeover) {
  apply(kOneTask);
  apply("{flow: F, tasks: {b: {command: [x]}}}");
  ASSERT_TRUE(remove("f").ok());
  EXPECT_EQ(remove("f").error().code(), Code::NotFound);
  absent(Seconds(5));
  FlowApply request;
  request.text = kOneTask;
  request.if_version = 0;
  const auto again = tryApply(request);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_TRUE(again->created);
  EXPECT_EQ(again->flow.record.version, 3U);
  EXPECT_FALSE(again->flow.record.online);
  EXPECT_FALSE(flowRow("f").deleted);
}

TEST_F(FlowCommandsTest, AChangeBesideTheScheduleLeavesTheNextInstantAlone) {
  apply("{flow: F, schedule: {every: 100s}, tasks: {a: {noop: true}}}");
  const WallTime next = flowRow("f").next_at;
  watch(Seconds(30));
  apply("{flow: F, schedule: {every: 100s}, tasks: {b: {noop: true}}}");
  EXPECT_EQ(flowRow("f").next_at, next);
  setOnline("f", true);
  EXPECT_EQ(flowRow("f").next_at, next);
  watch(Seconds(80));
  EXPECT_EQ(fates("f").size(), 1U);
}

TEST_F(FlowCommandsTest, OnlineIsIdempotentAndOfUnknownFlowsNotFound) {
  apply(kOneTask, false);
  setOnline("f", true);
  const uint64_t commits = database_.commits();
  setOnline("F", true);
  EXPECT_EQ(database_.commits(), commits);
  const auto unknown = ask<FlowView>(
      [&](auto done) { rig_->flow_commands.setOnline("g", true, requester(), done); });
  EXPECT_EQ(unknown.error().message(), "there is no flow g");
}

// BUG-104: nothing of a deleted flow starts any more, whatever master comes.
TEST_F(FlowCommandsTest, ADeletedFlowTakesItsRunsWithIt) {
  apply(
      "{flow: F, schedule: {every: 60s}, tasks: {a: {command: [x], retry: {max: 3, delay: 60s}}}}");
  FlowTrigger request;
  request.flow = "F";
  const RunId running = run(request)->state.id;
  ASSERT_EQ(next(), "a");
  say(RunnerStatus::Running);
  const RunId waiting = run(request)->state.id;
  ASSERT_EQ(runStatus(waiting), RunStatus::Waiting);
  ASSERT_TRUE(remove("F").ok());
  EXPECT_EQ(runStatus(running), RunStatus::Terminating);
  EXPECT_TRUE(isTerminal(runStatus(waiting)));
  EXPECT_EQ(row(waiting).state.reason, RunReason::FlowDeleted);
  EXPECT_EQ(say(RunnerStatus::Running).command, Command::Reset);
  absent(Seconds(5));
  say(RunnerStatus::Running);
  say(RunnerStatus::Failed);
  EXPECT_EQ(runStatus(running), RunStatus::Terminated);
  EXPECT_EQ(row(running).state.reason, RunReason::FlowDeleted);
  watch(Seconds(300));
  EXPECT_TRUE(fates("f").empty());
  EXPECT_EQ(run(request).error().code(), Code::NotFound);
  EXPECT_EQ(database_.rows().runs.size(), 2U);
}

TEST_F(FlowCommandsTest, ARunByHandHasItsParametersAndPlanTime) {
  apply("{flow: F, params: {day: '1'}, tasks: {a: {command: [x, '${day}']}}}", false);
  FlowTrigger request;
  request.flow = "f";
  request.params = {{"day", "2"}, {"none", std::nullopt}};
  request.plan_time = instant("2026-01-01T00:00:00Z");
  request.priority = Priority::High;
  request.request.principal = "p";
  const auto made = run(request);
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->trigger, RunTrigger::Manual);
  EXPECT_EQ(made->params, R"({"day":"2","none":null})");
  EXPECT_EQ(made->plan_time, *request.plan_time);
  EXPECT_EQ(made->state.priority, Priority::High);
  EXPECT_EQ(made->principal, "p");
  request.params = {{"BATON_X", "2"}};
  EXPECT_EQ(run(request).error().field(), "params.BATON_X");
  request.params = {{"plan_time", "2"}};
  EXPECT_EQ(run(request).error().field(), "params.plan_time");
  request.params = {{"a-b", "2"}};
  EXPECT_EQ(run(request).error().code(), Code::InvalidArgument);
  request.params = {{"a", std::string(130 * 1'024, 'x')}};
  EXPECT_EQ(run(request).error().code(), Code::TooLarge);
  request.params = {};
  request.flow = "g";
  EXPECT_EQ(run(request).error().code(), Code::NotFound);
}

TEST_F(FlowCommandsTest, ARepetitionWithTheSameKeyMakesNoSecondRun) {
  // Aim: also while the first is not durable yet, and when another master answers.
  apply(kOneTask);
  FlowTrigger request;
  request.flow = "F";
  request.request = {"p", "k", "h"};
  std::vector<RunId> made;
  for (int i = 0; i < 2; ++i) {
    rig_->flow_commands.trigger(request, [&, i](auto answer) {
      EXPECT_EQ(answer->replayed, i == 1);
      made.push_back(answer->run.state.id);
    });
  }
  settle();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0], made[1]);
  absent(Seconds(300));
  EXPECT_EQ(run(request, true)->state.id, made[0]);
  request.request.request_hash = "other";
  EXPECT_EQ(run(request).error().code(), Code::Conflict);
  EXPECT_EQ(database_.rows().runs.size(), 1U);
  // Keys of tasks and of flows are the same keys.
  master::api::Submission submission;
  submission.tasks = {spec()};
  submission.request.principal = "p";
  submission.request.idempotency_key = "t";
  submission.request.request_hash = "h";
  ASSERT_TRUE(offer(submission).ok());
  request.request = {"p", "t", "h"};
  EXPECT_EQ(run(request).error().code(), Code::Conflict);
}

TEST_F(FlowCommandsTest, AnEventIsAnsweredAgainByTheKeyOfItsRequest) {
  // Aim: the first answer, also from another master and where the event was known already, and no
  // second event for a key that was used.
  const auto send = [&](const std::string& event_key, const std::string& key,
                        const std::string& hash = "h") {
    master::api::EventSend event;
    event.name = "e";
    event.key = event_key;
    event.request = {"p", key, hash};
    return ask<EventSent>([&](auto done) { rig_->flow_commands.sendEvent(event, done); });
  };
  const auto first = send("1", "k");
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_FALSE(first->known || first->replayed);
  ASSERT_TRUE(send("1", "known")->known);
  for (const bool taken_over : {false, true}) {
    if (taken_over) absent(Seconds(300));
    const auto again = send("1", "k");
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_TRUE(!again->known && again->replayed);
    EXPECT_EQ(again->event.id, first->event.id);
    const auto known = send("1", "known");
    EXPECT_TRUE(known->known && known->replayed);
    EXPECT_EQ(send("2", "k", "other").error().code(), Code::Conflict);
    EXPECT_TRUE(send("1", "")->known);
  }
  apply(kOneTask);
  FlowTrigger request;
  request.flow = "F";
  request.request = {"p", "k", "h"};
  EXPECT_EQ(run(request).error().code(), Code::Conflict);
  request.request.idempotency_key = "t";
  ASSERT_TRUE(run(request).ok());
  EXPECT_EQ(send("3", "t").error().code(), Code::Conflict);
  EXPECT_EQ(database_.rows().events.size(), 1U);
  // Twice at once.
  std::vector<EventSent> answers;
  for (int i = 0; i < 2; ++i) {
    rig_->flow_commands.sendEvent(
        {.name = "e", .key = "4", .data = {}, .happened_at = {}, .request = {"p", "twice", "h"}},
        [&](auto answer) {
          ASSERT_TRUE(answer.ok()) << answer.status().text();
          answers.push_back(*answer);
        });
  }
  settle();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_FALSE(answers[0].known || answers[1].known);
  EXPECT_EQ(answers[0].event.id, answers[1].event.id);
  EXPECT_NE(answers[0].replayed, answers[1].replayed);
}

// BUG-107: a backfill moves nothing of the schedule, and nothing runs before its start.
TEST_F(FlowCommandsTest, AMissedInstantIsRunByHandOnce) {
  apply(yaml("F", "cron: '0 2 * * *', timezone: UTC, misfire: none"));
  absent(Seconds(3 * 86'400));
  const std::string at = "2026-03-03T02:00:00Z";
  ASSERT_EQ(fates("f").at(at), "policy_none");
  std::vector<Result<MadeRun>> answers;
  MissedRecord missed;
  missed.flow = "F";
  missed.plan_time = instant(at);
  // Both have read the row before either is durable.
  for (int i = 0; i < 2; ++i) {
    rig_->flow_commands.runMissed(missed, {"p", {}, {}},
                                  [&](auto answer) { answers.push_back(answer); });
  }
  settle();
  ASSERT_EQ(answers.size(), 2U);
  ASSERT_TRUE(answers[0].ok()) << answers[0].status().text();
  EXPECT_EQ(answers[0]->run.trigger, RunTrigger::Schedule);
  EXPECT_TRUE(answers[0]->run.compensates);
  EXPECT_EQ(answers[1].error().code(), Code::Conflict);
  EXPECT_EQ(database_.rows().missed.at({instant(at), "f"}).run_id, answers[0]->run.state.id);
  absent(Seconds(5));
  EXPECT_EQ(runMissed("f", at).error().message(),
            fmt::format("the instant {} of flow F was run already: run {}", at,
                        answers[0]->run.state.id));
  EXPECT_EQ(runMissed("f", "2026-03-03T02:00:01Z").error().code(), Code::NotFound);
  const RunId keyed = runMissed("f", "2026-03-04T02:00:00Z", "k")->state.id;
  EXPECT_EQ(runMissed("f", "2026-03-04T02:00:00Z", "k", true)->state.id, keyed);
}

TEST_F(FlowCommandsTest, AClosedGateTakesNothing) {
  rig_->flow_commands.close();
  FlowApply request;
  request.text = kOneTask;
  EXPECT_EQ(tryApply(request).error().code(), Code::NotActive);
  EXPECT_EQ(remove("f").error().code(), Code::NotActive);
  FlowTrigger trigger;
  trigger.flow = "F";
  EXPECT_EQ(run(trigger).error().code(), Code::NotActive);
}

TEST_F(FlowCommandsTest, ParametersThatMakeARunTooLargeAreRefused) {
  // Aim: each of many tasks would get its copy, or each of many runs; the sum and the limit are
  // said.
  std::string yaml = "flow: F\nschedule: {" + std::string(kDaily) + "}\ntasks:\n";
  for (int i = 0; i < 300; ++i) yaml += fmt::format("  t{}: {{command: [x]}}\n", i);
  apply(yaml);
  const std::map<std::string, std::optional<std::string>> large{{"P", std::string(120'000, 'x')}};
  FlowTrigger trigger;
  trigger.flow = "F";
  trigger.params = large;
  const auto refused = run(trigger);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::TooLarge);
  EXPECT_EQ(refused.error().field(), "params");
  EXPECT_EQ(
      refused.error().message().find("a run comes to about 35 MB of specifications: 300 tasks"), 0U)
      << refused.error().message();
  FlowBackfill request = days("2026-02-20T00:00:00Z", "2026-02-28T00:00:00Z");
  request.params = large;
  EXPECT_EQ(backfill(request).error().code(), Code::TooLarge);
  apply("{flow: G, tasks: {a: {command: [x]}}}");
  request.flow = "G";
  request.from = request.to = std::nullopt;
  for (int i = 0; i < 400; ++i) {
    request.plan_times.push_back(instant("2026-02-01T00:00:00Z") + Seconds(i));
  }
  EXPECT_EQ(backfill(request).error().message(),
            "400 runs with 120001 bytes of parameters each, at most 32 MB are accepted");
  EXPECT_EQ(database_.rows().runs.size(), 0U);
}

TEST_F(FlowCommandsTest, ADefinitionThatNoRowHoldsIsRefusedBefore) {
  FlowApply request;
  request.text = std::string(5'000, '"');
  EXPECT_TRUE(master::FlowCommands::checkStorable(request.text, SIZE_MAX).ok());
  EXPECT_EQ(master::FlowCommands::checkStorable(request.text, 8'000).error().code(),
            Code::TooLarge);
}

}  // namespace
}  // namespace baton::test
