// The places of runs beside each other: overlap policies, the queue of a flow, backfills, and the
// numbers that a run needs to begin.
#include <algorithm>

#include "common/base/log.h"
#include "common/base/mutant.h"
#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

constexpr Millis kNumbersRetry{20};
constexpr Millis kReadRetry{200};

}  // namespace

size_t RunEngine::placesOf(LiveFlow& flow) const {
  const auto newest = flows_.newestOf(flow);
  if (newest == nullptr) return 1;
  const flow::OverlapSpec& overlap = newest->spec.overlap;
  if (mutant("overlap_ignored")) return SIZE_MAX;
  return overlap.policy == flow::OverlapSpec::Policy::Parallel
             ? static_cast<size_t>(overlap.max_runs)
             : 1;
}

// Whether all that it does is to wait for a run of its own flow.
bool RunEngine::onlyWaitsForItsFlow(const LiveRun& run) const {
  const std::set<NodeIndex>& waits = run.version->self_waits;
  if (waits.empty() || !run.progress) return false;
  bool waiting = false;
  for (NodeIndex node = 0; node < run.tasks.size(); ++node) {
    if (run.progress->state(node) != NodeState::Ready) continue;
    if (!waits.contains(node)) return false;
    waiting = true;
  }
  return waiting;
}

// A run that only waits for one of its own flow must not keep the place from what it waits for:
// runs of earlier plan times go beside it.
bool RunEngine::hasPlaceFor(LiveFlow& flow, const LiveRun& run) const {
  const size_t places = placesOf(flow);
  size_t taken = flow.running.size();
  for (const RunId id : flow.running) {
    if (taken < places) return true;
    const LiveRun& other = flows_.runs.at(id);
    const bool later = run.record.plan_time < other.record.plan_time;
    if (later && onlyWaitsForItsFlow(other)) --taken;
  }
  return taken < places;
}

// Backfills go one behind the other, each in its own order of plan times.
WaitingRank RunEngine::rankOf(const RunRecord& record) {
  const RunClass at = classOf(record);
  const WallTime time = at == RunClass::Backfill ? record.created_at : record.plan_time;
  return {at, -static_cast<int>(record.state.priority), toMicros(time), record.state.id};
}

bool RunEngine::waitAhead(const LiveFlow& flow, RunClass of, size_t count) {
  if (count == 0) return true;
  if (flow.waiting.size() < count) return false;
  return std::get<RunClass>(std::next(flow.waiting.begin(), count - 1)->first) <= of;
}

void RunEngine::enqueue(LiveRun& run) {
  flowOf(run).waiting.emplace(rankOf(run.record), run.record.state.id);
}

void RunEngine::admit(Operation& operation, LiveRun& run) {
  const RunRecord& record = run.record;
  const RunId id = record.state.id;
  // A part of another run takes no place: its flow could wait for itself.
  if (record.parent_run != 0) {
    flows_.sub_runs[record.parent_task] = id;
    return begin(operation, run);
  }
  LiveFlow& flow = flowOf(run);
  freed_.insert(nameKey(record.flow));
  if (record.backfill != 0) {
    LiveBackfill& backfill = flows_.backfills.at(record.backfill);
    backfill.rest.push_back(id);
    return offer(backfill);
  }
  const flow::OverlapSpec& overlap = run.version->spec.overlap;
  const RunClass at = classOf(record);
  const bool taken = !hasPlaceFor(flow, run);
  if (!taken && !waitAhead(flow, at, 1)) return takePlace(operation, run);
  // What is due now waits for what made up for the past, and is not lost for it.
  const bool behind_backlog =
      !waitAhead(flow, at, 1) &&
      std::all_of(flow.running.begin(), flow.running.end(),
                  [&](RunId other) { return classOf(flows_.runs.at(other).record) > at; });
  if (overlap.policy == flow::OverlapSpec::Policy::Skip && !behind_backlog) {
    run.record.state.reason = RunReason::OverlapSkip;
    run.record.state.reason_text = flow.running.empty()
                                       ? std::string("another run waits already")
                                       : fmt::format("run {} was under way", *flow.running.begin());
    return finish(operation, run, RunStatus::Skipped);
  }
  if (overlap.policy == flow::OverlapSpec::Policy::CancelRunning) {
    if (const RunId current = at == RunClass::Compensation ? currentRunOf(flow) : 0; current != 0) {
      run.record.state.reason = RunReason::OverlapCancel;
      run.record.state.reason_text = fmt::format("run {} has its place", current);
      return finish(operation, run, RunStatus::Skipped);
    }
    const std::set<RunId> running = flow.running;
    const auto waiting = flow.waiting;
    const std::string text = fmt::format("run {} takes its place", id);
    enqueue(run);
    for (const RunId other : running) {
      LiveRun* older = flows_.findRun(other);  // Null: it ended with one before it.
      if (older == nullptr || older->record.state.status == RunStatus::Terminating) continue;
      const Status stopped = stop(operation, *older, RunReason::OverlapCancel, text);
      if (!stopped.ok()) logWarn("run_not_stopped", field("error", stopped.error().message()));
    }
    for (const auto& [rank, other] : waiting) {
      LiveRun* older = flows_.findRun(other);
      if (older == nullptr || older->record.backfill != 0) continue;
      giveUp(operation, *older, RunReason::OverlapCancel, text);
    }
    return;
  }
  // What stands behind a run refuses it nothing.
  if (waitAhead(flow, at, static_cast<size_t>(overlap.max_queued))) {
    run.record.state.reason = RunReason::QueueFull;
    run.record.state.reason_text =
        fmt::format("overlap.max_queued is {}, and so many runs wait already", overlap.max_queued);
    return finish(operation, run, RunStatus::Skipped);
  }
  enqueue(run);
}

RunId RunEngine::currentRunOf(const LiveFlow& flow) const {
  for (const RunId id : flow.running) {
    if (classOf(flows_.runs.at(id).record) == RunClass::Current) return id;
  }
  return waitAhead(flow, RunClass::Current, 1) ? flow.waiting.begin()->second : 0;
}

void RunEngine::takePlace(Operation& operation, LiveRun& run) {
  flowOf(run).running.insert(run.record.state.id);
  begin(operation, run);
}

void RunEngine::giveUp(Operation& operation, LiveRun& run, RunReason why, const std::string& text) {
  if (!run.progress) {
    run.record.state.reason = why;
    run.record.state.reason_text = text;
    return finish(operation, run, RunStatus::Skipped);
  }
  // A rerun has tasks that wait with it, and an end of before: none of that is lost in a SKIPPED.
  const Status stopped = stop(operation, run, why, text);
  if (!stopped.ok()) logWarn("run_not_stopped", field("error", stopped.error().message()));
}

void RunEngine::waitAgain(Operation& operation, LiveRun& run) {
  RunState& state = run.record.state;
  // What was done in time is not late because it is done once more.
  const bool in_time = state.status == RunStatus::Finished && !state.late;
  if (in_time && state.due_at <= context_.clock.wallNow()) state.due_at = {};
  state.status = RunStatus::Waiting;
  state.finished_at = {};
  state.started_at = {};  // Its time limit begins again.
  operation.store(state, run.record.flow);
  armDeadline(run);
  events_.onRunMoved(operation, run.record);
  // While a backfill is under way, one of its runs is a part of it, also the second time.
  const auto backfill = flows_.backfills.find(run.record.backfill);
  if (run.record.backfill != 0 && backfill != flows_.backfills.end()) {
    backfill->second.offered.insert(state.id);
  }
  if (run.record.parent_run != 0) return begin(operation, run);
  enqueue(run);
  freed_.insert(nameKey(run.record.flow));
}

void RunEngine::onDefined(Operation& operation, const std::string& flow_key) {
  const Turn turn(*this, operation);
  freed_.insert(flow_key);
}

void RunEngine::fillPlaces(Operation& operation, const std::string& flow_key) {
  LiveFlow* flow = flows_.findFlow(flow_key);
  while (flow != nullptr && !flow->waiting.empty()) {
    // Only where a run waits for its own flow does one further back find a place that is none for
    // those before it.
    const bool beside = std::any_of(flow->running.begin(), flow->running.end(), [this](RunId id) {
      return onlyWaitsForItsFlow(flows_.runs.at(id));
    });
    const auto last = beside ? flow->waiting.end() : std::next(flow->waiting.begin());
    const auto first = std::find_if(flow->waiting.begin(), last, [&](const auto& one) {
      return hasPlaceFor(*flow, flows_.runs.at(one.second));
    });
    if (first == last) return;
    LiveRun& run = *flows_.findRun(first->second);
    flow->waiting.erase(first);
    carryOn(operation, run);
    takePlace(operation, run);
  }
}

void RunEngine::leavePlace(const LiveRun& run) {
  LiveFlow& flow = flowOf(run);
  flow.running.erase(run.record.state.id);
  flow.waiting.erase(rankOf(run.record));
  freed_.insert(nameKey(run.record.flow));
}

void RunEngine::offer(LiveBackfill& backfill) {
  while (!backfill.rest.empty() &&
         backfill.offered.size() < static_cast<size_t>(backfill.record.parallel)) {
    LiveRun* run = flows_.findRun(backfill.rest.front());
    backfill.rest.pop_front();
    if (run == nullptr) continue;
    backfill.offered.insert(run->record.state.id);
    enqueue(*run);
    freed_.insert(nameKey(run->record.flow));
  }
}

void RunEngine::leaveBackfill(Operation& operation, const LiveRun& run, RunStatus status) {
  const auto at = flows_.backfills.find(run.record.backfill);
  if (run.record.backfill == 0 || at == flows_.backfills.end()) return;
  LiveBackfill& backfill = at->second;
  const RunId id = run.record.state.id;
  const bool was_offered = backfill.offered.erase(id) > 0;
  if (!was_offered) std::erase(backfill.rest, id);
  // One that made room for what is due now has not failed.
  const bool failed = was_offered && status != RunStatus::Finished &&
                      status != RunStatus::Skipped &&
                      run.record.state.reason != RunReason::OverlapCancel;
  if (failed && backfill.record.stop_on_failure) {
    std::vector<RunId> others(backfill.rest.begin(), backfill.rest.end());
    for (const RunId other : backfill.offered) {
      // A rerun was asked for by hand.
      const RunState& state = flows_.findRun(other)->record.state;
      if (state.status == RunStatus::Waiting && state.reruns == 0) others.push_back(other);
    }
    const std::string text = fmt::format("run {} of the backfill ended {}", id, toString(status));
    flows_.backfills.erase(at);  // Nothing of it begins any more.
    for (const RunId other : others) {
      LiveRun* waiting = flows_.findRun(other);
      if (waiting == nullptr) continue;
      giveUp(operation, *waiting, RunReason::BackfillStopped, text);
    }
    return;
  }
  offer(backfill);
  if (backfill.rest.empty() && backfill.offered.empty()) flows_.backfills.erase(at);
}

bool RunEngine::looksBack(Operation& operation, LiveRun& run) {
  if (run.looked_back) return true;
  const RunRecord& record = run.record;
  const WallTime newest = flowOf(run).record.last_success;
  if (newest < record.plan_time) {
    run.record.state.prev_success = newest;
    return run.looked_back = true;
  }
  // Later plan times ended well before: a backfill, or somebody ran ahead.
  operation.then([this, id = record.state.id, key = nameKey(record.flow), at = record.plan_time] {
    reads_.submit([this, id, key, at](dao::Reader& reader) {
      auto previous = reader.lastSuccess(key, at);
      context_.dispatcher.post(
          [this, id, previous = std::move(previous)] { onLookedBack(id, previous); });
    });
  });
  return false;
}

void RunEngine::onLookedBack(RunId id, const Result<WallTime>& previous) {
  LiveRun* run = flows_.findRun(id);
  if (run == nullptr || run->progress) return;
  if (previous.ok()) {
    run->record.state.prev_success = *previous;
    run->looked_back = true;
    unbegun_.push_back(id);
    return retry();
  }
  logWarn("last_success_unread", field("run", id), field("error", previous.error().message()));
  context_.dispatcher.callAt(context_.clock.bootNow() + kReadRetry, [this, id] {
    unbegun_.push_back(id);
    retry();
  });
}

void RunEngine::retryLater() {
  if (std::exchange(retrying_, true)) return;
  refill(context_.task_ids);
  context_.dispatcher.callAt(context_.clock.bootNow() + kNumbersRetry, [this] {
    retrying_ = false;
    retry();
  });
}

void RunEngine::retry() {
  Operation operation;
  {
    const Turn turn(*this, operation);
    std::vector<RunId> runs;
    std::swap(runs, unbegun_);
    for (const RunId id : runs) {
      LiveRun* run = flows_.findRun(id);
      if (run != nullptr && run->record.state.status == RunStatus::Waiting) begin(operation, *run);
    }
  }
  context_.writer.submit(std::move(operation));
}

}  // namespace baton::master
