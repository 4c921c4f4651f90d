#include "master/host/host_standing.h"

#include <algorithm>

#include "common/base/log.h"

namespace baton::master {
namespace {

bool isStartFailure(FailureReason reason) {
  return reason == FailureReason::StartFailed || reason == FailureReason::ResourceFailed;
}

// The process ran, whatever became of it.
bool provesStart(const AttemptRecord& attempt) {
  return attempt.status == AttemptStatus::Finished || attempt.reason == FailureReason::ExitCode ||
         attempt.reason == FailureReason::Signal || attempt.reason == FailureReason::Timeout ||
         attempt.reason == FailureReason::Oom;
}

bool anotherTakesTasks(const TermContext& context, const Worker& worker) {
  return std::any_of(context.live.workers.begin(), context.live.workers.end(), [&](const auto& it) {
    const Worker& other = it.second;
    return &other != &worker && other.seen_this_term && other.takes_tasks &&
           other.score.health != HostHealth::Dead;
  });
}

// Writes the quarantine of the worker, or that there is none, into the row of its name.
void keepQuarantine(Operation& operation, const TermContext& context, const Worker& worker) {
  HostRules& rules = context.live.host_rules;
  const HostRecord* known = rules.find(worker.worker_id);
  HostRecord record = known == nullptr ? HostRecord{} : *known;
  record.name = worker.worker_id;
  if (worker.starts.state() == StartRecord::State::Quarantined) {
    const Micros left = worker.starts.quarantinedUntil() - context.clock.bootNow();
    record.quarantined_until = context.clock.wallNow() + left;
  } else {
    record.quarantined_until = {};
  }
  if (record.saysNothing()) {
    operation.forgetHost(record.name);
    rules.forget(record.name);
    return;
  }
  operation.store(record);
  rules.store(std::move(record));
}

void onStartsChanged(const TermContext& context, Worker& worker) {
  decideStanding(context, worker);
  switch (worker.starts.state()) {
    case StartRecord::State::Quarantined:
      logWarn("host_quarantined", field("worker", worker.worker_id), field("host", worker.host),
              field("cooldown_ms", context.options.quarantine.cooldown.count()),
              field("epoch", context.epoch()));
      break;
    case StartRecord::State::Probing:
      logInfo("host_probed", field("worker", worker.worker_id), field("epoch", context.epoch()));
      break;
    case StartRecord::State::Open:
      logInfo("host_cured", field("worker", worker.worker_id), field("epoch", context.epoch()));
      break;
  }
}

}  // namespace

void decideStanding(const TermContext& context, Worker& worker) {
  worker.verdict = context.live.host_rules.judge(worker.worker_id, worker.host, worker.version);
  const bool quarantined = worker.starts.state() == StartRecord::State::Quarantined;
  worker.takes_tasks = worker.verdict.bar == HostBar::None && !quarantined;
  worker.held_back = worker.verdict.why;
  if (worker.held_back.empty() && quarantined) {
    const Micros left = worker.starts.quarantinedUntil() - context.clock.bootNow();
    worker.held_back =
        fmt::format("is quarantined until {}: too many attempts could not be started there",
                    formatRfc3339(context.clock.wallNow() + left));
  }
}

void noteStarted(Operation& operation, const TermContext& context, Worker& worker) {
  if (!worker.starts.worked()) return;
  keepQuarantine(operation, context, worker);
  onStartsChanged(context, worker);
}

void noteClosed(Operation& operation, const TermContext& context, Worker& worker,
                const AttemptRecord& attempt, uint64_t work, bool unconfirmed) {
  if (isStartFailure(attempt.reason)) {
    if (!worker.starts.failed(work, context.clock.bootNow(), context.options.quarantine,
                              anotherTakesTasks(context, worker))) {
      return;
    }
    keepQuarantine(operation, context, worker);
    onStartsChanged(context, worker);
  } else if (unconfirmed && provesStart(attempt)) {
    noteStarted(operation, context, worker);
  }
}

void resumeQuarantine(const TermContext& context, Worker& worker) {
  const StartRecord::Rules& rules = context.options.quarantine;
  const HostRecord* record = context.live.host_rules.find(worker.worker_id);
  if (rules.failures_max == 0 || record == nullptr || record->quarantined_until == WallTime{}) {
    return;
  }
  // The wall clock may have been set since: it never takes longer than a whole cool-down.
  const Micros left = std::clamp<Micros>(record->quarantined_until - context.clock.wallNow(),
                                         Micros(0), rules.cooldown);
  worker.starts.resumeQuarantine(context.clock.bootNow() + left);
}

void noteTime(const TermContext& context, Worker& worker) {
  if (worker.starts.tick(context.clock.bootNow(), context.options.quarantine)) {
    onStartsChanged(context, worker);
  }
}

std::string_view standingOf(const Worker& worker) {
  switch (worker.verdict.bar) {
    case HostBar::None:
      return "active";
    case HostBar::Excluded:
      return "excluded";
    case HostBar::Drained:
      return worker.busy > 0 ? "draining" : "drained";
    case HostBar::Unapproved:
      return "unapproved";
    case HostBar::Outdated:
      return "outdated";
  }
  return "";
}

}  // namespace baton::master
