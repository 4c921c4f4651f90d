#include "net/responder.h"

#include "common/base/log.h"
#include "net/http_connection.h"

namespace baton::net {

bool LoopGate::post(EventLoop::Task task) {
  std::lock_guard lock(mutex_);
  if (loop_ == nullptr) return false;
  loop_->post(std::move(task));
  return true;
}

void LoopGate::close() {
  std::lock_guard lock(mutex_);
  loop_ = nullptr;
}

Exchange::Exchange(std::shared_ptr<LoopGate> gate, std::weak_ptr<HttpConnection> connection,
                   uint64_t sequence)
    : gate_(std::move(gate)), connection_(std::move(connection)), sequence_(sequence) {}

Exchange::~Exchange() {
  // Also when the client has gone: the connection waits for the end of the exchange.
  if (replied_.load()) return;
  reply(HttpResponse::problem(500, "internal", "the request was given up without an answer"));
}

void Exchange::reply(HttpResponse response) {
  if (replied_.exchange(true)) return;
  std::function<void()> dropped;
  {
    std::lock_guard lock(mutex_);
    dropped.swap(on_gone_);
  }
  gate_->post(
      [connection = connection_, sequence = sequence_, answer = std::move(response)]() mutable {
        if (const auto live = connection.lock()) live->onReply(sequence, std::move(answer));
      });
}

void Exchange::onClientGone(std::function<void()> fn) {
  std::function<void()> replaced = std::move(fn);
  {
    std::lock_guard lock(mutex_);
    if (replied_.load()) return;
    if (!gone_.load()) {
      on_gone_.swap(replaced);
      return;
    }
  }
  gate_->post(std::move(replaced));
}

void Exchange::markGone() {
  std::function<void()> fn;
  {
    std::lock_guard lock(mutex_);
    if (gone_.exchange(true)) return;
    fn.swap(on_gone_);
  }
  if (fn && !replied_.load()) fn();
}

}  // namespace baton::net
