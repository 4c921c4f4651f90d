#include "master/flow/flow_commands.h"

#include "common/base/log.h"
#include "flow/definition/flow_diff.h"

namespace baton::master {
namespace {

// Whether both versions of a flow have the same instants: what becomes of those that are missed is
// no part of that.
bool sameTimes(const flow::FlowSpec& a, const flow::FlowSpec& b) {
  const auto schedule = [](const flow::FlowSpec& spec) {
    Json all = flow::canonicalJson(spec);
    const auto found = all.find("schedule");
    if (found == all.end()) return Json();
    found->erase("misfire");
    return *found;
  };
  return schedule(a) == schedule(b);
}

Error noFlow(const std::string& name) {
  return Error::notFound("there is no flow {}", truncateUtf8(name, 64));
}

}  // namespace

void describeBy(const flow::FlowSpec& spec, api::FlowView& view) {
  view.schedule = flow::scheduleText(spec);
  view.owner = spec.owner;
  view.tags = spec.tags;
}

FlowComparison compareVersions(std::shared_ptr<const FlowVersion> before,
                               const flow::FlowSpec& after) {
  FlowComparison compared;
  if (before != nullptr) {
    compared.changes = flow::diffFlows(before->spec, after);
    compared.other_times = !sameTimes(before->spec, after);
  }
  compared.before = std::move(before);
  return compared;
}

FlowCommands::FlowCommands(TermContext& context, FlowState& flows, RunEngine& runs,
                           Planner& planner, EventDesk& events, IdAllocator& run_ids,
                           ReadWorker& reads, RecentKeys& recent_keys)
    : context_(context),
      flows_(flows),
      runs_(runs),
      planner_(planner),
      events_(events),
      run_ids_(run_ids),
      reads_(reads),
      recent_keys_(recent_keys) {}

Status FlowCommands::checkStorable(const std::string& text, size_t row_bytes_max) {
  const Status fits = dao::checkSpecFits(text, row_bytes_max);
  if (fits.ok()) return fits;
  return Error::make(ErrorCode::TooLarge,
                     "the definition has {} bytes, which is more than the database takes in one "
                     "row (max_allowed_packet)",
                     text.size());
}

api::FlowView FlowCommands::viewOf(const LiveFlow& flow) {
  api::FlowView view;
  view.record = flow.record;
  view.version.flow = flow.record.name;
  view.version.version = flow.record.version;
  if (flow.newest != nullptr) describeBy(flow.newest->spec, view);
  return view;
}

Status FlowCommands::admissible() const {
  if (!open_) return Error(ErrorCode::NotActive, "this master does not take commands yet");
  return context_.writer.acceptance();
}

LiveFlow* FlowCommands::find(const std::string& name) {
  LiveFlow* flow = flows_.findFlow(nameKey(name));
  return flow == nullptr || flow->record.deleted ? nullptr : flow;
}

// ------------------------------------------------------------------------------------- apply

void FlowCommands::apply(std::vector<FlowDefinition> definitions,
                         api::Callback<api::FlowsApplied> done) {
  // At once: behind the writer it would wait for the very database that it tells about.
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  api::Request request = definitions.front().request.request;
  if (definitions.front().request.dry_run) request.idempotency_key.clear();
  onceByKey<api::FlowsApplied>(
      request,
      [this, request, done,
       all = std::make_shared<std::vector<FlowDefinition>>(std::move(definitions))](
          const LookedUp& looked_up) {
        Status may = admissible();
        if (may.ok()) may = recent_keys_.checkFresh(looked_up.at);
        if (!may.ok()) return done(may.error());
        applyOnce(std::move(*all), request, done);
      },
      done);
}

void FlowCommands::applyOnce(std::vector<FlowDefinition> definitions, const api::Request& keyed,
                             const api::Callback<api::FlowsApplied>& done) {
  Operation operation;
  const auto auditFor = [&](const FlowDefinition& definition) {
    const api::FlowApply& request = definition.request;
    const std::string& name = definition.version->spec.name;
    Audit audit = request.dry_run ? Audit::none() : auditOf(request.request, "flow.apply", name);
    if (const LiveFlow* known = find(name)) audit.setBefore(auditFacts(known->record));
    if (request.online) audit.setParams({{"online", *request.online}});
    return audit;
  };
  const auto refuse = [&](const FlowDefinition& definition, Error error) {
    if (!definition.request.file.empty()) {
      error = std::move(error).withContext(definition.request.file);
    }
    answer(std::move(operation), auditFor(definition), Result<api::FlowsApplied>(std::move(error)),
           done);
  };
  std::vector<Judged> judged;
  for (FlowDefinition& definition : definitions) {
    auto one = judge(definition);
    if (!one.ok()) return refuse(definition, one.error());
    judged.push_back(std::move(*one));
  }
  EventDesk::Versions versions;
  for (const FlowDefinition& definition : definitions) versions.push_back(definition.version);
  if (const auto circle = events_.findCircle(versions)) {
    return refuse(definitions[circle->definition], circle->error);
  }
  api::FlowsApplied applied;
  std::vector<Audit> audits;
  for (size_t i = 0; i < definitions.size(); ++i) {
    Audit audit = auditFor(definitions[i]);
    const bool writes = judged[i].writes();
    applied.flows.push_back(store(operation, definitions[i], std::move(judged[i])));
    audit.setAfter(auditFacts(applied.flows.back().flow.record));
    if (writes) audits.push_back(std::move(audit));
  }
  for (const Audit& audit : audits) audit.putInto(operation, {});
  keepApplied(operation, keyed, applied);
  operation.then([done, applied = std::move(applied)] { done(applied); });
  context_.writer.submit(std::move(operation));
}

Result<FlowCommands::Judged> FlowCommands::judge(FlowDefinition& definition) {
  const api::FlowApply& request = definition.request;
  const flow::FlowSpec& spec = definition.version->spec;
  LiveFlow* known = find(spec.name);
  Judged judged;
  judged.was_online = known != nullptr && known->record.online;
  judged.online = request.online.value_or(judged.was_online);
  const auto before = known == nullptr ? nullptr : flows_.newestOf(*known);
  FlowComparison& compared = definition.compared;
  if (before != compared.before) compared = compareVersions(before, spec);
  judged.other_times = compared.other_times;
  judged.applied.created = known == nullptr;
  judged.applied.changes = compared.changes;
  judged.applied.changed = before == nullptr || !compared.changes.empty();
  const uint32_t newest = known == nullptr ? 0 : known->record.version;
  if (request.if_version && *request.if_version != newest && judged.writes()) {
    return Error(ErrorCode::Conflict,
                 newest == 0 ? fmt::format("there is no flow {}, and version {} was expected",
                                           spec.name, *request.if_version)
                             : fmt::format("flow {} is at version {}, and {} was expected",
                                           spec.name, newest, *request.if_version),
                 "version");
  }
  if (spec.schedule && !spec.schedule->calendar.empty() &&
      flows_.calendars.days(spec.schedule->calendar) == nullptr) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("there is no calendar {}", spec.schedule->calendar),
                 "schedule.calendar");
  }
  // Checked when it was read; since then one may have been deleted.
  const auto project = flows_.params.values();
  for (const auto& [name, needed] : spec.project_params) {
    if (!needed || project->contains(name)) continue;
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("there is no parameter {} of the project any more", name), "params");
  }
  return judged;
}

api::FlowApplied FlowCommands::store(Operation& operation, const FlowDefinition& definition,
                                     Judged judged) {
  const api::FlowApply& request = definition.request;
  const flow::FlowSpec& spec = definition.version->spec;
  api::FlowApplied& applied = judged.applied;
  const bool online = judged.online;
  if (request.dry_run) {
    LiveFlow would;
    if (const LiveFlow* known = find(spec.name)) would.record = known->record;
    would.record.name = spec.name;
    would.record.online = online;
    would.record.version += applied.changed ? 1 : 0;
    applied.flow = viewOf(would);
    return std::move(applied);
  }

  const WallTime now = context_.clock.wallNow();
  LiveFlow& flow = flows_.flows[nameKey(spec.name)];
  FlowRecord& record = flow.record;
  if (judged.was_online && (judged.other_times || !online)) {
    planner_.giveUp(operation, flow, online ? "redefined" : "offline");
  }
  if (applied.created) {
    // Numbers rise over a deletion, and no instant comes twice.
    FlowRecord fresh;
    fresh.version = record.version;
    fresh.last_instant = record.last_instant;
    fresh.created_at = now;
    record = std::move(fresh);
  }
  if (applied.changed) {
    definition.version->number = ++record.version;
    record.name = spec.name;
    flow.newest = definition.version;
    flow.text = nullptr;
    if (judged.other_times) {
      flow.recurrence.reset();
      record.fired = 0;
    }
    operation.changes.flow_versions.push_back(
        {record.name, record.version, request.text, request.request.principal, now});
  }
  if (online != judged.was_online) {
    putOnline(flow, online);
  } else if (judged.other_times) {
    planner_.plan(flow);
  }
  applied.flow = viewOf(flow);
  if (applied.changed) applied.flow.version = operation.changes.flow_versions.back();
  if (!judged.writes()) return std::move(applied);
  record.updated_at = now;
  applied.flow.record = record;
  operation.store(record);
  events_.onFlowChanged(flow);
  runs_.onDefined(operation, record.key());
  logInfo("flow_applied", field("flow", record.name), field("version", record.version),
          field("online", record.online), field("epoch", context_.epoch()));
  return std::move(applied);
}

// ------------------------------------------------------------------------ online, offline, gone

void FlowCommands::putOnline(LiveFlow& flow, bool online) {
  FlowRecord& record = flow.record;
  record.online = online;
  if (online) {
    // Whole seconds, as `every` counts from here.
    record.online_since = std::chrono::floor<Seconds>(context_.clock.wallNow());
    record.fired = 0;
  }
  planner_.plan(flow);
}

void FlowCommands::setOnline(const std::string& name, bool online, const api::Request& request,
                             api::Callback<api::FlowView> done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  LiveFlow* flow = find(name);
  if (flow == nullptr) {
    return answer<api::FlowView>(std::move(operation), Audit::none(), noFlow(name), done);
  }
  Audit audit = auditOf(request, online ? "flow.online" : "flow.offline", flow->record.name);
  audit.setBefore(auditFacts(flow->record));
  auto view = setOnline(operation, *flow, online);
  audit.setAfter(auditFacts(flow->record));
  answer(std::move(operation), audit, std::move(view), done);
}

Result<api::FlowView> FlowCommands::setOnline(Operation& operation, LiveFlow& flow, bool online) {
  FlowRecord& record = flow.record;
  const auto newest = flows_.newestOf(flow);
  if (record.online == online) return viewOf(flow);
  if (online && newest == nullptr) {
    return Error::conflict("version {} of flow {} can't be read any more; apply it anew",
                           record.version, record.name);
  }
  if (online) {
    if (const auto circle = events_.findCircle({newest})) return circle->error;
  }
  if (!online) planner_.giveUp(operation, flow, "offline");
  putOnline(flow, online);
  record.updated_at = context_.clock.wallNow();
  operation.store(record);
  events_.onFlowChanged(flow);
  logInfo(online ? "flow_online" : "flow_offline", field("flow", record.name),
          field("epoch", context_.epoch()));
  return viewOf(flow);
}

std::vector<std::string> FlowCommands::namersOf(const std::string& flow_key) const {
  std::vector<std::string> names;
  for (const auto& [key, flow] : flows_.flows) {
    if (key == flow_key || flow.record.deleted || flow.newest == nullptr) continue;
    const flow::FlowSpec& spec = flow.newest->spec;
    const auto waits = [&](const flow::TaskNode& task) {
      return nameKey(task.event.source.flow) == flow_key;
    };
    if (flow.newest->parts.contains(flow_key) ||
        (spec.trigger && nameKey(spec.trigger->flow) == flow_key) ||
        std::any_of(spec.tasks.begin(), spec.tasks.end(), waits)) {
      names.push_back(flow.record.name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void FlowCommands::remove(const std::string& name, const api::Request& request,
                          api::Callback<api::FlowView> done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  LiveFlow* flow = find(name);
  if (flow == nullptr) {
    return answer<api::FlowView>(std::move(operation), Audit::none(), noFlow(name), done);
  }
  FlowRecord& record = flow->record;
  Audit audit = auditOf(request, "flow.delete", record.name);
  audit.setBefore(auditFacts(record));
  record.deleted = true;
  record.online = false;
  record.updated_at = context_.clock.wallNow();
  planner_.plan(*flow);
  runs_.stopAll(operation, record.key(), RunReason::FlowDeleted);
  flow->newest = nullptr;
  flow->text = nullptr;
  flow->recurrence.reset();
  operation.store(record);
  events_.onFlowChanged(*flow);
  logInfo("flow_deleted", field("flow", record.name), field("epoch", context_.epoch()));
  api::FlowView view = viewOf(*flow);
  view.named_by = namersOf(record.key());
  answer<api::FlowView>(std::move(operation), audit, std::move(view), done);
}

}  // namespace baton::master
