#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "common/base/named_thread.h"
#include "common/service/composite_service.h"
#include "dao/database.h"
#include "flow/definition/flow_parser.h"
#include "ha/active_service.h"
#include "master/api/webhook_port.h"
#include "master/flow/calendar_commands.h"
#include "master/flow/event_desk.h"
#include "master/flow/flow_commands.h"
#include "master/flow/flow_state.h"
#include "master/flow/param_commands.h"
#include "master/flow/planner.h"
#include "master/flow/run_engine.h"
#include "master/flow/run_orders.h"
#include "master/host/heartbeat_handler.h"
#include "master/host/host_commands.h"
#include "master/host/watchdog.h"
#include "master/state/async_updater.h"
#include "master/state/read_worker.h"
#include "master/state/watch_log.h"
#include "master/task/callbacker.h"
#include "master/task/limit_commands.h"
#include "master/task/task_commands.h"
#include "master/term_context.h"
#include "recover/recover_service.h"

namespace baton::master {

// What a term tells its owner. Any thread; must not block.
class TermListener {
 public:
  virtual ~TermListener() = default;
  virtual void onTermFenced() = 0;
  virtual void onTermHigherEpoch(Epoch seen) = 0;
  virtual void onTermBug(const std::string& what) = 0;
  virtual void onTermDatabase(bool ok) = 0;
  // Does this process lead at this moment?
  virtual bool mayAct() const = 0;
};

// What outlives a term and is used by it.
struct TermEnvironment {
  Clock& clock;
  dao::Database& database;
  api::WebhookPort& webhooks;
  Metrics& metrics;
  WatchLog& watch;
  TermListener& listener;
  std::string callback_signing_key;
};

// The active role of one term: everything between a won election and its end, as one composite
// service. Children in order: state writer, read worker, recovery, dispatcher, flows, picker,
// heartbeat handler, callback-er, watchdog, asynchronous updater, commands. Those on the dispatcher
// thread start with closed gates; when all stand, the gates open, submissions last. Dropped whole
// at the end of the term.
class ActiveTerm final : public CompositeService, private WriterListener, private RunWatcher {
 public:
  ActiveTerm(TermEnvironment environment, ActiveOptions options, ha::Leadership leadership,
             std::stop_token stop);
  ~ActiveTerm() override;

  // --- any thread, from construction on (requests wait until the gates are open) -----------
  void heartbeat(HeartbeatRequest request, api::HeartbeatReplyFn reply);
  void heartbeatGone(const std::string& runner_id, const HeartbeatPair& pair);
  void submit(api::Submission submission, BootTime looked_up_at,
              api::Callback<api::SubmitAnswer> done);
  void command(TaskId id, api::TaskCommand command, bool force, api::Request request,
               api::Callback<api::TaskView> done);
  // Makes durable that `request` has all of this read again; whoever asked ends the term.
  void recordSync(api::Request request, api::Callback<api::SyncBegun> done);
  void changeLimit(api::LimitChange change, api::Callback<api::LimitView> done);
  // The lowest priority that the cluster starts; none: all.
  std::optional<Priority> minPriority() const { return limits_.minPriority(); }
  // --- flows: any thread -----------------------------------------------------------------------
  // What a definition is checked against.
  flow::FlowSurroundings flowSurroundings();
  // Of the flows that a definition names, those that are there; none: not found out in time. Blocks
  // for a look at their newest versions.
  std::optional<flow::KnownFlows> knownFlows(const std::vector<flow::FlowReference>& references);
  // Blocks for a look at the newest versions, which they are compared with here.
  void applyFlows(std::vector<FlowDefinition> definitions, api::Callback<api::FlowsApplied> done);
  void orderRun(api::RunOrder order, api::Callback<RunRecord> done) {
    run_orders_.order(std::move(order), std::move(done));
  }
  // These, too, may block for a while: see readAhead.
  void setFlowOnline(std::string name, bool online, api::Request request,
                     api::Callback<api::FlowView> done);
  void sendEvent(api::EventSend event, api::Callback<api::EventSent> done);
  void applyCalendars(std::vector<CalendarDefinition> definitions,
                      api::Callback<api::CalendarsApplied> done);
  void removeCalendar(std::string name, api::Request request,
                      api::Callback<api::CalendarView> done);
  void setParam(api::ParamSet request, api::Callback<api::ParamIsSet> done);
  void removeParam(std::string name, api::Request request, api::Callback<ParamRecord> done);
  void removeFlow(std::string name, api::Request request, api::Callback<api::FlowView> done);
  // Null: unknown.
  std::shared_ptr<const WorkCalendar> calendarDays(const std::string& name) const {
    return flows_.calendars.days(name);
  }
  // Runs `ask` on the dispatcher thread; `done` gets Overloaded if its queue is full.
  template <typename T>
  void onFlows(std::function<void(FlowCommands&)> ask, const api::Callback<T>& done) {
    const bool queued = dispatcher_.tryPost([this, ask = std::move(ask)] { ask(flow_commands_); });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  }

  // As onFlows, about hosts.
  template <typename T>
  void onHosts(std::function<void(HostCommands&)> ask, const api::Callback<T>& done) {
    const bool queued = dispatcher_.tryPost([this, ask = std::move(ask)] { ask(host_commands_); });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  }

  // `record` as read from the database.
  void resendCallback(OutboxRecord record, api::Request request, api::Callback<OutboxRecord> done) {
    const bool queued =
        dispatcher_.tryPost([this, record = std::move(record), request = std::move(request), done] {
          callbacker_.resend(record, request, done);
        });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  }

  // Runs `look` on the dispatcher thread and waits for it. False: not within `limit`.
  bool inspect(std::function<void()> look, Millis limit = Seconds(2));
  // Shows every live task or run to `look`, on the dispatcher thread but a slice at a time, so that
  // nobody waits for long: one that comes or goes meanwhile may be seen or not, or seen twice.
  // False: a slice was not done in time.
  bool eachLiveTask(const std::function<void(const LiveTask&)>& look);
  bool eachLiveRun(const std::function<void(const LiveRun&)>& look);
  // Waits until all that was decided by now is durable. False: not in time.
  bool awaitCommits(Millis limit = Seconds(2));
  // The newest versions of flows by key, as memory has them, in the order of the keys; null: there
  // is none, or it can't be read any more. What nobody has needed since the takeover is read here,
  // on the caller's thread, and kept. Not done in time: all are null.
  std::vector<std::shared_ptr<const FlowVersion>> newestVersions(
      const std::vector<std::string>& keys);
  // The same; none: not done in time.
  std::optional<std::vector<std::shared_ptr<const FlowVersion>>> findNewestVersions(
      const std::vector<std::string>& keys);

  // Reads, on the caller's thread, what `unread` (asked on the dispatcher thread, again and again)
  // names, until it names nothing: so that a command about many flows has nothing left to read.
  // Errors: Overloaded (that takes too long; what was read is kept).
  Status readAhead(const std::function<std::vector<std::string>()>& unread);
  // Of the definitions that the takeover left unread those with such a text.
  Status readAheadOf(const std::function<bool(const std::string&)>& wanted);

  void freeze();
  // False: the writer has halted, so that the memory is ahead of the database for good.
  bool resume(const ha::Leadership& leadership);
  // Stops accepting and dispatching and makes what is decided durable.
  bool drain(BootTime deadline);

  // --- dispatcher thread (inside inspect) ---------------------------------------------------
  LiveState& live() { return live_; }
  const TaskEngine& engine() const { return engine_; }
  const Callbacker& callbacker() const { return callbacker_; }
  LimitCommands& limits() { return limits_; }
  const RunnerRegistry& registry() const { return registry_; }
  const HostCommands& hostCommands() const { return host_commands_; }
  const FlowState& flows() const { return flows_; }
  const Planner& planner() const { return planner_; }
  uint64_t liveRunsOf(const std::string& flow_key) const;
  std::string whyRunWaits(RunId id) const;
  // The run that has the place that this one waits for; 0: it waits for none.
  RunId runAhead(RunId id) const;
  std::string internalsJson() const;
  Json flowsJson() const;  // Of runs and the planner.
  Json lanesJson() const;  // Of the queue.
  Json gatesJson() const;  // Of limits and hours.
  void refreshGauges();

  const ha::Leadership& leadership() const { return leadership_; }
  const recover::RecoveryCounts& recovered() const { return recovered_; }
  int64_t loadMs() const { return load_ms_; }
  bool open() const { return open_.load(std::memory_order_acquire); }
  // Rises as long as the dispatcher is alive. (The writer may rightly wait for the database.)
  uint64_t progress() const { return dispatcher_.progress(); }

 private:
  class RecoveryStep;
  class Part;

  void onWriterFenced() override;
  void onWriterBug(const std::string& what) override;
  void onDatabaseOutage(const Error& why) override;
  void onDatabaseBack(Micros gap) override;
  void onCommitted(size_t operations, size_t rows, Micros took) override;
  void onChanged(Epoch epoch, uint64_t batch, const ChangeSet& changes) override;
  void onRunEnded(Operation& operation, const LiveRun& run) override;

  Status onStart() override;
  void onStop() noexcept override;
  Status recoverState();
  Status openGates();
  // Whether the database takes what is submitted, before anything is decided about it.
  Status checkStorable(const api::Submission& submission) const;
  void closeFlows();
  void closeGates();
  void finishOrphanedCallbacks();
  // Reads large definitions that nobody has needed yet, so that the dispatcher does not have to.
  void readLargeFlows(std::stop_token stop);
  template <typename Table, typename Look>
  bool eachOf(const Table& table, const Look& look);
  // Runs on the dispatcher thread and waits; for gates. Does nothing if the thread is gone.
  void onDispatcher(std::function<void()> change);
  void commandWithRow(TaskId id, api::TaskCommand command, bool force, api::Request request,
                      int tries, api::Callback<api::TaskView> done);

  const TermEnvironment environment_;
  const ActiveOptions options_;
  ha::Leadership leadership_;
  const std::stop_token stop_;
  const BootTime listening_since_;
  std::atomic<Epoch> epoch_;
  std::atomic<bool> open_{false};
  std::atomic<bool> begun_{false};  // The dispatcher was told to open the gates.
  std::atomic<int64_t> frozen_at_us_{0};
  recover::RecoveryCounts recovered_;
  int64_t load_ms_ = 0;

  const std::unique_ptr<dao::Writer> database_writer_;
  LiveState live_;
  FlowState flows_;
  IdAllocator task_ids_;
  IdAllocator outbox_ids_;
  IdAllocator run_ids_;
  IdAllocator event_ids_;
  StateWriter writer_;
  StatePublisher publisher_;
  AsyncDispatcher dispatcher_;
  TermContext context_;
  ReadWorker reads_;
  Callbacker callbacker_;
  TaskEngine engine_;
  HeartbeatDesk desk_;
  RunnerRegistry registry_;
  Picker picker_;
  HeartbeatHandler heartbeats_;
  Watchdog watchdog_;
  AsyncUpdater updater_;
  TaskCommands commands_;
  LimitCommands limits_;
  EventDesk events_;
  RunEngine runs_;
  Planner planner_;
  FlowCommands flow_commands_;
  CalendarCommands calendar_commands_;
  ParamCommands param_commands_;
  RunOrders run_orders_;
  HostCommands host_commands_;
  std::unique_ptr<RecoveryStep> recovery_;
  std::vector<std::unique_ptr<Part>> parts_;
  NamedThread large_flows_;
};

}  // namespace baton::master
