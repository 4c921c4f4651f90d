#pragma once

#include <memory>
#include <string>
#include <utility>

#include "master/flow/calendar_commands.h"
#include "master/flow/flow_commands.h"
#include "master/flow/param_commands.h"
#include "master/flow/run_orders.h"
#include "master/host/host_commands.h"
#include "master/host/watchdog.h"
#include "master/live_state_sink.h"
#include "master/state/async_updater.h"
#include "master/state/state_publisher.h"
#include "master/state/watch_log.h"
#include "master/task/task_commands.h"
#include "tests/support/fake_database.h"

namespace baton::test {

// The parts of one active term wired as ActiveTerm does it, but without threads: step() runs what
// is due on the calling thread, so that a test sees every state between two steps.
class TermRig final : private master::WriterListener, private master::RunWatcher {
 public:
  struct Setup {
    Clock& clock;
    FakeDatabase& database;
    master::Metrics& metrics;
    master::api::WebhookPort& webhooks;
    master::ActiveOptions options;
    Epoch epoch = 1;
    std::string guid = "guid-1";
    std::string signing_key = {};
    uint64_t id_stock = 1'000;
    size_t batch_operations_max = 4'096;  // 1: a commit for each operation.
  };

  explicit TermRig(Setup setup)
      : clock(setup.clock),
        options(std::move(setup.options)),
        guid(std::move(setup.guid)),
        epoch(setup.epoch),
        database_(setup.database),
        database_writer_(database_.makeWriter()),
        listening_since_(clock.bootNow()),
        task_ids("task_id", setup.id_stock),
        outbox_ids("outbox_id", setup.id_stock),
        run_ids("run_id", setup.id_stock),
        event_ids("event_id", setup.id_stock),
        writer(*database_writer_, clock, epoch, *this,
               {.batch_operations_max = setup.batch_operations_max}),
        dispatcher(clock, {},
                   [this] {
                     picker.match();
                     writer.publish();
                   }),
        context{clock, options,  epoch,      guid,          dispatcher, writer,
                live,  task_ids, outbox_ids, setup.metrics, publisher},
        reads(database_.makeReader()),
        callbacker(context, setup.webhooks, std::move(setup.signing_key),
                   [this] { return may_act; }),
        engine(context, callbacker),
        desk(context),
        registry(context),
        picker(context, engine, desk, reads),
        heartbeats(context, engine, registry, desk, picker, reads,
                   [this](Epoch seen) { higher_epoch = seen; }),
        watchdog(context, engine, registry),
        updater(context),
        commands(context, engine),
        limits(context),
        events(context, flows, reads, event_ids),
        runs(context, flows, engine, events, reads, run_ids, *this),
        planner(context, flows, runs, reads),
        flow_commands(context, flows, runs, planner, events, run_ids, reads, commands.recentKeys()),
        calendar_commands(context, flows, planner, events),
        param_commands(context, flows),
        run_orders(context, flows, runs, engine, reads),
        host_commands(context, registry, desk) {
    engine.setRunListener(runs);
    events.setEngine(engine);
    events.setTrigger([this](master::Operation& operation, const std::string& flow_key,
                             const std::string& trigger_key, WallTime plan_time,
                             const flow::ParamMap& params) {
      runs.start(operation, {.flow = flow_key,
                             .trigger = RunTrigger::Event,
                             .trigger_key = trigger_key,
                             .plan_time = plan_time,
                             .params = params});
    });
    watchdog.setOnWallClockStep([this] {
      limits.onWallClockStep();
      runs.onWallClockStep();
      planner.onWallClockStep();
    });
    publisher.subscribe(setup.metrics);
    engine.setOnStopAsked([this](master::Operation& operation, const master::LiveTask& task) {
      heartbeats.resetRunnerOf(operation, task);
    });
    callbacker.setEngine(engine);
    commands.setOrderOfRun([this](const TaskRecord& task, master::api::TaskCommand command,
                                  bool force, const master::api::Request& request,
                                  master::api::Callback<TaskState> done) {
      run_orders.orderTask(task, command, force, request, std::move(done));
    });
    registry.setListeningSince(listening_since_);
  }

  // Reserves numbers and rebuilds the live state from the database.
  Status recover() {
    RETURN_IF_ERROR(task_ids.prime(*database_writer_, epoch, 1));
    RETURN_IF_ERROR(outbox_ids.prime(*database_writer_, epoch, 2));
    RETURN_IF_ERROR(run_ids.prime(*database_writer_, epoch, 3));
    RETURN_IF_ERROR(event_ids.prime(*database_writer_, epoch, 4));
    writer.setFirstBatch(5);
    master::LiveStateSink sink(live, flows, engine, runs, registry, callbacker, limits);
    recover::RecoverService recovery(database_, options.recover_threads);
    return recovery.recover(sink, {}).status();
  }
  // Opens the gates, in the order of ActiveTerm.
  void open() {
    watch.begin(epoch);
    limits.open();
    events.open();
    runs.carryOn();
    heartbeats.openGate();
    picker.open();
    callbacker.open();
    watchdog.start(listening_since_);
    updater.start();
    planner.open();
    commands.open();
    flow_commands.open();
    calendar_commands.open();
    param_commands.open();
    run_orders.open();
    host_commands.open();
  }
  void close() {
    run_orders.close();
    calendar_commands.close();
    param_commands.close();
    flow_commands.close();
    commands.close();
    planner.close();
    runs.close();
    events.close();
    host_commands.close();
    limits.close();
    updater.stop();
    watchdog.stop();
    callbacker.close();
    picker.close();
    heartbeats.close();
  }

  // Runs what is posted and due, commits it, and hands on what the commit let out.
  void step() {
    dispatcher.runPendingForTest();
    writer.publish();
    writer.runPendingForTest();
    reads.runPendingForTest();
  }
  // Steps until nothing is left that is due now.
  void settle() {
    for (int i = 0; i < 8; ++i) step();
  }

  Clock& clock;
  const master::ActiveOptions options;
  const std::string guid;
  std::atomic<Epoch> epoch;

  // What the parts told their owner.
  bool fenced = false;
  std::string bug;
  Epoch higher_epoch = 0;
  bool may_act = true;  // What the election would say.
  std::vector<RunRecord> ended_runs;

 private:
  void onWriterFenced() override { fenced = true; }
  void onWriterBug(const std::string& what) override { bug = what; }
  void onDatabaseOutage(const Error&) override {}
  void onDatabaseBack(Micros gap) override {
    dispatcher.post([this, gap] { watchdog.onGap(gap); });
  }
  void onCommitted(size_t, size_t, Micros) override {}
  void onChanged(Epoch of, uint64_t batch, const master::ChangeSet& changes) override {
    watch.append(of, batch, changes);
  }
  void onRunEnded(master::Operation& operation, const master::LiveRun& run) override {
    ended_runs.push_back(run.record);
    callbacker.onRunOutcome(operation, run.record, run.version->spec.callbacks);
  }

  FakeDatabase& database_;
  const std::unique_ptr<dao::Writer> database_writer_;
  const BootTime listening_since_;

 public:
  master::WatchLog watch;
  master::LiveState live;
  master::FlowState flows;
  master::IdAllocator task_ids;
  master::IdAllocator outbox_ids;
  master::IdAllocator run_ids;
  master::IdAllocator event_ids;
  master::StateWriter writer;
  AsyncDispatcher dispatcher;
  master::StatePublisher publisher;
  master::TermContext context;
  master::ReadWorker reads;
  master::Callbacker callbacker;
  master::TaskEngine engine;
  master::HeartbeatDesk desk;
  master::RunnerRegistry registry;
  master::Picker picker;
  master::HeartbeatHandler heartbeats;
  master::Watchdog watchdog;
  master::AsyncUpdater updater;
  master::TaskCommands commands;
  master::LimitCommands limits;
  master::EventDesk events;
  master::RunEngine runs;
  master::Planner planner;
  master::FlowCommands flow_commands;
  master::CalendarCommands calendar_commands;
  master::ParamCommands param_commands;
  master::RunOrders run_orders;
  master::HostCommands host_commands;
};

}  // namespace baton::test
