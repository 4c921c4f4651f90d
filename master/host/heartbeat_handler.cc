#include "master/host/heartbeat_handler.h"

#include <algorithm>
#include <optional>

#include "common/base/log.h"
#include "common/base/mutant.h"

namespace baton::master {
namespace {

// What of a result makes it "the same result".
std::string resultFingerprint(const HeartbeatRequest& request) {
  return fmt::format("{}/{}/{}", toString(request.status),
                     request.result.return_code ? std::to_string(*request.result.return_code) : "-",
                     request.result.signal);
}

// Falls back on what the codes say when the runner gave no reason (plain clients).
FailureReason failureOf(const AttemptResult& result) {
  if (result.reason != FailureReason::None) return result.reason;
  return result.signal != 0 ? FailureReason::Signal : FailureReason::ExitCode;
}

std::string failureText(const AttemptResult& result) {
  if (!result.reason_text.empty()) return result.reason_text;
  if (result.signal != 0) return fmt::format("ended by signal {}", result.signal);
  if (result.return_code) return fmt::format("exit code {}", *result.return_code);
  return {};
}

bool sameResult(const AttemptRecord& stored, const HeartbeatRequest& request) {
  const bool well = request.status == RunnerStatus::Finished;
  const bool stored_well = stored.status == AttemptStatus::Finished;
  return !isOpen(stored.status) && well == stored_well &&
         stored.status != AttemptStatus::Undelivered &&
         stored.return_code == request.result.return_code && stored.signal == request.result.signal;
}

}  // namespace

HeartbeatHandler::HeartbeatHandler(TermContext& context, TaskEngine& engine,
                                   RunnerRegistry& registry, HeartbeatDesk& desk, Picker& picker,
                                   ReadWorker& reads, std::function<void(Epoch)> on_higher_epoch)
    : context_(context),
      live_(context.live),
      engine_(engine),
      registry_(registry),
      desk_(desk),
      picker_(picker),
      reads_(reads),
      on_higher_epoch_(std::move(on_higher_epoch)) {}

void HeartbeatHandler::openGate() {
  open_ = true;
  while (!waiting_.empty()) {
    auto [request, reply] = std::move(waiting_.front());
    waiting_.pop_front();
    process(std::move(request), std::move(reply), nullptr, false);
  }
}

void HeartbeatHandler::close() {
  closed_ = true;
  for (auto& [request, reply] : waiting_) {
    reply(Error(ErrorCode::NotActive, "this master stops leading"));
  }
  waiting_.clear();
  desk_.releaseAll(live_);
}

void HeartbeatHandler::handle(HeartbeatRequest request, api::HeartbeatReplyFn reply) {
  if (closed_) {
    reply(Error(ErrorCode::NotActive, "this master stops leading"));
  } else if (!open_) {
    waiting_.emplace_back(std::move(request), std::move(reply));
  } else {
    process(std::move(request), std::move(reply), nullptr, false);
  }
}

void HeartbeatHandler::gone(const std::string& runner_id, const HeartbeatPair& pair) {
  if (Runner* runner = live_.findRunner(runner_id)) desk_.drop(*runner, pair);
}

LiveTask* HeartbeatHandler::openTask(const Runner& runner) const {
  if (runner.open_task == 0) return nullptr;
  LiveTask* task = live_.findTask(runner.open_task);
  CHECK(task != nullptr && task->attempt != nullptr);
  return task;
}

bool HeartbeatHandler::isOpenInMemory(const AttemptRecord& attempt) const {
  const LiveTask* task = live_.findTask(attempt.task_id);
  return task != nullptr && task->attempt != nullptr && task->attempt->number == attempt.number;
}

bool HeartbeatHandler::belongsToAnother(const HeartbeatRequest& request) const {
  if (request.status == RunnerStatus::Idle) return false;
  const LiveTask* task = live_.findTask(request.current.task_id);
  return task != nullptr && task->attempt != nullptr &&
         sameAttempt(engine_.openKey(*task), request.current) &&
         task->attempt->runner_id != request.runner_id;
}

Millis HeartbeatHandler::holdTime(const HeartbeatRequest& request) const {
  return std::min<Millis>(Millis(request.wait_ms), context_.options.heartbeat / 2);
}

// `named` is the stored attempt that a result names, once it was looked up.
void HeartbeatHandler::process(HeartbeatRequest request, api::HeartbeatReplyFn reply,
                               const AttemptRecord* named, bool looked_up) {
  context_.metrics.heartbeat();
  Operation operation;
  operation.touchRunner(request.runner_id);
  const auto refuse = [&](Error error) {
    operation.then([reply, error = std::move(error)] { reply(error); });
    context_.writer.submit(std::move(operation));
  };
  if (!request.cluster_guid.empty() && request.cluster_guid != context_.cluster_guid) {
    return refuse(Error(ErrorCode::PermissionDenied,
                        fmt::format("this is cluster {}, the runner belongs to {}",
                                    context_.cluster_guid, request.cluster_guid)));
  }
  if (request.epoch > context_.epoch()) {
    on_higher_epoch_(request.epoch);
    return refuse(Error(ErrorCode::NotActive, "the runner has seen a later epoch"));
  }
  if (belongsToAnother(request)) {
    logError("foreign_attempt", field("runner", request.runner_id),
             field("task", request.current.task_id), field("attempt", request.current.attempt));
    return refuse(Error(ErrorCode::PermissionDenied, "that attempt belongs to another runner"));
  }
  const auto arrival = registry_.arrive(request);
  if (!arrival.ok()) return refuse(arrival.error());
  Runner& runner = *arrival->runner;
  if (arrival->new_journal) {
    if (LiveTask* task = openTask(runner)) engine_.runnerLost(operation, *task);
  }
  Ticket ticket{arrival->pair, request.epoch, false, reply};
  const LiveTask* open = openTask(runner);
  const bool below_highest = arrival->pair < runner.highest;
  const bool below_open =
      open != nullptr && !mutant("pair_rule_off") &&
      arrival->pair < HeartbeatPair{open->attempt->incarnation, open->attempt->seq};
  if (below_highest || below_open) {
    desk_.answer(operation, std::move(ticket), Command::GoOn);
    context_.writer.submit(std::move(operation));
    return;
  }
  const bool result =
      request.status == RunnerStatus::Finished || request.status == RunnerStatus::Failed;
  const bool of_open = open != nullptr && sameAttempt(engine_.openKey(*open), request.current);
  const bool just_recorded = sameAttempt(runner.closed, request.current) &&
                             runner.closed_result == resultFingerprint(request);
  if (result && !of_open && !just_recorded && !looked_up) {
    context_.writer.submit(std::move(operation));
    return lookUpNamed(std::move(request), std::move(reply));
  }
  if (looked_up && named != nullptr && named->runner_id != request.runner_id) {
    return refuse(Error(ErrorCode::PermissionDenied, "that attempt belongs to another runner"));
  }
  if (result && !of_open && !just_recorded && named != nullptr && isOpen(named->status) &&
      !isOpenInMemory(*named)) {
    // It is closed, but not yet in the database: a report kept now would be overwritten.
    operation.touchTask(named->task_id);
    operation.then([this, request = std::move(request), reply]() mutable {
      context_.dispatcher.post([this, request = std::move(request), reply]() mutable {
        lookUpNamed(std::move(request), std::move(reply));
      });
    });
    context_.writer.submit(std::move(operation));
    return;
  }
  if (auto older = desk_.take(runner)) {
    desk_.answer(operation, std::move(*older), Command::GoOn);
  }
  registry_.refresh(operation, *arrival, request);
  Context context{request, *arrival, operation};
  const bool late = result && !of_open && !just_recorded && keepLate(context, named);
  apply(context, std::move(ticket), late);
  context_.writer.submit(std::move(operation));
}

void HeartbeatHandler::lookUpNamed(HeartbeatRequest request, api::HeartbeatReplyFn reply) {
  reads_.submit([this, request = std::move(request),
                 reply = std::move(reply)](dao::Reader& reader) {
    auto attempts = reader.attempts(request.current.task_id);
    context_.dispatcher.post([this, request, reply, attempts = std::move(attempts)]() mutable {
      if (closed_) return reply(Error(ErrorCode::NotActive, "this master stops leading"));
      if (!attempts.ok()) return reply(attempts.error());
      const auto it = std::find_if(attempts->begin(), attempts->end(), [&](const auto& attempt) {
        return sameAttempt({attempt.task_id, attempt.number, attempt.nonce}, request.current);
      });
      process(std::move(request), std::move(reply), it == attempts->end() ? nullptr : &*it, true);
    });
  });
}

bool HeartbeatHandler::keepLate(Context& context, const AttemptRecord* named) {
  const HeartbeatRequest& request = context.request;
  if (named == nullptr) return true;  // Nobody knows that attempt: nothing to keep it on.
  if (sameResult(*named, request)) return false;
  context_.metrics.lateReport();
  logWarn("late_report", field("task", named->task_id), field("attempt", named->number),
          field("runner", request.runner_id), field("result", resultFingerprint(request)));
  AttemptRecord attempt = *named;
  Json report = {{"status", toString(request.status)},
                 {"run_ms", request.result.run_ms},
                 {"received_at", formatRfc3339(context_.clock.wallNow())}};
  if (request.result.return_code) report["return_code"] = *request.result.return_code;
  if (request.result.signal != 0) report["signal"] = request.result.signal;
  attempt.late_report = dumpJson(report);
  context.operation.store(attempt);
  return true;
}

void HeartbeatHandler::apply(Context context, Ticket ticket, bool late) {
  const HeartbeatRequest& request = context.request;
  Operation& operation = context.operation;
  LiveTask* task = openTask(context.runner());
  std::optional<OpenAttempt> open;
  if (task != nullptr) {
    open = OpenAttempt{engine_.openKey(*task),
                       {task->attempt->incarnation, task->attempt->seq},
                       task->attempt->status == AttemptStatus::Running,
                       task->state.status == TaskStatus::Terminating};
    operation.touchTask(task->state.id);
  }
  const AttemptResult* stopped =
      open && sameAttempt(request.current, open->key) ? &request.result : nullptr;
  switch (judgeHeartbeat(context.arrival.pair, request.status, request.current,
                         context.arrival.last_order, open ? &*open : nullptr)) {
    case HeartbeatStep::NoEffect:
      return desk_.answer(operation, std::move(ticket), Command::GoOn);
    case HeartbeatStep::Reset:
      return desk_.answer(operation, std::move(ticket), Command::Reset);
    case HeartbeatStep::RepeatOrder:
      return repeatOrder(context, std::move(ticket), *task, false);
    case HeartbeatStep::OrderLost:
      // Nothing of it runs: who takes no tasks gets no order that never arrived either.
      if (live_.classes.fits(live_.ready.signatureOf(task->lane), context.runner().class_id) &&
          context.runner().worker->takes_tasks) {
        return repeatOrder(context, std::move(ticket), *task, true);
      }
      engine_.undelivered(operation, *task);
      return idle(context, std::move(ticket));
    case HeartbeatStep::Started:
      engine_.started(operation, *task);
      [[fallthrough]];
    case HeartbeatStep::KeepRunning:
      if (request.wait_ms > 0) {
        return desk_.hold(context.runner(), std::move(ticket), holdTime(request), false);
      }
      return desk_.answer(operation, std::move(ticket), Command::GoOn);
    case HeartbeatStep::EndedWell:
      context.runner().closed = open->key;
      context.runner().closed_result = resultFingerprint(request);
      engine_.endedWell(operation, *task, request.result);
      return afterResult(context, std::move(ticket), true);
    case HeartbeatStep::EndedBadly:
      context.runner().closed = open->key;
      context.runner().closed_result = resultFingerprint(request);
      engine_.endedBadly(operation, *task, failureOf(request.result), failureText(request.result),
                         &request.result);
      return afterResult(context, std::move(ticket), true);
    case HeartbeatStep::StopProved:
      engine_.endedBadly(operation, *task, FailureReason::None, "stopped", stopped);
      return idle(context, std::move(ticket));
    case HeartbeatStep::StartFailed:
      engine_.endedBadly(operation, *task, FailureReason::StartFailed,
                         "the runner accepted it and never ran it", stopped);
      return idle(context, std::move(ticket));
    case HeartbeatStep::RunnerReset:
      engine_.endedBadly(operation, *task, FailureReason::RunnerReset,
                         "the runner lost it while it ran", stopped);
      return idle(context, std::move(ticket));
    case HeartbeatStep::Idle:
      return idle(context, std::move(ticket));
    case HeartbeatStep::Acknowledge:
      return afterResult(context, std::move(ticket), !late);
  }
}

void HeartbeatHandler::idle(Context& context, Ticket ticket) {
  Runner& runner = context.runner();
  // After a result or a proof the runner's report is not an IDLE one: it hears RESET first.
  if (context.request.status != RunnerStatus::Idle) {
    return afterResult(context, std::move(ticket), true);
  }
  if (LiveTask* task = picker_.next(runner)) {
    engine_.dispatch(context.operation, *task, runner, ticket.pair);
    return desk_.answer(context.operation, std::move(ticket), Command::RunNew,
                        picker_.orderOf(*task));
  }
  if (context.request.wait_ms > 0) {
    const bool may_work = runner.leaving_until <= context_.clock.bootNow();
    return desk_.hold(runner, std::move(ticket), holdTime(context.request), may_work);
  }
  desk_.answer(context.operation, std::move(ticket), Command::GoOn);
}

void HeartbeatHandler::afterResult(Context& context, Ticket ticket, bool may_run_new) {
  LiveTask* task = may_run_new ? picker_.next(context.runner()) : nullptr;
  if (task == nullptr) {
    return desk_.answer(context.operation, std::move(ticket), Command::Reset);
  }
  engine_.dispatch(context.operation, *task, context.runner(), ticket.pair);
  desk_.answer(context.operation, std::move(ticket), Command::RunNew, picker_.orderOf(*task));
}

void HeartbeatHandler::repeatOrder(Context& context, Ticket ticket, LiveTask& task, bool new_pair) {
  if (task.spec == nullptr) {
    // The runner beats again; by then the specification is here.
    picker_.withSpec(task.state.id, [] {});
    return desk_.answer(context.operation, std::move(ticket), Command::GoOn);
  }
  if (new_pair) engine_.repeatOrder(context.operation, task, ticket.pair);
  logInfo("order_repeated", field("task", task.state.id), field("attempt", task.state.attempt),
          field("runner", context.request.runner_id), field("new_pair", new_pair));
  desk_.answer(context.operation, std::move(ticket), Command::RunNew, picker_.orderOf(task));
}

void HeartbeatHandler::resetRunnerOf(Operation& operation, const LiveTask& task) {
  if (task.state.status != TaskStatus::Terminating || !task.attempt) return;
  Runner* runner = live_.findRunner(task.attempt->runner_id);
  if (runner == nullptr) return;
  if (auto ticket = desk_.take(*runner)) {
    desk_.answer(operation, std::move(*ticket), Command::Reset);
  }
}

}  // namespace baton::master
