// How the daemon has an attempt started, or says that it could not be: the parts of WorkerDaemon
// that turn an order into a request to the shepherd.
#include "worker/task_environment.h"
#include "worker/worker_daemon.h"

namespace baton::worker {

void WorkerDaemon::startAttempt(const Order& order, Epoch epoch, const std::string& runner_id) {
  TaskSpec spec;
  const auto run = parseJson(order.run_part);
  const Status read = run.ok() ? readRunPart(*run, spec) : run.status();
  StartRequest request;
  request.key = order.key;
  request.argv = taskArguments(spec);
  if (!read.ok() || request.argv.empty()) {
    return failStart(order, read.ok() ? "the command is empty" : read.error().message());
  }
  request.env = taskEnvironment({.identity = identity_,
                                 .worker_id = options_.worker_id,
                                 .runner_id = runner_id,
                                 .data_dir = options_.data_dir,
                                 .key = order.key,
                                 .epoch = epoch},
                                spec);
  request.dir = spec.dir;
  request.has_script = spec.kind == "script";
  request.script = spec.script;
  noteOpenAttempts();
  shepherd_->send(request);  // Not connected: the hello of the next one brings it again.
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
