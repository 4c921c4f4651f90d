#include "master/task/picker.h"

#include "common/base/log.h"

namespace baton::master {
namespace {

// Specifications fetched in one go: enough for a second of dispatching at full speed.
constexpr size_t kFetchAhead = 512;
// Dispatches of one match; more follow behind the next burst.
constexpr int kMatchesMax = 1'024;

}  // namespace

Picker::Picker(TermContext& context, TaskEngine& engine, HeartbeatDesk& desk, ReadWorker& reads)
    : context_(context), engine_(engine), desk_(desk), reads_(reads) {}

bool Picker::mayPick() const {
  const uint64_t running_max = context_.live.gates.runningMax(context_.options.running_max);
  return open_ && context_.writer.acceptsWork() &&
         (running_max == 0 || context_.live.open_attempts < running_max);
}

LiveTask* Picker::next(const Runner& runner) {
  if (!mayPick() || runner.open_task != 0 || !runner.worker->admits() ||
      runner.leaving_until > context_.clock.bootNow()) {
    return nullptr;
  }
  const auto candidate = context_.live.ready.first(runner.class_id);
  if (!candidate || !ensureSpec(*candidate)) return nullptr;
  return context_.live.findTask(candidate->place.id);
}

Order Picker::orderOf(const LiveTask& task) const {
  Order order;
  order.key = engine_.openKey(task);
  order.run_part = *task.spec;
  order.timeout = task.policy->timeout;
  order.kill_grace = task.policy->kill_grace;
  return order;
}

void Picker::match() {
  for (int i = 0; i < kMatchesMax && desk_.anyWaiting() && mayPick(); ++i) {
    std::optional<ReadyQueue::Candidate> best;
    desk_.eachClass([&](LabelClasses::ClassId class_id) {
      const auto candidate = context_.live.ready.first(class_id);
      if (candidate && (!best || candidate->before(*best))) best = candidate;
    });
    if (!best) {
      if (context_.live.ready.endIdleReservations()) continue;
      return;
    }
    if (!context_.live.ready.confirm(*best)) continue;
    if (!ensureSpec(*best)) return;
    Runner* runner = desk_.leastLoaded(best->signature);
    LiveTask& task = *context_.live.findTask(best->place.id);
    auto ticket = desk_.take(*runner);
    Operation operation;
    engine_.dispatch(operation, task, *runner, ticket->pair);
    desk_.answer(operation, std::move(*ticket), Command::RunNew, orderOf(task));
    context_.writer.submit(std::move(operation));
  }
}

bool Picker::ensureSpec(const ReadyQueue::Candidate& candidate) {
  if (context_.live.findTask(candidate.place.id)->spec) return true;
  if (fetching_.contains(candidate.place.id)) return false;
  std::vector<TaskId> missing;
  for (const TaskId id : context_.live.ready.ahead(candidate, kFetchAhead)) {
    if (!context_.live.findTask(id)->spec && !fetching_.contains(id)) missing.push_back(id);
  }
  fetch(std::move(missing), {});
  return false;
}

void Picker::withSpec(TaskId id, std::function<void()> then) {
  const LiveTask* task = context_.live.findTask(id);
  if (task == nullptr || task->spec) {
    then();
    return;
  }
  fetch({id}, std::move(then));
}

void Picker::fetch(std::vector<TaskId> ids, std::function<void()> then) {
  fetching_.insert(ids.begin(), ids.end());
  reads_.submit([this, ids = std::move(ids), then = std::move(then)](dao::Reader& reader) {
    auto read = reader.specs(ids);
    context_.dispatcher.post([this, ids, then, read = std::move(read)]() mutable {
      for (const TaskId id : ids) fetching_.erase(id);
      if (!read.ok()) {
        // The queue asks again at the next match; an order waits for its runner's next beat.
        logWarn("specs_not_read", field("error", read.error().text()));
        return;
      }
      for (auto& [id, text] : *read) {
        LiveTask* task = context_.live.findTask(id);
        if (task != nullptr) task->spec = std::make_shared<const std::string>(std::move(text));
      }
      if (then) then();
    });
  });
}

}  // namespace baton::master
