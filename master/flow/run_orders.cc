#include "master/flow/run_orders.h"

#include <algorithm>

#include "common/base/log.h"

namespace baton::master {
namespace {

constexpr int kOrderTriesMax = 20;  // Each behind a commit.

bool revives(const api::RunOrder& order) {
  return order.command == api::RunCommand::Rerun || order.command == api::RunCommand::ForceSuccess;
}

bool needsTask(const api::RunOrder& order) {
  return order.command == api::RunCommand::ForceSuccess ||
         (order.command == api::RunCommand::Rerun &&
          (order.scope == api::RerunScope::From || order.scope == api::RerunScope::One));
}

std::string_view wordOf(api::RunCommand command) {
  switch (command) {
    case api::RunCommand::Stop:
      return "stop";
    case api::RunCommand::Pause:
      return "pause";
    case api::RunCommand::Resume:
      return "resume";
    case api::RunCommand::Rerun:
      return "rerun";
    case api::RunCommand::Skip:
      return "skip";
    case api::RunCommand::ForceSuccess:
      return "force-success";
    case api::RunCommand::SetPriority:
      return "priority";
  }
  return "";
}

std::string_view wordOf(api::RerunScope scope) {
  switch (scope) {
    case api::RerunScope::All:
      return "all";
    case api::RerunScope::Failed:
      return "failed";
    case api::RerunScope::From:
      return "from";
    case api::RerunScope::One:
      return "one";
  }
  return "";
}

// The node that the order names. Errors: NotFound.
Result<NodeIndex> namedNode(const api::RunOrder& order, const LiveRun& run) {
  if (const auto node = run.version->find(order.task)) return *node;
  return Error::notFound("run {} of {} has no task {}", order.id, run.record.flow,
                         truncateUtf8(order.task, 128));
}

}  // namespace

RunOrders::RunOrders(TermContext& context, FlowState& flows, RunEngine& runs, TaskEngine& tasks,
                     ReadWorker& reads)
    : context_(context), flows_(flows), runs_(runs), tasks_(tasks), reads_(reads) {}

void RunOrders::order(api::RunOrder order, api::Callback<RunRecord> done) {
  if (needsTask(order) && order.task.empty()) {
    return done(Error(ErrorCode::InvalidArgument, "a task of the run has to be named", "task"));
  }
  const auto told = [done = std::move(done)](Result<Outcome> outcome) {
    if (!outcome.ok()) return done(outcome.error());
    done(std::move(outcome->run));
  };
  read({.order = std::move(order), .done = told}, kOrderTriesMax);
}

void RunOrders::orderTask(const TaskRecord& task, api::TaskCommand command, bool force,
                          const api::Request& request, api::Callback<TaskState> done) {
  const bool rerun = command == api::TaskCommand::Rerun;
  const auto told = [done = std::move(done)](Result<Outcome> outcome) {
    if (!outcome.ok()) return done(outcome.error());
    done(std::move(outcome->task));
  };
  read({.order = {.id = task.run_id,
                  .command = rerun ? api::RunCommand::Rerun : api::RunCommand::ForceSuccess,
                  .scope = api::RerunScope::One,
                  .task = task.name,
                  .force = force,
                  .request = request},
        .task = task.state.id,
        .done = told},
       kOrderTriesMax);
}

void RunOrders::read(Asked asked, int tries) {
  reads_.submit([this, asked = std::move(asked), tries](dao::Reader& reader) mutable {
    const api::RunOrder& order = asked.order;
    auto read = readRunRows(reader, order.id, context_.clock.bootNow(), revives(order));
    if (!read.ok()) return asked.done(read.error());
    if (!read->has_value() && asked.task != 0) {
      return asked.done(Error::conflict("task {} was a part of run {}, which is not kept any more",
                                        asked.task, order.id));
    }
    if (!read->has_value()) return asked.done(Error::notFound("there is no run {}", order.id));
    const auto rows = std::make_shared<const RunRows>(std::move(**read));
    const auto done = asked.done;
    const bool queued = context_.dispatcher.tryPost(
        [this, asked = std::move(asked), rows, tries] { decide(asked, *rows, tries); });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  });
}

void RunOrders::decide(const Asked& asked, const RunRows& rows, int tries) {
  const api::RunOrder& order = asked.order;
  if (!open_) {
    return asked.done(Error(ErrorCode::NotActive, "this master does not take commands yet"));
  }
  if (const Status accepts = context_.writer.acceptance(); !accepts.ok()) {
    return asked.done(accepts.error());
  }
  bool revived = false;
  const Result<LiveRun*> found = find(order, rows, revived);
  Operation operation;
  operation.touchRun(order.id);
  if (asked.task != 0) operation.touchTask(asked.task);
  const Outcome before = outcomeOf(asked, rows, operation);
  Audit audit = auditOf(asked);
  audit.setBefore(asked.task != 0 ? auditFacts(before.task) : auditFacts(before.run.state));
  const Status ran = found.ok() ? run(operation, order, rows, **found) : Status(found.error());
  if (!ran.ok()) {
    if (revived) runs_.drop(order.id);
    if (ran.error().code() == ErrorCode::Busy && tries > 1) {
      // Read again when what changed is durable.
      Operation behind;
      behind.then([this, asked, tries] { read(asked, tries - 1); });
      return context_.writer.submit(std::move(behind));
    }
    audit.putInto(operation, ran);
    operation.then([done = asked.done, error = ran.error()] { done(error); });
    return context_.writer.submit(std::move(operation));
  }
  logInfo("run_order", field("run", order.id), field("command", wordOf(order.command)),
          field("task", asked.task), field("principal", order.request.principal),
          field("epoch", context_.epoch()));
  Outcome outcome = outcomeOf(asked, rows, operation);
  // One that ended came back for the order, and nothing of it runs again.
  if (revived && isTerminal(outcome.run.state.status)) {
    runs_.noteEnd(operation, order.id);
    runs_.drop(order.id);
  }
  audit.setAfter(asked.task != 0 ? auditFacts(outcome.task) : auditFacts(outcome.run.state));
  audit.putInto(operation, ran);
  operation.then([done = asked.done, outcome = std::move(outcome)] { done(outcome); });
  context_.writer.submit(std::move(operation));
}

RunOrders::Outcome RunOrders::outcomeOf(const Asked& asked, const RunRows& rows,
                                        const Operation& operation) const {
  Outcome out{.run = rows.run};
  if (const LiveRun* live = flows_.findRun(asked.order.id)) out.run.state = live->record.state;
  for (const RunState& state : operation.changes.run_states) {
    if (state.id == asked.order.id) out.run.state = state;
  }
  if (asked.task == 0) return out;
  for (const TaskRecord& task : rows.tasks) {
    if (task.state.id == asked.task) out.task = task.state;
  }
  if (const LiveTask* live = context_.live.findTask(asked.task)) out.task = live->state;
  if (const TaskState* state = operation.stateOf(asked.task)) out.task = *state;
  return out;
}

Audit RunOrders::auditOf(const Asked& asked) const {
  const api::RunOrder& order = asked.order;
  const std::string_view noun = asked.task != 0 ? "task" : "run";
  Audit audit(order.request, context_.clock.wallNow(),
              fmt::format("{}.{}", noun, wordOf(order.command)),
              std::to_string(asked.task != 0 ? asked.task : order.id));
  Json params = Json::object();
  if (asked.task != 0) {
    params["run"] = std::to_string(order.id);
  } else {
    if (!order.task.empty()) params["task"] = truncateUtf8(order.task, 128);
    if (order.command == api::RunCommand::Rerun) params["scope"] = wordOf(order.scope);
  }
  if (order.command == api::RunCommand::SetPriority) params["priority"] = toString(order.priority);
  if (order.force) params["force"] = true;
  if (!params.empty()) audit.setParams(params);
  return audit;
}

Result<LiveRun*> RunOrders::find(const api::RunOrder& order, const RunRows& rows, bool& revived) {
  if (LiveRun* live = flows_.findRun(order.id)) return live;
  RETURN_IF_ERROR(runs_.checkEnded(rows));
  if (!revives(order)) {
    return Error::conflict("run {} of {} is {} and can't be changed any more", order.id,
                           rows.run.flow, toString(rows.run.state.status));
  }
  const LiveFlow* flow = flows_.findFlow(nameKey(rows.run.flow));
  if (flow == nullptr || flow->record.deleted) {
    return Error::conflict("flow {} was deleted: its runs can't run again", rows.run.flow);
  }
  if (!rows.version.ok()) return rows.version.error();
  ASSIGN_OR_RETURN(LiveRun * run, runs_.revive(rows.run, *rows.version, rows.tasks));
  revived = true;
  return run;
}

Result<std::vector<bool>> RunOrders::nodesOf(const api::RunOrder& order, const LiveRun& run) const {
  const size_t count = run.version->spec.tasks.size();
  std::vector<NodeIndex> from;
  if (order.scope == api::RerunScope::All) return std::vector<bool>(count, true);
  if (order.scope == api::RerunScope::Failed) {
    std::vector<bool> again = RunEngine::unwellOf(run);
    const bool none = std::find(again.begin(), again.end(), true) == again.end();
    if (none && run.record.state.status != RunStatus::Terminating) {
      return Error::conflict(
          "no task of run {} has failed: rerun with the scope all, from or one (run rerun --all, "
          "--from TASK, --task TASK) runs again what ended well",
          order.id);
    }
    return again;
  }
  ASSIGN_OR_RETURN(const NodeIndex node, namedNode(order, run));
  from.push_back(node);
  if (order.scope == api::RerunScope::From) return run.version->graph->withDescendants(from);
  std::vector<bool> again(count, false);
  again[node] = true;
  return again;
}

Status RunOrders::run(Operation& operation, const api::RunOrder& order, const RunRows& rows,
                      LiveRun& run) {
  switch (order.command) {
    case api::RunCommand::Stop:
      return runs_.stop(operation, run, RunReason::StopAsked, doneBy("stopped", order.request));
    case api::RunCommand::Pause:
      return runs_.pause(operation, run);
    case api::RunCommand::Resume:
      return runs_.resume(operation, run);
    case api::RunCommand::SetPriority:
      return runs_.setPriority(operation, run, order.priority);
    case api::RunCommand::Skip: {
      if (order.task.empty()) return runs_.skip(operation, run, doneBy("skipped", order.request));
      ASSIGN_OR_RETURN(const NodeIndex node, namedNode(order, run));
      LiveTask* task = run.tasks.empty() ? nullptr : context_.live.findTask(run.tasks[node]);
      if (task == nullptr) {
        return run.tasks.empty()
                   ? Error::conflict("run {} has not begun: none of its tasks can be skipped yet",
                                     order.id)
                   : Error::conflict("task {} of run {} has ended", order.task, order.id);
      }
      return tasks_.skip(operation, *task, doneBy("skipped", order.request));
    }
    case api::RunCommand::Rerun:
    case api::RunCommand::ForceSuccess:
      break;
  }
  const std::map<NodeIndex, TaskRecord> ended = rows.endedOf(*run.version);
  if (order.command == api::RunCommand::Rerun) {
    ASSIGN_OR_RETURN(const std::vector<bool> again, nodesOf(order, run));
    return runs_.rerun(operation, run, again, ended, order.force, rows.read_at,
                       order.scope == api::RerunScope::Failed);
  }
  ASSIGN_OR_RETURN(const NodeIndex node, namedNode(order, run));
  return runs_.forceSuccess(operation, run, node, ended, rows.read_at);
}

}  // namespace baton::master
