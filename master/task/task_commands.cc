#include "master/task/task_commands.h"

#include "common/base/log.h"

namespace baton::master {
namespace {

std::string_view wordOf(api::TaskCommand command) {
  switch (command) {
    case api::TaskCommand::Stop:
      return "task.stop";
    case api::TaskCommand::Skip:
      return "task.skip";
    case api::TaskCommand::Hold:
      return "task.hold";
    case api::TaskCommand::Release:
      return "task.release";
    case api::TaskCommand::Rerun:
      return "task.rerun";
    case api::TaskCommand::ForceSuccess:
      return "task.force-success";
  }
  return "";
}

}  // namespace

TaskCommands::TaskCommands(TermContext& context, TaskEngine& engine)
    : context_(context), engine_(engine), recent_keys_(context.clock) {}

Status TaskCommands::admissible(const api::Submission& submission, BootTime looked_up_at) const {
  if (!open_) return Error(ErrorCode::NotActive, "this master does not accept tasks yet");
  RETURN_IF_ERROR(recent_keys_.checkFresh(looked_up_at));
  RETURN_IF_ERROR(context_.writer.acceptance());
  const uint64_t live = context_.live.tasks.size();
  if (live + submission.tasks.size() > context_.options.queue_max) {
    return Error::make(ErrorCode::Overloaded, "{} tasks are live, queue.max is {}", live,
                       context_.options.queue_max);
  }
  if (context_.task_ids.available() < submission.tasks.size()) {
    return Error(ErrorCode::Overloaded, "task numbers are being reserved; repeat in a moment");
  }
  return {};
}

void TaskCommands::submit(api::Submission submission, BootTime looked_up_at,
                          api::Callback<api::SubmitAnswer> done) {
  Operation operation;
  const auto answer = [&](const Audit& audit, Result<api::SubmitAnswer> result) {
    audit.putInto(operation, result.status());
    operation.then([done = std::move(done), result = std::move(result)] { done(result); });
    context_.writer.submit(std::move(operation));
  };
  const api::Request& request = submission.request;
  const bool keyed = !request.idempotency_key.empty();
  const auto known =
      recent_keys_.find(request.principal, request.idempotency_key, request.request_hash);
  if (!known.ok()) return answer(Audit::none(), known.error());
  if (known->has_value()) return answer(Audit::none(), api::SubmitAnswer{**known, true});
  if (const Status admitted = admissible(submission, looked_up_at); !admitted.ok()) {
    refillIds();
    // At once: behind the writer it would wait for the very database that it tells about.
    return done(admitted.error());
  }
  if (const Status fit = checkGroups(submission); !fit.ok()) {
    return answer(Audit::none(), fit.error());
  }
  std::vector<const LiveTask*> tasks;
  tasks.reserve(submission.tasks.size());
  for (TaskSpec& spec : submission.tasks) {
    spec.policy.scope.user = request.principal;
    tasks.push_back(&engine_.submit(operation, spec));
  }
  refillIds();
  const std::string body = answerBody(submission, tasks);
  if (keyed) {
    recent_keys_.keep(operation, {request.principal, request.idempotency_key, request.request_hash,
                                  body, context_.clock.wallNow()});
  }
  std::vector<TaskId> large;
  for (const LiveTask* task : tasks) {
    if (task->spec->size() > kSpecResidentBytesMax) large.push_back(task->state.id);
  }
  if (!large.empty()) {
    // Once the row is there, a large specification need not stay in memory until its turn.
    operation.then([this, large = std::move(large)] {
      context_.dispatcher.post([this, large] {
        for (const TaskId id : large) {
          LiveTask* task = context_.live.findTask(id);
          if (task != nullptr && !task->attempt) task->spec.reset();
        }
      });
    });
  }
  answer(auditOf(submission, tasks), api::SubmitAnswer{body, false});
}

Audit TaskCommands::auditOf(const api::Submission& submission,
                            const std::vector<const LiveTask*>& tasks) const {
  const LiveTask& first = *tasks.front();
  Audit audit(submission.request, context_.clock.wallNow(), "task.submit",
              std::to_string(first.state.id));
  if (submission.bulk) {
    audit.setParams({{"count", tasks.size()}, {"last", std::to_string(tasks.back()->state.id)}});
  } else {
    const TaskSpec& spec = submission.tasks.front();
    audit.setParams(
        {{"name", spec.name}, {"kind", spec.kind}, {"priority", toString(spec.priority)}});
    audit.setAfter(auditFacts(first.state));
  }
  return audit;
}

Status TaskCommands::checkGroups(const api::Submission& submission) const {
  for (size_t i = 0; i < submission.tasks.size(); ++i) {
    const TaskLimitsScope& scope = submission.tasks[i].policy.scope;
    if (scope.group.empty()) continue;
    const LimitGate* group = context_.live.gates.find(LimitKind::Group, scope.group);
    // A limit of 0 is a group that was shut for a while: its tasks wait for it to be raised.
    if (group == nullptr || !group->max() || *group->max() == 0) continue;
    if (scope.weight <= *group->max()) continue;
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is {}, but group {} has a limit of {}: it could never run",
                             scope.weight, scope.group, *group->max()),
                 submission.bulk ? fmt::format("tasks[{}].weight", i) : "weight");
  }
  return {};
}

std::string TaskCommands::answerBody(const api::Submission& submission,
                                     const std::vector<const LiveTask*>& tasks) const {
  if (submission.bulk) {
    std::string body = R"({"ids":[)";
    for (const LiveTask* task : tasks) {
      if (body.back() != '[') body += ',';
      body += '"' + std::to_string(task->state.id) + '"';
    }
    return body + "]}";
  }
  const LiveTask& task = *tasks.front();
  return dumpJson({{"id", std::to_string(task.state.id)},
                   {"name", submission.tasks.front().name},
                   {"status", toString(task.state.status)},
                   {"created_at", formatRfc3339(task.created_at)}});
}

void TaskCommands::refillIds() {
  const auto post = [this](std::function<void()> event) {
    context_.dispatcher.post(std::move(event));
  };
  if (auto operation = context_.task_ids.refill(post)) {
    context_.writer.submit(std::move(*operation));
  }
}

Status TaskCommands::runLive(Operation& operation, LiveTask& task, api::TaskCommand command,
                             const api::Request& request) {
  switch (command) {
    case api::TaskCommand::Stop:
      return engine_.stop(operation, task, StopCause::Stop, doneBy("stopped", request));
    case api::TaskCommand::Skip:
      return engine_.skip(operation, task, doneBy("skipped", request));
    case api::TaskCommand::Hold:
      return engine_.hold(operation, task);
    case api::TaskCommand::Release:
      return engine_.release(operation, task);
    case api::TaskCommand::Rerun:
    case api::TaskCommand::ForceSuccess:
      break;
  }
  return Error::conflict("task {} is {}; that needs a task that has ended", task.state.id,
                         toString(task.state.status));
}

void TaskCommands::command(TaskId id, api::TaskCommand command, bool force,
                           const api::Request& request, const TaskRecord* record, BootTime read_at,
                           api::Callback<TaskState> done) {
  const bool revives =
      command == api::TaskCommand::Rerun || command == api::TaskCommand::ForceSuccess;
  if (revives && record != nullptr && record->run_id != 0 && !context_.live.findTask(id)) {
    return order_of_run_(*record, command, force, request, std::move(done));
  }
  Operation operation;
  operation.touchTask(id);
  Audit audit(request, context_.clock.wallNow(), std::string(wordOf(command)), std::to_string(id));
  const auto answer = [&](Result<TaskState> result) {
    if (result.ok()) audit.setAfter(auditFacts(*result));
    audit.putInto(operation, result.status());
    operation.then([done = std::move(done), result = std::move(result)] { done(result); });
    context_.writer.submit(std::move(operation));
  };
  if (!open_) return done(Error(ErrorCode::NotActive, "this master does not take commands yet"));
  if (const Status accepts = context_.writer.acceptance(); !accepts.ok()) {
    return done(accepts.error());
  }
  Status ran;
  if (force) audit.setParams({{"force", true}});
  if (record != nullptr) audit.setBefore(auditFacts(record->state));
  if (LiveTask* task = context_.live.findTask(id)) {
    audit.setBefore(auditFacts(task->state));
    ran = runLive(operation, *task, command, request);
  } else if (record == nullptr) {
    ran = Error::make(ErrorCode::Busy, "task {} has to be read", id);
  } else if (command == api::TaskCommand::Rerun) {
    ran = engine_.rerun(operation, *record, force, read_at).status();
  } else if (command == api::TaskCommand::ForceSuccess) {
    ran = engine_.forceSuccess(operation, *record, read_at);
  } else {
    ran = Error::conflict("task {} is {} and can't be changed any more", id,
                          toString(record->state.status));
  }
  if (!ran.ok()) return answer(ran.error());
  logInfo("task_command", field("task", id), field("command", wordOf(command)),
          field("epoch", context_.epoch()));
  if (const TaskState* state = operation.stateOf(id)) return answer(*state);
  if (const LiveTask* task = context_.live.findTask(id)) return answer(task->state);
  answer(Error::internal("task {} changed without a trace", id));
}

}  // namespace baton::master
