#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "net/event_loop.h"
#include "net/http_message.h"

namespace baton::net {

class HttpConnection;

// The way to an event loop that may have ended: handles of old requests keep it, and what they
// post after close() is dropped. Any thread.
class LoopGate {
 public:
  explicit LoopGate(EventLoop& loop) : loop_(&loop) {}
  // False when the gate is closed; the task is dropped then.
  bool post(EventLoop::Task task);
  void close();

 private:
  std::mutex mutex_;
  EventLoop* loop_;  // Guarded by mutex_; nullptr once closed.
};

// One request on its way to an answer; shared by the copies of its Responder. Gives the answer 500
// when the last of them dies without one. Any thread unless said otherwise.
class Exchange {
 public:
  Exchange(std::shared_ptr<LoopGate> gate, std::weak_ptr<HttpConnection> connection,
           uint64_t sequence);
  ~Exchange();

  void reply(HttpResponse response);
  bool clientGone() const { return gone_.load(std::memory_order_acquire); }
  void onClientGone(std::function<void()> fn);
  // The peer has closed. I/O thread.
  void markGone();

 private:
  bool takeReply();

  const std::shared_ptr<LoopGate> gate_;
  const std::weak_ptr<HttpConnection> connection_;
  const uint64_t sequence_;
  std::atomic<bool> replied_{false};
  std::atomic<bool> gone_{false};
  std::mutex mutex_;
  std::function<void()> on_gone_;  // Guarded by mutex_. Dropped by the reply: it may hold us.
};

// The handle by which a request is answered, exactly once, from any thread, now or much later: a
// request that waits costs no thread. Copies share the state; later replies are ignored. When the
// last copy goes without a reply the client gets 500.
class Responder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void reply(HttpResponse response) const { exchange_->reply(std::move(response)); }
  // True once the peer has closed its side; a reply would reach nobody (or a client that has
  // merely finished sending: it still gets the reply).
  bool clientGone() const { return exchange_->clientGone(); }
  // Calls `fn` on the I/O thread (so it must not block) when the peer closes before the reply; at
  // once if it has. One function at a time: a new one replaces the old. `fn` may hold the
  // Responder.
  void onClientGone(std::function<void()> fn) const { exchange_->onClientGone(std::move(fn)); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace baton::net
