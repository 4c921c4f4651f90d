#include "master/host/heartbeat_desk.h"

namespace baton::master {

HeartbeatDesk::HeartbeatDesk(TermContext& context) : context_(context) {}

void HeartbeatDesk::answer(Operation& operation, Ticket ticket, Command command,
                           std::optional<Order> order) {
  HeartbeatReply reply;
  reply.cluster_guid = context_.cluster_guid;
  reply.epoch = context_.epoch();
  reply.incarnation = ticket.pair.incarnation;
  reply.seq = ticket.pair.seq;
  reply.command = command;
  reply.order = std::move(order);
  const bool at_once = ticket.held || context_.epoch() > ticket.request_epoch;
  reply.interval_ms = at_once ? 0 : context_.options.heartbeat.count();
  reply.heartbeat_ms = context_.options.heartbeat.count();
  operation.then([reply = std::move(reply), send = std::move(ticket.reply)] { send(reply); });
}

void HeartbeatDesk::refuse(Operation& operation, Ticket ticket, Error error) {
  operation.then([error = std::move(error), send = std::move(ticket.reply)] { send(error); });
}

void HeartbeatDesk::hold(Runner& runner, Ticket ticket, Millis wait, bool idle) {
  CHECK(!runner.held);
  HeldHeartbeat held;
  held.pair = ticket.pair;
  held.request_epoch = ticket.request_epoch;
  held.deadline = context_.clock.bootNow() + wait;
  held.idle = idle;
  held.reply = std::move(ticket.reply);
  deadlines_.emplace(held.deadline, &runner);
  runner.held = std::move(held);
  if (idle) addWaiting(runner);
  armTimer();
}

void HeartbeatDesk::forget(Runner& runner) {
  deadlines_.erase({runner.held->deadline, &runner});
  if (runner.held->idle) removeWaiting(runner);
}

void HeartbeatDesk::addWaiting(Runner& runner) {
  waiting_[runner.class_id][runner.worker].insert(&runner);
}

void HeartbeatDesk::removeWaiting(Runner& runner) {
  const auto workers = waiting_.find(runner.class_id);
  const auto runners = workers->second.find(runner.worker);
  runners->second.erase(&runner);
  if (runners->second.empty()) workers->second.erase(runners);
  if (workers->second.empty()) waiting_.erase(workers);
}

std::optional<HeartbeatDesk::Ticket> HeartbeatDesk::take(Runner& runner) {
  if (!runner.held) return std::nullopt;
  forget(runner);
  Ticket ticket{runner.held->pair, runner.held->request_epoch, true, std::move(runner.held->reply)};
  runner.held.reset();
  return ticket;
}

void HeartbeatDesk::drop(Runner& runner, const HeartbeatPair& pair) {
  if (!runner.held || runner.held->pair != pair) return;
  forget(runner);
  runner.held.reset();
}

void HeartbeatDesk::releaseAll(LiveState& live) {
  Operation operation;
  for (auto& [id, runner] : live.runners) {
    if (auto ticket = take(runner)) answer(operation, std::move(*ticket), Command::GoOn);
  }
  context_.writer.submit(std::move(operation));
}

void HeartbeatDesk::reclass(Runner& runner, LabelClasses::ClassId class_id) {
  const bool waits = runner.held && runner.held->idle;
  if (waits) removeWaiting(runner);
  runner.class_id = class_id;
  if (waits) addWaiting(runner);
}

Runner* HeartbeatDesk::leastLoaded(LabelClasses::Signature signature) const {
  Runner* best = nullptr;
  std::pair<bool, double> best_rank;
  for (const auto& [class_id, workers] : waiting_) {
    if (!context_.live.classes.fits(signature, class_id)) continue;
    for (const auto& [worker, runners] : workers) {
      if (!worker->admits()) continue;
      const auto rank = worker->rank();
      if (best != nullptr && rank >= best_rank) continue;
      best = *runners.begin();
      best_rank = rank;
    }
  }
  return best;
}

void HeartbeatDesk::armTimer() {
  if (deadlines_.empty()) return;
  const BootTime next = deadlines_.begin()->first;
  if (timer_ != 0 && armed_for_ <= next) return;
  if (timer_ != 0) context_.dispatcher.cancel(timer_);
  armed_for_ = next;
  timer_ = context_.dispatcher.callAt(next, [this] { onTimer(); });
}

void HeartbeatDesk::onTimer() {
  timer_ = 0;
  const BootTime now = context_.clock.bootNow();
  Operation operation;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Runner& runner = *deadlines_.begin()->second;
    operation.touchRunner(runner.record.runner_id);
    answer(operation, std::move(*take(runner)), Command::GoOn);
  }
  context_.writer.submit(std::move(operation));
  armTimer();
}

}  // namespace baton::master
