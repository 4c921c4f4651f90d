// How the daemon has an attempt started, or says that it could not be: the parts of WorkerDaemon
// that turn an order into a request to the shepherd.
#include "worker/task_environment.h"
#include "worker/worker_daemon.h"

namespace baton::worker {
namespace {

// Kinds that get the description of their task on standard input.
bool readsInput(const TaskSpec& spec) { return !kindLabel(spec.kind).empty(); }

}  // namespace

void WorkerDaemon::startAttempt(const Order& order, Epoch epoch, const std::string& runner_id) {
  TaskSpec spec;
  const auto run = parseJson(order.run_part);
  const Status read = run.ok() ? readRunPart(*run, spec) : run.status();
  if (!read.ok()) return failStart(order, read.error().message());
  auto argv = argumentsOf(spec);
  if (!argv.ok()) return failStart(order, argv.error().message());
  StartRequest request;
  request.key = order.key;
  request.argv = std::move(argv).value();
  const EnvironmentInput input{.identity = identity_,
                               .worker_id = options_.worker_id,
                               .runner_id = runner_id,
                               .data_dir = options_.data_dir,
                               .key = order.key,
                               .epoch = epoch};
  request.env = taskEnvironment(input, spec);
  if (readsInput(spec)) request.input = taskInput(input, spec, order.timeout);
  request.dir = spec.dir;
  request.has_script = spec.kind == "script";
  request.script = spec.script;
  noteOpenAttempts();
  shepherd_->send(request);  // Not connected: the hello of the next one brings it again.
}

// Looked up at every start: a plug-in may have gone since it was announced.
Result<std::vector<std::string>> WorkerDaemon::argumentsOf(const TaskSpec& spec) const {
  if (!readsInput(spec)) {
    std::vector<std::string> arguments = taskArguments(spec);
    if (arguments.empty()) return Error::invalidArgument("the command is empty");
    return arguments;
  }
  if (!shepherd_takes_input_) {
    return Error(
        ErrorCode::Unsupported,
        "the worker's shepherd is of an older version, which can't run tasks of kind " + spec.kind);
  }
  if (spec.kind == "http") return options_.http_command;
  ASSIGN_OR_RETURN(std::string program, plug_ins_.find(spec.kind));
  return std::vector<std::string>{std::move(program)};
}

LabelMap WorkerDaemon::labels() {
  LabelMap labels = options_.labels;
  if (!shepherd_takes_input_) return labels;
  const auto announce = [&](std::string_view kind) { labels[kindLabel(kind)] = kKindAnnounced; };
  announce("http");
  for (const std::string& kind : plug_ins_.kinds(clock_.bootNow())) announce(kind);
  return labels;
}

EndedNote WorkerDaemon::endedNote(const AttemptKey& key, FailureReason reason,
                                  std::string text) const {
  EndedNote note;
  note.key = key;
  note.result.reason = reason;
  note.result.reason_text = std::move(text);
  note.ended_us = toMicros(clock_.bootNow());
  return note;
}

void WorkerDaemon::failStart(const Order& order, std::string text) {
  loop_->post([this, note = endedNote(order.key, FailureReason::StartFailed, std::move(text))] {
    onEnded(note);
  });
}

}  // namespace baton::worker
