#include "tests/simulation/heartbeat/heartbeat_run.h"
#include "tests/support/chance.h"

#include <fmt/format.h>

namespace baton::test {

using master::api::TaskCommand;

namespace {

constexpr Millis kH{1'000};
constexpr Micros kChaos{Seconds(14)};
// Longest way back: an attempt of 8 s, its retries, a lost runner, a long silence.
constexpr Micros kCalm{Seconds(90)};
constexpr size_t kWorkers = 3;
constexpr size_t kSlots = 2;
constexpr size_t kTasksMax = 24;

}  // namespace

HeartbeatRun::HeartbeatRun(uint64_t seed, RunScenario scenario, master::Metrics& metrics,
                           master::api::WebhookPort& webhooks)
    : world_(seed),
      clock_(world_),
      scenario_(scenario),
      ledger_(database_, clock_),
      metrics_(metrics),
      webhooks_(webhooks) {
  const LimitRecord limit{.kind = LimitKind::Group, .name = "g", .max = kSimGroupLimit};
  database_.direct().limits[{limit.kind, limit.name}] = limit;
  ledger_.givenUp = [this](TaskId id, int32_t attempt) {
    SimTerm* term = leader();
    if (term == nullptr) return false;
    const master::LiveTask* task = term->rig().live.findTask(id);
    return task == nullptr || !task->attempt || task->attempt->number != attempt;
  };
  for (size_t i = 0; i < kWorkers; ++i) {
    workers_.push_back(
        std::make_unique<SimWorker>(world_, ledger_, fmt::format("w{}", i), kSlots, kH,
                                    [this](SimWorker& from, size_t slot, HeartbeatRequest request) {
                                      send(from, slot, std::move(request));
                                    }));
    known_.push_back(nullptr);
    SimWorker& worker = *workers_.back();
    worker.on_given_up = [this, i] {
      known_[i] = nullptr;
      workers_[i]->onMaster(false);
    };
    worker.startDaemon();
  }
}

RunCounts HeartbeatRun::run() {
  chaos_end_ = world_.now() + kChaos;
  takeOver();
  for (size_t i = 0; i < kWorkers; ++i) find(i);
  submitLoop();
  commandLoop();
  world_.after(Millis(300), [this] { faultLoop(); });
  if (scenario_.bad_database) databaseLoop();
  while (chaos() && ledger_.failure().empty()) world_.runUntil(world_.now() + Seconds(1));
  calmDown();
  const BootTime end = world_.now() + kCalm;
  while (world_.now() < end && ledger_.failure().empty()) {
    world_.runUntil(world_.now() + Seconds(1));
    if (ledger_.allEnded() && leader() != nullptr) break;
  }
  if (ledger_.failure().empty()) ledger_.checkEnd();
  for (const auto& term : terms_) ledger_.fail(term->failure());
  counts_.failure = ledger_.failure();
  counts_.tasks = ledger_.accepted();
  counts_.starts = ledger_.starts();
  counts_.takeovers = terms_.size() - 1;
  counts_.lost = ledger_.closedBy(FailureReason::RunnerLost);
  counts_.stopped = ledger_.closedAs(AttemptStatus::Terminated);
  counts_.resets = ledger_.closedBy(FailureReason::RunnerReset);
  return counts_;
}

// ---------------------------------------------------------------------------------- masters

void HeartbeatRun::takeOver() {
  const Epoch epoch = database_.epoch() + static_cast<Epoch>(world_.random.between(1, 3));
  database_.rule(epoch);
  ledger_.tell("epoch {} begins", epoch);
  master::ActiveOptions options;
  options.heartbeat = kH;
  options.recover_threads = 1;
  options.running_max = test::chance(world_.random, 0.2) ? 3 : 0;
  auto term = std::make_unique<SimTerm>(
      world_, TermRig::Setup{clock_, database_, metrics_, webhooks_, options, epoch});
  SimTerm* self = term.get();
  term->openAfter(world_.between(1'000, chaos() ? 900'000 : 50'000), [this, self] {
    if (terms_.back().get() == self) takeOver();
  });
  // The deposed one does not know yet, and acts on.
  if (!terms_.empty()) {
    SimTerm* old = terms_.back().get();
    world_.after(world_.between(0, 3'000'000), [old] { old->close(); });
  }
  terms_.push_back(std::move(term));
}

void HeartbeatRun::loseMaster() {
  SimTerm& old = *terms_.back();
  const int64_t how = world_.random.between(0, 3);
  if (how == 0) old.crash();
  if (how == 1) old.crashInCommit();
  if (how == 2) old.pause(world_.between(100'000, 4'000'000));
  world_.after(world_.between(5'000, 1'500'000), [this] { takeOver(); });
}

SimTerm* HeartbeatRun::leader() {
  SimTerm* newest = terms_.back().get();
  return newest->open() ? newest : nullptr;
}

// ------------------------------------------------------------------------------ the network

std::optional<Micros> HeartbeatRun::passage(const SimWorker& worker) {
  if (!worker.linkUp()) return std::nullopt;
  if (!chaos() || !scenario_.bad_network) return world_.between(100, 2'000);
  if (test::chance(world_.random, 0.08)) return std::nullopt;
  if (test::chance(world_.random, 0.05)) return world_.between(0, 3'000'000);
  return world_.between(100, 20'000);
}

void HeartbeatRun::send(SimWorker& from, size_t slot, HeartbeatRequest request) {
  const size_t index = static_cast<size_t>(from.id().back() - '0');
  SimTerm* to = known_[index];
  if (to == nullptr) return;
  if (test::chance(world_.random, 0.02)) {
    const auto again = parseHeartbeatRequest(heartbeatRequestToJson(request), request.runner_id);
    if (!again.ok()) return ledger_.fail("a request does not parse: " + again.error().text());
    request = *again;
  }
  const bool doubled = chaos() && scenario_.bad_network && test::chance(world_.random, 0.08);
  for (int copy = 0; copy < (doubled ? 2 : 1); ++copy) {
    const auto delay = passage(from);
    if (!delay) continue;
    // A process that was elected again has the address of its older term.
    const bool follows = test::chance(world_.random, 0.3);
    world_.after(*delay, [this, &from, slot, request, to, follows] {
      deliver(from, slot, request, follows ? terms_.back().get() : to);
    });
  }
}

void HeartbeatRun::deliver(SimWorker& from, size_t slot, const HeartbeatRequest& request,
                           SimTerm* to) {
  const uint64_t generation = from.generation();
  const uint64_t seq = *request.seq;
  auto reply = [this, &from, slot, generation, seq](const Result<HeartbeatReply>& result) {
    const bool doubled = chaos() && scenario_.bad_network && test::chance(world_.random, 0.05);
    for (int copy = 0; copy < (doubled ? 2 : 1); ++copy) {
      const auto delay = passage(from);
      if (!delay) continue;
      world_.after(*delay, [this, &from, slot, generation, seq, result] {
        answer(from, slot, generation, seq, result);
      });
    }
  };
  if (to->dead()) {
    reply(Error(ErrorCode::NotActive, "connection refused"));
  } else {
    to->heartbeat(request, std::move(reply));
  }
}

void HeartbeatRun::answer(SimWorker& to, size_t slot, uint64_t generation, uint64_t seq,
                          const Result<HeartbeatReply>& result) {
  if (!to.running()) return;
  if (result.ok()) return to.onReply(slot, *result);
  const ErrorCode code = result.error().code();
  if (code == ErrorCode::PermissionDenied || code == ErrorCode::InvalidArgument) {
    ledger_.fail("a runner was refused: " + result.error().text());
  }
  to.onNoReply(generation, slot, seq, code == ErrorCode::Conflict ? kH : Millis(0));
  if (code != ErrorCode::NotActive || generation != to.generation()) return;
  const size_t index = static_cast<size_t>(to.id().back() - '0');
  if (known_[index] == nullptr) return;
  known_[index] = nullptr;
  to.onMaster(false);
}

// Each worker looks for the active master, and may find one that only believes to be it.
void HeartbeatRun::find(size_t index) {
  SimWorker& worker = *workers_[index];
  world_.after(world_.between(20'000, 300'000), [this, index] { find(index); });
  if (!worker.running() || !worker.linkUp()) return;
  SimTerm* known = worker.knowsMaster() ? known_[index] : nullptr;
  const auto count = static_cast<int64_t>(terms_.size());
  const int64_t age = test::chance(world_.random, 0.7) ? 0 : world_.random.between(0, 2);
  SimTerm* seen = terms_[static_cast<size_t>(std::max<int64_t>(0, count - 1 - age))].get();
  if (seen->dead() || seen == known) return;
  if (known != nullptr && known->epoch() > seen->epoch()) return;
  known_[index] = seen;
  worker.onMaster(true);
}

// ----------------------------------------------------------------------------------- people

void HeartbeatRun::submitLoop() {
  if (submitted_ >= kTasksMax || !chaos()) return;
  submit();
  world_.after(world_.between(5'000, 900'000), [this] { submitLoop(); });
}

void HeartbeatRun::submit() {
  SimTerm* term = leader();
  if (term == nullptr) return;
  ++submitted_;
  TaskSpec spec;
  spec.name = "t";
  spec.command = {"x"};
  spec.policy.retry.max = world_.random.between(0, 2);
  spec.policy.retry.delay = Millis(world_.random.between(0, 500));
  spec.policy.kill_grace = Millis(world_.random.between(1, 400));
  if (test::chance(world_.random, 0.2))
    spec.policy.timeout = Millis(world_.random.between(50, 2'000));
  if (test::chance(world_.random, 0.3)) {
    spec.policy.scope.group = "g";
    spec.policy.scope.weight = world_.random.between(1, kSimGroupLimit);
  }
  if (test::chance(world_.random, 0.1)) spec.policy.labels["nobody"] = "has";
  if (!spec.policy.labels.empty()) spec.policy.dispatch_timeout = Millis(3'000);
  if (test::chance(world_.random, 0.1)) spec.script = std::string(600, 'x');  // Too large to stay.
  if (!spec.script.empty()) spec.kind = "script";
  master::api::Submission submission;
  submission.tasks.push_back(std::move(spec));
  submission.request.principal = "p";
  term->post([this, term, submission = std::move(submission)] {
    term->rig().commands.submit(submission, world_.now(),
                                [this, term](Result<master::api::SubmitAnswer> answer) {
                                  if (!answer.ok() || term->dead()) return;
                                  const Json body = *parseJson(answer->body);
                                  ledger_.onAccepted(*parseTaskId(body["id"].get<std::string>()));
                                });
  });
}

void HeartbeatRun::commandLoop() {
  if (!chaos()) return;
  world_.after(world_.between(50'000, 1'500'000), [this] { commandLoop(); });
  const auto& ids = ledger_.acceptedIds();
  if (ids.empty()) return;
  auto it = ids.begin();
  std::advance(it, world_.random.between(0, static_cast<int64_t>(ids.size()) - 1));
  constexpr std::array kCommands{TaskCommand::Stop,    TaskCommand::Stop,  TaskCommand::Hold,
                                 TaskCommand::Release, TaskCommand::Rerun, TaskCommand::Skip};
  command(*it, kCommands[static_cast<size_t>(world_.random.between(0, 5))]);
}

void HeartbeatRun::command(TaskId id, TaskCommand command) {
  SimTerm* term = leader();
  if (term == nullptr) return;
  // The row is read first, and what it says may be old when the dispatcher gets to it.
  const auto record = std::make_shared<TaskRecord>(database_.direct().tasks.at(id));
  const BootTime read_at = world_.now();
  if (command == TaskCommand::Rerun) ledger_.allowRerun(id);
  world_.after(world_.between(0, 10'000), [=, this] {
    term->post([=, this] {
      const bool ended = isTerminal(record->state.status);
      term->rig().commands.command(id, command, false, {}, ended ? record.get() : nullptr, read_at,
                                   [=, this](const Result<TaskState>& result) {
                                     if (!result.ok() && command == TaskCommand::Rerun) {
                                       ledger_.forbidRerun(id);
                                     }
                                   });
    });
  });
}

// ----------------------------------------------------------------------------------- faults

void HeartbeatRun::faultLoop() {
  if (!chaos()) return;
  oneFault(world_.random.between(0, 9));
  world_.after(world_.between(100'000, 2'500'000), [this] { faultLoop(); });
}

void HeartbeatRun::oneFault(int64_t kind) {
  SimWorker& worker = *workers_[static_cast<size_t>(world_.random.between(0, kWorkers - 1))];
  switch (kind) {
    case 0:
    case 1:
    case 2:
      if (scenario_.takeovers) loseMaster();
      return;
    case 3:
    case 4: {
      const int64_t longest =
          scenario_.long_cuts && test::chance(world_.random, 0.4) ? 6'000 : 1'500;
      return worker.cutLink(world_.now() + Millis(world_.random.between(50, longest)));
    }
    case 5:
      if (SimTerm* term = leader()) term->pause(world_.between(50'000, 2'500'000));
      return;
    case 6:
      if (SimTerm* term = leader()) term->slowDatabase(world_.now() + Seconds(2));
      return;
    case 7:
    case 8:
      if (scenario_.daemons_die && worker.running()) restartDaemon(worker);
      return;
    default:
      if (!worker.running()) return;
      if (scenario_.shepherds_die) {
        worker.killAll();
        if (scenario_.journals_are_lost && test::chance(world_.random, 0.5)) worker.loseJournal();
        world_.after(world_.between(10'000, 5'000'000), [&worker] {
          if (!worker.running()) worker.startDaemon();
        });
      }
  }
}

void HeartbeatRun::restartDaemon(SimWorker& worker) {
  ++counts_.repeated_daemons;
  const bool long_gone = scenario_.long_cuts && test::chance(world_.random, 0.2);
  const Micros down = world_.between(5'000, long_gone ? 5'000'000 : 800'000);
  const auto go = [this, &worker, down] {
    if (!worker.running()) return;
    worker.stopDaemon();
    world_.after(down, [&worker] {
      if (!worker.running()) worker.startDaemon();
    });
  };
  if (test::chance(world_.random, 0.3)) {
    worker.announceLeave(Millis(2'000));
    world_.after(world_.between(1'000, 200'000), go);
  } else {
    go();
  }
}

void HeartbeatRun::databaseLoop() {
  if (!chaos()) return;
  if (!database_.faultsLeft()) {
    const int64_t kind = world_.random.between(0, 3);
    using Point = FakeDatabase::Point;
    if (kind == 0) database_.fail(Point::CommitLost, ErrorCode::Unavailable);
    if (kind == 1) database_.fail(Point::CommitDropped, ErrorCode::Unavailable);
    if (kind == 2) {
      database_.fail(Point::Begin, ErrorCode::Busy, static_cast<int>(world_.random.between(1, 5)));
    }
  }
  world_.after(world_.between(50'000, 1'000'000), [this] { databaseLoop(); });
}

void HeartbeatRun::calmDown() {
  for (const auto& worker : workers_) {
    worker->cutLink(world_.now());
    if (!worker->running()) worker->startDaemon();
  }
  // Whoever leads may be about to die of what was done to it: one more takeover ends all doubt.
  world_.after(Millis(1'600), [this] { takeOver(); });
  // What is held or asks for labels that nobody has is ended by hand.
  world_.after(Seconds(4), [this] {
    for (const auto& [id, task] : database_.direct().tasks) {
      if (task.state.hold) command(id, TaskCommand::Release);
    }
  });
}

}  // namespace baton::test
