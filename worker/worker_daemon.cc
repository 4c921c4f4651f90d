#include "worker/worker_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/log.h"
#include "worker/host_figures.h"
#include "worker/proc_info.h"

namespace baton::worker {
namespace {

constexpr Millis kHelloPatience{10'000};
constexpr Millis kLeavePatience{1'000};
constexpr Millis kReattachPause{50};

bool contains(const std::vector<AttemptKey>& keys, const AttemptKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

// The attempts that have not ended, for the log server's threads.
class WorkerDaemon::OpenAttempts {
 public:
  void set(std::set<std::pair<TaskId, int32_t>> open) {
    std::lock_guard lock(mutex_);
    open_ = std::move(open);
  }
  bool contains(TaskId task, int32_t attempt) const {
    std::lock_guard lock(mutex_);
    return open_.contains({task, attempt});
  }
  size_t count() const {
    std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<TaskId, int32_t>> open_;  // Guarded by mutex_.
};

WorkerDaemon::WorkerDaemon(WorkerOptions options)
    : options_(std::move(options)),
      identity_([this] {
        TaskIdentity identity = TaskIdentity::ofThisProcess();
        identity.zone = options_.task_zone;
        return identity;
      }()),
      open_attempts_(std::make_unique<OpenAttempts>()),
      plug_ins_(options_.plugins) {}

WorkerDaemon::~WorkerDaemon() { stop(); }

Status WorkerDaemon::checkOptions() const {
  if (!isValidName(options_.worker_id)) {
    return Error::invalidArgument("worker id \"{}\" has other characters than A-Z a-z 0-9 . _ -",
                                  options_.worker_id);
  }
  if (options_.runners < 1 || options_.runners > kRunnersMax) {
    return Error::invalidArgument("runners is {}, expected 1 to {}", options_.runners, kRunnersMax);
  }
  if (options_.data_dir.empty() || options_.data_dir.front() != '/') {
    return Error::invalidArgument("data directory \"{}\" is not an absolute path",
                                  options_.data_dir);
  }
  if (!options_.plugins.empty() && options_.plugins.front() != '/') {
    return Error::invalidArgument("plug-in folder \"{}\" is not an absolute path",
                                  options_.plugins);
  }
  if (options_.token.empty()) return Error::invalidArgument("the worker has no token");
  if (options_.masters.empty()) return Error::invalidArgument("no master is configured");
  return {};
}

Status WorkerDaemon::start() {
  RETURN_IF_ERROR(checkOptions());
  std::vector<MasterAddress> masters;
  for (const std::string& text : options_.masters) {
    ASSIGN_OR_RETURN(MasterAddress address, parseMasterAddress(text));
    masters.push_back(std::move(address));
  }
  ASSIGN_OR_RETURN(loop_, net::EventLoop::create());
  resolver_ = std::make_unique<net::Resolver>();
  RETURN_IF_ERROR(openJournal());
  RETURN_IF_ERROR(startLogServer());
  RETURN_IF_ERROR(attachShepherd());
  finder_ = std::make_unique<MasterFinder>(
      *loop_, *resolver_, std::move(masters), options_.token,
      MasterFinder::Hooks{.on_active =
                              [this] {
                                for (const auto& slot : slots_) slot->onMaster(true);
                              },
                          .on_lost =
                              [this] {
                                for (const auto& slot : slots_) slot->onMaster(false);
                              },
                          .is_ours =
                              [this](const std::string& guid) {
                                return journal_->clusterGuid().empty() ||
                                       journal_->clusterGuid() == guid;
                              }});
  buildSlots();
  loop_->post([this] {
    for (const auto& slot : slots_) slot->start();
    finder_->start();
  });
  // It ends by leave() alone, which has something to say first.
  thread_ = NamedThread("worker", [this](std::stop_token) { loop_->run({}); });
  logInfo("worker_started", field("worker", options_.worker_id),
          field("incarnation", journal_->incarnation()), field("runners", options_.runners),
          field("logs", logAddress()), field("version", BATON_VERSION));
  return {};
}

Status WorkerDaemon::openJournal() {
  ASSIGN_OR_RETURN(journal_, Journal::open({.dir = options_.data_dir}, clock_));
  queue_ = std::make_unique<DurableQueue>(*loop_, *journal_);
  return {};
}

Status WorkerDaemon::startLogServer() {
  log_server_ = std::make_unique<LogServer>(
      LogServer::Options{.host = options_.listen_host,
                         .port = options_.listen_port,
                         .token = options_.token,
                         .data_dir = options_.data_dir},
      [this](TaskId task, int32_t attempt) { return open_attempts_->contains(task, attempt); });
  return log_server_->start();
}

// With the journal lost nobody knows which runner an attempt belonged to: all of this worker's
// processes end before any slot says that it is idle.
Status WorkerDaemon::stopShepherdOfLostJournal() {
  const FileDescriptor lock(
      openat(journal_->dirFd(), kShepherdLockName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[32] = {};
  if (!lock || pread(lock.get(), text, sizeof(text) - 1, 0) <= 0) return {};
  const auto pid = static_cast<pid_t>(strtol(text, nullptr, 10));
  const BootTime deadline = clock_.bootNow() + kHelloPatience;
  logWarn("shepherd_of_lost_journal_killed", field("pid", pid));
  if (pid > 1) kill(pid, SIGKILL);
  while (true) {
    ASSIGN_OR_RETURN(const bool alive, isShepherdAlive(journal_->dirFd()));
    if (!alive) return {};
    if (clock_.bootNow() > deadline) {
      return Error::unavailable("the shepherd {} of the lost journal does not end", pid);
    }
    loop_->callAfter(kReattachPause, [this] { loop_->stop(); });
    loop_->run({});
  }
}

Status WorkerDaemon::attachShepherd() {
  ASSIGN_OR_RETURN(bool alive, isShepherdAlive(journal_->dirFd()));
  if (alive && journal_->isNew()) {
    RETURN_IF_ERROR(stopShepherdOfLostJournal());
    alive = false;
  }
  shepherd_ = std::make_unique<ShepherdClient>(
      *loop_,
      ShepherdClient::Hooks{.on_note = [this](ShepherdNote note) { onNote(std::move(note)); },
                            .on_lost = [this] { onShepherdLost(); }});
  if (alive && shepherd_->connect(journal_->dirFd()).ok() && awaitHello().ok()) {
    shepherd_continued_ = true;
    return {};
  }
  // It may have been about to end by itself.
  ASSIGN_OR_RETURN(alive, isShepherdAlive(journal_->dirFd()));
  if (alive) return Error::unavailable("the shepherd in {} does not answer", options_.data_dir);
  ASSIGN_OR_RETURN(lost_, clearAfterShepherd(journal_->dirFd(), options_.worker_id));
  RETURN_IF_ERROR(journalLostAttempts());
  ASSIGN_OR_RETURN(shepherd_pid_, launch());
  RETURN_IF_ERROR(shepherd_->connect(journal_->dirFd()));
  return awaitHello();
}

Result<pid_t> WorkerDaemon::launch() const {
  return launchShepherd({.command = options_.shepherd_command,
                         .dir = options_.data_dir,
                         .log_bytes_max = options_.log_bytes_max,
                         .idle_exit = options_.shepherd_idle_exit});
}

Status WorkerDaemon::awaitHello() {
  const auto timer = loop_->callAfter(kHelloPatience, [this] { loop_->stop(); });
  loop_->run({});
  loop_->cancel(timer);
  if (hello_) return {};
  shepherd_->disconnect();
  return Error::unavailable("the shepherd in {} does not answer", options_.data_dir);
}

std::string WorkerDaemon::logAddress() const {
  if (!options_.advertised_address.empty()) return options_.advertised_address;
  const std::string& listen = options_.listen_host;
  const bool everywhere =
      listen.empty() || listen == "0.0.0.0" || listen == "::" || listen == "[::]";
  std::string host = everywhere ? options_.host : listen;
  if (host.find(':') != host.npos && host.front() != '[') host = "[" + host + "]";
  return fmt::format("{}:{}", host, logPort());
}

RunnerOptions WorkerDaemon::runnerOptions(const std::string& runner_id) const {
  return {.runner_id = runner_id,
          .worker_id = options_.worker_id,
          .host = options_.host,
          .boot_id = readBootId(),
          .version = BATON_VERSION,
          .worker_address = logAddress(),
          .journal_id = journal_->journalId(),
          .incarnation = journal_->incarnation(),
          .heartbeat = options_.heartbeat,
          .jitter_seed = Random::fromKernel().next()};
}

SlotContext WorkerDaemon::slotContext() {
  return {.loop = *loop_,
          .resolver = *resolver_,
          .journal = *journal_,
          .queue = *queue_,
          .finder = *finder_,
          .token = options_.token,
          .start = [this](const Order& order, Epoch epoch,
                          const std::string& runner_id) { startAttempt(order, epoch, runner_id); },
          .stop = [this](const StopRequest& request) { shepherd_->send(request); },
          .result_kept =
              [this](const AttemptKey& key) {
                shepherd_->send(AckRequest{.key = key});
                noteOpenAttempts();
              },
          .take_figures = [this] { return takeFigures(); },
          .labels = [this] { return labels(); },
          .final_args =
              [](const Order& order) {
                TaskSpec spec;
                const auto run = parseJson(order.run_part);
                if (!run.ok() || !readRunPart(*run, spec).ok()) return std::string();
                return dumpJson(Json(shownArguments(taskArguments(spec))));
              }};
}

void WorkerDaemon::buildSlots() {
  context_ = std::make_unique<SlotContext>(slotContext());
  for (int i = 0; i < options_.runners; ++i) {
    const std::string runner_id = fmt::format("{}:{}", options_.worker_id, i);
    slots_.push_back(
        std::make_unique<RunnerSlot>(*context_, runnerOptions(runner_id), restore(runner_id)));
  }
  settleStrangers(*hello_);
  loop_->post([this] {
    for (ShepherdNote& note : std::exchange(early_notes_, {})) onNote(std::move(note));
  });
  noteOpenAttempts();
}

RestoredSlot WorkerDaemon::restore(const std::string& runner_id) const {
  RestoredSlot restored;
  restored.cluster_guid = journal_->clusterGuid();
  restored.epoch = journal_->epochOf(journal_->clusterGuid());
  const auto found = journal_->slots().find(runner_id);
  if (found == journal_->slots().end()) return restored;
  restored.has_last_order = found->second.has_last_order;
  restored.last_order = found->second.last_order;
  if (found->second.open) restoreOpen(found->second, restored);
  return restored;
}

void WorkerDaemon::restoreOpen(const JournalSlot& slot, RestoredSlot& restored) const {
  const AttemptKey& key = slot.open->key;
  restored.order = *slot.open;
  restored.order_epoch = slot.open_epoch;
  restored.phase = RestoredSlot::Phase::Ended;
  if (slot.result && slot.result->key == key) {
    restored.result = slot.result->result;
    restored.ended = slot.result->ended;
    restored.why = slot.result->why;
    return;
  }
  for (const EndedNote& ended : hello_->ended) {
    // Told to the runner like any other end, so that it gets into the journal first.
    if (ended.key == key) restored.phase = RestoredSlot::Phase::Running;
  }
  for (const StartedNote& running : hello_->running) {
    if (running.key != key) continue;
    restored.phase = RestoredSlot::Phase::Running;
    restored.started = BootTime(Micros(running.started_us));
    restored.why = running.why;
  }
  if (restored.phase == RestoredSlot::Phase::Running) return;
  // Without a shepherd that lived on, each of them has got a result: see journalLostAttempts.
  CHECK(shepherd_continued_);
  // It has read everything that the daemon before us sent, and has no record: never started.
  restored.phase = RestoredSlot::Phase::Accepted;
}

// A new shepherd has no record of what the dead one ran. If a later daemon found it alive, that
// would read as "never started": so the ends are on disk before there is a new shepherd.
Status WorkerDaemon::journalLostAttempts() {
  const auto slots = journal_->slots();
  for (const auto& [runner_id, slot] : slots) {
    if (!slot.open || slot.result) continue;
    KeptResult kept;
    kept.key = slot.open->key;
    kept.ended = clock_.bootNow();
    const bool started = contains(lost_, kept.key);
    kept.result.reason = started ? FailureReason::RunnerReset : FailureReason::StartFailed;
    kept.result.reason_text =
        started ? "the worker's shepherd died; what was left of the process tree was killed"
                : "the worker's shepherd died before the start was on record";
    journal_->noteResult(runner_id, kept);
  }
  return journal_->sync();
}

void WorkerDaemon::settleStrangers(const HelloNote& hello) {
  for (const EndedNote& ended : hello.ended) {
    if (slotOf(ended.key) != nullptr) {
      loop_->post([this, ended] { onEnded(ended); });
    } else {
      shepherd_->send(AckRequest{.key = ended.key});
    }
  }
  for (const StartedNote& running : hello.running) {
    if (slotOf(running.key) != nullptr) continue;
    logWarn("stranger_stopped", field("task", running.key.task_id),
            field("attempt", running.key.attempt));
    shepherd_->send(StopRequest{
        .key = running.key, .why = StopReason::Reset, .grace_ms = kKillGraceDefault.count()});
  }
}

RunnerSlot* WorkerDaemon::slotOf(const AttemptKey& key) {
  for (const auto& slot : slots_) {
    const auto& open = slot->runner().openOrder();
    if (open && open->key == key) return slot.get();
  }
  return nullptr;
}

void WorkerDaemon::onNote(ShepherdNote note) {
  if (hello_ && slots_.empty()) {
    // Without its slot it would be taken for a stranger's.
    return early_notes_.push_back(std::move(note));
  }
  if (const auto* hello = std::get_if<HelloNote>(&note)) {
    onHello(*hello);
  } else if (const auto* started = std::get_if<StartedNote>(&note)) {
    if (RunnerSlot* slot = slotOf(started->key)) slot->onStarted(*started);
  } else if (const auto* ended = std::get_if<EndedNote>(&note)) {
    onEnded(*ended);
  } else if (const auto* refused = std::get_if<RefusedNote>(&note)) {
    logError("start_refused_by_shepherd", field("task", refused->key.task_id),
             field("attempt", refused->key.attempt), field("text", refused->text));
  }
}

void WorkerDaemon::onEnded(const EndedNote& note) {
  RunnerSlot* slot = slotOf(note.key);
  if (slot == nullptr || slot->runner().phase() == Runner::Phase::Ended) {
    // Stopped as a stranger, or journalled by the daemon before us that could not say so.
    shepherd_->send(AckRequest{.key = note.key});
    return;
  }
  slot->onEnded(note);
}

void WorkerDaemon::onHello(const HelloNote& hello) {
  shepherd_takes_input_ = hello.takes_input;
  if (!hello_) {  // At the start the slots do not exist yet.
    hello_ = hello;
    loop_->stop();
    return;
  }
  // A shepherd was attached again while we ran.
  for (const auto& slot : slots_) {
    const Runner& runner = slot->runner();
    if (!runner.openOrder() || runner.phase() == Runner::Phase::Ended) continue;
    const Order order = *runner.openOrder();
    const auto same = [&](const auto& note) { return note.key == order.key; };
    if (std::any_of(hello.ended.begin(), hello.ended.end(), same)) continue;
    const auto running = std::find_if(hello.running.begin(), hello.running.end(), same);
    if (running != hello.running.end()) {
      slot->onStarted(*running);
    } else if (contains(lost_, order.key) || runner.phase() != Runner::Phase::Starting) {
      slot->onEnded(endedNote(order.key, FailureReason::RunnerReset,
                              "the worker's shepherd died and its processes were killed"));
    } else if (shepherd_continued_) {
      startAttempt(order, runner.openEpoch(), slot->runnerId());
    } else {
      // At once: a start that still waits for the journal must find it ended.
      slot->onEnded(endedNote(order.key, FailureReason::StartFailed,
                              "the worker's shepherd died before the start was on record"));
    }
  }
  settleStrangers(hello);
}

void WorkerDaemon::onShepherdLost() {
  if (!hello_) return loop_->stop();
  if (leaving_ || slots_.empty()) return;
  logError("shepherd_lost");
  reattach();
}

void WorkerDaemon::reattach() {
  const auto again = [this] { loop_->callAfter(kReattachPause, [this] { reattach(); }); };
  if (shepherd_pid_ > 0 && waitpid(shepherd_pid_, nullptr, WNOHANG) == shepherd_pid_) {
    shepherd_pid_ = 0;
  }
  const auto alive = isShepherdAlive(journal_->dirFd());
  if (!alive.ok()) return again();
  shepherd_continued_ = *alive;
  if (*alive) {
    if (!shepherd_->connect(journal_->dirFd()).ok()) again();
    return;
  }
  auto lost = clearAfterShepherd(journal_->dirFd(), options_.worker_id);
  if (!lost.ok()) {
    logError("leftovers_not_cleared", field("error", lost.error().text()));
    return again();
  }
  lost_.insert(lost_.end(), lost->begin(), lost->end());
  if (const Status kept = journalLostAttempts(); !kept.ok()) {
    logError("journal_not_synced", field("error", kept.text()));
    return again();
  }
  const auto pid = launch();
  if (!pid.ok() || !shepherd_->connect(journal_->dirFd()).ok()) {
    logError("shepherd_not_started", field("error", pid.status().text()));
    return again();
  }
  shepherd_pid_ = *pid;
}

std::optional<HostFigures> WorkerDaemon::takeFigures() {
  const BootTime now = clock_.bootNow();
  if (now < figures_due_) return std::nullopt;
  figures_due_ = now + slots_.front()->runner().heartbeat();
  reapAdopted(shepherd_pid_);
  return readHostFigures(options_.data_dir);
}

void WorkerDaemon::noteOpenAttempts() {
  std::set<std::pair<TaskId, int32_t>> open;
  for (const auto& slot : slots_) {
    const auto& order = slot->runner().openOrder();
    if (order && slot->runner().phase() != Runner::Phase::Ended) {
      open.insert({order->key.task_id, order->key.attempt});
    }
  }
  open_attempts_->set(std::move(open));
}

size_t WorkerDaemon::openAttempts() const { return open_attempts_->count(); }

void WorkerDaemon::leave() {
  leaving_ = true;
  for (const auto& slot : slots_) slot->onLeaving(options_.leaving);
  const BootTime deadline = clock_.bootNow() + kLeavePatience;
  const auto look = [this, deadline](const auto& again) -> void {
    const bool waiting = finder_->active() &&
                         std::any_of(slots_.begin(), slots_.end(),
                                     [](const auto& slot) { return slot->runner().awaitsReply(); });
    if (!waiting || clock_.bootNow() >= deadline) return loop_->stop();
    loop_->callAfter(Millis(5), [again] { again(again); });
  };
  look(look);
}

void WorkerDaemon::stop() noexcept {
  if (thread_.running()) {
    loop_->post([this] { leave(); });
    thread_.requestStopAndJoin();
    logInfo("worker_stopped", field("worker", options_.worker_id));
  }
  if (log_server_ != nullptr) log_server_->stop();
  slots_.clear();
  finder_.reset();
  if (shepherd_ != nullptr) shepherd_->disconnect();
  if (journal_ != nullptr) {
    const Status synced = journal_->sync();
    if (!synced.ok()) logError("journal_not_synced", field("error", synced.text()));
  }
  resolver_.reset();  // Before the loop, to which it posts.
  queue_.reset();
  journal_.reset();  // Frees the lock.
}

}  // namespace baton::worker
