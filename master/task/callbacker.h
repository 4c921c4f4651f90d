#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "master/api/ports.h"
#include "master/api/webhook_port.h"
#include "master/task/delivery_permit.h"
#include "master/task/task_engine.h"
#include "master/term_context.h"

namespace baton::master {

// Tells receivers outside of ended tasks. Every callback is an outbox row written with the status
// change that it tells of; it is claimed (committed), sent, and marked. At least once; receivers
// tell repeats apart by the Delivery-Id. A receiver that is slow or dead holds up nobody else:
// each has at most kPerReceiverMax deliveries under way; of those that are due, those that were
// tried less often go first. Dispatcher thread only.
class Callbacker final : public OutcomeListener {
 public:
  // `may_act`: see DeliveryPermit.
  Callbacker(TermContext& context, api::WebhookPort& webhooks, std::string signing_key,
             std::function<bool()> may_act);
  ~Callbacker() override;
  // The engine is made with this as its listener, so it comes later.
  void setEngine(TaskEngine& engine) { engine_ = &engine; }

  bool onOutcome(Operation& operation, const LiveTask& task, TaskStatus outcome) override;
  void onCallbackDropped(Operation& operation, const LiveTask& task) override;
  // A run has ended. Its callbacks are never awaited.
  void onRunOutcome(Operation& operation, const RunRecord& run,
                    const std::vector<CallbackSpec>& callbacks);

  // An undelivered row as recovery read it.
  void adopt(const OutboxRecord& record);
  // Sends one that was given up again, from the first try on; `record` as read from the database.
  // Errors: Conflict (it is not dead).
  void resend(OutboxRecord record, const api::Request& request, api::Callback<OutboxRecord> done);
  // From now on deliveries are sent.
  void open();
  // Nothing more is sent, also of what waits for a sender.
  void close();
  size_t pending() const { return deliveries_.size(); }
  // How long ago the oldest of them was made; zero: there is none.
  Micros oldestAge() const;
  bool hasAwaited(TaskId id) const { return awaited_.contains(id); }
  // What a task in CALLBACK waits for, and how it went so far; for people.
  std::string awaitedText(TaskId id) const;

 private:
  struct Delivery {
    OutboxRecord record;
    std::string receiver;  // host:port of the URL.
    bool under_way = false;
  };

  // Puts the row into the operation; it is sent once that is durable.
  void enqueue(Operation& operation, OutboxRecord record);
  void add(OutboxRecord record);
  void reserveNumbers();
  void numberInTransaction(Operation& operation, OutboxRecord record);
  void onNumbered(OutboxRecord record);
  void schedule(uint64_t id, BootTime at);
  void tryStart(uint64_t id);
  void claim(Delivery& delivery);
  void send(const OutboxRecord& record, BootTime claimed_at);
  void onSent(uint64_t id, const Status& sent);
  void startNextOf(const std::string& receiver);
  void finish(Operation& operation, uint64_t id, OutboxRecord::State state);
  Millis delayAfter(int32_t tries) const;

  TermContext& context_;
  api::WebhookPort& webhooks_;
  const std::string signing_key_;
  TaskEngine* engine_ = nullptr;
  bool open_ = false;
  const std::shared_ptr<DeliveryPermit> permit_;
  std::map<uint64_t, Delivery> deliveries_;         // By id: the order of events.
  std::unordered_map<std::string, int> under_way_;  // By receiver.
  // Due, but the receiver is busy: tries and id. In the order of ids alone, the repeats of a few
  // would keep what never was tried from a receiver that answers slowly.
  std::unordered_map<std::string, std::set<std::pair<int32_t, uint64_t>>> waiting_;
  std::unordered_map<TaskId, uint64_t> awaited_;  // Tasks in CALLBACK.
};

}  // namespace baton::master
