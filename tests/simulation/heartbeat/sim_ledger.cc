#include "tests/simulation/heartbeat/sim_ledger.h"

#include <fmt/format.h>

#include <cstdlib>

#include "common/model/task_spec.h"

namespace baton::test {

SimLedger::SimLedger(FakeDatabase& database, const Clock& clock)
    : database_(database), clock_(clock), tells_(std::getenv("BATON_SIM_LOG") != nullptr) {
  database_.on_task = [this](const TaskState* before, const TaskState& after) {
    onTask(before, after);
  };
  database_.on_attempt = [this](const AttemptRecord* before, const AttemptRecord& after) {
    onAttempt(before, after);
  };
}

void SimLedger::writeStory(const std::string& line) const {
  fmt::print(stderr, "{:>12} {}\n", toMicros(clock_.bootNow()), line);
}

void SimLedger::onProcessStart(const AttemptKey& key, const std::string& runner) {
  ++starts_;
  tell("process {}/{} starts on {}", key.task_id, key.attempt, runner);
  Run& run = runs_[idOf(key)];
  const std::string name = fmt::format("attempt {} of task {}", key.attempt, key.task_id);
  if (run.started) fail(name + " was started twice");
  if (run.closed_for_good) fail(name + " was started after the master closed it");
  if (const auto other = alive_.find(key.task_id); other != alive_.end()) {
    fail(fmt::format("{} was started while attempt {} lives", name, other->second.second));
  }
  run.nonce = key.nonce;
  run.runner = runner;
  run.started = run.alive = true;
  alive_[key.task_id] = idOf(key);
  checkGroup();
  const auto& rows = database_.direct();
  const auto attempt = rows.attempts.find(idOf(key));
  if (attempt == rows.attempts.end() || attempt->second.nonce != key.nonce) {
    return fail(name + " was started before its order was durable");
  }
  if (attempt->second.runner_id != runner) fail(name + " was started by another runner");
  const TaskState& task = rows.tasks.at(key.task_id).state;
  if (isTerminal(task.status) && !task.unproven) {
    fail(fmt::format("{} was started although the task is {}", name, toString(task.status)));
  }
}

void SimLedger::onProcessEnd(const AttemptKey& key, const AttemptResult& result) {
  tell("process {}/{} ends", key.task_id, key.attempt);
  Run& run = runs_[idOf(key)];
  run.alive = false;
  run.result = result;
  alive_.erase(key.task_id);
}

void SimLedger::onStartFailed(const AttemptKey& key) {
  Run& run = runs_[idOf(key)];
  if (run.started) fail(fmt::format("task {} was started twice", key.task_id));
  run.started = true;
}

void SimLedger::excuseRunner(const std::string& runner) {
  for (auto& [id, run] : runs_) {
    if (run.runner == runner) run.may_be_lost = true;
  }
}

void SimLedger::onAccepted(TaskId id) {
  accepted_.insert(id);
  if (!database_.direct().tasks.contains(id)) {
    fail(fmt::format("task {} was accepted and is not in the database", id));
  }
}

void SimLedger::onTask(const TaskState* before, const TaskState& after) {
  tell("task {} is {} {}", after.id, toString(after.status), toString(after.reason));
  if (before == nullptr || !isTerminal(before->status)) return;
  if (before->status == after.status && before->attempt == after.attempt &&
      before->return_code == after.return_code && before->reason == after.reason) {
    return;
  }
  if (takeRerun(after.id)) return;
  fail(fmt::format("task {} was {} and became {}", after.id, toString(before->status),
                   toString(after.status)));
}

void SimLedger::onAttempt(const AttemptRecord* before, const AttemptRecord& after) {
  const std::string name = fmt::format("attempt {} of task {}", after.number, after.task_id);
  tell("{} is {} {} on {} ({}, {})", name, toString(after.status), toString(after.reason),
       after.runner_id, after.incarnation, after.seq);
  if (before == nullptr) {
    int32_t& newest = newest_attempt_[after.task_id];
    if (after.number <= newest) fail(name + " has a number that was used before");
    newest = after.number;
  } else {
    if (before->nonce != after.nonce) fail(name + " was given out twice");
    if (!isOpen(before->status)) {
      if (before->status != after.status || before->return_code != after.return_code) {
        fail(name + " was closed and has changed");
      }
      return;
    }
  }
  if (!isOpen(after.status)) onClosed(after);
}

void SimLedger::checkGroup() {
  const auto& rows = database_.direct();
  int64_t in_use = 0;
  for (const auto& [task, id] : alive_) {
    const auto attempt = rows.attempts.find(id);
    if (attempt == rows.attempts.end() || !isOpen(attempt->second.status)) continue;
    // What was given up as lost lives on beside what takes its place. That it was given up may
    // become durable behind the order of the other, if its row is locked.
    if (givenUp && givenUp(id.first, id.second)) continue;
    const auto policy = policyFromText(rows.tasks.at(task).policy);
    if (policy.ok() && !policy->scope.group.empty()) in_use += policy->scope.weight;
  }
  if (in_use > kSimGroupLimit) fail(fmt::format("the group runs {} units", in_use));
}

void SimLedger::onClosed(const AttemptRecord& attempt) {
  Run& run = runs_[{attempt.task_id, attempt.number}];
  const std::string name = fmt::format("attempt {} of task {}", attempt.number, attempt.task_id);
  ++reasons_[attempt.reason];
  ++closed_[attempt.status];
  if (attempt.reason == FailureReason::RunnerLost) return;  // Nobody knows what it does.
  run.closed_for_good = true;
  if (run.alive) {
    fail(fmt::format("{} lives and was recorded as {} {}", name, toString(attempt.status),
                     toString(attempt.reason)));
  }
  const bool ended_by_itself = run.result && run.result->reason != FailureReason::RunnerReset;
  switch (attempt.status) {
    case AttemptStatus::Finished:
      if (!run.result || run.result->return_code != 0) fail(name + " FINISHED, but it did not");
      return;
    case AttemptStatus::Undelivered:
      if (run.started) fail(name + " was undelivered, but it ran");
      return;
    case AttemptStatus::Failed:
      break;
    default:
      return;
  }
  switch (attempt.reason) {
    case FailureReason::ExitCode:
    case FailureReason::Signal:
      if (!run.result || run.result->return_code != attempt.return_code ||
          run.result->signal != attempt.signal) {
        fail(name + " was recorded with another result than it had");
      }
      return;
    case FailureReason::RunnerReset:
    case FailureReason::StartFailed:
      if (!run.order_accepted) fail(name + " failed, but its order never arrived");
      if (ended_by_itself && !run.may_be_lost) fail(name + " ended, and its result was lost");
      return;
    default:
      return;
  }
}

bool SimLedger::allEnded() const {
  if (!alive_.empty()) return false;
  for (const auto& [id, task] : database_.direct().tasks) {
    if (!isTerminal(task.state.status)) return false;
  }
  return true;
}

void SimLedger::checkEnd() {
  if (!database_.violation().empty()) fail(database_.violation());
  const auto& rows = database_.direct();
  for (const TaskId id : accepted_) {
    const auto it = rows.tasks.find(id);
    if (it == rows.tasks.end()) {
      fail(fmt::format("task {} was accepted and is gone", id));
    } else if (!isTerminal(it->second.state.status)) {
      fail(fmt::format("task {} is {} for ever (attempt {} on {})", id,
                       toString(it->second.state.status), it->second.state.attempt,
                       it->second.state.runner_id));
    }
  }
  for (const auto& [task, id] : alive_) fail(fmt::format("task {} still runs", task));
  for (const auto& [id, task] : rows.tasks) {
    if (!isTerminal(task.state.status)) fail(fmt::format("task {} never ended", id));
  }
}

}  // namespace baton::test
