// Every order leaves one row in the audit log, in the commit that carries it out.
#include "master/state/audit.h"

#include "tests/unit/master/planner_fixture.h"

namespace baton::test {
namespace {

using master::api::FlowView;
using master::api::TaskCommand;
using Point = FakeDatabase::Point;

class AuditTest : public PlannerTest {
 protected:
  // The rows that were written since the last call.
  std::vector<AuditRecord> news() {
    const std::vector<AuditRecord> all = database_.rows().audit;
    std::vector<AuditRecord> found(all.begin() + static_cast<ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    for (const AuditRecord& row : found) {
      EXPECT_NE(std::find(kAuditActions.begin(), kAuditActions.end(), row.action),
                kAuditActions.end())
          << row.action << " can't be asked for";
    }
    return found;
  }
  // The one row that was written since, which names the requester.
  AuditRecord one() {
    const auto found = news();
    EXPECT_EQ(found.size(), 1U);
    if (found.size() != 1) return {};
    EXPECT_EQ(found[0].principal, "p");
    EXPECT_EQ(found[0].at, clock_.wallNow());
    return found[0];
  }
  RunRecord trigger(const std::string& flow, flow::ParamMap params = {}) {
    master::api::FlowTrigger request;
    request.flow = flow;
    request.params = std::move(params);
    request.request = requester();
    const auto made =
        ask<master::api::MadeRun>([&](auto done) { rig_->flow_commands.trigger(request, done); });
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made->run;
  }
  Result<RunRecord> orderOf(RunId id, master::api::RunCommand command) {
    master::api::RunOrder order;
    order.id = id;
    order.command = command;
    order.priority = Priority::High;
    order.request = requester();
    return orderRun(order);
  }
  void applyAs(const std::string& text) {
    master::api::FlowApply request;
    request.text = text;
    request.request = requester();
    EXPECT_TRUE(tryApply(std::move(request)).ok());
  }

 private:
  size_t seen_ = 0;
};

TEST_F(AuditTest, OrdersOfTasksNameWhoAskedAndWhatBecameOfIt) {
  // Aim: submit, command and refusal, each with the object before and after.
  const TaskId id = submit();
  AuditRecord row = one();
  EXPECT_EQ(row.action, "task.submit");
  EXPECT_EQ(row.object, std::to_string(id));
  EXPECT_EQ(*parseJson(row.params),
            (Json{{"name", "t"}, {"kind", "command"}, {"priority", "normal"}}));
  EXPECT_EQ(row.after, R"({"status":"QUEUED"})");
  EXPECT_EQ(row.before, "");

  order(id, TaskCommand::Stop);
  row = one();
  EXPECT_EQ(row.action, "task.stop");
  EXPECT_EQ(row.remote, "10.0.0.7");
  EXPECT_EQ(row.request_id, "r-1");
  EXPECT_EQ(row.before, R"({"status":"QUEUED"})");
  EXPECT_EQ(row.after, R"({"status":"TERMINATED"})");
  EXPECT_FALSE(row.refused);

  EXPECT_FALSE(command(id, TaskCommand::Hold).ok());
  row = one();
  EXPECT_EQ(row.action, "task.hold");
  EXPECT_TRUE(row.refused);
  EXPECT_NE(row.detail.find("TERMINATED"), std::string::npos) << row.detail;
  EXPECT_EQ(row.after, "");

  EXPECT_TRUE(command(id, TaskCommand::Rerun, true).ok());
  row = one();
  EXPECT_EQ(row.action, "task.rerun");
  EXPECT_EQ(row.params, R"({"force":true})");
  EXPECT_EQ(row.before, R"({"status":"TERMINATED"})");
}

TEST_F(AuditTest, ManyTasksAtOnceAreOneRowAndARepetitionIsNone) {
  // Aim: the log has orders, not tasks, and not an order twice.
  master::api::Submission submission;
  submission.tasks.assign(3, spec());
  submission.bulk = true;
  submission.request = requester();
  submission.request.idempotency_key = "k";
  ASSERT_TRUE(offer(submission).ok());
  const AuditRecord row = one();
  EXPECT_EQ(*parseJson(row.params), (Json{{"count", 3}, {"last", "3"}}));
  EXPECT_EQ(row.object, "1");
  ASSERT_TRUE(offer(submission).ok());
  EXPECT_TRUE(news().empty());
}

TEST_F(AuditTest, OrdersOfFlowsAndRunsLeaveARow) {
  // Aim: each verb by its name; a look (dry run) and what names nothing leave none.
  applyAs("{flow: F, params: {token: 'x'}, tasks: {a: {command: [x]}}}");
  AuditRecord row = one();
  EXPECT_EQ(row.action, "flow.apply");
  EXPECT_EQ(row.object, "F");
  EXPECT_EQ(row.before, "");
  EXPECT_EQ(*parseJson(row.after), (Json{{"online", false}, {"version", 1}}));
  setOnline("f", true);
  row = one();
  setOnline("F", true);  // It is.
  EXPECT_TRUE(news().empty());
  EXPECT_EQ(row.action, "flow.online");
  EXPECT_EQ(*parseJson(row.before), (Json{{"online", false}, {"version", 1}}));
  EXPECT_EQ(*parseJson(row.after), (Json{{"online", true}, {"version", 1}}));

  // Values of parameters may be secret.
  const RunRecord run = trigger("F", {{"token", "hush"}});
  row = one();
  EXPECT_EQ(row.action, "flow.trigger");
  EXPECT_EQ(*parseJson(row.params), (Json{{"params", {"token"}}}));
  EXPECT_EQ((*parseJson(row.after))["run_id"], std::to_string(run.state.id));

  clock_.advance(Seconds(1));
  ASSERT_TRUE(orderOf(run.state.id, master::api::RunCommand::SetPriority).ok());
  row = one();
  EXPECT_EQ(row.action, "run.priority");
  EXPECT_EQ(row.object, std::to_string(run.state.id));
  EXPECT_EQ(*parseJson(row.before), (Json{{"status", "RUNNING"}, {"priority", "normal"}}));
  EXPECT_EQ(*parseJson(row.after), (Json{{"status", "RUNNING"}, {"priority", "high"}}));
  ASSERT_TRUE(orderOf(run.state.id, master::api::RunCommand::Stop).ok());
  EXPECT_EQ(one().action, "run.stop");
  ASSERT_FALSE(orderOf(run.state.id, master::api::RunCommand::Pause).ok());
  row = one();
  EXPECT_EQ(row.action, "run.pause");
  EXPECT_TRUE(row.refused);

  EXPECT_TRUE(
      ask<FlowView>([&](auto done) { rig_->flow_commands.remove("f", requester(), done); }).ok());
  EXPECT_EQ(one().action, "flow.delete");
  EXPECT_FALSE(
      ask<FlowView>([&](auto done) { rig_->flow_commands.remove("f", requester(), done); }).ok());
  master::api::FlowApply dry;
  dry.text = "{flow: G, tasks: {a: {command: [x]}}}";
  dry.dry_run = true;
  EXPECT_TRUE(tryApply(std::move(dry)).ok());
  EXPECT_TRUE(news().empty());
}

TEST_F(AuditTest, ABackfillAMissedInstantAndAnEventLeaveARow) {
  // Aim: the orders that make something say what they made.
  applyAs("{flow: F, tasks: {a: {noop: true}}}");
  EXPECT_EQ(news().size(), 1U);
  master::api::FlowBackfill backfill;
  backfill.flow = "f";
  backfill.plan_times = {instant("2026-01-01T00:00:00Z"), instant("2026-01-02T00:00:00Z")};
  backfill.request = requester();
  backfill.dry_run = true;
  const auto begin = [&] {
    return ask<master::api::BackfillView>(
        [&](auto done) { rig_->flow_commands.backfill(backfill, done); });
  };
  ASSERT_TRUE(begin().ok());
  EXPECT_TRUE(news().empty());
  backfill.dry_run = false;
  ASSERT_TRUE(begin().ok());
  AuditRecord row = one();
  EXPECT_EQ(row.action, "flow.backfill");
  EXPECT_EQ((*parseJson(row.after))["runs"], 2);

  MissedRecord missed;
  missed.flow = "F";
  missed.plan_time = instant("2026-02-01T00:00:00Z");
  missed.reason = "too_old";
  missed.recorded_at = clock_.wallNow();
  database_.direct().missed[{missed.plan_time, "f"}] = missed;
  const auto runMissed = [&] {
    return ask<master::api::MadeRun>(
        [&](auto done) { rig_->flow_commands.runMissed(missed, requester(), done); });
  };
  ASSERT_TRUE(runMissed().ok());
  row = one();
  EXPECT_EQ(row.action, "missed.run");
  EXPECT_EQ(row.params, R"({"plan_time":"2026-02-01T00:00:00Z"})");
  ASSERT_FALSE(runMissed().ok());
  EXPECT_TRUE(one().refused);

  master::api::EventSend event;
  event.name = "e";
  event.key = "k";
  event.data = {{"rows", "5"}};
  event.request = requester();
  const auto send = [&] {
    return ask<master::api::EventSent>([&](auto done) { rig_->events.send(event, done); });
  };
  ASSERT_TRUE(send().ok());
  row = one();
  EXPECT_EQ(row.action, "event.send");
  EXPECT_EQ(*parseJson(row.params), (Json{{"key", "k"}, {"data", {"rows"}}}));
  ASSERT_TRUE(send()->known);
  EXPECT_TRUE(news().empty());
}

TEST_F(AuditTest, OrdersAboutHostsSayWhatTheyChanged) {
  // Aim: what an operator has to undo stands there: the words, the values of labels, the switches.
  say(RunnerStatus::Idle);
  news();
  const std::string host = rig_->live.workers.begin()->first;
  using Verb = master::api::HostChange::Verb;
  const auto order = [&](Verb verb, std::map<std::string, std::optional<std::string>> labels = {}) {
    master::api::HostChange change;
    change.host = host;
    change.verb = verb;
    change.labels = std::move(labels);
    change.request = requester();
    const auto done = ask<std::vector<master::api::HostView>>(
        [&](auto answer) { rig_->host_commands.change(change, answer); });
    EXPECT_TRUE(done.ok()) << done.status().text();
    return one();
  };
  AuditRecord row = order(Verb::Drain);
  EXPECT_EQ(row.before, R"({"word":"none"})");
  EXPECT_EQ(row.after, R"({"word":"drain"})");
  row = order(Verb::Label, {{"pool", "etl"}});
  EXPECT_EQ(row.params, R"({"labels":["pool"]})");
  EXPECT_EQ(*parseJson(row.after), (Json{{"word", "drain"}, {"labels", {{"pool", "etl"}}}}));
  row = order(Verb::Label, {{"pool", std::nullopt}});
  EXPECT_EQ(*parseJson(row.before), (Json{{"word", "drain"}, {"labels", {{"pool", "etl"}}}}));
  EXPECT_EQ(row.after, R"({"word":"drain"})");
  master::api::HostPolicyChange change;
  change.white_list = true;
  change.request = requester();
  ASSERT_TRUE(ask<master::api::HostPolicy>([&](auto done) {
                rig_->host_commands.setPolicy(change, done);
              }).ok());
  row = one();
  EXPECT_EQ(*parseJson(row.before), (Json{{"white_list", false}, {"min_version", ""}}));
  EXPECT_EQ(*parseJson(row.after), (Json{{"white_list", true}, {"min_version", ""}}));
}

TEST_F(AuditTest, AChangeAndItsRowAreDurableTogetherOrNotAtAll) {
  // Aim: whatever happens to the commit, no commit shows the one without the other.
  const TaskId id = submit();
  const size_t before = database_.rows().audit.size();
  size_t commits = 0;
  database_.on_commit = [&] {
    const auto& rows = database_.direct();
    const bool stopped = rows.tasks.at(id).state.status == TaskStatus::Terminated;
    EXPECT_EQ(rows.audit.size() - before, stopped ? 1U : 0U);
    ++commits;
  };
  database_.fail(Point::CommitDropped, ErrorCode::Unavailable);
  database_.fail(Point::CommitLost, ErrorCode::Unavailable);
  rig_->dispatcher.post([&] {
    rig_->commands.command(id, TaskCommand::Stop, false, requester(), nullptr, clock_.bootNow(),
                           [](const auto& answer) { EXPECT_TRUE(answer.ok()); });
  });
  pass(Seconds(2));
  EXPECT_FALSE(database_.faultsLeft());
  EXPECT_EQ(database_.rows().audit.size() - before, 1U);
  EXPECT_EQ(status(id), TaskStatus::Terminated);
  EXPECT_GE(commits, 1U);
  database_.on_commit = {};
}

TEST_F(AuditTest, RowsOlderThanAuditKeepAreForgotten) {
  // Aim: the log is bounded by age, the oldest first, also when there is a backlog.
  master::ActiveOptions options = defaults();
  options.audit_keep = std::chrono::hours(24);
  begin(options);
  for (int i = 0; i < 2'500; ++i) {
    AuditRecord row;
    row.id = static_cast<uint64_t>(i) + 1;
    row.action = "task.stop";
    row.at = clock_.wallNow() - std::chrono::hours(i < 2'499 ? 25 : 23);
    database_.direct().audit.push_back(row);
  }
  pass(Seconds(8));
  ASSERT_EQ(database_.rows().audit.size(), 1U);
  EXPECT_EQ(database_.rows().audit[0].id, 2'500U);
}

TEST_F(AuditTest, NamesOfParametersAreBounded) {
  // Aim: no order is too large for its row.
  std::map<std::string, std::string> many;
  for (int i = 0; i < 1'000; ++i) many[std::string(200, 'x') + std::to_string(i)] = "v";
  const Json names = master::auditNames(many);
  EXPECT_EQ(names.size(), 50U);
  EXPECT_LT(dumpJson(names).size(), 5'000U);
}

TEST_F(AuditTest, OrdersOfHostsLimitsAndCalendarsLeaveRows) {
  // Aim: what steers the cluster is as accountable as what steers one task.
  using master::api::HostChange;
  using master::api::HostView;
  using Hosts = std::vector<HostView>;
  HostChange host;
  host.verb = HostChange::Verb::Exclude;
  host.host = "h1";
  host.reason = "disk";
  host.request = requester();
  const auto exclude = [&] {
    return ask<Hosts>([&](auto done) { rig_->host_commands.change(host, done); });
  };
  EXPECT_TRUE(exclude().ok());
  AuditRecord row = one();
  EXPECT_EQ(row.action + " " + row.object, "host.exclude h1");
  EXPECT_EQ(row.params, R"({"reason":"disk"})");
  // The same again changes nothing.
  EXPECT_TRUE(exclude().ok());
  EXPECT_TRUE(news().empty());
  master::api::HostPolicyChange policy;
  policy.white_list = true;
  policy.request = requester();
  EXPECT_TRUE(ask<master::api::HostPolicy>([&](auto done) {
                rig_->host_commands.setPolicy(policy, done);
              }).ok());
  row = one();
  EXPECT_EQ(row.action + " " + row.params, R"(host.policy {"white_list":true})");

  using master::api::LimitChange;
  LimitChange limit;
  limit.record.kind = LimitKind::Group;
  limit.record.name = "g";
  limit.record.max = 3;
  limit.request = requester();
  const auto change = [&](LimitChange::What what) {
    limit.what = what;
    EXPECT_TRUE(
        ask<master::api::LimitView>([&](auto done) { rig_->limits.change(limit, done); }).ok());
    return one();
  };
  row = change(LimitChange::What::Replace);
  EXPECT_EQ(row.action + " " + row.object, "limit.set group g");
  EXPECT_EQ(row.after, R"({"limit":3})");
  EXPECT_TRUE(
      ask<master::api::LimitView>([&](auto done) { rig_->limits.change(limit, done); }).ok());
  EXPECT_TRUE(news().empty());
  limit.record.max = 4;
  EXPECT_EQ(change(LimitChange::What::Max).before, R"({"limit":3})");
  row = change(LimitChange::What::Remove);
  EXPECT_EQ(row.action + " " + row.before, R"(limit.remove {"limit":4})");

  using master::api::CalendarsApplied;
  using master::api::CalendarView;
  master::api::CalendarApply calendar;
  calendar.text = "calendar: De";
  calendar.request = requester();
  EXPECT_TRUE(ask<CalendarsApplied>([&](auto done) {
                std::vector<master::CalendarDefinition> one_calendar;
                one_calendar.push_back({calendar, flow::parseCalendar("", calendar.text)});
                rig_->calendar_commands.apply(std::move(one_calendar), done);
              }).ok());
  row = one();
  EXPECT_EQ(row.action + " " + row.object, "calendar.apply De");
  EXPECT_EQ(row.after, R"({"version":1})");
  applyAs(
      "{flow: F, schedule: {cron: '0 2 * * *', timezone: UTC, calendar: de}, "
      "tasks: {a: {noop: true}}}");
  one();
  const auto remove = [&] {
    return ask<CalendarView>(
               [&](auto done) { rig_->calendar_commands.remove("De", requester(), done); })
        .ok();
  };
  EXPECT_FALSE(remove());
  row = one();
  EXPECT_TRUE(row.refused);
  EXPECT_EQ(row.action, "calendar.delete");
  EXPECT_NE(row.detail.find("is followed by F"), std::string::npos) << row.detail;
}

}  // namespace
}  // namespace baton::test
