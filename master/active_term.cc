#include "master/active_term.h"

#include <algorithm>
#include <future>

#include "common/base/log.h"
#include "common/base/stop_point.h"
#include "master/live_state_sink.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr uint64_t kTaskIdStock = 100'000;
constexpr uint64_t kOutboxIdStock = 100'000;
constexpr uint64_t kRunIdStock = 20'000;
constexpr uint64_t kEventIdStock = 20'000;
constexpr int kCommandTriesMax = 5;

}  // namespace

// Recovery as a child: it has no thread of its own and nothing to stop.
class ActiveTerm::RecoveryStep final : public Service {
 public:
  explicit RecoveryStep(ActiveTerm& term) : Service("recovery"), term_(term) {}

 private:
  Status onStart() override { return term_.recoverState(); }
  void onStop() noexcept override {}
  ActiveTerm& term_;
};

// A part that lives on the dispatcher thread: starts with its gate closed, and closes it there.
class ActiveTerm::Part final : public Service {
 public:
  Part(std::string name, ActiveTerm& term, std::function<void()> close)
      : Service(std::move(name)), term_(term), close_(std::move(close)) {}

 private:
  Status onStart() override { return {}; }
  void onStop() noexcept override { term_.onDispatcher(close_); }
  ActiveTerm& term_;
  const std::function<void()> close_;
};

ActiveTerm::ActiveTerm(TermEnvironment environment, ActiveOptions options,
                       ha::Leadership leadership, std::stop_token stop)
    : CompositeService("active term"),
      environment_(std::move(environment)),
      options_(std::move(options)),
      leadership_(std::move(leadership)),
      stop_(std::move(stop)),
      listening_since_(std::max(leadership_.bumped_at, environment_.clock.bootNow())),
      epoch_(leadership_.epoch),
      database_writer_(environment_.database.makeWriter()),
      task_ids_("task_id", kTaskIdStock),
      outbox_ids_("outbox_id", kOutboxIdStock),
      run_ids_("run_id", kRunIdStock),
      event_ids_("event_id", kEventIdStock),
      writer_(*database_writer_, environment_.clock, epoch_, *this, {}),
      dispatcher_(environment_.clock, {},
                  [this] {
                    picker_.match();
                    writer_.publish();
                  }),
      context_{environment_.clock,
               options_,
               epoch_,
               leadership_.cluster_guid,
               dispatcher_,
               writer_,
               live_,
               task_ids_,
               outbox_ids_,
               environment_.metrics,
               publisher_},
      reads_(environment_.database.makeReader()),
      callbacker_(context_, environment_.webhooks, environment_.callback_signing_key,
                  [this] { return environment_.listener.mayAct(); }),
      engine_(context_, callbacker_),
      desk_(context_),
      registry_(context_),
      picker_(context_, engine_, desk_, reads_),
      heartbeats_(context_, engine_, registry_, desk_, picker_, reads_,
                  [this](Epoch seen) { environment_.listener.onTermHigherEpoch(seen); }),
      watchdog_(context_, engine_, registry_),
      updater_(context_),
      commands_(context_, engine_),
      limits_(context_),
      events_(context_, flows_, reads_, event_ids_),
      runs_(context_, flows_, engine_, events_, reads_, run_ids_, *this),
      planner_(context_, flows_, runs_, reads_),
      flow_commands_(context_, flows_, runs_, planner_, events_, run_ids_, reads_,
                     commands_.recentKeys()),
      calendar_commands_(context_, flows_, planner_, events_),
      param_commands_(context_, flows_),
      run_orders_(context_, flows_, runs_, engine_, reads_),
      host_commands_(context_, registry_, desk_) {
  publisher_.subscribe(environment_.metrics);
  callbacker_.setEngine(engine_);
  engine_.setRunListener(runs_);
  events_.setEngine(engine_);
  events_.setTrigger([this](Operation& operation, const std::string& flow_key,
                            const std::string& trigger_key, WallTime plan_time,
                            const flow::ParamMap& params) {
    runs_.start(operation, {.flow = flow_key,
                            .trigger = RunTrigger::Event,
                            .trigger_key = trigger_key,
                            .plan_time = plan_time,
                            .params = params});
  });
  watchdog_.setOnWallClockStep([this] {
    limits_.onWallClockStep();
    runs_.onWallClockStep();
    planner_.onWallClockStep();
  });
  engine_.setOnStopAsked([this](Operation& operation, const LiveTask& task) {
    heartbeats_.resetRunnerOf(operation, task);
  });
  commands_.setOrderOfRun([this](const TaskRecord& task, api::TaskCommand command, bool force,
                                 const api::Request& request, api::Callback<TaskState> done) {
    run_orders_.orderTask(task, command, force, request, std::move(done));
  });
  registry_.setListeningSince(listening_since_);
  recovery_ = std::make_unique<RecoveryStep>(*this);
  const auto part = [this](const char* name, std::function<void()> close) {
    parts_.push_back(std::make_unique<Part>(name, *this, std::move(close)));
  };
  part("flows", [this] { closeFlows(); });
  part("picker", [this] { picker_.close(); });
  part("heartbeat handler", [this] { heartbeats_.close(); });
  part("callback-er", [this] { callbacker_.close(); });
  part("watchdog", [this] { watchdog_.stop(); });
  part("asynchronous updater", [this] { updater_.stop(); });
  part("commands", [this] {
    commands_.close();
    host_commands_.close();
    limits_.close();
  });
  // Timers that are due already must not run before all parts are open.
  dispatcher_.freeze();
  add(writer_);
  add(reads_);
  add(*recovery_);
  add(dispatcher_);
  for (const auto& child : parts_) add(*child);
}

ActiveTerm::~ActiveTerm() { stop(); }

Status ActiveTerm::onStart() {
  // Numbers come first: the writer's own batches continue behind these.
  RETURN_IF_ERROR(task_ids_.prime(*database_writer_, epoch_, 1));
  RETURN_IF_ERROR(outbox_ids_.prime(*database_writer_, epoch_, 2));
  RETURN_IF_ERROR(run_ids_.prime(*database_writer_, epoch_, 3));
  RETURN_IF_ERROR(event_ids_.prime(*database_writer_, epoch_, 4));
  writer_.setFirstBatch(5);
  RETURN_IF_ERROR(CompositeService::onStart());
  if (stop_.stop_requested()) return Error(ErrorCode::Cancelled, "promotion was stopped");
  environment_.watch.begin(epoch_);
  stopPoint("before_gates");
  RETURN_IF_ERROR(openGates());
  open_.store(true, std::memory_order_release);
  large_flows_ =
      NamedThread("large flows", [this](const std::stop_token& stop) { readLargeFlows(stop); });
  return {};
}

// Whoever froze the term while it started resumes it later; until then the gates stand open before
// a dispatcher that stands still.
Status ActiveTerm::openGates() {
  const auto opened = std::make_shared<std::promise<void>>();
  begun_.store(true, std::memory_order_release);
  dispatcher_.resume([this, opened] {
    // What an end leads to is known before anything ends.
    limits_.open();
    events_.open();
    runs_.carryOn();
    finishOrphanedCallbacks();
    heartbeats_.openGate();
    picker_.open();
    callbacker_.open();
    watchdog_.start(listening_since_);
    updater_.start();
    planner_.open();
    commands_.open();
    flow_commands_.open();
    calendar_commands_.open();
    param_commands_.open();
    run_orders_.open();
    host_commands_.open();
    if (frozen_at_us_.load() != 0) dispatcher_.freeze();
    opened->set_value();
  });
  const auto done = opened->get_future();
  while (done.wait_for(Millis(50)) != std::future_status::ready) {
    if (stop_.stop_requested()) return Error(ErrorCode::Cancelled, "promotion was stopped");
  }
  return {};
}

void ActiveTerm::onStop() noexcept {
  open_.store(false, std::memory_order_release);
  // Gates first: nothing that still waits in the queue is decided by a master that has been
  // deposed.
  if (begun_.load(std::memory_order_acquire)) dispatcher_.resume([this] { closeGates(); });
  large_flows_.requestStopAndJoin();
  CompositeService::onStop();
  environment_.watch.end();
}

void ActiveTerm::closeFlows() {
  run_orders_.close();
  flow_commands_.close();
  calendar_commands_.close();
  param_commands_.close();
  planner_.close();
  runs_.close();
  events_.close();
}

void ActiveTerm::closeGates() {
  commands_.close();
  closeFlows();
  host_commands_.close();
  limits_.close();
  updater_.stop();
  watchdog_.stop();
  callbacker_.close();
  picker_.close();
  heartbeats_.close();
}

Status ActiveTerm::recoverState() {
  const BootTime began = environment_.clock.bootNow();
  LiveStateSink sink(live_, flows_, engine_, runs_, registry_, callbacker_, limits_);
  recover::RecoverService recovery(environment_.database, options_.recover_threads);
  ASSIGN_OR_RETURN(recovered_, recovery.recover(sink, stop_));
  load_ms_ = std::chrono::duration_cast<Millis>(environment_.clock.bootNow() - began).count();
  logInfo("recovered", field("epoch", leadership_.epoch), field("tasks", recovered_.tasks),
          field("in_doubt", recovered_.attempts_in_doubt), field("callbacks", recovered_.callbacks),
          field("runners", recovered_.runners), field("flows", recovered_.flows),
          field("runs", recovered_.runs), field("ms", load_ms_));
  return {};
}

void ActiveTerm::finishOrphanedCallbacks() {
  std::vector<TaskId> orphans;
  for (const auto& [id, task] : live_.tasks) {
    if (task.state.status == TaskStatus::Callback && !callbacker_.hasAwaited(id)) {
      orphans.push_back(id);
    }
  }
  for (const TaskId id : orphans) {
    Operation operation;
    engine_.callbackDone(operation, *live_.findTask(id), true);
    writer_.submit(std::move(operation));
  }
}

void ActiveTerm::onDispatcher(std::function<void()> change) {
  if (!begun_.load(std::memory_order_acquire)) return;  // Nothing is open.
  dispatcher_.resume({});                               // A frozen thread would never get to it.
  inspect(std::move(change), Seconds(2));
}

void ActiveTerm::heartbeat(HeartbeatRequest request, api::HeartbeatReplyFn reply) {
  dispatcher_.post([this, request = std::move(request), reply = std::move(reply)]() mutable {
    heartbeats_.handle(std::move(request), std::move(reply));
  });
}

void ActiveTerm::heartbeatGone(const std::string& runner_id, const HeartbeatPair& pair) {
  dispatcher_.post([this, runner_id, pair] { heartbeats_.gone(runner_id, pair); });
}

void ActiveTerm::submit(api::Submission submission, BootTime looked_up_at,
                        api::Callback<api::SubmitAnswer> done) {
  if (const Status fits = checkStorable(submission); !fits.ok()) return done(fits.error());
  auto shared = std::make_shared<api::Submission>(std::move(submission));
  const bool queued = dispatcher_.tryPost([this, shared, looked_up_at, done] {
    commands_.submit(std::move(*shared), looked_up_at, done);
  });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

Status ActiveTerm::checkStorable(const api::Submission& submission) const {
  const size_t row_bytes_max = database_writer_->rowBytesMax();
  // Quoting doubles a text at most, so the usual submission need not be looked at.
  constexpr size_t kLooked = 16'000'000;
  if (2 * submission.body_bytes + 4'096 <= std::min(kLooked, row_bytes_max)) return {};
  for (const TaskSpec& spec : submission.tasks) {
    RETURN_IF_ERROR(dao::checkSpecFits(dumpJson(runPartToJson(spec)), row_bytes_max));
  }
  return {};
}

void ActiveTerm::command(TaskId id, api::TaskCommand command, bool force, api::Request request,
                         api::Callback<api::TaskView> done) {
  commandWithRow(id, command, force, std::move(request), kCommandTriesMax, std::move(done));
}

void ActiveTerm::commandWithRow(TaskId id, api::TaskCommand command, bool force,
                                api::Request request, int tries,
                                api::Callback<api::TaskView> done) {
  reads_.submit([=, this](dao::Reader& reader) {
    const BootTime read_at = environment_.clock.bootNow();
    auto row = reader.task(id);
    if (!row.ok()) return done(row.error());
    if (!row->has_value()) return done(Error::notFound("there is no task {}", id));
    auto record = std::make_shared<TaskRecord>(std::move(**row));
    const bool queued = dispatcher_.tryPost([=, this] {
      const bool ended = isTerminal(record->state.status);
      commands_.command(id, command, force, request, ended ? record.get() : nullptr, read_at,
                        [=, this](Result<TaskState> state) {
                          if (state.ok()) {
                            api::TaskView view{*record, WaitingCode::None, {}, false};
                            view.record.state = *state;
                            if (command == api::TaskCommand::Rerun) view.record.outputs.clear();
                            return done(view);
                          }
                          if (state.error().code() == ErrorCode::Busy && tries > 1) {
                            return commandWithRow(id, command, force, request, tries - 1, done);
                          }
                          done(state.error());
                        });
    });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  });
}

void ActiveTerm::recordSync(api::Request request, api::Callback<api::SyncBegun> done) {
  const bool queued = dispatcher_.tryPost([this, request = std::move(request), done] {
    if (const Status ready = writer_.acceptance(); !ready.ok()) return done(ready.error());
    Operation operation;
    Audit(request, environment_.clock.wallNow(), "cluster.sync", options_.node_id)
        .putAlone(operation);
    operation.then([done, epoch = epoch_.load()] { done(api::SyncBegun{epoch}); });
    writer_.submit(std::move(operation));
  });
  if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
}

void ActiveTerm::freeze() {
  int64_t unset = 0;
  frozen_at_us_.compare_exchange_strong(unset, toMicros(environment_.clock.bootNow()));
  dispatcher_.freeze();
  writer_.freeze();
}

bool ActiveTerm::resume(const ha::Leadership& leadership) {
  if (writer_.halted()) return false;
  epoch_.store(leadership.epoch);
  const int64_t since = frozen_at_us_.exchange(0);
  const Micros gap =
      since == 0 ? Micros(0) : Micros(toMicros(environment_.clock.bootNow()) - since);
  writer_.resume();
  // Else it stands still until the gates open.
  if (begun_.load(std::memory_order_acquire)) {
    dispatcher_.resume([this, gap] { watchdog_.onGap(gap); });
  }
  return true;
}

bool ActiveTerm::drain(BootTime deadline) {
  // The permission to act is gone already; what was decided under it is still to be committed, and
  // the fence sees to it that this is right.
  writer_.resume();
  if (!begun_.load(std::memory_order_acquire)) return writer_.flush(deadline);
  dispatcher_.resume([this] {
    commands_.close();
    closeFlows();
    host_commands_.close();
    limits_.close();
    picker_.close();
    callbacker_.close();
  });
  const bool closed = inspect([this] { writer_.publish(); }, Millis(500));
  return closed && writer_.flush(deadline);
}

void ActiveTerm::onRunEnded(Operation& operation, const LiveRun& run) {
  callbacker_.onRunOutcome(operation, run.record, run.version->spec.callbacks);
}

void ActiveTerm::onWriterFenced() { environment_.listener.onTermFenced(); }
void ActiveTerm::onWriterBug(const std::string& what) { environment_.listener.onTermBug(what); }

void ActiveTerm::onDatabaseOutage(const Error&) { environment_.listener.onTermDatabase(false); }

void ActiveTerm::onDatabaseBack(Micros gap) {
  environment_.listener.onTermDatabase(true);
  dispatcher_.post([this, gap] { watchdog_.onGap(gap); });
}

void ActiveTerm::onCommitted(size_t operations, size_t rows, Micros took) {
  environment_.metrics.committed(operations, rows, static_cast<double>(took.count()) / 1e6);
}

void ActiveTerm::onChanged(Epoch epoch, uint64_t batch, const ChangeSet& changes) {
  environment_.watch.append(epoch, batch, changes);
}

Json ActiveTerm::flowsJson() const {
  std::map<std::string, uint64_t> runs;
  size_t in_places = 0;
  size_t for_places = 0;
  for (const auto& [id, run] : flows_.runs) ++runs[std::string(toString(run.record.state.status))];
  for (const auto& [key, flow] : flows_.flows) {
    in_places += flow.running.size();
    for_places += flow.waiting.size();
  }
  return {{"known", flows_.flows.size()},
          {"live_runs", runs},
          {"runs_in_places", in_places},
          {"runs_waiting_for_places", for_places},
          {"sub_runs", flows_.sub_runs.size()},
          {"backfills", flows_.backfills.size()},
          {"event_waits", events_.waits()},
          {"planner",
           {{"planned", planner_.planned()},
            {"behind", planner_.behind()},
            {"lag_ms", planner_.lag().count() / 1000}}}};
}

std::string ActiveTerm::internalsJson() const {
  Json tasks = Json::object();
  for (size_t i = 0; i < live_.by_status.size(); ++i) {
    if (live_.by_status[i] > 0) {
      tasks[std::string(toString(static_cast<TaskStatus>(i)))] = live_.by_status[i];
    }
  }
  const BootTime now = environment_.clock.bootNow();
  const Micros suppressed = std::max(Micros(0), registry_.suppressedUntil() - now);
  return dumpJson({{"epoch", epoch_.load()},
                   {"live_tasks", tasks},
                   {"queues", lanesJson()},
                   {"gates", gatesJson()},
                   {"open_attempts", live_.open_attempts},
                   {"runners", live_.runners.size()},
                   {"runner_classes", live_.classes.classCount()},
                   {"label_sets", live_.classes.signatureCount()},
                   {"lanes", live_.ready.laneCount()},
                   {"policies", live_.policies.size()},
                   {"held_heartbeats", desk_.heldCount()},
                   {"event_queue", dispatcher_.queueLength()},
                   {"writer",
                    {{"pending_operations", writer_.pendingOperations()},
                     {"batch", writer_.batchNumber()},
                     {"accepts_work", writer_.acceptsWork()}}},
                   {"callbacks_pending", callbacker_.pending()},
                   {"flows", flowsJson()},
                   {"watch_events_kept", environment_.watch.keptEvents()},
                   {"task_ids_in_hand", task_ids_.available()},
                   {"lost_check_suppressed_ms", suppressed.count() / 1000}});
}

void ActiveTerm::refreshGauges() {
  Metrics& metrics = environment_.metrics;
  for (size_t i = 0; i < live_.by_status.size(); ++i) {
    const auto status = static_cast<TaskStatus>(i);
    if (!isTerminal(status)) metrics.setTasks(status, static_cast<double>(live_.by_status[i]));
  }
  for (const auto& [code, count] : engine_.waitingByReason()) {
    metrics.setWaiting(toString(code), static_cast<double>(count));
  }
  std::map<std::string, double> runners{{"idle", 0},    {"busy", 0},    {"lost", 0},
                                        {"unknown", 0}, {"leaving", 0}, {"conflict", 0}};
  for (const auto& [id, runner] : live_.runners) ++runners[registry_.stateOf(runner)];
  for (const auto& [state, count] : runners) metrics.setRunners(state, count);
  for (const auto& [health, count] : registry_.countByHealth()) {
    metrics.setHosts(toString(health), static_cast<double>(count));
  }
  const auto held_back = std::count_if(live_.workers.begin(), live_.workers.end(),
                                       [](const auto& it) { return !it.second.takes_tasks; });
  metrics.setHostsHeldBack(static_cast<double>(held_back));
  for (const auto& [status, count] : engine_.stuckByStatus()) {
    metrics.setStuck(status, static_cast<double>(count));
  }
  metrics.setOutbox(static_cast<double>(callbacker_.pending()),
                    static_cast<double>(callbacker_.oldestAge().count()) / 1e6);
  metrics.setPlanner(static_cast<double>(planner_.planned()),
                     static_cast<double>(planner_.behind()),
                     static_cast<double>(planner_.lag().count()) / 1e6);
}

}  // namespace baton::master
