#include "master/master_ports.h"

#include <algorithm>
#include <array>

#include "master/answered_once.h"

namespace baton::master {
namespace {

dao::TaskFilter filterOf(const api::TaskListQuery& query) {
  dao::TaskFilter filter;
  filter.statuses = query.statuses;
  filter.priorities = query.priorities;
  filter.reason = query.reason;
  filter.ignored = query.ignored;
  filter.name = query.name;
  filter.text = query.text;
  filter.tag = query.tag;
  filter.group = query.group;
  filter.host = query.host;
  filter.runner_id = query.runner_id;
  filter.run_id = query.run_id;
  filter.flow = nameKey(query.flow);
  filter.created_from = query.created_from;
  filter.created_before = query.created_before;
  return filter;
}

}  // namespace

MasterPorts::MasterPorts(Clock& clock, dao::Database& database, MasterActiveService& service,
                         Metrics& metrics, Identity identity)
    : clock_(clock),
      service_(service),
      metrics_(metrics),
      identity_(std::move(identity)),
      readers_(database),
      database_(database) {}

Result<std::shared_ptr<ActiveTerm>> MasterPorts::activeTerm(bool recovering) const {
  auto term = service_.term();
  if (term == nullptr) return notActive();
  if (!recovering && (!term->open() || !failover_.load()->permission().may_act)) {
    return notActive();
  }
  return term;
}

bool MasterPorts::isActive() const { return activeTerm().ok(); }

// ----------------------------------------------------------------------------------- tasks

void MasterPorts::submit(api::Submission submission, api::Callback<api::SubmitAnswer> done) {
  done = answeredOnce<api::SubmitAnswer>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  const BootTime looked_up_at = clock_.bootNow();
  if (!submission.request.idempotency_key.empty()) {
    const auto stored = readers_.with([&](dao::Reader& reader) {
      return reader.idempotency(submission.request.principal, submission.request.idempotency_key);
    });
    if (!stored.ok()) return done(stored.error());
    if (stored->has_value()) {
      const auto answer = answerOf(**stored, submission.request.request_hash, clock_.wallNow());
      if (!answer.ok()) return done(answer.error());
      if (answer->has_value()) return done(api::SubmitAnswer{**answer, true});
    }
  }
  (*term)->submit(std::move(submission), looked_up_at, std::move(done));
}

void MasterPorts::command(TaskId id, api::TaskCommand command, bool force, api::Request request,
                          api::Callback<api::TaskView> done) {
  done = answeredOnce<api::TaskView>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->command(id, command, force, std::move(request), std::move(done));
}

void MasterPorts::explainWaiting(ActiveTerm& term, std::vector<api::TaskView*> views) const {
  std::erase_if(views, [](const api::TaskView* view) {
    const TaskStatus status = view->record.state.status;
    return isTerminal(status) || (status == TaskStatus::Running && view->record.run_id == 0);
  });
  if (views.empty()) return;
  // The answer is copied only if it came in time: a late look must not touch the views.
  struct Found {
    TaskEngine::Waiting waiting;
    bool stuck = false;
  };
  const auto found = std::make_shared<std::vector<Found>>();
  std::vector<TaskId> ids;
  for (const api::TaskView* view : views) ids.push_back(view->record.state.id);
  const bool looked = term.inspect([&term, ids, found] {
    for (const TaskId id : ids) {
      const LiveTask* task = term.live().findTask(id);
      Found& one = found->emplace_back();
      if (task == nullptr) continue;
      one = {term.engine().whyWaiting(*task), term.engine().isStuck(*task)};
      // No code says that: the status does.
      if (task->state.status == TaskStatus::Callback) {
        one.waiting.text = term.callbacker().awaitedText(id);
      }
    }
  });
  if (!looked) return;
  for (size_t i = 0; i < views.size(); ++i) {
    views[i]->waiting_for = (*found)[i].waiting.code;
    views[i]->waiting_text = (*found)[i].waiting.text;
    views[i]->stuck = (*found)[i].stuck;
  }
}

Result<api::TaskView> MasterPorts::task(TaskId id) {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  ASSIGN_OR_RETURN(auto record,
                   readers_.with([&](dao::Reader& reader) { return reader.task(id); }));
  if (!record) return Error::notFound("there is no task {}", id);
  api::TaskView view{std::move(*record), WaitingCode::None, {}, false};
  explainWaiting(*term, {&view});
  return view;
}

Result<api::TaskListView> MasterPorts::tasks(const api::TaskListQuery& query) {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const dao::TaskFilter filter = filterOf(query);
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.tasks(filter, query.before, query.limit);
  }));
  api::TaskListView list;
  list.more = page.more;
  for (TaskRecord& record : page.items) {
    list.items.push_back({std::move(record), WaitingCode::None, {}, false});
  }
  if (query.total) {
    ASSIGN_OR_RETURN(list.total,
                     readers_.with([&](dao::Reader& reader) { return reader.countTasks(filter); }));
  }
  std::vector<api::TaskView*> views;
  for (api::TaskView& view : list.items) views.push_back(&view);
  explainWaiting(*term, std::move(views));
  return list;
}

Result<std::vector<AttemptRecord>> MasterPorts::attempts(TaskId id) {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  ASSIGN_OR_RETURN(const auto record,
                   readers_.with([&](dao::Reader& reader) { return reader.task(id); }));
  if (!record) return Error::notFound("there is no task {}", id);
  ASSIGN_OR_RETURN(auto attempts,
                   readers_.with([&](dao::Reader& reader) { return reader.attempts(id); }));
  // A worker may listen elsewhere since: its outputs have moved with it.
  const auto now = std::make_shared<std::vector<std::string>>();
  for (const AttemptRecord& attempt : attempts) now->push_back(attempt.runner_id);
  const bool looked = term->inspect([term, now] {
    for (std::string& runner : *now) runner = term->registry().addressOf(runner);
  });
  for (size_t i = 0; looked && i < attempts.size(); ++i) {
    if (!(*now)[i].empty()) attempts[i].worker_address = (*now)[i];
  }
  return attempts;
}

// ----------------------------------------------------------------------------------- runners

void MasterPorts::heartbeat(HeartbeatRequest request, api::HeartbeatReplyFn reply) {
  reply = answeredOnce<HeartbeatReply>(std::move(reply));
  const auto term = activeTerm(/*recovering=*/true);
  if (!term.ok()) return reply(term.error());
  (*term)->heartbeat(std::move(request), std::move(reply));
}

void MasterPorts::heartbeatGone(const std::string& runner_id, uint64_t incarnation, uint64_t seq) {
  if (const auto term = service_.term()) term->heartbeatGone(runner_id, {incarnation, seq});
}

Result<std::vector<api::RunnerView>> MasterPorts::runners() {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const auto views = std::make_shared<std::vector<api::RunnerView>>();
  if (!term->inspect([term, views] { *views = term->registry().runnerViews(); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *views;
}

Result<std::vector<api::HostView>> MasterPorts::hosts() {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const auto views = std::make_shared<std::vector<api::HostView>>();
  if (!term->inspect([term, views] { *views = term->registry().hostViews(); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *views;
}

Result<api::HostPolicy> MasterPorts::policy() {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const auto policy = std::make_shared<api::HostPolicy>();
  if (!term->inspect([term, policy] { *policy = term->hostCommands().policy(); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *policy;
}

void MasterPorts::change(api::HostChange change, api::Callback<std::vector<api::HostView>> done) {
  done = answeredOnce<std::vector<api::HostView>>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->onHosts<std::vector<api::HostView>>(
      [change = std::move(change), done](HostCommands& hosts) { hosts.change(change, done); },
      done);
}

void MasterPorts::setPolicy(api::HostPolicyChange change, api::Callback<api::HostPolicy> done) {
  done = answeredOnce<api::HostPolicy>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->onHosts<api::HostPolicy>(
      [change = std::move(change), done](HostCommands& hosts) { hosts.setPolicy(change, done); },
      done);
}

// ----------------------------------------------------------------------------------- cluster

api::ClusterView MasterPorts::cluster() {
  api::ClusterView view;
  view.cluster = identity_.cluster;
  view.guid = identity_.cluster_guid;
  view.node_id = identity_.node_id;
  const ha::Failover* failover = failover_.load();
  view.role = "standby";
  view.state = toString(ha::FailoverState::Init);
  if (failover == nullptr) return view;
  const ha::FailoverStats stats = failover->stats();
  view.state = toString(stats.state);
  view.role = isActive() ? "active" : "standby";
  view.alarm = stats.alarm;
  const ha::LeaderInfo leader = failover->leader();
  view.epoch = std::max(leader.epoch, failover->permission().epoch);
  view.active_known = leader.known;
  view.active_node_id = leader.node_id;
  view.active_address = leader.address;
  view.active_since = leader.since;
  if (const auto term = activeTerm(); term.ok()) view.min_priority = (*term)->minPriority();
  for (const ha::MemberInfo& member : failover->members()) {
    view.masters.push_back({member.node_id, member.role, member.state, member.address,
                            member.version, member.database_ok, member.heard});
  }
  return view;
}

Result<std::vector<api::TakeoverView>> MasterPorts::history(uint32_t limit) {
  const auto store = database_.makeEpochStore();
  ASSIGN_OR_RETURN(const auto rows, store->history(limit));
  std::vector<api::TakeoverView> views;
  for (const dao::EpochLogRow& row : rows) {
    views.push_back({row.epoch, row.node_id, row.reason, row.bumped_at, row.released_at,
                     row.detect_ms, row.lock_ms, row.bump_ms, row.load_ms, row.active_ms,
                     row.tasks_loaded, row.attempts_in_doubt});
  }
  return views;
}

Result<api::StatsView> MasterPorts::stats() {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  ASSIGN_OR_RETURN(const auto counts,
                   readers_.with([](dao::Reader& reader) { return reader.taskCounts(); }));
  ASSIGN_OR_RETURN(const auto runs,
                   readers_.with([](dao::Reader& reader) { return reader.runCounts(); }));
  const auto view = std::make_shared<api::StatsView>();
  const bool looked = term->inspect([term, view] {
    for (size_t i = 0; i < kPriorityCount; ++i) {
      const uint64_t count = term->live().by_priority[i];
      if (count > 0)
        view->live_by_priority[std::string(toString(static_cast<Priority>(i)))] = count;
    }
    for (const LimitGate* group : term->live().gates.all(LimitKind::Group)) {
      if (group->running + group->queued == 0) continue;
      view->groups[group->name] = {group->running, group->queued};
    }
    for (const auto& [code, count] : term->engine().waitingByReason()) {
      if (count > 0) view->waiting_by_reason[std::string(toString(code))] = count;
    }
    for (const auto& [id, worker] : term->live().workers) {
      view->workers[id] = worker.counts;
      view->workers[id].running = static_cast<uint64_t>(std::max<int64_t>(0, worker.busy));
    }
    const Planner& planner = term->planner();
    view->schedules = planner.planned();
    view->planner_behind = planner.behind();
    view->planner_lag_ms = planner.lag().count() / 1'000;
    view->missed_by_reason = planner.missed();
  });
  if (!looked) return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  for (const auto& [status, count] : counts.by_status) {
    view->by_status[std::string(toString(status))] = count;
  }
  for (const auto& [status, count] : runs) {
    view->runs_by_status[std::string(toString(status))] = count;
  }
  return *view;
}

Result<std::string> MasterPorts::internals() {
  ASSIGN_OR_RETURN(const auto term, activeTerm(/*recovering=*/true));
  const auto text = std::make_shared<std::string>();
  if (!term->inspect([term, text] { *text = term->internalsJson(); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *text;
}

std::string MasterPorts::metrics() {
  if (const ha::Failover* failover = failover_.load()) {
    const ha::FailoverStats stats = failover->stats();
    metrics_.setSession(stats.session_state, stats.leader_changes);
  }
  if (const auto term = activeTerm(); term.ok()) {
    const auto active = *term;
    active->inspect([active] { active->refreshGauges(); }, Millis(500));
    std::array<double, kRunStatusCount> runs{};
    if (active->eachLiveRun([&runs](const LiveRun& run) {
          ++runs[static_cast<size_t>(run.record.state.status)];
        })) {
      for (size_t i = 0; i < runs.size(); ++i) {
        const auto status = static_cast<RunStatus>(i);
        if (!isTerminal(status)) metrics_.setRuns(status, runs[i]);
      }
    }
  }
  return metrics_.text();
}

Result<std::vector<OutboxRecord>> MasterPorts::dead(uint64_t before, uint32_t limit) {
  RETURN_IF_ERROR(activeTerm().status());
  return readers_.with([&](dao::Reader& reader) { return reader.deadOutbox(before, limit); });
}

void MasterPorts::resend(uint64_t id, api::Request request, api::Callback<OutboxRecord> done) {
  done = answeredOnce<OutboxRecord>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  const auto row = readers_.with([&](dao::Reader& reader) { return reader.outboxRow(id); });
  if (!row.ok()) return done(row.error());
  if (!row->has_value()) return done(Error::notFound("there is no callback {}", id));
  (*term)->resendCallback(**row, std::move(request), std::move(done));
}

// ----------------------------------------------------------------------------------- audit

Result<api::ListOf<AuditRecord>> MasterPorts::audit(const api::AuditListQuery& query) {
  RETURN_IF_ERROR(activeTerm().status());
  const dao::AuditFilter filter{.principal = query.principal,
                                .action = query.action,
                                .kind = query.kind,
                                .object = query.object,
                                .request_id = query.request_id,
                                .refused = query.refused,
                                .from = query.from,
                                .until = query.until};
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.audit(filter, query.before, query.limit);
  }));
  api::ListOf<AuditRecord> list{.items = std::move(page.items), .more = page.more};
  if (query.total) {
    ASSIGN_OR_RETURN(list.total,
                     readers_.with([&](dao::Reader& reader) { return reader.countAudit(filter); }));
  }
  return list;
}

}  // namespace baton::master
