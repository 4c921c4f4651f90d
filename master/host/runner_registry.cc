#include "master/host/runner_registry.h"

#include <algorithm>
#include <set>

#include "common/base/log.h"
#include "master/host/host_standing.h"

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

// What a runner of the worker offers: its own labels under those of operators.
LabelMap offered(const LabelMap& own, const Worker& worker) {
  if (worker.operator_labels.empty()) return own;
  LabelMap labels = worker.operator_labels;
  labels.insert(own.begin(), own.end());
  return labels;
}

// Notes who holds back and why; a few are enough for people.
void nameWithheld(std::vector<std::string>& named, const Worker& worker) {
  constexpr size_t kNamedMax = 3;
  if (named.size() >= kNamedMax) return;
  std::string text = fmt::format("{} {}", worker.worker_id, worker.held_back);
  if (std::find(named.begin(), named.end(), text) == named.end()) named.push_back(std::move(text));
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
  runner.worker = &workerOf(runner.record);
  if (++runner.worker->runners == 1) resumeQuarantine(context_, *runner.worker);
  live_.setHost(*runner.worker, runner.record.host);
  runner.worker->address = runner.record.worker_address;
  runner.worker->version = runner.record.version;
  runner.worker->own_labels = labels;
  applyRules(*runner.worker);
  runner.class_id = live_.classes.classOf(offered(labels, *runner.worker));
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
  Worker& worker = *runner.worker;
  const bool other_rules =
      worker.host != runner.record.host || worker.version != runner.record.version;
  live_.setHost(worker, runner.record.host);
  worker.address = runner.record.worker_address;
  worker.version = runner.record.version;
  worker.own_labels = request.labels;
  if (other_rules) applyRules(worker);
  // The new one first: most often it is the same.
  const LabelClasses::ClassId before = runner.class_id;
  runner.class_id = live_.classes.classOf(offered(request.labels, worker));
  live_.classes.dropClass(before);
  if (live_.present.size() < live_.classes.classLimit()) {
    live_.present.resize(live_.classes.classLimit());
    live_.usable.resize(live_.classes.classLimit());
  }
  live_.present[runner.class_id] = true;
  if (worker.takes_tasks) {
    live_.usable[runner.class_id] = true;
  } else {
    nameWithheld(live_.withheld[runner.class_id], worker);
  }
  worker.last_seen = runner.last_seen;
  worker.last_seen_wall = runner.record.last_seen;
  worker.seen_this_term = true;
  worker.plain = runner.record.plain;
  if (request.figures) worker.figures = request.figures;
  if (request.figures || worker.score.health != HostHealth::Healthy) judge(worker);
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
  std::vector<bool> usable(live_.classes.classLimit());
  std::map<LabelClasses::ClassId, std::vector<std::string>> withheld;
  for (const auto& [id, runner] : live_.runners) {
    if (!runner.seen_this_term || isLost(runner)) continue;
    present[runner.class_id] = true;
    const Worker& worker = *runner.worker;
    if (worker.takes_tasks) {
      usable[runner.class_id] = true;
      continue;
    }
    nameWithheld(withheld[runner.class_id], worker);
  }
  live_.present = std::move(present);
  live_.usable = std::move(usable);
  live_.withheld = std::move(withheld);
  live_.ready.checkReservations();
}

void RunnerRegistry::applyRules(Worker& worker) {
  worker.operator_labels = live_.host_rules.labelsOf(worker.worker_id, worker.host);
  decideStanding(context_, worker);
}

LabelClasses::ClassId RunnerRegistry::classFor(const Runner& runner) {
  return live_.classes.classOf(offered(labelsFromText(runner.record.labels), *runner.worker));
}

HostScore RunnerRegistry::scoreOf(const Worker& worker) const {
  return scoreHost({.silence = silence(worker),
                    .heartbeat = context_.options.heartbeat,
                    .figures = worker.figures,
                    .start_failures = worker.starts.failures(),
                    .start_failures_max = context_.options.quarantine.failures_max,
                    .quarantined = worker.starts.state() == StartRecord::State::Quarantined});
}

void RunnerRegistry::judge(Worker& worker) {
  const HostHealth before = worker.score.health;
  worker.score = scoreOf(worker);
  if (worker.score.health == before) return;
  logInfo("host_health", field("worker", worker.worker_id), field("host", worker.host),
          field("was", toString(before)), field("is", toString(worker.score.health)),
          field("findings", worker.score.findings), field("epoch", context_.epoch()));
}

void RunnerRegistry::judgeHosts() {
  for (auto& [id, worker] : live_.workers) {
    noteTime(context_, worker);
    judge(worker);
  }
}

std::map<HostHealth, uint64_t> RunnerRegistry::countByHealth() const {
  std::map<HostHealth, uint64_t> counts;
  for (size_t i = 0; i < kHostHealthCount; ++i) counts[static_cast<HostHealth>(i)] = 0;
  for (const auto& [id, worker] : live_.workers) ++counts[scoreOf(worker).health];
  return counts;
}

Micros RunnerRegistry::silence(const Worker& worker) const {
  return context_.clock.bootNow() - (worker.seen_this_term ? worker.last_seen : listening_since_);
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

api::HostView RunnerRegistry::viewOf(const Worker& worker) const {
  api::HostView view;
  view.worker_id = worker.worker_id;
  view.host = worker.host;
  view.address = worker.address;
  view.version = worker.version;
  view.labels = offered(worker.own_labels, worker);
  view.operator_labels = worker.operator_labels;
  view.runners = worker.runners;
  view.busy = worker.busy;
  view.plain = worker.plain;
  view.last_seen = worker.last_seen_wall;
  view.figures = worker.figures;
  view.silent_ms =
      worker.seen_this_term ? std::chrono::duration_cast<Millis>(silence(worker)).count() : -1;
  const HostScore score = scoreOf(worker);
  view.health = toString(score.health);
  view.score = score.points;
  view.findings = score.findings;
  view.state = standingOf(worker);
  view.takes_tasks = worker.takes_tasks && score.health != HostHealth::Dead;
  view.held_back = worker.held_back;
  view.reason = worker.verdict.reason;
  return view;
}

std::vector<api::HostView> RunnerRegistry::hostViews(const std::string& name) const {
  std::vector<api::HostView> views;
  std::set<std::string_view> known;
  for (const auto& [id, worker] : live_.workers) {
    known.insert({worker.worker_id, worker.host});
    if (name.empty() || id == name || worker.host == name) views.push_back(viewOf(worker));
  }
  std::sort(views.begin(), views.end(),
            [](const auto& a, const auto& b) { return a.worker_id < b.worker_id; });
  for (const auto& [ruled, record] : live_.host_rules.all()) {
    if (known.contains(ruled) || (!name.empty() && ruled != name)) continue;
    // Nobody has that name (yet); what it would be told is what the rules say of it.
    Worker absent;
    absent.worker_id = ruled;
    absent.verdict = live_.host_rules.judge(ruled, ruled, live_.host_rules.minVersion());
    api::HostView view;
    view.host = ruled;
    view.health = "unknown";
    view.labels = view.operator_labels = record.labels;
    view.state = standingOf(absent);
    view.held_back = absent.verdict.why;
    view.reason = record.reason;
    view.silent_ms = -1;
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace baton::master
