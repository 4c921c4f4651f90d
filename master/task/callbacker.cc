#include "master/task/callbacker.h"

#include <algorithm>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr int kPerReceiverMax = 2;
constexpr Millis kFirstDelay{1'000};
constexpr Millis kLongestDelay{600'000};

std::string receiverOf(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == url.npos) return url;
  const size_t end = url.find_first_of("/?#", begin + 3);
  return url.substr(begin + 3, end == url.npos ? url.npos : end - begin - 3);
}

std::string eventOf(TaskStatus outcome) {
  switch (outcome) {
    case TaskStatus::Failed:
      return "failed";
    case TaskStatus::Terminated:
      return "terminated";
    case TaskStatus::Skipped:
      return "skipped";
    default:
      return "finished";
  }
}

// What does not apply is null, as everywhere in the API.
Json textOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string payloadOf(const LiveTask& task, const std::string& event) {
  Json json = {{"task_id", std::to_string(task.state.id)},
               {"attempt", task.state.attempt},
               {"event", event},
               {"reason", textOrNull(toString(task.state.reason))},
               {"reason_text", textOrNull(task.state.reason_text)},
               {"runner_id", task.state.runner_id},
               {"created_at", formatRfc3339(task.created_at)}};
  if (task.state.return_code) json["return_code"] = *task.state.return_code;
  if (task.state.signal != 0) json["signal"] = task.state.signal;
  if (task.state.started_at != WallTime{}) {
    json["started_at"] = formatRfc3339(task.state.started_at);
  }
  return dumpJson(json);
}

// At the end of the event of a row: its number is to be put there.
constexpr char kNumberFollows = '_';

void setNumber(OutboxRecord& record, uint64_t number) {
  record.id = number;
  if (record.event.back() == kNumberFollows) record.event += std::to_string(number);
}

TaskStatus taskStatusLike(RunStatus status) {
  switch (status) {
    case RunStatus::Failed:
      return TaskStatus::Failed;
    case RunStatus::Terminated:
      return TaskStatus::Terminated;
    case RunStatus::Skipped:
      return TaskStatus::Skipped;
    default:
      return TaskStatus::Finished;
  }
}

std::string payloadOfRun(const RunRecord& run, const std::string& event) {
  Json json = {{"run_id", std::to_string(run.state.id)},
               {"flow", run.flow},
               {"version", run.version},
               {"trigger", toString(run.trigger)},
               {"plan_time", formatRfc3339(run.plan_time)},
               {"event", event},
               {"status", toString(run.state.status)},
               {"reason", textOrNull(toString(run.state.reason))},
               {"reason_text", textOrNull(run.state.reason_text)},
               {"late", run.state.late},
               {"created_at", formatRfc3339(run.created_at)},
               {"finished_at", formatRfc3339(run.state.finished_at)}};
  if (run.state.started_at != WallTime{}) {
    json["started_at"] = formatRfc3339(run.state.started_at);
  }
  return dumpJson(json);
}

}  // namespace

Callbacker::Callbacker(TermContext& context, api::WebhookPort& webhooks, std::string signing_key,
                       std::function<bool()> may_act)
    : context_(context),
      webhooks_(webhooks),
      signing_key_(std::move(signing_key)),
      permit_(std::make_shared<DeliveryPermit>(context.clock, std::move(may_act))) {}

Callbacker::~Callbacker() { permit_->end(); }

bool Callbacker::onOutcome(Operation& operation, const LiveTask& task, TaskStatus outcome) {
  const bool awaited = outcome == TaskStatus::Callback;
  if (!task.policy->callback.wants(awaited ? TaskStatus::Finished : outcome)) return false;
  OutboxRecord record;
  record.task_id = task.state.id;
  record.attempt = task.state.attempt;
  record.event = eventOf(outcome);
  record.url = task.policy->callback.url;
  record.payload = payloadOf(task, record.event);
  record.awaited = awaited;
  // A task may end again and again without an attempt, and be declared a success behind the one
  // that it had: each such end has a Delivery-Id of its own.
  if (task.state.runner_id.empty() || task.state.forced) record.event += kNumberFollows;
  enqueue(operation, std::move(record));
  return awaited;
}

void Callbacker::onRunOutcome(Operation& operation, const RunRecord& run,
                              const std::vector<CallbackSpec>& callbacks) {
  const TaskStatus outcome = taskStatusLike(run.state.status);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (!callbacks[i].wants(outcome)) continue;
    OutboxRecord record;
    record.task_id = run.state.id;
    record.attempt = run.state.reruns;
    record.event = fmt::format("run_{}", eventOf(outcome));
    if (i > 0) record.event += fmt::format("_{}", i + 1);  // Each has a Delivery-Id of its own.
    record.url = callbacks[i].url;
    record.payload = payloadOfRun(run, fmt::format("run_{}", eventOf(outcome)));
    enqueue(operation, std::move(record));
  }
}

void Callbacker::enqueue(Operation& operation, OutboxRecord record) {
  record.created_at = record.next_at = context_.clock.wallNow();
  reserveNumbers();
  if (context_.outbox_ids.available() == 0) {
    return numberInTransaction(operation, std::move(record));
  }
  const uint64_t id = context_.outbox_ids.take();
  setNumber(record, id);
  operation.changes.outbox.push_back(record);
  add(std::move(record));
  // Not before the status change is durable.
  operation.then([this, id] { context_.dispatcher.post([this, id] { tryStart(id); }); });
}

void Callbacker::reserveNumbers() {
  auto refill = context_.outbox_ids.refill(
      [this](std::function<void()> event) { context_.dispatcher.post(std::move(event)); });
  if (refill) context_.writer.submit(std::move(*refill));
}

// More ends between two commits than there were numbers. The row is in the transaction of the
// status change all the same; this master knows of it once its number is known.
void Callbacker::numberInTransaction(Operation& operation, OutboxRecord record) {
  const auto number = std::make_shared<uint64_t>(0);
  operation.statements.push_back([this, record, number](dao::FencedTxn& txn) -> Status {
    OutboxRecord row = record;
    ASSIGN_OR_RETURN(*number, context_.outbox_ids.reserveOne(txn));
    setNumber(row, *number);
    return txn.storeOutbox({&row, 1});
  });
  operation.then([this, record = std::move(record), number]() mutable {
    setNumber(record, *number);
    context_.dispatcher.post(
        [this, record = std::move(record)]() mutable { onNumbered(std::move(record)); });
  });
}

void Callbacker::onNumbered(OutboxRecord record) {
  context_.outbox_ids.skipTo(record.id);
  const uint64_t id = record.id;
  const LiveTask* task = context_.live.findTask(record.task_id);
  const bool dropped =
      record.awaited && (task == nullptr || task->state.status != TaskStatus::Callback ||
                         task->state.attempt != record.attempt);
  if (!dropped) {
    add(std::move(record));
    return tryStart(id);
  }
  // Its task was stopped meanwhile.
  record.state = OutboxRecord::State::Dropped;
  Operation operation;
  operation.touchTask(record.task_id);
  operation.changes.outbox.push_back(std::move(record));
  context_.writer.submit(std::move(operation));
}

void Callbacker::onCallbackDropped(Operation& operation, const LiveTask& task) {
  const auto it = awaited_.find(task.state.id);
  if (it != awaited_.end()) finish(operation, it->second, OutboxRecord::State::Dropped);
}

std::string Callbacker::awaitedText(TaskId id) const {
  const auto awaited = awaited_.find(id);
  const auto at = awaited == awaited_.end() ? deliveries_.end() : deliveries_.find(awaited->second);
  if (at == deliveries_.end()) return "its callback is about to be sent";
  const Delivery& delivery = at->second;
  const OutboxRecord& record = delivery.record;
  std::string text = fmt::format("its callback {} to {} ", record.id, delivery.receiver);
  if (delivery.under_way) {
    text += fmt::format("is under way, try {} of {}", record.tries,
                        context_.options.callback_tries_max);
  } else if (record.tries == 0) {
    text += "waits for its turn";
  } else {
    text += fmt::format("is to be tried again at {}, {} of {} tries failed",
                        formatRfc3339(record.next_at), record.tries,
                        context_.options.callback_tries_max);
  }
  if (!record.last_error.empty()) text += ": " + record.last_error;
  return text;
}

void Callbacker::add(OutboxRecord record) {
  if (record.awaited) awaited_[record.task_id] = record.id;
  Delivery delivery{std::move(record), {}, false};
  delivery.receiver = receiverOf(delivery.record.url);
  deliveries_.emplace(delivery.record.id, std::move(delivery));
}

Micros Callbacker::oldestAge() const {
  if (deliveries_.empty()) return {};
  const WallTime made = deliveries_.begin()->second.record.created_at;
  return std::max<Micros>(Micros(0), context_.clock.wallNow() - made);
}

void Callbacker::adopt(const OutboxRecord& record) { add(record); }

void Callbacker::resend(OutboxRecord record, const api::Request& request,
                        api::Callback<OutboxRecord> done) {
  if (!open_) return done(Error(ErrorCode::NotActive, "this master does not take commands yet"));
  if (const Status accepts = context_.writer.acceptance(); !accepts.ok()) {
    return done(accepts.error());
  }
  Operation operation;
  operation.touchTask(record.task_id);
  Audit audit(request, context_.clock.wallNow(), "callback.resend", std::to_string(record.id));
  audit.setParams(
      {{"delivery", fmt::format("{}/{}/{}", record.task_id, record.attempt, record.event)}});
  // Who asked at the same time finds it under way.
  const bool dead = record.state == OutboxRecord::State::Dead && !deliveries_.contains(record.id);
  if (!dead) {
    const Status refused = Error::conflict(
        "callback {} is not dead: it is being sent, was delivered or is not "
        "wanted any more",
        record.id);
    audit.putInto(operation, refused);
    operation.then([done = std::move(done), error = refused.error()] { done(error); });
    return context_.writer.submit(std::move(operation));
  }
  record.state = OutboxRecord::State::Pending;
  record.tries = 0;
  record.awaited = false;  // Its task went on without it.
  record.next_at = context_.clock.wallNow();
  operation.changes.outbox.push_back(record);
  audit.putInto(operation, {});
  operation.then([this, done = std::move(done), record] {
    done(record);
    context_.dispatcher.post([this, id = record.id] { tryStart(id); });
  });
  add(std::move(record));
  context_.writer.submit(std::move(operation));
}

void Callbacker::open() {
  open_ = true;
  permit_->setOpen(true);
  const WallTime wall = context_.clock.wallNow();
  for (const auto& [id, delivery] : deliveries_) {
    const Micros wait =
        std::clamp<Micros>(delivery.record.next_at - wall, Micros(0), kLongestDelay);
    schedule(id, context_.clock.bootNow() + wait);
  }
}

void Callbacker::close() {
  open_ = false;
  permit_->setOpen(false);
}

void Callbacker::schedule(uint64_t id, BootTime at) {
  context_.dispatcher.callAt(at, [this, id] { tryStart(id); });
}

void Callbacker::tryStart(uint64_t id) {
  const auto it = deliveries_.find(id);
  if (!open_ || it == deliveries_.end() || it->second.under_way) return;
  Delivery& delivery = it->second;
  if (under_way_[delivery.receiver] >= kPerReceiverMax) {
    waiting_[delivery.receiver].emplace(delivery.record.tries, id);
    return;
  }
  claim(delivery);
}

void Callbacker::claim(Delivery& delivery) {
  delivery.under_way = true;
  ++under_way_[delivery.receiver];
  OutboxRecord& record = delivery.record;
  ++record.tries;
  // Should this master die now, the next one waits for this try to be over.
  record.next_at = context_.clock.wallNow() + context_.options.callback_timeout;
  Operation operation;
  operation.touchTask(record.task_id);
  operation.changes.outbox.push_back(record);
  const BootTime now = context_.clock.bootNow();
  operation.then([this, record, now] { send(record, now); });
  context_.writer.submit(std::move(operation));
}

// Writer thread: behind the commit of the claim.
void Callbacker::send(const OutboxRecord& record, BootTime claimed_at) {
  const std::string delivery_id =
      fmt::format("{}/{}/{}", record.task_id, record.attempt, record.event);
  const std::string epoch = std::to_string(context_.epoch());
  const std::string attempt = std::to_string(record.attempt);
  const std::string sequence = std::to_string(record.id);
  api::Webhook webhook;
  webhook.url = record.url;
  webhook.body = record.payload;
  webhook.timeout = context_.options.callback_timeout;
  webhook.may_send = [permit = permit_, claimed_at] { return permit->maySend(claimed_at); };
  webhook.headers = {{"Baton-Delivery-Id", delivery_id},
                     {"Baton-Event-Seq", sequence},
                     {"Baton-Epoch", epoch},
                     {"Baton-Attempt", attempt}};
  if (!signing_key_.empty()) {
    const std::string signed_text =
        fmt::format("{}\n{}\n{}\n{}\n{}", delivery_id, sequence, epoch, attempt, record.payload);
    webhook.headers.emplace_back("Baton-Signature",
                                 "sha256=" + hmacSha256Hex(signing_key_, signed_text));
  }
  // The answer may come long after this term.
  webhooks_.send(std::move(webhook), [this, permit = permit_, id = record.id](const Status& sent) {
    permit->whileAlive([&] { context_.dispatcher.post([this, id, sent] { onSent(id, sent); }); });
  });
}

void Callbacker::onSent(uint64_t id, const Status& sent) {
  const bool tried = sent.ok() || sent.error().code() != ErrorCode::Cancelled;
  if (tried) context_.metrics.callbackSent(sent.ok());
  const auto it = deliveries_.find(id);
  if (it == deliveries_.end()) return;
  Delivery& delivery = it->second;
  const std::string receiver = delivery.receiver;
  const TaskId task_id = delivery.record.task_id;
  delivery.under_way = false;
  if (--under_way_[receiver] == 0) under_way_.erase(receiver);
  // What could not leave in time of its claim did not fail: it is claimed again.
  if (!tried) --delivery.record.tries;
  Operation operation;
  operation.touchTask(task_id);
  // What the allow list refuses today it refuses tomorrow.
  const bool hopeless = !sent.ok() && sent.error().code() == ErrorCode::PermissionDenied;
  const bool given_up =
      hopeless || (tried && delivery.record.tries >= context_.options.callback_tries_max);
  if (sent.ok() || given_up) {
    const bool awaited = delivery.record.awaited;
    if (!sent.ok()) {
      delivery.record.last_error = truncateUtf8(sent.error().text(), 1'000);
      logWarn("callback_dead", field("task", task_id), field("receiver", receiver),
              field("error", delivery.record.last_error));
    }
    finish(operation, id, sent.ok() ? OutboxRecord::State::Delivered : OutboxRecord::State::Dead);
    if (LiveTask* task = context_.live.findTask(task_id); awaited && task != nullptr) {
      engine_->callbackDone(operation, *task, sent.ok());
    }
  } else {
    const Millis delay = delayAfter(delivery.record.tries);
    delivery.record.next_at = context_.clock.wallNow() + delay;
    delivery.record.last_error = truncateUtf8(sent.error().text(), 1'000);
    operation.changes.outbox.push_back(delivery.record);
    schedule(id, context_.clock.bootNow() + delay);
  }
  context_.writer.submit(std::move(operation));
  startNextOf(receiver);
}

void Callbacker::startNextOf(const std::string& receiver) {
  const auto waiting = waiting_.find(receiver);
  if (waiting == waiting_.end()) return;
  const uint64_t id = waiting->second.begin()->second;
  waiting->second.erase(waiting->second.begin());
  if (waiting->second.empty()) waiting_.erase(waiting);
  tryStart(id);
}

void Callbacker::finish(Operation& operation, uint64_t id, OutboxRecord::State state) {
  const auto it = deliveries_.find(id);
  if (it == deliveries_.end()) return;
  OutboxRecord& record = it->second.record;
  record.state = state;
  operation.changes.outbox.push_back(record);
  if (record.awaited) awaited_.erase(record.task_id);
  // One that is dropped while it is under way gives its place back here: onSent will not find it.
  if (it->second.under_way) {
    if (--under_way_[it->second.receiver] == 0) under_way_.erase(it->second.receiver);
    context_.dispatcher.post([this, receiver = it->second.receiver] { startNextOf(receiver); });
  }
  if (const auto waiting = waiting_.find(it->second.receiver); waiting != waiting_.end()) {
    waiting->second.erase({record.tries, id});
    if (waiting->second.empty()) waiting_.erase(waiting);
  }
  deliveries_.erase(it);
}

Millis Callbacker::delayAfter(int32_t tries) const {
  Millis delay = kFirstDelay;
  for (int32_t i = 1; i < tries && delay < kLongestDelay; ++i) delay *= 2;
  return std::min(delay, kLongestDelay);
}

}  // namespace baton::master
