#include "master/flow/node_words.h"

#include <charconv>

namespace baton::master {
namespace {

constexpr size_t kNeedsShown = 10;

std::string_view wordOf(NodeState state) {
  switch (state) {
    case NodeState::Waiting:
      return "waits";
    case NodeState::Ready:
      return "has not ended";
    case NodeState::Succeeded:
      return "ended FINISHED";
    case NodeState::Failed:
      return "ended FAILED";
    case NodeState::FailedIgnored:
      return "ended FAILED, which counts as success";
    case NodeState::Terminated:
      return "ended TERMINATED";
    case NodeState::Skipped:
      return "was SKIPPED";
  }
  return "";
}

std::string_view wordOf(NeedKind kind) {
  switch (kind) {
    case NeedKind::Success:
      return "success";
    case NeedKind::Failure:
      return "failure";
    case NeedKind::Done:
      break;
  }
  return "done";
}

}  // namespace

NodeState nodeStateOf(TaskStatus status, bool ignore_failure) {
  switch (status) {
    case TaskStatus::Finished:
      return NodeState::Succeeded;
    case TaskStatus::Failed:
      return ignore_failure ? NodeState::FailedIgnored : NodeState::Failed;
    case TaskStatus::Terminated:
      return NodeState::Terminated;
    case TaskStatus::Skipped:
      return NodeState::Skipped;
    default:
      break;
  }
  return NodeState::Waiting;
}

SkipReason skipReasonOf(FailureReason reason) {
  switch (reason) {
    case FailureReason::UpstreamFailed:
      return SkipReason::UpstreamFailed;
    case FailureReason::UpstreamSkipped:
      return SkipReason::UpstreamSkipped;
    case FailureReason::UpstreamSucceeded:
      return SkipReason::UpstreamSucceeded;
    case FailureReason::WhenFalse:
      return SkipReason::WhenFalse;
    case FailureReason::Disabled:
      return SkipReason::Disabled;
    case FailureReason::SkippedByHand:
      return SkipReason::ByOperator;
    case FailureReason::RunStopping:
      return SkipReason::RunStopping;
    default:
      return SkipReason::None;
  }
}

FailureReason failureReasonOf(SkipReason reason) {
  switch (reason) {
    case SkipReason::None:
      return FailureReason::None;
    case SkipReason::Disabled:
      return FailureReason::Disabled;
    case SkipReason::ByOperator:
      return FailureReason::SkippedByHand;
    case SkipReason::WhenFalse:
      return FailureReason::WhenFalse;
    case SkipReason::UpstreamFailed:
      return FailureReason::UpstreamFailed;
    case SkipReason::UpstreamSkipped:
      return FailureReason::UpstreamSkipped;
    case SkipReason::UpstreamSucceeded:
      return FailureReason::UpstreamSucceeded;
    case SkipReason::RunStopping:
      return FailureReason::RunStopping;
  }
  return FailureReason::None;
}

std::map<std::string, std::string> readOutputs(const std::string& text) {
  std::map<std::string, std::string> outputs;
  const auto json = text.empty() ? Result<Json>(Json::object()) : parseJson(text);
  if (!json.ok()) return outputs;
  for (const auto& [key, value] : json->items()) {
    if (value.is_string()) outputs[key] = value.get<std::string>();
  }
  return outputs;
}

std::string outputNoteOf(const TaskState& state) {
  if (state.forced) return "it failed, and was declared a success by hand";
  return state.reason == FailureReason::None ? state.reason_text : std::string();
}

std::string skipText(const FlowVersion& version, const RunProgress& progress, NodeIndex node) {
  const SkipReason reason = progress.skippedFor(node);
  if (reason == SkipReason::Disabled) return "disabled by the definition";
  if (reason == SkipReason::RunStopping) return "its run was stopped";
  if (reason == SkipReason::ByOperator) return "skipped by hand";
  std::string text;
  size_t shown = 0;
  for (const Need& need : version.graph->node(node).needs) {
    if (progress.isMet(need)) continue;
    if (++shown > kNeedsShown) return text + ", …";
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", version.spec.tasks[need.upstream].name,
                        wordOf(progress.state(need.upstream)));
  }
  return text;
}

std::string whyNotFinished(const LiveRun& run) {
  const auto first = [&](auto fits) {
    NodeIndex node = 0;
    while (node < run.tasks.size() && !fits(node)) ++node;
    return node;
  };
  const auto named = [&](NodeIndex node, std::string_view what) {
    return fmt::format("task {} (id {}) {}", run.version->spec.tasks[node].name, run.tasks[node],
                       what);
  };
  const auto is = [&](NodeState state) {
    return first([&, state](NodeIndex node) { return run.progress->state(node) == state; });
  };
  const auto skippedFor = [&](SkipReason reason) {
    return first([&, reason](NodeIndex node) { return run.progress->skipReason(node) == reason; });
  };
  const size_t none = run.tasks.size();
  if (const auto node = is(NodeState::Failed); node < none) return named(node, "failed");
  if (const auto node = is(NodeState::Terminated); node < none) return named(node, "was stopped");
  if (const auto node = skippedFor(SkipReason::RunStopping); node < none) {
    return named(node, "was skipped when the run was stopped, and has not run since");
  }
  if (const auto node = skippedFor(SkipReason::UpstreamFailed); node < none) {
    return named(node, run.progress->skippedFor(node) == SkipReason::UpstreamFailed
                           ? "was skipped for the failure of another, and has not run since"
                           : "was skipped, and has not run though what it needs is there by now");
  }
  return {};
}

Error wrongStatus(const LiveRun& run, std::string_view wanted) {
  return Error::conflict("run {} of {} is {}: {}", run.record.state.id, run.record.flow,
                         toString(run.record.state.status), wanted);
}

std::string_view stopText(RunReason why) {
  switch (why) {
    case RunReason::TaskFailed:
      return "stopped, because another task of its run failed";
    case RunReason::Timeout:
      return "stopped, because the time of its run was over";
    case RunReason::OverlapCancel:
      return "stopped, because a newer run took the place of its run";
    case RunReason::FlowDeleted:
      return "stopped, because its flow was deleted";
    default:
      break;
  }
  return "stopped with its run";
}

std::string openNeedsText(const LiveRun& run, NodeIndex node) {
  std::string text;
  size_t shown = 0;
  for (const Need& need : run.version->graph->node(node).needs) {
    if (hasEnded(run.progress->state(need.upstream))) continue;
    if (++shown > kNeedsShown) return text + ", …";
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({})", run.version->spec.tasks[need.upstream].name, wordOf(need.kind));
  }
  return text;
}

WallTime dueAtOf(const FlowVersion& version, WallTime plan_time) {
  const std::string& text = version.spec.finish_by;  // "06:30", checked.
  if (text.empty()) return {};
  int hour = 0;
  int minute = 0;
  const size_t colon = text.find(':');
  std::from_chars(text.data(), text.data() + colon, hour);
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), minute);
  const auto day = std::chrono::floor<std::chrono::days>(version.zone.civilAt(plan_time));
  const auto on = [&](CivilDay date) {
    return version.zone.instantOf(date + std::chrono::hours(hour) + std::chrono::minutes(minute));
  };
  const WallTime due = on(day);
  return due > plan_time ? due : on(day + std::chrono::days(1));
}

}  // namespace baton::master
