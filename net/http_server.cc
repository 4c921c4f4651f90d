#include "net/http_server.h"

#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <unordered_map>
#include <vector>

#include "common/base/log.h"
#include "common/base/named_thread.h"
#include "net/task_pool.h"

namespace baton::net {
namespace {

constexpr size_t kScratchBytes = 64 * 1024;
constexpr int kAcceptsPerTurn = 64;       // So that a storm of new ones does not starve the old.
constexpr size_t kIdleClosedAtOnce = 32;  // When descriptors have run out.
constexpr Micros kDateLife{500'000};

}  // namespace

// All that runs between start() and stop(). Members are the I/O thread's unless said otherwise.
class HttpServer::Front final : public ConnectionHost {
 public:
  Front(HttpServer& server, std::unique_ptr<EventLoop> loop, FileDescriptor listener)
      : server_(server),
        options_(server.options_),
        loop_(std::move(loop)),
        gate_(std::make_shared<LoopGate>(*loop_)),
        scratch_(kScratchBytes),
        listener_(std::move(listener)),
        pool_(options_.name, options_.pool_threads, options_.queue_max) {}

  Status start();
  void stopAccepting();
  void stop(Micros patience) noexcept;

  EventLoop& loop() override { return *loop_; }
  const ConnectionLimits& limits() const override { return options_.limits; }
  const std::shared_ptr<LoopGate>& gate() override { return gate_; }
  std::span<char> scratch() override { return scratch_; }
  const std::string& httpDate() override;
  bool stopping() const override { return stopping_; }
  Admission admit(const HttpRequest& head) override {
    return server_.admit_ ? server_.admit_(head) : Admission();
  }
  const std::shared_ptr<ByteBudget>& bodyBudget() override { return server_.body_budget_; }
  void onShed() override { ++server_.counters_.shed; }
  void onRequest(HttpRequest request, Responder responder) override;
  void runOnPool(EventLoop::Task task) override { pool_.post(std::move(task)); }
  void onReplied(int status) override {
    const size_t index = status >= 100 && status < 600 ? static_cast<size_t>(status) / 100 : 0;
    ++server_.counters_.by_class[index];
  }
  void onParked(int change) override { server_.counters_.parked += change; }
  void onBytes(uint64_t in, uint64_t out) override {
    if (in != 0) server_.counters_.bytes_in += in;
    if (out != 0) server_.counters_.bytes_out += out;
  }
  void onClosed(HttpConnection& connection) override;

 private:
  void onAcceptable();
  // False when there is nothing more to accept now.
  bool acceptOne();
  void adopt(FileDescriptor fd, std::string peer);
  void pauseAccepting();
  void closeListener();
  void handle(HttpRequest request, const Responder& responder);

  HttpServer& server_;
  const Options& options_;
  const std::unique_ptr<EventLoop> loop_;
  const std::shared_ptr<LoopGate> gate_;
  std::vector<char> scratch_;
  FileDescriptor listener_;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>> connections_;
  std::unordered_map<std::string, size_t> per_peer_;
  std::string date_;
  BootTime date_made_{};
  bool stopping_ = false;

  std::mutex mutex_;
  std::condition_variable all_closed_;  // stopping_ was set and the last connection has closed.
  bool drained_ = false;                // Guarded by mutex_.

  TaskPool pool_;
  NamedThread thread_;
};

Status HttpServer::Front::start() {
  RETURN_IF_ERROR(loop_->add(listener_.get(), EPOLLIN, [this](uint32_t) { onAcceptable(); }));
  thread_ = NamedThread(options_.name + "-io", [this](std::stop_token stop) { loop_->run(stop); });
  return {};
}

const std::string& HttpServer::Front::httpDate() {
  if (date_.empty() || loop_->now() - date_made_ > kDateLife) {
    date_ = Poco::DateTimeFormatter::format(Poco::Timestamp(), Poco::DateTimeFormat::HTTP_FORMAT);
    date_made_ = loop_->now();
  }
  return date_;
}

void HttpServer::Front::onAcceptable() {
  for (int i = 0; i < kAcceptsPerTurn && listener_; ++i) {
    if (!acceptOne()) return;
  }
}

bool HttpServer::Front::acceptOne() {
  SocketAddress address;
  address.length = sizeof(address.storage);
  FileDescriptor fd(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address.storage),
                            &address.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return false;
    // ECONNABORTED and other errors of one connection; the rest of the queue is sound.
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return true;
    // The kernel wants a free descriptor before it looks whether anybody waits.
    pollfd item{listener_.get(), POLLIN, 0};
    if (poll(&item, 1, 0) != 1) return false;
    logWarn("http_accept_paused", field("why", strerror(error)));
    pauseAccepting();
    return false;
  }
  ++server_.counters_.connections;
  std::string peer = address.host();
  const auto known = per_peer_.find(peer);
  const bool peer_full =
      known != per_peer_.end() && known->second >= options_.connections_per_peer_max;
  if (peer_full || connections_.size() >= options_.connections_max) {
    ++server_.counters_.shed;
    onReplied(503);
    HttpResponse refusal = HttpResponse::problem(503, "overloaded", "too many connections");
    refusal.headers.add("Retry-After", "1");
    const std::string framing = fmt::format("Content-Length: {}\r\n", refusal.body.size());
    SocketStream stream(std::move(fd));
    // A fresh socket has room for it; if not, the client merely sees the close.
    stream.write(formatResponseHead(refusal, framing, false, httpDate()) + refusal.body);
    stream.finishWriting();
    return true;
  }
  adopt(std::move(fd), std::move(peer));
  return true;
}

void HttpServer::Front::adopt(FileDescriptor fd, std::string peer) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto connection =
      std::make_shared<HttpConnection>(*this, SocketStream(std::move(fd)), std::move(peer));
  if (const Status status = connection->start(); !status.ok()) {
    logWarn("http_connection_refused", field("why", status.text()));
    return;
  }
  ++server_.counters_.connections_open;
  ++per_peer_[connection->peer()];
  HttpConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
}

// Out of descriptors: the listener would be reported ready for ever. The connections that are idle
// for longest make room for new ones.
void HttpServer::Front::pauseAccepting() {
  std::vector<std::shared_ptr<HttpConnection>> idle;
  for (const auto& [key, connection] : connections_) {
    if (connection->idle()) idle.push_back(connection);
  }
  const size_t count = std::min(idle.size(), kIdleClosedAtOnce);
  std::partial_sort(idle.begin(), idle.begin() + static_cast<ptrdiff_t>(count), idle.end(),
                    [](const auto& a, const auto& b) { return a->deadline() < b->deadline(); });
  for (size_t i = 0; i < count; ++i) idle[i]->close();
  loop_->remove(listener_.get());
  loop_->callAfter(options_.accept_pause, [this] {
    if (!listener_) return;
    const Status status =
        loop_->add(listener_.get(), EPOLLIN, [this](uint32_t) { onAcceptable(); });
    if (!status.ok()) logError("http_accept_stopped", field("why", status.text()));
  });
}

void HttpServer::Front::onRequest(HttpRequest request, Responder responder) {
  ++server_.counters_.requests;
  RunOn where = RunOn::Pool;
  try {
    where = server_.dispatch_(request.method, request.path);
  } catch (const std::exception& e) {
    logError("http_dispatch_threw", field("what", e.what()));
    return;  // The Responder answers 500.
  }
  if (where == RunOn::Io) return handle(std::move(request), responder);
  const bool queued = pool_.tryPost([this, request = std::move(request), responder]() mutable {
    handle(std::move(request), responder);
  });
  if (queued) return;
  ++server_.counters_.shed;
  HttpResponse refusal = HttpResponse::problem(503, "overloaded", "the request queue is full");
  refusal.headers.add("Retry-After", "1");
  responder.reply(std::move(refusal));
}

void HttpServer::Front::handle(HttpRequest request, const Responder& responder) {
  try {
    server_.handler_(std::move(request), responder);
    return;
  } catch (const std::exception& e) {
    logError("http_handler_threw", field("what", e.what()));
  } catch (...) {
    logError("http_handler_threw", field("what", "not a std::exception"));
  }
  responder.reply(HttpResponse::problem(500, "internal", "the request failed inside the server"));
}

void HttpServer::Front::onClosed(HttpConnection& connection) {
  const auto peer = per_peer_.find(connection.peer());
  if (peer != per_peer_.end() && --peer->second == 0) per_peer_.erase(peer);
  --server_.counters_.connections_open;
  connections_.erase(&connection);
  if (!stopping_ || !connections_.empty()) return;
  std::lock_guard lock(mutex_);
  drained_ = true;
  all_closed_.notify_all();
}

void HttpServer::Front::closeListener() {
  if (!listener_) return;
  loop_->remove(listener_.get());
  listener_.reset();
}

void HttpServer::Front::stopAccepting() {
  if (loop_->onLoopThread()) return closeListener();
  std::promise<void> closed;
  if (!gate_->post([&] {
        closeListener();
        closed.set_value();
      })) {
    return;
  }
  closed.get_future().wait();
}

void HttpServer::Front::stop(Micros patience) noexcept {
  if (!thread_.running()) return;
  gate_->post([this] {
    closeListener();
    stopping_ = true;
    std::vector<std::shared_ptr<HttpConnection>> all;
    for (const auto& [key, connection] : connections_) all.push_back(connection);
    for (const auto& connection : all) connection->closeWhenDone();
    std::lock_guard lock(mutex_);
    drained_ = drained_ || connections_.empty();
    all_closed_.notify_all();
  });
  {
    std::unique_lock lock(mutex_);
    all_closed_.wait_for(lock, patience, [this] { return drained_; });
  }
  std::promise<void> closed;
  gate_->post([&] {
    while (!connections_.empty()) {
      const std::shared_ptr<HttpConnection> connection = connections_.begin()->second;
      connection->close();
    }
    closed.set_value();
  });
  closed.get_future().wait();
  gate_->close();
  loop_->stop();
  thread_.requestStopAndJoin();
  pool_.stop();
}

HttpServer::HttpServer(Options options, Dispatch dispatch, Handler handler, Admit admit)
    : options_(std::move(options)),
      dispatch_(std::move(dispatch)),
      handler_(std::move(handler)),
      admit_(std::move(admit)),
      body_budget_(std::make_shared<ByteBudget>(options_.bodies_bytes_max)) {}

HttpServer::~HttpServer() { stop(Micros(0)); }

Status HttpServer::start() {
  CHECK(front_ == nullptr);
  ASSIGN_OR_RETURN(FileDescriptor listener,
                   listenOn(options_.host, options_.port, options_.backlog));
  ASSIGN_OR_RETURN(const SocketAddress address, localAddress(listener.get()));
  ASSIGN_OR_RETURN(std::unique_ptr<EventLoop> loop, EventLoop::create());
  front_ = std::make_unique<Front>(*this, std::move(loop), std::move(listener));
  RETURN_IF_ERROR(front_->start());
  port_ = address.port();
  return {};
}

void HttpServer::stopAccepting() {
  if (front_) front_->stopAccepting();
}

void HttpServer::stop(Micros patience) noexcept {
  if (front_) front_->stop(patience);
}

}  // namespace baton::net
