// Why a run or a task is as it is.
#include <charconv>

#include "master/cause_chain.h"
#include "master/flow_ports.h"

namespace baton::master {

CauseSource FlowPorts::causes(const std::shared_ptr<ActiveTerm>& term) {
  return {.run = [this](RunId id) { return run(id); },
          .nodes = [this](RunId id) { return nodes(id); },
          .ahead =
              [term](RunId id) {
                const auto ahead = std::make_shared<RunId>(0);
                const bool looked =
                    term->inspect([term, ahead, id] { *ahead = term->runAhead(id); });
                return looked ? *ahead : 0;
              }};
}

Result<std::string> FlowPorts::begunBy(const RunRecord& run) {
  if (run.trigger != RunTrigger::Event) return std::string();
  // "event:ID", "run:ID:RERUNS", "task:ID:ATTEMPT:RERUNS": see EventDesk. What is not kept any more
  // is named by its number.
  std::string_view rest = run.trigger_key;
  const size_t colon = rest.find(':');
  if (colon == rest.npos) return std::string();
  const std::string_view kind = rest.substr(0, colon);
  rest.remove_prefix(colon + 1);
  uint64_t id = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), id);
  if (id == 0) return std::string();
  if (kind == "event") {
    ASSIGN_OR_RETURN(const auto found, readers_.with([&](dao::Reader& reader) {
      return reader.events({}, id + 1, 1);
    }));
    if (found.items.empty() || found.items.front().id != id) return fmt::format("event {}", id);
    const EventRecord& event = found.items.front();
    return fmt::format("event {} {}, key \"{}\"", id, event.name, event.key);
  }
  if (kind == "task") {
    ASSIGN_OR_RETURN(const auto task,
                     readers_.with([&](dao::Reader& reader) { return reader.task(id); }));
    if (!task) return fmt::format("the end of task {}", id);
    return fmt::format("the end of task {} (id {}) of run {} of {}", task->name, id, task->run_id,
                       task->flow);
  }
  ASSIGN_OR_RETURN(const auto source,
                   readers_.with([&](dao::Reader& reader) { return reader.run(id); }));
  return source ? fmt::format("the end of run {} of {}", id, source->flow)
                : fmt::format("the end of run {}", id);
}

Result<api::Explanation> FlowPorts::explainRun(RunId id) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  ASSIGN_OR_RETURN(const api::RunView view, run(id));
  const RunRecord& record = view.record;
  const RunState& state = record.state;
  api::Explanation out;
  out.status = toString(state.status);
  out.reasons.push_back(fmt::format(
      "run {} of {} (version {}) for {}, begun by {}{}", state.id, record.flow, record.version,
      formatRfc3339(record.plan_time),
      view.begun_by.empty() ? toString(record.trigger) : view.begun_by,
      record.principal.empty() ? "" : fmt::format(", asked for by {}", record.principal)));
  // The planner asks in nobody's name.
  if (record.compensates) {
    out.reasons.emplace_back(record.principal.empty()
                                 ? "later than planned: nobody could begin it in time"
                                 : "an instant that was missed, run by hand afterwards");
  }
  if (record.parent_run != 0) {
    out.reasons.push_back(
        fmt::format("it is task {} of run {}", record.parent_task, record.parent_run));
  }
  if (state.reason != RunReason::None || !state.reason_text.empty()) {
    const std::string_view code = toString(state.reason);
    out.reasons.push_back(fmt::format(
        "{}{}{}", code, code.empty() || state.reason_text.empty() ? "" : ": ", state.reason_text));
  }
  if (state.late) {
    out.reasons.push_back(fmt::format("it was not done at {}", formatRfc3339(state.due_at)));
  }
  if (!view.waiting_text.empty()) out.reasons.push_back("waits: " + view.waiting_text);
  std::vector<api::NodeView> all;
  if (state.status != RunStatus::Waiting) {
    ASSIGN_OR_RETURN(all, nodes(id));
  }
  for (const api::NodeView& node : all) {
    const TaskState& task = node.task.record.state;
    const bool well = task.status == TaskStatus::Finished;
    if (well && (task.reason != FailureReason::None || task.reason_text.empty())) continue;
    out.reasons.push_back(nodeLine(node));
  }
  CauseChain chain(causes(term));
  chain.behindRun(view, all);
  for (std::string& line : chain.takeLines()) out.reasons.push_back(std::move(line));
  return out;
}

Result<api::Explanation> FlowPorts::explainTask(TaskId id) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  ASSIGN_OR_RETURN(const api::TaskView view, master_.task(id));
  const TaskRecord& task = view.record;
  api::Explanation out;
  out.status = toString(task.state.status);
  CauseChain chain(causes(term));
  if (task.run_id != 0) {
    ASSIGN_OR_RETURN(const api::RunView of, run(task.run_id));
    std::string line =
        fmt::format("part of run {} of {} for {}, which is {}", task.run_id, of.record.flow,
                    formatRfc3339(of.record.plan_time), toString(of.record.state.status));
    if (!of.waiting_text.empty()) line += ": " + of.waiting_text;
    out.reasons.push_back(std::move(line));
    if (of.record.state.status == RunStatus::Waiting) {
      chain.behindRun(of, {});
    } else {
      chain.behindTask(task.run_id, task.name);
    }
  }
  if (const std::string why = reasonText(task.state); !why.empty()) out.reasons.push_back(why);
  if (std::string waits = waitText(view); !waits.empty()) out.reasons.push_back(std::move(waits));
  if (view.stuck) {
    out.reasons.push_back(fmt::format("stuck: it is {} for longer than watchdog.stuck_after",
                                      toString(task.state.status)));
  }
  if (hasOpenAttempt(task.state.status) && !task.state.runner_id.empty()) {
    out.reasons.push_back(
        fmt::format("attempt {} on runner {}", task.state.attempt, task.state.runner_id));
  }
  if (task.state.status == TaskStatus::Terminating) {
    out.reasons.push_back(fmt::format("it is being stopped: {}", toString(task.state.cause)));
  }
  for (std::string& line : chain.takeLines()) out.reasons.push_back(std::move(line));
  return out;
}

}  // namespace baton::master
