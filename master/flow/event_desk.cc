#include "master/flow/event_desk.h"

#include <algorithm>

#include "common/base/log.h"

namespace baton::master {
namespace {

constexpr Millis kLookUpRetry{1'000};  // After a read that failed.
constexpr size_t kEndedPerTurn = 1'000;

EventSubject subjectOf(const flow::EventWait& wait, WallTime plan_time, const TimeZone& zone) {
  EventSubject subject;
  subject.zone = zone.name();
  if (wait.by_key) {
    subject.kind = EventSubject::Kind::Key;
    subject.source = wait.source.name;
    subject.detail = wait.key;
    return subject;
  }
  subject.range = flow::eventRange(wait.window.name, plan_time, zone);
  if (wait.source.flow.empty()) {
    subject.kind = EventSubject::Kind::HappenedAt;
    subject.source = wait.source.name;
    return subject;
  }
  subject.kind = wait.source.task.empty() ? EventSubject::Kind::Run : EventSubject::Kind::Task;
  subject.source = nameKey(wait.source.flow);
  subject.detail = wait.source.task;
  subject.all = wait.window.all;
  return subject;
}

}  // namespace

EventDesk::EventDesk(TermContext& context, FlowState& flows, ReadWorker& reads,
                     IdAllocator& event_ids)
    : context_(context), flows_(flows), reads_(reads), event_ids_(event_ids) {}

void EventDesk::open() {
  open_ = true;
  for (auto& [key, flow] : flows_.flows) {
    if (flow.record.online && !trigger_of_.contains(key)) index(flow);
  }
  for (const auto& [subject, watch] : watches_) lookUp(subject);
}

// ------------------------------------------------------------------------------------- waits

void EventDesk::wait(Operation& operation, const LiveTask& task, const flow::EventWait& wait,
                     WallTime plan_time, const TimeZone& zone) {
  forget(task.state.id);
  const EventSubject subject = subjectOf(wait, plan_time, zone);
  const auto [it, inserted] = watches_.try_emplace(subject);
  if (inserted) {
    it->second.question.subject = subject;
    it->second.question.zone = zone;
    if (subject.ofFlow()) {
      Awaited& awaited = awaited_[subject.source];
      ++awaited.watches;
      awaited.flag->store(true);
    }
  }
  it->second.tasks.insert(task.state.id);
  waiting_[task.state.id] = it;
  operation.then(
      [this, subject] { context_.dispatcher.post([this, subject] { lookUp(subject); }); });
}

void EventDesk::forget(TaskId task) {
  const auto waiting = waiting_.find(task);
  if (waiting == waiting_.end()) return;
  const Watches::iterator watch = waiting->second;
  waiting_.erase(waiting);
  watch->second.tasks.erase(task);
  if (watch->second.tasks.empty()) drop(watch);
}

void EventDesk::drop(Watches::iterator watch) {
  if (watch->first.ofFlow()) {
    Awaited& awaited = awaited_[watch->first.source];
    if (--awaited.watches == 0) awaited.flag->store(false);
  }
  watches_.erase(watch);
}

std::string EventDesk::whyWaiting(TaskId task) const {
  const auto waiting = waiting_.find(task);
  if (waiting == waiting_.end()) return {};
  const Watch& watch = waiting->second->second;
  EventSubject subject = watch.question.subject;
  const LiveFlow* flow = subject.ofFlow() ? flows_.findFlow(subject.source) : nullptr;
  if (flow != nullptr) subject.source = flow->record.name;  // In its own case.
  return fmt::format("waits for {}: {}", describe(subject, watch.question.zone),
                     watch.text.empty() ? "not looked up yet" : watch.text);
}

void EventDesk::lookUp(const EventSubject& subject) {
  const auto it = watches_.find(subject);
  if (it == watches_.end() || !open_) return;
  Watch& watch = it->second;
  watch.again = watch.reading;
  if (watch.reading) return;
  watch.reading = true;
  EventQuestion& question = watch.question;
  if (subject.ofFlow()) {
    LiveFlow* flow = flows_.findFlow(subject.source);
    question.flow_exists = flow != nullptr && !flow->record.deleted;
    question.schedule.reset();
    if (subject.all && question.flow_exists && flows_.newestOf(*flow) && flow->recurrence) {
      question.schedule =
          SourceSchedule{*flow->recurrence, std::nullopt, flow->record.last_instant};
      const int64_t count = flow->newest->spec.schedule->count;
      if (count > 0) question.schedule->left = std::max<int64_t>(0, count - flow->record.fired);
    }
  }
  reads_.submit([this, question](dao::Reader& reader) {
    auto answer = lookUpEvent(reader, question);
    context_.dispatcher.post([this, subject = question.subject, answer = std::move(answer)] {
      onAnswer(subject, answer);
    });
  });
}

void EventDesk::onAnswer(const EventSubject& subject, Result<EventAnswer> answer) {
  const auto it = watches_.find(subject);
  if (it == watches_.end()) return;  // Nobody waits any more.
  Watch& watch = it->second;
  watch.reading = false;
  if (!open_) return;
  if (!answer.ok()) {
    logWarn("event_not_read", field("for", describe(subject, watch.question.zone)),
            field("error", answer.error().text()));
    watch.text = "it can't be read: " + answer.error().message();
    return retryLater(subject);
  }
  watch.text = answer->text;
  if (!answer->met) {
    if (watch.again) lookUp(subject);
    return;
  }
  Operation operation;
  // What follows from an end may begin waits and forget others. Very many may wait for one event: a
  // part of them ends in each turn, and each part looks again.
  const size_t count = std::min(watch.tasks.size(), kEndedPerTurn);
  std::vector<TaskId> tasks;
  std::copy_n(watch.tasks.begin(), count, std::back_inserter(tasks));
  if (watch.tasks.size() > count) {
    operation.then(
        [this, subject] { context_.dispatcher.post([this, subject] { lookUp(subject); }); });
  }
  for (const TaskId id : tasks) {
    const auto waiting = waiting_.find(id);
    if (waiting == waiting_.end() || waiting->second->first != subject) continue;
    LiveTask* task = context_.live.findTask(id);
    forget(id);
    // One that is to end otherwise (TERMINATING) is for whoever ends it.
    if (task == nullptr || task->state.status != TaskStatus::Running) continue;
    tasks_->done(operation, *task, FailureReason::None, {}, answer->outputs);
  }
  context_.writer.submit(std::move(operation));
}

void EventDesk::retryLater(const EventSubject& subject) {
  context_.dispatcher.callAt(context_.clock.bootNow() + kLookUpRetry,
                             [this, subject] { lookUp(subject); });
}

void EventDesk::lookAgain(Kind kind, const std::string& source, const std::string& detail,
                          WallTime at) {
  EventSubject first;
  first.kind = kind;
  first.source = source;
  first.detail = detail;
  first.range = {WallTime::min(), WallTime::min()};
  for (auto it = watches_.lower_bound(first); it != watches_.end(); ++it) {
    const EventSubject& subject = it->first;
    if (subject.kind != kind || subject.source != source || subject.detail != detail) return;
    if (kind != Kind::Key && subject.range.from > at) return;
    if (kind == Kind::Key || subject.range.contains(at)) lookUp(subject);
  }
}

void EventDesk::lookAgain(const std::string& flow_key, WallTime at) {
  for (const Kind kind : {Kind::Run, Kind::Task}) {
    EventSubject first;
    first.kind = kind;
    first.source = flow_key;
    first.range = {WallTime::min(), WallTime::min()};
    for (auto it = watches_.lower_bound(first); it != watches_.end(); ++it) {
      const EventSubject& subject = it->first;
      if (subject.kind != kind || subject.source != flow_key) break;
      if (subject.range.contains(at)) lookUp(subject);
    }
  }
}

void EventDesk::tellWaits(Operation& operation, Kind kind, const std::string& source,
                          const std::string& detail, WallTime at) {
  operation.then([this, flag = awaited_[source].flag, kind, source, detail, at] {
    if (!flag->load()) return;
    context_.dispatcher.post(
        [this, kind, source, detail, at] { lookAgain(kind, source, detail, at); });
  });
}

// ------------------------------------------------------------------------------ what happened

void EventDesk::onRunMoved(Operation& operation, const RunRecord& run) {
  const std::string key = nameKey(run.flow);
  operation.then([this, flag = awaited_[key].flag, key, at = run.plan_time] {
    if (!flag->load()) return;
    context_.dispatcher.post([this, key, at] { lookAgain(key, at); });
  });
}

void EventDesk::onRunEnded(Operation& operation, const LiveRun& run) {
  const RunRecord& record = run.record;
  const std::string key = nameKey(record.flow);
  tellWaits(operation, Kind::Run, key, {}, record.plan_time);
  if (record.state.status != RunStatus::Finished) return;
  fire(operation, firedByEnd(key, {}),
       fmt::format("run:{}:{}", record.state.id, record.state.reruns), record.plan_time, {});
}

void EventDesk::onNodeEnded(Operation& operation, const LiveRun& run, const NodeEnd& end) {
  const std::string key = nameKey(run.record.flow);
  const std::string& task = run.version->spec.tasks[end.node].name;
  tellWaits(operation, Kind::Task, key, task, run.record.plan_time);
  if (end.status != TaskStatus::Finished) return;
  // Not every kind counts attempts, and each end begins a run.
  fire(operation, firedByEnd(key, task),
       fmt::format("task:{}:{}:{}", end.task, end.attempt, run.record.state.reruns),
       run.record.plan_time, {});
}

}  // namespace baton::master
