#include "master/state/watch_log.h"

#include <algorithm>
#include <unordered_map>

namespace baton::master {
namespace {

using api::WatchEvent;
using api::WatchFilter;
using api::WatchPosition;

// Looked at in one go, so that a watcher that wants little never holds the writer up.
constexpr size_t kScannedMax = 4'096;

bool wants(const WatchFilter& filter, const WatchEvent& event) {
  if (!filter.kinds.empty() &&
      std::find(filter.kinds.begin(), filter.kinds.end(), event.kind()) == filter.kinds.end()) {
    return false;
  }
  if (filter.run != 0 && event.runId() != filter.run) return false;
  if (filter.task != 0) {
    const auto* task = std::get_if<api::WatchedTask>(&event.body());
    if (task == nullptr || task->state.id != filter.task) return false;
  }
  return filter.flow.empty() || nameKey(event.flow()) == filter.flow;
}

// Without the text for people, which may be long and is not told.
template <typename State>
State withoutProse(State state) {
  std::string().swap(state.reason_text);
  return state;
}

// Turns the rows of a transaction into events.
class EventMaker {
 public:
  EventMaker(Epoch epoch, uint64_t batch, const ChangeSet& changes)
      : at_{epoch, batch, 0}, changes_(changes) {
    for (const ChangeSet::Place& place : changes.places) {
      flows_[place.run] = &place.flow;
      if (place.task != 0) places_[place.task] = &place;
    }
  }

  std::vector<std::shared_ptr<const WatchEvent>> make() {
    for (const FlowRecord& flow : changes_.flows) put(0, flow.name, flow);
    for (const RunRecord& run : changes_.new_runs) {
      put(run.state.id, run.flow,
          api::WatchedRun{withoutProse(run.state), true, run.trigger, run.plan_time});
    }
    for (const RunState& run : changes_.run_states) {
      const auto flow = flows_.find(run.id);
      put(run.id, flow == flows_.end() ? std::string() : *flow->second,
          api::WatchedRun{.state = withoutProse(run)});
    }
    for (const TaskRecord& task : changes_.new_tasks) putTask(task.state, task.name);
    for (const TaskState& task : changes_.task_states) putTask(task, {});
    return std::move(made_);
  }

 private:
  void putTask(const TaskState& state, std::string made_as) {
    const auto place = places_.find(state.id);
    const bool of_run = place != places_.end();
    put(of_run ? place->second->run : 0, of_run ? place->second->flow : std::string(),
        api::WatchedTask{withoutProse(state), std::move(made_as)});
  }
  void put(RunId run, std::string flow, WatchEvent::Body body) {
    ++at_.index;
    made_.push_back(std::make_shared<const WatchEvent>(at_, run, std::move(flow), std::move(body)));
  }

  WatchPosition at_;
  const ChangeSet& changes_;
  std::unordered_map<TaskId, const ChangeSet::Place*> places_;
  std::unordered_map<RunId, const std::string*> flows_;
  std::vector<std::shared_ptr<const WatchEvent>> made_;
};

}  // namespace

void WatchLog::begin(Epoch epoch) {
  std::lock_guard lock(mutex_);
  events_.clear();
  begun_ = floor_ = head_ = {epoch, 0, 0};
  leading_ = true;
  tell();
}

void WatchLog::end() {
  std::lock_guard lock(mutex_);
  leading_ = false;
  tell();
}

void WatchLog::append(Epoch epoch, uint64_t batch, const ChangeSet& changes) {
  // Made outside the lock: watchers go on meanwhile.
  auto made = EventMaker(epoch, batch, changes).make();
  if (made.empty()) return;
  std::lock_guard lock(mutex_);
  head_ = made.back()->at();
  events_.insert(events_.end(), std::make_move_iterator(made.begin()),
                 std::make_move_iterator(made.end()));
  while (events_.size() > kept_) {
    floor_ = events_.front()->at();
    events_.pop_front();
  }
  tell();
}

void WatchLog::tell() {
  if (news_) news_();
}

size_t WatchLog::keptEvents() {
  std::lock_guard lock(mutex_);
  return events_.size();
}

Result<WatchPosition> WatchLog::newest() {
  std::lock_guard lock(mutex_);
  if (!leading_) return Error(ErrorCode::NotActive, "this master does not lead");
  return head_;
}

WatchLog::Look WatchLog::look(const WatchFilter& filter, WatchPosition& at, size_t max) {
  Look found;
  std::lock_guard lock(mutex_);
  if (at < floor_ || at > head_) {
    // A place that nobody gave is as good as one that is not kept.
    found.end = at < begun_ ? Look::End::Takeover : Look::End::Lost;
    return found;
  }
  auto event = std::upper_bound(
      events_.begin(), events_.end(), at,
      [](const WatchPosition& place, const EventRef& other) { return place < other->at(); });
  for (size_t looked = 0;
       event != events_.end() && looked < kScannedMax && found.events.size() < max; ++looked) {
    at = (*event)->at();
    if (wants(filter, **event)) found.events.push_back(*event);
    ++event;
  }
  found.more = event != events_.end();
  if (!found.more && !leading_) found.end = Look::End::Left;
  return found;
}

void WatchLog::setNews(std::function<void()> news) {
  std::lock_guard lock(mutex_);
  news_ = std::move(news);
}

}  // namespace baton::master
