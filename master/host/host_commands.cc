#include "master/host/host_commands.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/version_number.h"
#include "master/host/host_standing.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

using Verb = api::HostChange::Verb;

constexpr size_t kOperatorLabelsMax = 64;

std::string_view nameOf(Verb verb) {
  switch (verb) {
    case Verb::Drain:
      return "drain";
    case Verb::Exclude:
      return "exclude";
    case Verb::Include:
      return "include";
    case Verb::Unregister:
      return "unregister";
    case Verb::Label:
      return "label";
  }
  return "";
}

// What the audit says of it: not the values of labels.
Json paramsOf(const api::HostChange& change) {
  Json params = Json::object();
  if (!change.reason.empty()) params["reason"] = change.reason;
  if (!change.labels.empty()) params["labels"] = auditNames(change.labels);
  return params;
}

Json factsOf(const api::HostPolicy& policy) {
  return {{"white_list", policy.white_list}, {"min_version", policy.min_version}};
}

HostRecord blank(const std::string& name) {
  HostRecord record;
  record.name = name;
  return record;
}

}  // namespace

HostCommands::HostCommands(TermContext& context, RunnerRegistry& registry, HeartbeatDesk& desk)
    : context_(context), live_(context.live), registry_(registry), desk_(desk) {}

Status HostCommands::accepts() const {
  if (!open_) return Error(ErrorCode::NotActive, "this master does not take commands yet");
  return context_.writer.acceptance();
}

std::vector<Worker*> HostCommands::workersOf(const std::string& name) const {
  std::vector<Worker*> found;
  for (auto& [id, worker] : live_.workers) {
    if (id == name || worker.host == name) found.push_back(&worker);
  }
  std::sort(found.begin(), found.end(),
            [](const Worker* a, const Worker* b) { return a->worker_id < b->worker_id; });
  return found;
}

void HostCommands::apply(const std::vector<Worker*>& workers) {
  for (Worker* worker : workers) registry_.applyRules(*worker);
  for (auto& [id, runner] : live_.runners) {
    if (std::find(workers.begin(), workers.end(), runner.worker) == workers.end()) continue;
    const LabelClasses::ClassId before = runner.class_id;
    desk_.reclass(runner, registry_.classFor(runner));
    live_.classes.dropClass(before);
  }
  registry_.notePresence();
}

void HostCommands::store(Operation& operation, HostRecord record) {
  record.changed_at = context_.clock.wallNow();
  operation.store(record);
  live_.host_rules.store(std::move(record));
}

Status HostCommands::say(Operation& operation, const api::HostChange& change, HostWord word) {
  const std::vector<Worker*> workers = workersOf(change.host);
  const HostRecord* known = live_.host_rules.find(change.host);
  if (word == HostWord::Drain && workers.empty() && known == nullptr) {
    return Error::notFound("no worker has the id or runs on the host {}", change.host);
  }
  HostRecord record = known == nullptr ? blank(change.host) : *known;
  // The same again (as a client repeats it when an answer was lost) keeps the time.
  const bool same = known != nullptr && record.word == word;
  if (same && (change.reason.empty() || record.reason == change.reason)) return {};
  record.word = word;
  record.reason = change.reason;
  store(operation, std::move(record));
  apply(workers);
  return {};
}

Status HostCommands::label(Operation& operation, const api::HostChange& change) {
  const std::vector<Worker*> workers = workersOf(change.host);
  const HostRecord* known = live_.host_rules.find(change.host);
  if (workers.empty() && known == nullptr) {
    return Error::notFound("no worker has the id or runs on the host {}", change.host);
  }
  HostRecord record = known == nullptr ? blank(change.host) : *known;
  for (const auto& [name, value] : change.labels) {
    if (value) {
      record.labels[name] = *value;
    } else {
      record.labels.erase(name);
    }
  }
  if (record.labels.size() > kOperatorLabelsMax) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("would leave {} labels on {}, expected {} at most",
                             record.labels.size(), change.host, kOperatorLabelsMax),
                 "labels");
  }
  if (known != nullptr && record.labels == known->labels) return {};
  store(operation, std::move(record));
  apply(workers);
  return {};
}

Status HostCommands::mayForget(const Worker& worker) const {
  const auto open = std::count_if(live_.runners.begin(), live_.runners.end(), [&](const auto& it) {
    return it.second.worker == &worker && it.second.open_task != 0;
  });
  if (open > 0) {
    return Error::conflict("worker {} has {} open attempts; expected none", worker.worker_id, open);
  }
  const bool stands_back =
      worker.verdict.bar == HostBar::Drained || worker.verdict.bar == HostBar::Excluded;
  if (!stands_back && registry_.scoreOf(worker).health != HostHealth::Dead) {
    return Error::conflict("worker {} is neither dead nor drained; drain it first",
                           worker.worker_id);
  }
  return {};
}

void HostCommands::forget(Operation& operation, Worker& worker) {
  for (auto it = live_.runners.begin(); it != live_.runners.end();) {
    Runner& runner = it->second;
    if (runner.worker != &worker) {
      ++it;
      continue;
    }
    if (auto ticket = desk_.take(runner)) {
      desk_.answer(operation, std::move(*ticket), Command::GoOn);
    }
    operation.forgetRunner(runner.record.runner_id);
    live_.classes.dropClass(runner.class_id);
    it = live_.runners.erase(it);
  }
  live_.workers.erase(std::string(worker.worker_id));
}

Status HostCommands::unregister(Operation& operation, const std::string& name) {
  const std::vector<Worker*> workers = workersOf(name);
  if (workers.empty() && live_.host_rules.find(name) == nullptr) {
    return Error::notFound("no worker has the id or runs on the host {}", name);
  }
  for (const Worker* worker : workers) RETURN_IF_ERROR(mayForget(*worker));
  // Who still reports comes back with its next beat: it must then find itself drained as before.
  std::vector<std::string> settled;
  for (Worker* worker : workers) {
    if (registry_.scoreOf(*worker).health == HostHealth::Dead) settled.push_back(worker->worker_id);
    forget(operation, *worker);
  }
  if (settled.size() == workers.size()) settled.push_back(name);
  for (const std::string& gone : settled) {
    const HostRecord* record = live_.host_rules.find(gone);
    // A black list holds for those that are gone, too.
    if (record == nullptr || record->word == HostWord::Exclude) continue;
    operation.forgetHost(gone);
    live_.host_rules.forget(gone);
  }
  registry_.notePresence();
  return {};
}

void HostCommands::change(const api::HostChange& change,
                          api::Callback<std::vector<api::HostView>> done) {
  if (const Status ready = accepts(); !ready.ok()) return done(ready.error());
  Operation operation;
  Audit audit(change.request, context_.clock.wallNow(), fmt::format("host.{}", nameOf(change.verb)),
              change.host);
  audit.setParams(paramsOf(change));
  const auto facts = [&] {
    const HostRecord* known = live_.host_rules.find(change.host);
    return auditFacts(known == nullptr ? blank(change.host) : *known);
  };
  audit.setBefore(facts());
  std::vector<api::HostView> views;
  Status changed;
  switch (change.verb) {
    case Verb::Drain:
      changed = say(operation, change, HostWord::Drain);
      break;
    case Verb::Exclude:
      changed = say(operation, change, HostWord::Exclude);
      break;
    case Verb::Include:
      changed = say(operation, change, HostWord::Include);
      break;
    case Verb::Label:
      changed = label(operation, change);
      break;
    case Verb::Unregister:
      views = registry_.hostViews(change.host);
      changed = unregister(operation, change.host);
      break;
  }
  audit.setAfter(facts());
  audit.putInto(operation, changed);
  if (!changed.ok()) {
    operation.then([done = std::move(done), error = changed.error()] { done(error); });
    return context_.writer.submit(std::move(operation));
  }
  if (change.verb != Verb::Unregister) views = registry_.hostViews(change.host);
  logInfo("host_command", field("host", change.host), field("command", nameOf(change.verb)),
          field("reason", change.reason), field("epoch", context_.epoch()));
  operation.then([done = std::move(done), views = std::move(views)] { done(views); });
  context_.writer.submit(std::move(operation));
}

api::HostPolicy HostCommands::policy() const {
  api::HostPolicy policy;
  policy.white_list = live_.host_rules.whiteList();
  policy.min_version = live_.host_rules.minVersion();
  for (const auto& [id, worker] : live_.workers) {
    policy.unapproved += worker.verdict.bar == HostBar::Unapproved ? 1 : 0;
    policy.outdated += worker.verdict.bar == HostBar::Outdated ? 1 : 0;
  }
  return policy;
}

void HostCommands::setPolicy(const api::HostPolicyChange& change,
                             api::Callback<api::HostPolicy> done) {
  if (const Status ready = accepts(); !ready.ok()) return done(ready.error());
  const std::string version = change.min_version.value_or("");
  if (!version.empty() && !VersionNumber::parse(version)) {
    return done(
        Error(ErrorCode::InvalidArgument,
              fmt::format("is \"{}\", expected a version such as 1.2.0", truncateUtf8(version, 40)),
              "min_version"));
  }
  Operation operation;
  Audit audit(change.request, context_.clock.wallNow(), "host.policy", "cluster");
  Json params = Json::object();
  if (change.white_list) params["white_list"] = *change.white_list;
  if (change.min_version) params["min_version"] = version;
  audit.setParams(params);
  audit.setBefore(factsOf(policy()));
  const auto set = [&](std::string_view name, std::string value) {
    const SettingRecord setting{std::string(name), std::move(value)};
    live_.host_rules.store(setting);
    operation.store(setting);
    logInfo("setting_changed", field("name", setting.name), field("value", setting.value),
            field("epoch", context_.epoch()));
  };
  if (change.white_list) set(kSettingWhiteList, *change.white_list ? "true" : "false");
  if (change.min_version) set(kSettingMinVersion, version);
  for (auto& [id, worker] : live_.workers) registry_.applyRules(worker);
  registry_.notePresence();
  const api::HostPolicy after = policy();
  audit.setAfter(factsOf(after));
  audit.putInto(operation, {});
  operation.then([done = std::move(done), after] { done(after); });
  context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
