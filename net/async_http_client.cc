#include "net/async_http_client.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <array>

namespace baton::net {

AsyncHttpConnection::AsyncHttpConnection(EventLoop& loop, Resolver& resolver, Options options)
    : loop_(loop),
      resolver_(resolver),
      options_(std::move(options)),
      authority_(formatAuthority(options_.host, options_.port)),
      scanner_(options_.head),
      alive_(std::make_shared<int>(0)) {}

AsyncHttpConnection::~AsyncHttpConnection() {
  cancelTimers();
  closeSocket();
}

void AsyncHttpConnection::request(Call call, Callback callback) {
  CHECK(!busy() && callback != nullptr);
  callback_ = std::move(callback);
  alive_ = std::make_shared<int>(0);
  auto wire = formatRequest(call.request, authority_);
  if (!wire.ok()) {
    loop_.post([this, alive = std::weak_ptr(alive_), error = wire.error()] {
      if (!alive.expired()) finish(error);
    });
    return;
  }
  wire_ = std::move(*wire);
  head_request_ = call.request.method == "HEAD";
  retry_stale_ = call.retry_stale;
  timeout_ = loop_.callAfter(call.timeout, [this] {
    timeout_ = 0;
    finish(Error::make(ErrorCode::DeadlineExceeded, "{} did not answer in time", authority_));
  });
  // Never from inside this call: the caller may hold state that a callback would change.
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && busy()) begin();
  });
}

void AsyncHttpConnection::abort() {
  if (busy())
    finish(Error::make(ErrorCode::Cancelled, "the request to {} was given up", authority_));
}

void AsyncHttpConnection::closeIdle() {
  if (!busy()) closeSocket();
}

void AsyncHttpConnection::begin() {
  reused_ = stream_.open();
  if (reused_) return startExchange();
  phase_ = Phase::Resolving;
  connect_timeout_ = loop_.callAfter(options_.connect_timeout, [this] {
    connect_timeout_ = 0;
    finish(Error::unavailable("no connection to {} in time", authority_));
  });
  // The answer may come on the resolver's thread, where only the weak reference may be touched;
  // whether this still lives is known on the loop alone.
  resolver_.resolve(options_.host, options_.port,
                    [this, loop = &loop_, alive = std::weak_ptr(alive_)](const auto& found) {
                      loop->post([this, alive, found] {
                        if (alive.expired() || phase_ != Phase::Resolving) return;
                        if (!found.ok()) return finish(found.error());
                        addresses_ = *found;
                        next_address_ = 0;
                        phase_ = Phase::Connecting;
                        connectNext();
                      });
                    });
}

void AsyncHttpConnection::connectNext() {
  auto fd = beginConnect(addresses_[next_address_++]);
  if (!fd.ok()) return onConnectFailed(fd.error());
  stream_ = SocketStream(std::move(*fd));
  watch(EPOLLOUT);
}

void AsyncHttpConnection::onConnectFailed(Error error) {
  closeSocket();
  if (next_address_ < addresses_.size()) return connectNext();
  finish(std::move(error));
}

void AsyncHttpConnection::startExchange() {
  if (connect_timeout_ != 0) loop_.cancel(connect_timeout_);
  connect_timeout_ = 0;
  phase_ = Phase::Exchanging;
  wire_sent_ = 0;
  answered_ = false;
  scanner_.reset();
  head_.reset();
  body_.reset();
  writeMore();
}

void AsyncHttpConnection::onEvents(uint32_t events) {
  if (phase_ == Phase::Idle) return closeSocket();  // The server has closed, or sent rubbish.
  if (phase_ == Phase::Connecting) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(stream_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      return onConnectFailed(
          Error::unavailable("can't connect to {}: {}", authority_, strerror(error)));
    }
    return startExchange();
  }
  // Reading first: an answer that came before the connection broke counts.
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) return readMore();
  if ((events & EPOLLOUT) != 0) writeMore();
}

void AsyncHttpConnection::writeMore() {
  while (wire_sent_ < wire_.size()) {
    const IoResult sent = stream_.write(std::string_view(wire_).substr(wire_sent_));
    if (sent.kind == IoResult::Kind::WouldBlock) return watch(EPOLLIN | EPOLLOUT);
    if (sent.kind != IoResult::Kind::Done) {
      // A server may refuse a large body early and close: its answer may be waiting to be read.
      return readMore();
    }
    wire_sent_ += sent.bytes;
  }
  watch(EPOLLIN);
}

void AsyncHttpConnection::readMore() {
  std::array<char, 16 * 1024> buffer;
  while (true) {
    const IoResult got = stream_.read(buffer.data(), buffer.size());
    switch (got.kind) {
      case IoResult::Kind::WouldBlock:
        return watch(wire_sent_ < wire_.size() ? EPOLLIN | EPOLLOUT : EPOLLIN);
      case IoResult::Kind::Done:
        answered_ = true;
        if (consume({buffer.data(), got.bytes})) return;
        break;
      case IoResult::Kind::Closed:
        if (body_ && body_->finish() == BodyReader::State::Complete) return complete(false);
        return onBroken(Error::unavailable("{} closed the connection", authority_));
      case IoResult::Kind::Failed:
        return onBroken(
            Error::unavailable("connection to {} broke: {}", authority_, strerror(got.error)));
    }
  }
}

bool AsyncHttpConnection::takeHead(std::string_view& data) {
  size_t taken = 0;
  const HeadScanner::State state = scanner_.feed(data, taken);
  data.remove_prefix(taken);
  if (state == HeadScanner::State::More) return true;
  if (state == HeadScanner::State::Failed) {
    finish(Error::make(ErrorCode::Corrupt, "{} does not speak HTTP: {}", authority_,
                       scanner_.fault().detail));
    return false;
  }
  auto head = parseResponseHead(scanner_.text(), head_request_);
  scanner_.reset();
  if (!head.ok()) {
    finish(head.error());
    return false;
  }
  if (head->response.status < 200) return true;  // 100 Continue and its like: the answer follows.
  head_ = std::move(*head);
  body_.emplace(head_->body, options_.body_bytes_max);
  return true;
}

bool AsyncHttpConnection::consume(std::string_view data) {
  while (!body_) {
    if (!takeHead(data)) return true;
    if (!body_ && data.empty()) return false;
  }
  size_t taken = 0;
  switch (body_->feed(data, taken)) {
    case BodyReader::State::More:
      return false;
    case BodyReader::State::Complete:
      // Bytes behind the answer were not asked for: such a connection is not trusted again.
      complete(head_->keep_alive && taken == data.size() && wire_sent_ == wire_.size());
      return true;
    case BodyReader::State::TooLarge:
      finish(Error::make(ErrorCode::TooLarge, "the answer of {} is over {} bytes", authority_,
                         options_.body_bytes_max));
      return true;
    case BodyReader::State::Failed:
      finish(Error::make(ErrorCode::Corrupt, "the answer of {} is not well-formed", authority_));
      return true;
  }
  return true;
}

void AsyncHttpConnection::onBroken(Error error) {
  if (reused_ && retry_stale_ && !answered_) {
    closeSocket();
    retry_stale_ = false;
    return begin();
  }
  finish(std::move(error));
}

void AsyncHttpConnection::complete(bool keep) {
  HttpResponse response = std::move(head_->response);
  response.body = body_->takeBody();
  if (keep) {
    phase_ = Phase::Idle;
    watch(EPOLLIN);  // The end of the stream is readable too.
  }
  finish(std::move(response));
}

// The callback is the last thing that is touched: it may destroy this.
void AsyncHttpConnection::finish(Result<HttpResponse> result) {
  cancelTimers();
  if (phase_ != Phase::Idle) closeSocket();  // Its stream is in the middle of something.
  phase_ = Phase::Idle;
  alive_ = std::make_shared<int>(0);
  wire_.clear();
  head_.reset();
  body_.reset();
  scanner_.reset();
  const Callback callback = std::exchange(callback_, nullptr);
  callback(std::move(result));
}

void AsyncHttpConnection::watch(uint32_t events) {
  if (events == interest_) return;
  Status status;
  if (interest_ == 0) {
    status = loop_.add(stream_.fd(), events, [this](uint32_t e) { onEvents(e); });
  } else {
    status = loop_.modify(stream_.fd(), events);
  }
  if (status.ok()) {
    interest_ = events;
    return;
  }
  closeSocket();
  if (!busy()) return;
  loop_.post([this, alive = std::weak_ptr(alive_), error = status.error()] {
    if (!alive.expired() && busy()) finish(error);
  });
}

void AsyncHttpConnection::closeSocket() {
  if (interest_ != 0) loop_.remove(stream_.fd());
  interest_ = 0;
  stream_.close();
}

void AsyncHttpConnection::cancelTimers() {
  if (timeout_ != 0) loop_.cancel(timeout_);
  if (connect_timeout_ != 0) loop_.cancel(connect_timeout_);
  timeout_ = 0;
  connect_timeout_ = 0;
}

}  // namespace baton::net
