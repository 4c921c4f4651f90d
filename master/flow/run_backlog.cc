// What is too much for one event of the dispatcher: it is done a part at a time, so that heartbeats
// and everybody else get their turn in between, however much a definition asks for at once.
#include <algorithm>

#include "master/flow/run_turn.h"

namespace baton::master {
namespace {

// Units of work of one event of the dispatcher: some tens of milliseconds. What can't be divided
// may go beyond them: the rows of one run (10,000 tasks), the reading of one definition (1 MB).
constexpr size_t kUnitsPerEvent = 4'000;

}  // namespace

bool RunEngine::hasRoom() {
  const uint64_t event = context_.dispatcher.progress();
  if (std::exchange(spent_at_, event) != event) spent_ = 0;
  return spent_ < kUnitsPerEvent;
}

void RunEngine::spend(size_t units) {
  (void)hasRoom();
  spent_ += units;
}

size_t RunEngine::resolvingCost(const LiveRun& run, NodeIndex node) {
  const flow::FlowSpec& spec = run.version->spec;
  const size_t params = run.params.size() + run.project.size() + spec.params.size();
  return 1 + (params + spec.tasks[node].params.size()) / 4;
}

void RunEngine::leaveForLater(const Step& step) {
  // What ends goes before what begins, or a tree could grow faster than it is stopped.
  if (step.what == Step::What::EndTasks) {
    backlog_.push_front(step);
  } else {
    backlog_.push_back(step);
  }
  if (!std::exchange(working_off_, true)) context_.dispatcher.post([this] { workOff(); });
}

void RunEngine::workOff() {
  while (open_ && !backlog_.empty() && hasRoom()) {
    const Step step = backlog_.front();
    backlog_.pop_front();
    spend(1);
    Operation operation;
    {
      const Turn turn(*this, operation);
      doStep(operation, step);
    }
    context_.writer.submit(std::move(operation));
  }
  working_off_ = open_ && !backlog_.empty();
  if (!working_off_) return;
  // Behind the commit: what is decided must not pile up before a slow database.
  Operation behind;
  behind.then([this] { context_.dispatcher.post([this] { workOff(); }); });
  context_.writer.submit(std::move(behind));
}

void RunEngine::doStep(Operation& operation, const Step& step) {
  LiveRun* run = flows_.findRun(step.run);
  if (run == nullptr) return;
  const RunStatus status = run->record.state.status;
  switch (step.what) {
    case Step::What::Begin:
      if (status == RunStatus::Waiting) begin(operation, *run);
      return;
    case Step::What::LetGo:
      if (run->progress->state(step.node) == NodeState::Ready) letGo(operation, *run, step.node);
      return;
    case Step::What::Carry: {
      LiveTask* task = taskOf(*run, step.node);
      if (task != nullptr) carryAgain(operation, *run, *task);
      return;
    }
    case Step::What::EndTasks:
      if (status == RunStatus::Terminating) endTasks(operation, *run);
      return;
    case Step::What::CarryOn:
      return carryOn(operation, *run);
  }
}

}  // namespace baton::master
