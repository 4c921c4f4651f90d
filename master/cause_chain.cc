#include "master/cause_chain.h"

#include <algorithm>
#include <unordered_map>

namespace baton::master {
namespace {

constexpr size_t kLinesMax = 40;
constexpr size_t kLinksShown = 10;  // Of one run, on the way.
constexpr size_t kEndsShown = 10;   // Of one run.

bool ended(const api::NodeView& node) { return isTerminal(node.task.record.state.status); }

bool waitsForNeeds(const api::NodeView& node) {
  return node.task.record.state.status == TaskStatus::Created &&
         node.task.waiting_for == WaitingCode::Dependency;
}

// The run that a sub-flow is or was, if that is why its task is as it is; else 0. A task that has
// not begun may have the run of an earlier attempt.
RunId subRunOf(const api::NodeView& node) {
  switch (node.task.record.state.status) {
    case TaskStatus::Running:
    case TaskStatus::Terminating:
    case TaskStatus::Failed:
    case TaskStatus::Terminated:
      return node.sub_run;
    default:
      return 0;
  }
}

bool skippedForNeeds(const api::NodeView& node) {
  if (node.task.record.state.status != TaskStatus::Skipped) return false;
  switch (node.task.record.state.reason) {
    case FailureReason::UpstreamFailed:
    case FailureReason::UpstreamSkipped:
    case FailureReason::UpstreamSucceeded:
      return true;
    default:
      return false;
  }
}

// Whether an upstream task is what a task behind it waits for, or was skipped for.
bool isCause(const api::NodeView& of, const api::NodeView& upstream) {
  if (waitsForNeeds(of)) return !ended(upstream);
  const TaskState& state = upstream.task.record.state;
  if (of.task.record.state.reason == FailureReason::UpstreamSucceeded) {
    return state.status == TaskStatus::Finished;
  }
  return state.status == TaskStatus::Skipped || state.status == TaskStatus::Terminated ||
         (state.status == TaskStatus::Failed && !state.ignored);
}

std::string runLine(const api::RunView& view) {
  const RunRecord& record = view.record;
  std::string line = fmt::format("run {} of {} for {} is {}", record.state.id, record.flow,
                                 formatRfc3339(record.plan_time), toString(record.state.status));
  if (const auto reason = toString(record.state.reason); !reason.empty()) {
    line += fmt::format(": {}", reason);
  }
  if (!record.state.reason_text.empty()) line += ": " + record.state.reason_text;
  if (!view.waiting_text.empty()) line += ": waits: " + view.waiting_text;
  return line;
}

}  // namespace

std::string reasonText(const TaskState& state) {
  std::string text(toString(state.reason));
  if (!state.reason_text.empty()) text += (text.empty() ? "" : ": ") + state.reason_text;
  if (state.ignored) text += " (ignored by its flow)";
  if (state.forced) text += " (success declared by hand)";
  return text;
}

std::string waitText(const api::TaskView& task) {
  if (task.waiting_text.empty()) return {};
  if (task.waiting_for == WaitingCode::None) return "waits: " + task.waiting_text;
  return fmt::format("waits ({}): {}", toString(task.waiting_for), task.waiting_text);
}

std::string nodeLine(const api::NodeView& node) {
  const TaskRecord& task = node.task.record;
  std::string line =
      fmt::format("task {} (id {}) is {}", task.name, task.state.id, toString(task.state.status));
  if (const std::string why = reasonText(task.state); !why.empty()) line += ": " + why;
  if (const std::string waits = waitText(node.task); !waits.empty()) line += ": " + waits;
  if (node.task.stuck) line += ": stuck, for longer than watchdog.stuck_after";
  return line;
}

bool CauseChain::full() const { return lines_.size() >= kLinesMax; }

void CauseChain::say(std::string line) {
  if (lines_.size() < kLinesMax) lines_.push_back(std::move(line));
  if (lines_.size() == kLinesMax) lines_.emplace_back("…");
}

// In breadth, so that what is near comes first. A task with a cause in its own run is on the way;
// one without is where this run's part of the way ends.
void CauseChain::follow(const std::vector<api::NodeView>& nodes, size_t start) {
  std::unordered_map<std::string_view, size_t> at;
  for (size_t i = 0; i < nodes.size(); ++i) at.emplace(nodes[i].task.record.name, i);
  std::vector<bool> seen(nodes.size(), false);
  seen[start] = true;
  std::vector<size_t> from{start};
  std::vector<size_t> links;
  std::vector<size_t> ends;
  for (size_t next = 0; next < from.size(); ++next) {
    const api::NodeView& node = nodes[from[next]];
    bool has_cause = false;
    for (const std::string& need : node.needs) {
      if (!waitsForNeeds(node) && !skippedForNeeds(node)) break;
      const auto upstream = at.find(std::string_view(need).substr(0, need.find(' ')));
      if (upstream == at.end() || !isCause(node, nodes[upstream->second])) continue;
      has_cause = true;
      if (seen[upstream->second]) continue;
      seen[upstream->second] = true;
      from.push_back(upstream->second);
    }
    if (next > 0 || !has_cause) (has_cause ? links : ends).push_back(from[next]);
  }
  for (size_t i = 0; i < links.size() && i < kLinksShown; ++i) say(nodeLine(nodes[links[i]]));
  if (links.size() > kLinksShown) say(fmt::format("and {} more", links.size() - kLinksShown));
  for (size_t i = 0; i < ends.size() && i < kEndsShown; ++i) {
    const api::NodeView& node = nodes[ends[i]];
    if (ends[i] != start) say(nodeLine(node));
    run(subRunOf(node));
  }
  if (ends.size() > kEndsShown) say(fmt::format("and {} more", ends.size() - kEndsShown));
}

// What keeps a run from its end, or made it fail, without what only follows from that.
void CauseChain::unfinished(const std::vector<api::NodeView>& nodes) {
  size_t shown = 0;
  size_t more = 0;
  for (const api::NodeView& node : nodes) {
    const TaskState& state = node.task.record.state;
    const bool failed = state.status == TaskStatus::Terminated ||
                        (state.status == TaskStatus::Failed && !state.ignored);
    if (ended(node) ? !failed : waitsForNeeds(node)) continue;
    if (shown == kEndsShown) {
      ++more;
      continue;
    }
    ++shown;
    say(nodeLine(node));
    run(subRunOf(node));
  }
  if (more > 0) say(fmt::format("and {} more", more));
}

void CauseChain::run(RunId id) {
  if (id == 0 || full() || !seen_.insert(id).second) return;
  const auto view = source_.run(id);
  if (!view.ok()) return say(fmt::format("run {} can't be looked at: {}", id, view.error().text()));
  say(runLine(*view));
  const RunStatus status = view->record.state.status;
  if (status == RunStatus::Waiting) {
    return run(source_.ahead(id));
  }
  if (status == RunStatus::Finished || status == RunStatus::Skipped) return;
  const auto nodes = source_.nodes(id);
  if (nodes.ok()) unfinished(*nodes);
}

void CauseChain::behindTask(RunId run_id, const std::string& name) {
  seen_.insert(run_id);
  const auto nodes = source_.nodes(run_id);
  if (!nodes.ok()) return;
  for (size_t i = 0; i < nodes->size(); ++i) {
    if ((*nodes)[i].task.record.name == name) return follow(*nodes, i);
  }
}

void CauseChain::behindRun(const api::RunView& view, const std::vector<api::NodeView>& nodes) {
  const RunId id = view.record.state.id;
  seen_.insert(id);
  if (view.record.state.status == RunStatus::Waiting) {
    return run(source_.ahead(id));
  }
  for (const api::NodeView& node : nodes) run(subRunOf(node));
}

}  // namespace baton::master
