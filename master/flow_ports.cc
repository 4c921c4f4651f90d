#include "master/flow_ports.h"

#include <algorithm>
#include <map>

#include "master/answered_once.h"
#include "master/definitions_together.h"

namespace baton::master {
namespace {

std::string needText(const std::string& task, flow::NeedOn on) {
  return fmt::format("{} ({})", task, flow::toString(on));
}

constexpr int kInstantsShown = 5;

Error noFlow(const std::string& name) { return Error::notFound("there is no flow {}", name); }

}  // namespace

std::vector<api::DefinitionIssue> issuesOf(const std::vector<flow::FlowIssue>& issues) {
  std::vector<api::DefinitionIssue> out;
  for (const flow::FlowIssue& issue : issues) {
    out.push_back({issue.file, issue.line, issue.column, issue.key, issue.message, issue.warning,
                   issue.missing_flow});
  }
  return out;
}

FlowPorts::FlowPorts(Clock& clock, dao::Database& database, MasterPorts& master)
    : clock_(clock), master_(master), readers_(database) {}

// ----------------------------------------------------------------------------------- flows

void FlowPorts::apply(api::FlowApply request, api::Callback<api::FlowApplied> done) {
  std::vector<api::FlowApply> requests;
  requests.push_back(std::move(request));
  applyAll(std::move(requests), [done](Result<api::FlowsApplied> applied) {
    if (!applied.ok()) return done(applied.error());
    if (applied->errors.empty()) return done(std::move(applied->flows.front()));
    api::FlowApplied refused;
    refused.errors = std::move(applied->errors);
    done(std::move(refused));
  });
}

void FlowPorts::applyAll(std::vector<api::FlowApply> requests,
                         api::Callback<api::FlowsApplied> done) {
  done = answeredOnce<api::FlowsApplied>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  flow::FlowSurroundings surroundings = (*term)->flowSurroundings();
  surroundings.now = clock_.wallNow();
  std::vector<std::pair<std::string, flow::ParsedFlow>> read;  // With the name of its file.
  DefinitionsTogether together("flow");
  for (api::FlowApply& request : requests) {
    std::string file = request.file.empty() ? request.name : request.file;
    if (file.empty()) file = "definition";
    flow::ParsedFlow parsed = flow::parseFlow(file, request.text, surroundings);
    const Status taken = together.take(file, request.name, parsed.flow ? parsed.flow->name : "",
                                       issuesOf(parsed.issues));
    if (!taken.ok()) return done(taken.error());
    if (parsed.flow) read.emplace_back(std::move(file), std::move(parsed));
  }
  if (together.wrong()) {
    api::FlowsApplied refused;
    refused.errors = together.allIssues();
    return done(std::move(refused));
  }
  auto& issues = together.issues();
  // What comes with the same order is not missing.
  std::vector<flow::FlowReference> references;
  for (const auto& [file, parsed] : read) {
    references.insert(references.end(), parsed.references.begin(), parsed.references.end());
  }
  if (auto known = (*term)->knownFlows(references)) {
    for (const auto& [file, parsed] : read) {
      auto& tasks = (*known)[nameKey(parsed.flow->name)].emplace();
      for (const flow::TaskNode& task : parsed.flow->tasks) tasks.insert(task.name);
    }
    for (size_t i = 0; i < read.size(); ++i) {
      const auto& [file, parsed] = read[i];
      for (auto& issue : issuesOf(flow::unmetReferences(file, parsed, *known))) {
        issues[i].push_back(std::move(issue));
      }
    }
  }
  std::vector<FlowDefinition> definitions;
  for (size_t i = 0; i < read.size(); ++i) {
    definitions.push_back(
        {std::move(requests[i]), makeFlowVersion(0, std::move(*read[i].second.flow)), {}});
  }
  const auto told = [done, issues = std::move(issues)](Result<api::FlowsApplied> applied) {
    for (size_t i = 0; applied.ok() && i < issues.size(); ++i) {
      applied->flows[i].flow.warnings = issues[i];
    }
    done(std::move(applied));
  };
  (*term)->applyFlows(std::move(definitions), told);
}

void FlowPorts::setOnline(std::string name, bool online, api::Request request,
                          api::Callback<api::FlowView> done) {
  done = answeredOnce<api::FlowView>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->setFlowOnline(std::move(name), online, std::move(request), std::move(done));
}

void FlowPorts::remove(std::string name, api::Request request, api::Callback<api::FlowView> done) {
  done = answeredOnce<api::FlowView>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->removeFlow(std::move(name), std::move(request), std::move(done));
}

void FlowPorts::trigger(api::FlowTrigger request, api::Callback<api::MadeRun> done) {
  done = answeredOnce<api::MadeRun>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->onFlows(
      [request = std::move(request), done](FlowCommands& flows) { flows.trigger(request, done); },
      done);
}

void FlowPorts::backfill(api::FlowBackfill request, api::Callback<api::BackfillView> done) {
  done = answeredOnce<api::BackfillView>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->onFlows(
      [request = std::move(request), done](FlowCommands& flows) { flows.backfill(request, done); },
      done);
}

Result<api::FlowView> FlowPorts::flow(const std::string& name, std::optional<uint32_t> version) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  const std::string key = nameKey(name);
  ASSIGN_OR_RETURN(auto row, readers_.with([&](dao::Reader& reader) { return reader.flow(key); }));
  if (!row || !row->version) return noFlow(name);
  api::FlowView view;
  view.record = row->record;
  view.version = std::move(*row->version);
  if (version && *version != view.version.version) {
    ASSIGN_OR_RETURN(auto older, readers_.with([&](dao::Reader& reader) {
      return reader.flowVersion(key, *version);
    }));
    if (!older) return Error::notFound("flow {} has no version {}", name, *version);
    view.version = std::move(*older);
  }
  const flow::ParsedFlow parsed = flow::parseFlow(name, view.version.text, {.stored = true});
  if (parsed.flow) describeBy(*parsed.flow, view);
  if (parsed.flow && parsed.flow->schedule) {
    const std::string& calendar = parsed.flow->schedule->calendar;
    const auto days = calendar.empty() ? nullptr : term->calendarDays(calendar);
    const Recurrence recurrence = flow::recurrenceOf(*parsed.flow, view.record.online_since, days);
    WallTime after = std::max(clock_.wallNow(), view.record.last_instant);
    // Without its calendar a flow does not fire.
    int64_t shown = calendar.empty() || days != nullptr ? kInstantsShown : 0;
    if (const int64_t count = parsed.flow->schedule->count; count > 0) {
      // Going online counts anew.
      shown = std::min(shown, count - (view.record.online ? view.record.fired : 0));
    }
    for (int64_t i = 0; i < shown; ++i) {
      const auto next = recurrence.next(after);
      if (!next) break;
      view.next_instants.push_back(after = *next);
    }
  }
  const auto live = std::make_shared<uint64_t>(0);
  if (term->inspect([term, key, live] { *live = term->liveRunsOf(key); })) view.live_runs = *live;
  return view;
}

Result<api::ListOf<FlowVersionRecord>> FlowPorts::versions(const std::string& name, uint32_t before,
                                                           uint32_t limit) {
  RETURN_IF_ERROR(master_.activeTerm().status());
  const std::string key = nameKey(name);
  ASSIGN_OR_RETURN(auto row, readers_.with([&](dao::Reader& reader) { return reader.flow(key); }));
  if (!row) return noFlow(name);
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.flowVersions(key, before, limit);
  }));
  return api::ListOf<FlowVersionRecord>{std::move(page.items), page.more, {}};
}

// ----------------------------------------------------------------------------------- runs

void FlowPorts::order(api::RunOrder order, api::Callback<RunRecord> done) {
  done = answeredOnce<RunRecord>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->orderRun(std::move(order), std::move(done));
}

Result<RunRecord> FlowPorts::runRow(RunId id) {
  ASSIGN_OR_RETURN(auto row, readers_.with([&](dao::Reader& reader) { return reader.run(id); }));
  if (!row) return Error::notFound("there is no run {}", id);
  return std::move(*row);
}

void FlowPorts::explainWaiting(ActiveTerm& term, std::vector<api::RunView*> views) const {
  std::erase_if(views, [](const api::RunView* view) {
    const RunStatus status = view->record.state.status;
    return status != RunStatus::Waiting && status != RunStatus::Paused;
  });
  if (views.empty()) return;
  std::vector<RunId> ids;
  for (const api::RunView* view : views) ids.push_back(view->record.state.id);
  const auto found = std::make_shared<std::vector<std::string>>();
  const bool looked = term.inspect([&term, ids, found] {
    for (const RunId id : ids) found->push_back(term.whyRunWaits(id));
  });
  for (size_t i = 0; looked && i < views.size(); ++i) views[i]->waiting_text = (*found)[i];
}

Result<api::RunView> FlowPorts::run(RunId id) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  ASSIGN_OR_RETURN(RunRecord record, runRow(id));
  api::RunView view{std::move(record), {}};
  explainWaiting(*term, {&view});
  ASSIGN_OR_RETURN(view.begun_by, begunBy(view.record));
  return view;
}

Result<std::vector<api::NodeView>> FlowPorts::nodes(RunId id) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  ASSIGN_OR_RETURN(const RunRecord record, runRow(id));
  const std::string key = nameKey(record.flow);
  ASSIGN_OR_RETURN(auto tasks,
                   readers_.with([&](dao::Reader& reader) { return reader.tasksOfRun(id); }));
  ASSIGN_OR_RETURN(const auto version, readers_.with([&](dao::Reader& reader) {
    return reader.flowVersion(key, record.version);
  }));
  dao::RunFilter parts;
  parts.parent_run = id;
  ASSIGN_OR_RETURN(const auto sub_runs, readers_.with([&](dao::Reader& reader) {
    return reader.runs(parts, 0, 10'000);
  }));
  std::unordered_map<TaskId, RunId> sub_run_of;  // The newest comes first.
  for (const RunRecord& run : sub_runs.items) {
    sub_run_of.emplace(run.parent_task, run.state.id);
  }
  flow::ParsedFlow parsed;
  if (version) parsed = flow::parseFlow(record.flow, version->text, {.stored = true});
  std::unordered_map<std::string, size_t> place;
  for (size_t i = 0; parsed.flow && i < parsed.flow->tasks.size(); ++i) {
    place[parsed.flow->tasks[i].name] = i;
  }
  std::stable_sort(tasks.begin(), tasks.end(), [&](const TaskRecord& a, const TaskRecord& b) {
    return place[a.name] < place[b.name];
  });
  std::vector<api::NodeView> nodes;
  std::vector<api::TaskView*> views;
  nodes.reserve(tasks.size());
  for (TaskRecord& task : tasks) {
    api::NodeView& node = nodes.emplace_back();
    const flow::TaskNode* spec = parsed.flow ? parsed.flow->find(task.name) : nullptr;
    if (spec != nullptr) {
      for (const auto& [upstream, on] : spec->needs) node.needs.push_back(needText(upstream, on));
    }
    if (const auto sub = sub_run_of.find(task.state.id); sub != sub_run_of.end()) {
      node.sub_run = sub->second;
    }
    node.task.record = std::move(task);
    views.push_back(&node.task);
  }
  master_.explainWaiting(*term, std::move(views));
  return nodes;
}

void FlowPorts::runMissed(std::string flow, WallTime plan_time, api::Request request,
                          api::Callback<api::MadeRun> done) {
  done = answeredOnce<api::MadeRun>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  const auto row = readers_.with(
      [&](dao::Reader& reader) { return reader.missedInstant(nameKey(flow), plan_time); });
  if (!row.ok()) return done(row.error());
  if (!row->has_value()) {
    const auto known =
        readers_.with([&](dao::Reader& reader) { return reader.flow(nameKey(flow)); });
    if (!known.ok()) return done(known.error());
    if (!known->has_value() || !(*known)->version) return done(noFlow(flow));
    return done(
        Error::notFound("flow {} has no missed instant {}; baton missed list --flow {} "
                        "shows those that it has",
                        flow, formatRfc3339(plan_time), flow));
  }
  (*term)->onFlows([missed = **row, request = std::move(request),
                    done](FlowCommands& flows) { flows.runMissed(missed, request, done); },
                   done);
}

// ----------------------------------------------------------------------------------- events

void FlowPorts::send(api::EventSend event, api::Callback<api::EventSent> done) {
  done = answeredOnce<api::EventSent>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->sendEvent(std::move(event), std::move(done));
}

}  // namespace baton::master
