// The answer to "why does it wait": the part of TaskEngine that looks at limits and changes
// nothing.
#include <algorithm>

#include "master/task/task_engine.h"

namespace baton::master {
namespace {

std::string sinceReserved(const LimitGate& group, TaskId behind) {
  return fmt::format("group {}: {} of {} units are in use, and what is free is kept for task {}",
                     group.name, group.in_use, *group.max(), behind);
}

std::string windowText(const LimitGate& gate, const LimitGate* of_flow, WallTime now) {
  std::string who = &gate == of_flow ? "its flow starts tasks" : "it starts";
  const size_t blank = gate.name.find(' ');  // Of "22:00-06:00 Europe/Berlin".
  std::string when = gate.name;
  if (gate.kind == LimitKind::Group) {
    who = fmt::format("group {} starts tasks", gate.name);
    when = fmt::format("{} ({})", gate.row->window, gate.row->time_zone);
  } else if (blank != gate.name.npos) {
    when = fmt::format("{} ({})", gate.name.substr(0, blank), gate.name.substr(blank + 1));
  }
  if (!gate.window) return fmt::format("{} at {}, which this master does not know", who, when);
  return fmt::format("{} at {}, next at {}", who, when,
                     formatRfc3339(gate.window->nextChange(now)));
}

std::string whyNoRunner(LabelMap labels) {
  std::string kind;
  std::erase_if(labels, [&](const auto& label) {
    if (!label.first.starts_with(kKindLabelPrefix)) return false;
    kind = label.first.substr(kKindLabelPrefix.size());
    return true;
  });
  const std::string others =
      labels.empty() ? std::string() : fmt::format("the labels {}", dumpJson(Json(labels)));
  if (kind.empty()) return others.empty() ? "no runner has reported" : "no runner has " + others;
  const std::string text =
      fmt::format("no runner announces the kind {}{}", kind,
                  kind == "http" ? "" : fmt::format(" (plug-in baton-task-{})", kind));
  return others.empty() ? text : fmt::format("{} and has {}", text, others);
}

}  // namespace

// What many looks at the queue have in common.
struct TaskEngine::QueueLook {
  explicit QueueLook(const LiveState& live) {
    const bool any_full = std::any_of(live.host_use.begin(), live.host_use.end(),
                                      [](const auto& host) { return !host.second.hasRoom(); });
    if (!any_full) return;
    for (const auto& [id, runner] : live.runners) {
      if (runner.held && runner.held->idle && !runner.worker->use->hasRoom()) {
        kept_back[runner.class_id] = runner.worker;
      }
    }
  }
  // Classes with a runner that is idle because its host may run no more, and its worker.
  std::map<LabelClasses::ClassId, const Worker*> kept_back;
  struct Match {
    bool fits = false;    // A runner that reports.
    bool usable = false;  // One whose worker takes tasks.
  };
  std::map<LabelClasses::Signature, Match> matches;  // Looked at already.
};

TaskEngine::Waiting TaskEngine::whyQueued(QueueLook& look, LaneId id, QueuePlace place,
                                          bool with_text) const {
  const ReadyQueue::LaneView lane = live_.ready.view(id);
  const auto [at, is_new] = look.matches.try_emplace(lane.signature);
  QueueLook::Match& match = at->second;
  for (LabelClasses::ClassId c = 0; is_new && c < live_.present.size() && !match.usable; ++c) {
    if (!live_.present[c] || !live_.classes.fits(lane.signature, c)) continue;
    match = {.fits = true, .usable = live_.usable[c]};
  }
  Waiting why;
  const auto because = [&](WaitingCode code, auto text) {
    why.code = code;
    if (with_text) why.text = text();
    return why;
  };
  const ReadyQueue::Refusal refusal = live_.ready.refusalOf(id, place);
  if (refusal.never) {
    return because(WaitingCode::GroupLimit, [&] {
      return "can never run: " + LimitGates::whyNever(*refusal.gate, lane.weight);
    });
  }
  if (!match.fits) {
    return because(WaitingCode::NoRunnerMatches,
                   [&] { return whyNoRunner(live_.classes.wanted(lane.signature)); });
  }
  if (!match.usable) {
    return because(WaitingCode::HostExcluded, [&] { return withheldText(lane.signature); });
  }
  switch (refusal.code) {
    case WaitingCode::Degraded:
      return because(refusal.code, [&] {
        const auto min = refusal.gate == nullptr ? live_.gates.clusterMinPriority()
                                                 : refusal.gate->row->min_priority;
        return fmt::format("only tasks of priority {} and above are started{}, this one has {}",
                           toString(*min),
                           refusal.gate == nullptr ? "" : " in group " + refusal.gate->name,
                           toString(lane.priority));
      });
    case WaitingCode::Window:
      return because(refusal.code, [&] {
        return windowText(*refusal.gate, lane.flow_window, context_.clock.wallNow());
      });
    case WaitingCode::GroupLimit:
      return because(refusal.code, [&] {
        const LimitGate& group = *refusal.gate;
        if (refusal.behind != 0) return sinceReserved(group, refusal.behind);
        return fmt::format("group {}: {} of {} units are in use, this task needs {}", group.name,
                           group.in_use, *group.max(), lane.weight);
      });
    case WaitingCode::FlowLimit:
    case WaitingCode::UserLimit:
      return because(refusal.code, [&] {
        if (const std::string never = LimitGates::whyNever(*refusal.gate, lane.weight);
            !never.empty()) {
          return "can never run: " + never;
        }
        return fmt::format("{} {}: {} tasks run, the limit is {}", toString(refusal.gate->kind),
                           refusal.gate->name, refusal.gate->in_use, *refusal.gate->max());
      });
    default:
      break;
  }
  const uint64_t running_max = live_.gates.runningMax(context_.options.running_max);
  if (running_max != 0 && live_.open_attempts >= running_max) {
    return because(WaitingCode::ClusterLimit, [&] {
      return fmt::format("{} tasks run, the limit of the cluster is {}", live_.open_attempts,
                         running_max);
    });
  }
  for (const auto& [class_id, worker] : look.kept_back) {
    if (!live_.classes.fits(lane.signature, class_id)) continue;
    return because(WaitingCode::HostLimit, [&, kept = worker] {
      if (*kept->use->max == 0) {
        return fmt::format("host {} has a limit of 0: nothing runs there", kept->host);
      }
      return fmt::format("host {}: {} tasks run, the limit is {}", kept->host, kept->use->running,
                         *kept->use->max);
    });
  }
  return because(WaitingCode::AllRunnersBusy, [&] {
    std::string text = "every runner that fits is busy";
    if (lane.group != nullptr && !lane.group->max()) {
      text += fmt::format("; group {} has no limit", lane.group->name);
    }
    return text;
  });
}

std::string TaskEngine::withheldText(LabelClasses::Signature signature) const {
  constexpr size_t kNamedMax = 3;
  std::string text;
  size_t named = 0;
  for (const auto& [id, hosts] : live_.withheld) {
    if (!live_.classes.fits(signature, id)) continue;
    for (const std::string& host : hosts) {
      if (named++ < kNamedMax) text += (text.empty() ? "" : "; ") + host;
    }
  }
  return fmt::format("no host that fits takes tasks: {}{}", text,
                     named >= kNamedMax ? "; and maybe others" : "");
}

TaskEngine::Waiting TaskEngine::whyWaiting(const LiveTask& task) const {
  switch (task.state.status) {
    case TaskStatus::Created:
      if (task.part && task.part->gated) return runs_->whyNodeWaits(task);
      if (task.state.hold)
        return {WaitingCode::Hold, fmt::format("held until task release {}", task.state.id)};
      return {WaitingCode::NotBefore,
              fmt::format("starts at {}", formatRfc3339(task.state.not_before))};
    case TaskStatus::Retrying:
      return {WaitingCode::RetryDelay,
              fmt::format("extra attempt {} of {} at {}", task.state.retries_used,
                          task.policy->retry.max, formatRfc3339(task.state.not_before))};
    case TaskStatus::Queued: {
      QueueLook look(live_);
      const QueuePlace place = live_.ready.placeOf(task.lane, task.place_at, task.state.id);
      return whyQueued(look, task.lane, place, true);
    }
    case TaskStatus::Running:
      return task.part && task.part->no_runner ? runs_->whyNodeWaits(task) : Waiting{};
    default:
      return {};
  }
}

std::map<WaitingCode, uint64_t> TaskEngine::waitingByReason() const {
  const auto count = [&](TaskStatus status) {
    return live_.by_status[static_cast<size_t>(status)];
  };
  std::map<WaitingCode, uint64_t> waiting{
      {WaitingCode::Hold, live_.held},
      {WaitingCode::Dependency, 0},
      {WaitingCode::Event, 0},
      {WaitingCode::RunPaused, 0},
      {WaitingCode::NotBefore, count(TaskStatus::Created) - live_.held - live_.gated},
      {WaitingCode::RetryDelay, count(TaskStatus::Retrying)}};
  for (const WaitingCode code :
       {WaitingCode::NoRunnerMatches, WaitingCode::HostExcluded, WaitingCode::ClusterLimit,
        WaitingCode::AllRunnersBusy, WaitingCode::GroupLimit, WaitingCode::FlowLimit,
        WaitingCode::UserLimit, WaitingCode::HostLimit, WaitingCode::Window,
        WaitingCode::Degraded}) {
    waiting.emplace(code, 0);
  }
  if (runs_ != nullptr) runs_->countWaiting(waiting);
  QueueLook look(live_);
  live_.ready.eachLane([&](LaneId lane, QueuePlace first, size_t tasks) {
    waiting[whyQueued(look, lane, first, false).code] += tasks;
  });
  return waiting;
}

}  // namespace baton::master
