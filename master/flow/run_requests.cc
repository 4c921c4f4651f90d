// Requests of people that make runs: by hand, for missed instants, backfills.
#include <algorithm>

#include "common/base/log.h"
#include "common/model/task_rules.h"
#include "flow/definition/placeholder.h"
#include "flow/definition/run_size.h"
#include "master/flow/flow_commands.h"

namespace baton::master {
namespace {

constexpr int32_t kParallelMax = 100;

Error invalid(std::string field, std::string message) {
  return {ErrorCode::InvalidArgument, std::move(message), std::move(field)};
}

Status checkParams(const flow::ParamMap& params) {
  if (params.size() > kMembersMax) {
    return invalid("params", fmt::format("{} parameters, at most {} are accepted", params.size(),
                                         kMembersMax));
  }
  size_t bytes = 0;
  for (const auto& [name, value] : params) {
    const std::string field = "params." + truncateUtf8(name, 80);
    if (flow::isBuiltInName(name)) return invalid(field, "is a name that baton fills in itself");
    if (const std::string_view wrong = wrongVariableName(name); !wrong.empty()) {
      return invalid(field, std::string(wrong));
    }
    if (value && value->find('\0') != std::string::npos) {
      return invalid(field, "has a zero byte, which no variable can hold");
    }
    bytes += name.size() + (value ? value->size() : 0);
  }
  if (bytes <= kParamsBytesMax) return {};
  return Error(
      ErrorCode::TooLarge,
      fmt::format("{} bytes of parameters, at most {} are accepted", bytes, kParamsBytesMax),
      "params");
}

// Whether runs with these parameters are of a size that a master can stand. Without any they are as
// the definition is, which was measured when it was saved. `project`: of the whole project.
Status checkSize(const flow::FlowSpec& spec, const flow::ParamMap& params,
                 const flow::ParamMap& project, size_t runs) {
  const flow::ParamMap used = flow::usedOf(spec, project);
  if (params.empty() && used.empty()) return {};
  const flow::RunSize size = flow::measureRun(spec, params, project);
  if (size.tooLarge()) return Error(ErrorCode::TooLarge, size.text(spec), "params");
  size_t bytes = 0;
  for (const flow::ParamMap* map : {&params, &used}) {
    for (const auto& [name, value] : *map) bytes += name.size() + (value ? value->size() : 0);
  }
  if (runs * bytes <= flow::kRunBytesMax) return {};
  return Error(ErrorCode::TooLarge,
               fmt::format("{} runs with {} bytes of parameters each, at most {} MB are accepted",
                           runs, bytes, flow::kRunBytesMax / 1'048'576),
               "params");
}

// What an audit row says of a run that an order made.
Json runMade(const RunRecord& run) {
  Json facts = auditFacts(run.state);
  facts["run_id"] = std::to_string(run.state.id);
  return facts;
}

}  // namespace

Result<LiveFlow*> FlowCommands::findToRun(const std::string& name) {
  LiveFlow* flow = find(name);
  if (flow == nullptr) {
    return Error::notFound("there is no flow {}", truncateUtf8(name, 64));
  }
  if (flows_.newestOf(*flow) == nullptr) {
    return Error::conflict("version {} of flow {} can't be read any more; apply it anew",
                           flow->record.version, flow->record.name);
  }
  return flow;
}

// ------------------------------------------------------------------------------------ by hand

void FlowCommands::trigger(const api::FlowTrigger& request, api::Callback<api::MadeRun> done) {
  onceByKey<api::MadeRun>(
      request.request,
      [this, request, done](const LookedUp& looked_up) {
        if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
        if (const Status fresh = recent_keys_.checkFresh(looked_up.at); !fresh.ok()) {
          return done(fresh.error());
        }
        Operation operation;
        auto run = trigger(operation, request);
        Audit audit = auditOf(request.request, "flow.trigger", request.flow);
        Json params = {{"params", auditNames(request.params)}};
        if (request.plan_time) params["plan_time"] = formatRfc3339(*request.plan_time);
        if (request.priority) params["priority"] = toString(*request.priority);
        audit.setParams(params);
        if (run.ok()) audit.setAfter(runMade(run->run));
        answer(std::move(operation), audit, std::move(run), done);
      },
      done);
}

Result<api::MadeRun> FlowCommands::trigger(Operation& operation, const api::FlowTrigger& request) {
  RETURN_IF_ERROR(checkParams(request.params));
  ASSIGN_OR_RETURN(LiveFlow * flow, findToRun(request.flow));
  RETURN_IF_ERROR(checkSize(flow->newest->spec, request.params, *flows_.params.values(), 1));
  const uint64_t live = context_.live.tasks.size();
  if (live + flow->newest->spec.tasks.size() > context_.options.queue_max) {
    return Error::make(ErrorCode::Overloaded, "{} tasks are live, queue.max is {}", live,
                       context_.options.queue_max);
  }
  const RunRecord run =
      runs_.start(operation, {.flow = flow->record.key(),
                              .trigger = RunTrigger::Manual,
                              .plan_time = request.plan_time.value_or(context_.clock.wallNow()),
                              .params = request.params,
                              .priority = request.priority,
                              .principal = request.request.principal});
  keepMade(operation, request.request, run.state.id);
  return api::MadeRun{.run = run};
}

// ------------------------------------------------------------------------------------- missed

void FlowCommands::runMissed(const MissedRecord& missed, const api::Request& request,
                             api::Callback<api::MadeRun> done) {
  const auto decide = [this, request, done](const LookedUp& looked_up) {
    if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
    if (const Status fresh = recent_keys_.checkFresh(looked_up.at); !fresh.ok()) {
      return done(fresh.error());
    }
    Operation operation;
    auto run = runMissed(operation, looked_up.missed, request);
    Audit audit = auditOf(request, "missed.run", looked_up.missed.flow);
    audit.setParams({{"plan_time", formatRfc3339(looked_up.missed.plan_time)}});
    if (run.ok()) audit.setAfter(runMade(run->run));
    answer(std::move(operation), audit, std::move(run), done);
  };
  // The row is read anew, so that it is as young as the look-up of the key.
  onceByKey<api::MadeRun>(
      request,
      [this, decide, done, flow = missed.flow, plan_time = missed.plan_time](const LookedUp&) {
        reads_.submit([this, decide, done, flow, plan_time](dao::Reader& reader) {
          const BootTime at = context_.clock.bootNow();
          const auto row = reader.missedInstant(nameKey(flow), plan_time);
          if (!row.ok()) return done(row.error());
          if (!row->has_value()) {
            return done(Error::notFound("flow {} has no missed instant {}", truncateUtf8(flow, 64),
                                        formatRfc3339(plan_time)));
          }
          const bool queued = context_.dispatcher.tryPost(
              [decide, looked_up = LookedUp{at, **row}] { decide(looked_up); });
          if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
        });
      },
      done);
}

Result<api::MadeRun> FlowCommands::runMissed(Operation& operation, MissedRecord missed,
                                             const api::Request& request) {
  const std::pair instant{nameKey(missed.flow), missed.plan_time};
  if (const auto by_hand = run_by_hand_.find(instant); by_hand != run_by_hand_.end()) {
    missed.run_id = by_hand->second;
  }
  if (missed.run_id != 0) {
    return Error::conflict("the instant {} of flow {} was run already: run {}",
                           formatRfc3339(missed.plan_time), missed.flow, missed.run_id);
  }
  ASSIGN_OR_RETURN(const LiveFlow* flow, findToRun(missed.flow));
  if (missed.plan_time > context_.clock.wallNow()) {
    return Error::conflict("the instant {} of flow {} lies ahead: its schedule begins it",
                           formatRfc3339(missed.plan_time), missed.flow);
  }
  const RunRecord run = runs_.start(operation, {.flow = flow->record.key(),
                                                .trigger = RunTrigger::Schedule,
                                                .trigger_key = formatRfc3339(missed.plan_time),
                                                .plan_time = missed.plan_time,
                                                .compensates = true,
                                                .principal = request.principal});
  missed.run_id = run.state.id;
  run_by_hand_.emplace(instant, missed.run_id);
  operation.touchFlow(missed.flow);
  operation.changes.missed.push_back(std::move(missed));
  keepMade(operation, request, run.state.id);
  return api::MadeRun{.run = run};
}

// ----------------------------------------------------------------------------------- backfill

void FlowCommands::backfill(const api::FlowBackfill& request,
                            api::Callback<api::BackfillView> done) {
  onceByKey<api::BackfillView>(
      request.request,
      [this, request, done](const LookedUp& looked_up) {
        if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
        if (const Status fresh = recent_keys_.checkFresh(looked_up.at); !fresh.ok()) {
          return done(fresh.error());
        }
        Operation operation;
        auto view = backfill(operation, request);
        Audit audit = request.dry_run ? Audit::none()
                                      : auditOf(request.request, "flow.backfill", request.flow);
        audit.setParams({{"params", auditNames(request.params)},
                         {"parallel", request.parallel},
                         {"newest_first", request.newest_first},
                         {"keep_going", !request.stop_on_failure}});
        if (view.ok() && !request.dry_run) {
          audit.setAfter({{"backfill", std::to_string(view->id)},
                          {"runs", view->runs.size()},
                          {"first", formatRfc3339(view->plan_times.front())},
                          {"last", formatRfc3339(view->plan_times.back())}});
        }
        answer(std::move(operation), audit, std::move(view), done);
      },
      done);
}

Result<api::BackfillView> FlowCommands::backfill(Operation& operation,
                                                 const api::FlowBackfill& request) {
  RETURN_IF_ERROR(checkParams(request.params));
  if (request.parallel < 1 || request.parallel > kParallelMax) {
    return invalid("parallel",
                   fmt::format("is {}, expected 1 to {}", request.parallel, kParallelMax));
  }
  ASSIGN_OR_RETURN(const LiveFlow* flow, findToRun(request.flow));
  api::BackfillView view;
  ASSIGN_OR_RETURN(view.plan_times, instantsOf(*flow, request));
  RETURN_IF_ERROR(checkSize(flow->newest->spec, request.params, *flows_.params.values(),
                            view.plan_times.size()));
  if (request.newest_first) std::reverse(view.plan_times.begin(), view.plan_times.end());
  if (request.dry_run) return view;
  view.id = run_ids_.take(operation);  // One number is the backfill's own.
  BackfillRecord record;
  record.id = view.id;
  record.flow = flow->record.name;
  record.parallel = request.parallel;
  record.stop_on_failure = request.stop_on_failure;
  record.total = static_cast<int32_t>(view.plan_times.size());
  record.principal = request.request.principal;
  record.created_at = context_.clock.wallNow();
  std::vector<RunStart> starts;
  starts.reserve(view.plan_times.size());
  for (const WallTime at : view.plan_times) {
    starts.push_back({.flow = flow->record.key(),
                      .trigger = RunTrigger::Backfill,
                      .trigger_key = fmt::format("{}/{}", view.id, formatRfc3339(at)),
                      .plan_time = at,
                      .params = request.params,
                      .backfill = view.id,
                      .principal = request.request.principal});
  }
  operation.changes.backfills.push_back(record);
  flows_.backfills[view.id].record = std::move(record);
  for (const RunRecord& run : runs_.startAll(operation, starts)) view.runs.push_back(run.state.id);
  keepMade(operation, request.request, view.id);
  logInfo("backfill", field("flow", flow->record.name), field("backfill", view.id),
          field("runs", view.runs.size()), field("epoch", context_.epoch()));
  return view;
}

Result<std::vector<WallTime>> FlowCommands::instantsOf(const LiveFlow& flow,
                                                       const api::FlowBackfill& request) const {
  const WallTime now = context_.clock.wallNow();
  const auto& schedule = flow.newest->spec.schedule;
  const bool range = request.from && request.to;
  if (request.from.has_value() != request.to.has_value() || range == !request.plan_times.empty()) {
    return invalid("from", "expected either from and to, or plan_times");
  }
  if (!range) {
    std::set<WallTime> all(request.plan_times.begin(), request.plan_times.end());
    if (all.size() > kBackfillMax) {
      return invalid("plan_times", fmt::format("has {} instants, at most {} are accepted",
                                               all.size(), kBackfillMax));
    }
    const auto early = [&] {
      return schedule && schedule->start && *all.begin() < *schedule->start;
    };
    if (early()) {
      return invalid("plan_times",
                     fmt::format("{} lies before the schedule's start, {}",
                                 formatRfc3339(*all.begin()), formatRfc3339(*schedule->start)));
    }
    if (*all.rbegin() > now) {
      return invalid("plan_times",
                     fmt::format("{} lies in the future", formatRfc3339(*all.rbegin())));
    }
    return std::vector<WallTime>(all.begin(), all.end());
  }
  if (*request.from > *request.to) {
    return invalid("to", fmt::format("{} lies before from, {}", formatRfc3339(*request.to),
                                     formatRfc3339(*request.from)));
  }
  if (!flow.recurrence) {
    return invalid("from", fmt::format("flow {} has no schedule that could be followed; expected "
                                       "plan_times",
                                       flow.record.name));
  }
  if (schedule->kind == flow::ScheduleSpec::Kind::Every && !schedule->start &&
      flow.record.online_since == WallTime{}) {
    return invalid("from", fmt::format("the schedule of flow {} counts from going online, and it "
                                       "never was; expected plan_times",
                                       flow.record.name));
  }
  if (*request.from > now) {
    return invalid("from", fmt::format("{} lies in the future; a backfill makes runs for instants "
                                       "that have passed, it is {}",
                                       formatRfc3339(*request.from), formatRfc3339(now)));
  }
  std::vector<WallTime> instants;
  const WallTime until = std::min(*request.to, now);
  for (auto at = flow.recurrence->next(*request.from - Micros(1)); at && *at <= until;
       at = flow.recurrence->next(*at)) {
    if (instants.size() == kBackfillMax) {
      return invalid("to", fmt::format("there are more than {} instants in the range; the {}th is "
                                       "{}",
                                       kBackfillMax, kBackfillMax, formatRfc3339(instants.back())));
    }
    instants.push_back(*at);
  }
  if (!instants.empty()) return instants;
  const auto next = flow.recurrence->next(*request.from - Micros(1));
  return invalid(
      "from",
      fmt::format("the schedule ({}) has no instant from {} to {}{}; {}",
                  flow::scheduleText(flow.newest->spec), formatRfc3339(*request.from),
                  formatRfc3339(until), until < *request.to ? ", which is now" : "",
                  next ? "the next one is " + formatRfc3339(*next) : "it never fires again"));
}

}  // namespace baton::master
