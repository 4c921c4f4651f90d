#include "master/host/runner_registry.h"

#include <algorithm>

#include "common/base/log.h"

namespace baton::master {
namespace {

LabelMap labelsFromText(const std::string& text) {
  const auto json = parseJson(text.empty() ? "{}" : text);
  LabelMap labels;
  if (json.ok() && json->is_object()) {
    for (const auto& [name, value] : json->items()) {
      if (value.is_string()) labels.emplace(name, value.get<std::string>());
    }
  }
  return labels;
}

// The first field on which the rules rest and which a full runner left out; null: none. An absent
// last_order says that the runner has never accepted any.
const char* missingField(const HeartbeatRequest& request) {
  if (!request.incarnation) return "incarnation";
  if (!request.seq) return "seq";
  if (request.journal_id.empty()) return "journal_id";
  if (request.worker_id.empty()) return "worker_id";
  if (request.status != RunnerStatus::Idle && request.current.nonce.empty()) return "nonce";
  return nullptr;
}

}  // namespace

RunnerRegistry::RunnerRegistry(TermContext& context) : context_(context), live_(context.live) {}

Worker& RunnerRegistry::workerOf(const RunnerRecord& record) {
  // A plain runner that names no worker is a worker of its own.
  const std::string& id = record.worker_id.empty() ? record.runner_id : record.worker_id;
  Worker& worker = live_.workers[id];
  worker.worker_id = id;
  return worker;
}

Runner& RunnerRegistry::insert(RunnerRecord record, const LabelMap& labels) {
  Runner& runner = live_.runners[record.runner_id];
  runner.record = std::move(record);
  runner.class_id = live_.classes.classOf(labels);
  runner.worker = &workerOf(runner.record);
  ++runner.worker->runners;
  runner.worker->host = runner.record.host;
  runner.worker->address = runner.record.worker_address;
  runner.worker->version = runner.record.version;
  runner.worker->labels = labels;
  runner.worker->plain = runner.record.plain;
  runner.worker->last_seen_wall = std::max(runner.worker->last_seen_wall, runner.record.last_seen);
  return runner;
}

void RunnerRegistry::adopt(const RunnerRecord& record) {
  insert(record, labelsFromText(record.labels));
}

Result<RunnerRegistry::Arrival> RunnerRegistry::arrive(const HeartbeatRequest& request) {
  const bool plain = !request.incarnation && !request.seq;
  Runner* known = live_.findRunner(request.runner_id);
  const bool plain_allowed =
      context_.options.plain_clients && (known == nullptr || known->record.plain);
  if (plain && !plain_allowed) {
    return Error(ErrorCode::InvalidArgument,
                 "is missing; only plain clients (heartbeat.plain_clients) may leave it out",
                 request.incarnation ? "seq" : "incarnation");
  }
  if (const char* missing = plain ? nullptr : missingField(request)) {
    return Error(ErrorCode::InvalidArgument, "is missing", missing);
  }
  Arrival arrival;
  if (known == nullptr) {
    RunnerRecord record;
    record.runner_id = request.runner_id;
    record.worker_id = request.worker_id;
    record.journal_id = request.journal_id;
    record.plain = plain;
    known = &insert(std::move(record), request.labels);
    logInfo("runner_registered", field("runner", request.runner_id), field("host", request.host),
            field("epoch", context_.epoch()));
  }
  arrival.runner = known;
  if (plain) {
    // Numbered by arrival, above whatever an earlier term stored on the open attempt.
    uint64_t floor = known->highest.seq;
    if (const LiveTask* task = live_.findTask(known->open_task); task && task->attempt) {
      floor = std::max(floor, task->attempt->seq);
    }
    arrival.pair = {0, floor + 1};
    if (request.status != RunnerStatus::Idle) known->last_named = request.current;
    arrival.last_order = known->last_named;
    return arrival;
  }
  arrival.pair = {*request.incarnation, *request.seq};
  arrival.last_order = request.last_order;
  const bool other_journal =
      !known->record.journal_id.empty() && known->record.journal_id != request.journal_id;
  const bool older = *request.incarnation < known->record.incarnation;
  if (other_journal || (older && !known->record.plain)) {
    if (!isLost(*known)) {
      if (!known->record.conflict) {
        logError("runner_conflict", field("runner", request.runner_id), field("host", request.host),
                 field("known_host", known->record.host),
                 field("why", other_journal ? "another journal claims this runner"
                                            : "an older incarnation claims this runner"));
      }
      known->record.conflict = true;
      return Error::conflict(
          "runner {} is claimed by two daemons ({} and {}); the older one must be silent for {} ms",
          request.runner_id, known->record.host, request.host,
          context_.options.lostAfter().count());
    }
    arrival.new_journal = true;
    known->highest = {};
  }
  return arrival;
}

void RunnerRegistry::refresh(Operation& operation, const Arrival& arrival,
                             const HeartbeatRequest& request) {
  Runner& runner = *arrival.runner;
  RunnerRecord record = runner.record;
  record.host = request.host.empty() ? record.host : request.host;
  record.boot_id = request.boot_id;
  record.version = request.version;
  record.worker_address = request.worker_address;
  record.journal_id = request.journal_id;
  record.labels = dumpJson(Json(request.labels));
  record.conflict = false;
  record.plain = !request.incarnation.has_value();
  if (!record.plain) {
    record.incarnation = arrival.new_journal
                             ? arrival.pair.incarnation
                             : std::max(record.incarnation, arrival.pair.incarnation);
  }
  const RunnerRecord& old = runner.record;
  const bool changed = !runner.seen_this_term || record.host != old.host ||
                       record.boot_id != old.boot_id || record.version != old.version ||
                       record.worker_address != old.worker_address ||
                       record.journal_id != old.journal_id || record.labels != old.labels ||
                       record.conflict != old.conflict || record.incarnation != old.incarnation;
  runner.record = std::move(record);
  runner.highest = arrival.pair;
  runner.last_seen = context_.clock.bootNow();
  runner.seen_this_term = true;
  runner.record.last_seen = context_.clock.wallNow();
  runner.leaving_until =
      request.leaving_ms > 0 ? runner.last_seen + Millis(request.leaving_ms) : BootTime{};
  // The new one first: most often it is the same.
  const LabelClasses::ClassId before = runner.class_id;
  runner.class_id = live_.classes.classOf(request.labels);
  live_.classes.dropClass(before);
  if (live_.present.size() < live_.classes.classLimit()) {
    live_.present.resize(live_.classes.classLimit());
  }
  live_.present[runner.class_id] = true;
  Worker& worker = *runner.worker;
  worker.host = runner.record.host;
  worker.address = runner.record.worker_address;
  worker.version = runner.record.version;
  worker.labels = request.labels;
  worker.last_seen = runner.last_seen;
  worker.last_seen_wall = runner.record.last_seen;
  worker.seen_this_term = true;
  worker.plain = runner.record.plain;
  if (request.figures) worker.figures = request.figures;
  if (changed) operation.store(runner.record);
}

Micros RunnerRegistry::silence(const Runner& runner) const {
  const BootTime now = context_.clock.bootNow();
  const BootTime since = runner.seen_this_term ? runner.last_seen : listening_since_;
  // A daemon that announced its leave is not counted as silent before that time is over.
  return now - std::max(since, std::min(runner.leaving_until, now));
}

void RunnerRegistry::forgive(Micros gap) {
  // Never into the future: who was heard during the gap gets no credit for all of it. A gap above
  // an interval counts like a takeover: everybody gets the whole time to find this master again.
  const BootTime now = context_.clock.bootNow();
  const bool anew = gap > context_.options.heartbeat;
  const auto moved = [&](BootTime since) { return anew ? now : std::min(now, since + gap); };
  listening_since_ = moved(listening_since_);
  for (auto& [id, runner] : live_.runners) {
    if (runner.seen_this_term) runner.last_seen = moved(runner.last_seen);
  }
  for (auto& [id, worker] : live_.workers) {
    if (worker.seen_this_term) worker.last_seen = moved(worker.last_seen);
  }
}

void RunnerRegistry::notePresence() {
  std::vector<bool> present(live_.classes.classLimit());
  for (const auto& [id, runner] : live_.runners) {
    if (runner.seen_this_term && !isLost(runner)) present[runner.class_id] = true;
  }
  live_.present = std::move(present);
}

std::string RunnerRegistry::stateOf(const Runner& runner) const {
  if (runner.record.conflict) return "conflict";
  if (!runner.seen_this_term) return isLost(runner) ? "lost" : "unknown";
  if (isLost(runner)) return "lost";
  if (runner.leaving_until > context_.clock.bootNow()) return "leaving";
  return runner.open_task != 0 ? "busy" : "idle";
}

std::string RunnerRegistry::addressOf(const std::string& runner_id) const {
  const auto it = live_.runners.find(runner_id);
  return it == live_.runners.end() ? std::string() : it->second.record.worker_address;
}

std::vector<api::RunnerView> RunnerRegistry::runnerViews() const {
  std::vector<api::RunnerView> views;
  for (const auto& [id, runner] : live_.runners) {
    api::RunnerView view;
    view.record = runner.record;
    view.state = stateOf(runner);
    view.task_id = runner.open_task;
    view.silent_ms =
        runner.seen_this_term ? std::chrono::duration_cast<Millis>(silence(runner)).count() : -1;
    view.held = runner.held.has_value();
    views.push_back(std::move(view));
  }
  std::sort(views.begin(), views.end(),
            [](const auto& a, const auto& b) { return a.record.runner_id < b.record.runner_id; });
  return views;
}

std::vector<api::HostView> RunnerRegistry::hostViews() const {
  const BootTime now = context_.clock.bootNow();
  std::vector<api::HostView> views;
  for (const auto& [id, worker] : live_.workers) {
    api::HostView view;
    view.worker_id = worker.worker_id;
    view.host = worker.host;
    view.address = worker.address;
    view.version = worker.version;
    view.labels = worker.labels;
    view.runners = worker.runners;
    view.busy = worker.busy;
    view.plain = worker.plain;
    view.last_seen = worker.last_seen_wall;
    view.figures = worker.figures;
    const Micros silent = now - (worker.seen_this_term ? worker.last_seen : listening_since_);
    view.silent_ms =
        worker.seen_this_term ? std::chrono::duration_cast<Millis>(silent).count() : -1;
    view.health = silent >= context_.options.lostAfter()    ? "dead"
                  : silent > context_.options.heartbeat * 2 ? "suspect"
                                                            : "healthy";
    views.push_back(std::move(view));
  }
  std::sort(views.begin(), views.end(),
            [](const auto& a, const auto& b) { return a.worker_id < b.worker_id; });
  return views;
}

}  // namespace baton::master
