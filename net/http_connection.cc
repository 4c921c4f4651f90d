#include "net/http_connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>

#include "common/base/log.h"

namespace baton::net {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;         // Asked of a body source at once.
constexpr size_t kLowWaterBytes = 64 * 1024;      // Less unsent than this: the source is asked.
constexpr size_t kKeptCapacityBytes = 16 * 1024;  // Buffers of idle connections are not larger.

// Calls back exactly once: with the piece, or with an error when it is dropped uncalled.
class PieceGuard {
 public:
  explicit PieceGuard(std::function<void(Result<std::string>)> deliver)
      : deliver_(std::move(deliver)) {}
  ~PieceGuard() { give(Error(ErrorCode::Cancelled, "the body source gave no piece")); }
  void give(Result<std::string> piece) {
    if (!given_.exchange(true)) deliver_(std::move(piece));
  }

 private:
  const std::function<void(Result<std::string>)> deliver_;
  std::atomic<bool> given_{false};
};

}  // namespace

HttpConnection::HttpConnection(ConnectionHost& host, SocketStream stream, std::string peer)
    : host_(host),
      peer_(std::move(peer)),
      stream_(std::move(stream)),
      scanner_(host.limits().head) {}

Status HttpConnection::start() {
  interest_ = EPOLLIN | EPOLLRDHUP;
  // The watch keeps this object until the turn of the loop in which it is removed is over.
  RETURN_IF_ERROR(host_.loop().add(stream_.fd(), interest_,
                                   [self = shared_from_this()](uint32_t e) { self->onEvents(e); }));
  setReadDeadline();
  return {};
}

bool HttpConnection::idle() const {
  return state_ == State::Reading && !scanner_.started() && !body_;
}

void HttpConnection::onEvents(uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return close();
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & EPOLLIN) != 0 && open()) onReadable();
  if ((events & EPOLLRDHUP) != 0 && open()) onPeerFinished();
}

void HttpConnection::onPeerFinished() {
  if (state_ != State::Busy && state_ != State::Sending) return;  // Its reads see the end.
  peer_finished_ = true;
  // A client may finish sending and still read, so what is in flight is sent; but a stream may
  // wait for ever for its next piece.
  if (source_) return close();
  setInterest(interest_ & ~uint32_t{EPOLLRDHUP | EPOLLIN});
  if (const auto exchange = exchange_.lock()) exchange->markGone();
}

void HttpConnection::onReadable() {
  if (state_ == State::Busy || state_ == State::Sending) {
    return setInterest(interest_ & ~uint32_t{EPOLLIN});  // A pipelined request waits outside.
  }
  const std::span<char> scratch = host_.scratch();
  const IoResult got = stream_.read(scratch.data(), scratch.size());
  if (got.kind == IoResult::Kind::WouldBlock) return;
  if (got.kind != IoResult::Kind::Done) return close();
  host_.onBytes(got.bytes, 0);
  if (state_ == State::Lingering) return;  // Thrown away.
  consume({scratch.data(), got.bytes});
}

void HttpConnection::consume(std::string_view data) {
  while (!data.empty() && state_ == State::Reading) {
    if (!body_ && !takeHead(data)) break;
    if (body_ && !takeBody(data)) break;
  }
  if (state_ == State::Busy) {
    pending_.assign(data);
  } else if (state_ == State::Reading) {
    setReadDeadline();
  }
}

// True when the head is whole and a body follows or has ended.
bool HttpConnection::takeHead(std::string_view& data) {
  if (!scanner_.started()) part_begun_ = host_.loop().now();
  size_t taken = 0;
  const HeadScanner::State state = scanner_.feed(data, taken);
  data.remove_prefix(taken);
  if (state == HeadScanner::State::More) return false;
  head_ = RequestHead();
  const HttpFault fault = state == HeadScanner::State::Failed
                              ? scanner_.fault()
                              : parseRequestHead(scanner_.text(), head_);
  if (fault.status != 0) {
    refuse(fault);
    return false;
  }
  scanner_.reset();
  if (!admitBody()) return false;
  body_.emplace(head_.body, body_bytes_max_);
  body_received_ = 0;
  part_begun_ = host_.loop().now();
  if (body_->state() == BodyReader::State::More && head_.expects_continue && data.empty()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    flush();
  }
  return open();
}

// Asks whether the body is wanted at all: nobody's memory is filled by who may not send it.
bool HttpConnection::admitBody() {
  body_bytes_max_ = host_.limits().body_bytes_max;
  const bool none = head_.body.kind == BodyFraming::Kind::None ||
                    (head_.body.kind == BodyFraming::Kind::Length && head_.body.length == 0);
  if (none) return true;
  Admission admission = host_.admit(head_.request);
  if (admission.refusal) {
    refuse(std::move(*admission.refusal));
    return false;
  }
  body_bytes_max_ = std::min(body_bytes_max_, admission.body_bytes_max);
  body_lease_ = std::make_shared<ByteLease>(host_.bodyBudget());
  return true;
}

// True when the request was handed on or more of the body is needed than `data` had.
bool HttpConnection::takeBody(std::string_view& data) {
  size_t taken = 0;
  const BodyReader::State state = body_->feed(data, taken);
  data.remove_prefix(taken);
  body_received_ += taken;
  if (body_lease_ && !body_lease_->growTo(body_->bytes())) {
    host_.onShed();
    HttpResponse refusal =
        HttpResponse::problem(503, "overloaded", "too many request bodies are under way");
    refusal.headers.add("Retry-After", "1");
    refuse(std::move(refusal));
    return false;
  }
  switch (state) {
    case BodyReader::State::More:
      return true;
    case BodyReader::State::Complete:
      dispatch();
      return true;
    case BodyReader::State::TooLarge:
      refuse({413, "body_too_large",
              fmt::format("the body is larger than {} bytes", body_bytes_max_)});
      return false;
    case BodyReader::State::Failed:
      refuse({400, "bad_request", "the chunked body is not well-formed"});
      return false;
  }
  return false;
}

void HttpConnection::dispatch() {
  state_ = State::Busy;
  setDeadline(BootTime::max());
  keep_alive_ = head_.keep_alive;
  HttpRequest request = std::move(head_.request);
  request.body = body_->takeBody();
  request.body_lease = std::move(body_lease_);
  request.peer = peer_;
  body_.reset();
  // What a reply must know of its request outlives the request.
  head_.request = HttpRequest();
  head_.request.method = request.method;
  auto exchange = std::make_shared<Exchange>(host_.gate(), weak_from_this(), ++sequence_);
  exchange_ = exchange;
  host_.onParked(+1);
  host_.onRequest(std::move(request), Responder(std::move(exchange)));
}

void HttpConnection::refuse(const HttpFault& fault) {
  refuse(HttpResponse::problem(fault.status, fault.code, fault.detail));
}

void HttpConnection::refuse(HttpResponse response) {
  body_.reset();
  body_lease_.reset();
  keep_alive_ = false;
  head_.request.method.clear();
  beginReply(std::move(response));
}

void HttpConnection::onReply(uint64_t sequence, HttpResponse response) {
  if (state_ != State::Busy || sequence != sequence_) return;
  host_.onParked(-1);
  beginReply(std::move(response));
}

void HttpConnection::beginReply(HttpResponse response) {
  state_ = State::Sending;
  exchange_.reset();
  host_.onReplied(response.status);
  if (host_.stopping()) keep_alive_ = false;
  const bool bodyless = response.status < 200 || response.status == 204 || response.status == 304;
  std::string framing;
  chunked_ = false;
  source_left_ = response.source_length;
  if (response.source && !source_left_ && !bodyless) {
    chunked_ = !head_.http_1_0;
    if (chunked_) framing = "Transfer-Encoding: chunked\r\n";
    if (!chunked_) keep_alive_ = false;  // The end of the connection is the end of the body.
  } else if (!bodyless) {
    const uint64_t length = response.source ? *source_left_ : response.body.size();
    framing = fmt::format("Content-Length: {}\r\n", length);
  }
  out_ += formatResponseHead(response, framing, keep_alive_, host_.httpDate());
  if (!bodyless && head_.request.method != "HEAD") appendBody(response);
  flush();
}

void HttpConnection::appendBody(HttpResponse& response) {
  if (!response.source) {
    out_ += response.body;
  } else if (!source_left_ || *source_left_ > 0) {
    source_ = std::make_shared<BodySource>(std::move(response.source));
    if (peer_finished_) close();
  }
}

void HttpConnection::flush() {
  if (!open()) return;
  while (out_sent_ < out_.size()) {
    const IoResult sent = stream_.write(std::string_view(out_).substr(out_sent_));
    if (sent.kind == IoResult::Kind::WouldBlock) break;
    if (sent.kind != IoResult::Kind::Done) return close();
    out_sent_ += sent.bytes;
    host_.onBytes(0, sent.bytes);
    // Progress: the stall is counted anew.
    if (state_ == State::Sending) setDeadline(BootTime::max());
  }
  const size_t unsent = out_.size() - out_sent_;
  if (unsent > 0) {
    setInterest(interest_ | EPOLLOUT);
    if (state_ == State::Sending && deadline_ == BootTime::max()) {
      setDeadline(host_.loop().now() + host_.limits().write_stall_timeout);
    }
  } else {
    out_.clear();
    out_sent_ = 0;
    if (out_.capacity() > kKeptCapacityBytes) out_.shrink_to_fit();
    setInterest(interest_ & ~uint32_t{EPOLLOUT});
  }
  if (state_ != State::Sending) return;  // It was the 100 Continue.
  if (source_) {
    if (unsent < kLowWaterBytes) pullMore();
  } else if (unsent == 0) {
    finishReply();
  }
}

void HttpConnection::pullMore() {
  if (pulling_) return;
  pulling_ = true;
  if (out_sent_ > 0) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
  const size_t max =
      static_cast<size_t>(std::min<uint64_t>(kPieceBytes, source_left_.value_or(kPieceBytes)));
  const auto guard =
      std::make_shared<PieceGuard>([gate = host_.gate(), connection = weak_from_this(),
                                    sequence = sequence_](Result<std::string> piece) {
        gate->post([connection, sequence, piece = std::move(piece)]() mutable {
          if (const auto live = connection.lock()) live->onPiece(sequence, std::move(piece));
        });
      });
  host_.runOnPool([source = source_, guard, max] {
    (*source)(max, [guard](Result<std::string> piece) { guard->give(std::move(piece)); });
  });
}

void HttpConnection::onPiece(uint64_t sequence, Result<std::string> piece) {
  if (state_ != State::Sending || sequence != sequence_ || !source_) return;
  pulling_ = false;
  if (!piece.ok()) {
    logWarn("http_body_cut", field("why", piece.error().text()));
    return close();
  }
  const bool end = piece->empty();
  if (source_left_) {
    // More or less than was announced can't be mended; the peer must see that it is broken.
    if (end || piece->size() > *source_left_) return close();
    *source_left_ -= piece->size();
    out_ += *piece;
    if (*source_left_ == 0) source_.reset();
  } else {
    if (chunked_) fmt::format_to(std::back_inserter(out_), "{:x}\r\n", piece->size());
    out_ += *piece;
    if (chunked_) out_ += "\r\n";
    if (end) source_.reset();
  }
  flush();
}

void HttpConnection::finishReply() {
  if (!keep_alive_ || host_.stopping()) return linger();
  state_ = State::Reading;
  setInterest(EPOLLIN | EPOLLRDHUP);
  if (pending_.empty()) {
    setReadDeadline();
    return;
  }
  const std::string pending = std::move(pending_);
  pending_.clear();
  consume(pending);
}

void HttpConnection::linger() {
  if (peer_finished_) return close();
  state_ = State::Lingering;
  stream_.finishWriting();
  setInterest(EPOLLIN | EPOLLRDHUP);
  setDeadline(host_.loop().now() + host_.limits().linger_timeout);
}

void HttpConnection::closeWhenDone() {
  if (idle()) close();
}

void HttpConnection::close() {
  if (!open()) return;
  const State before = state_;
  state_ = State::Closed;
  if (timer_ != 0) host_.loop().cancel(timer_);
  timer_ = 0;
  host_.loop().remove(stream_.fd());
  stream_.close();
  source_.reset();
  body_.reset();
  body_lease_.reset();
  if (before == State::Busy) host_.onParked(-1);
  const auto exchange = exchange_.lock();
  host_.onClosed(*this);
  if (exchange) exchange->markGone();
}

void HttpConnection::setInterest(uint32_t events) {
  if (events == interest_ || !open()) return;
  interest_ = events;
  if (const Status status = host_.loop().modify(stream_.fd(), events); !status.ok()) {
    logError("http_connection_lost", field("why", status.text()));
    close();
  }
}

void HttpConnection::setReadDeadline() {
  const ConnectionLimits& limits = host_.limits();
  if (body_) {
    const auto by_rate = Micros(body_received_ * 1'000'000 / limits.body_bytes_per_second_min);
    setDeadline(std::min(part_begun_ + limits.body_deadline + by_rate,
                         host_.loop().now() + limits.body_idle_timeout));
  } else if (scanner_.started()) {
    setDeadline(part_begun_ + limits.header_deadline);
  } else {
    setDeadline(host_.loop().now() + limits.idle_timeout);
  }
}

// A deadline that moves away leaves the timer as it is: it finds out when it fires. So a busy
// connection does not touch the timers with every request.
void HttpConnection::setDeadline(BootTime deadline) {
  deadline_ = deadline;
  if (deadline == BootTime::max() || !open()) return;
  if (timer_ != 0) {
    if (timer_at_ <= deadline) return;
    host_.loop().cancel(timer_);
  }
  timer_at_ = deadline;
  timer_ = host_.loop().callAfter(deadline - host_.loop().now(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->onTimer();
  });
}

void HttpConnection::onTimer() {
  timer_ = 0;
  if (!open() || deadline_ == BootTime::max()) return;
  if (host_.loop().now() < deadline_) return setDeadline(deadline_);
  const bool half_sent = state_ == State::Reading && !idle();
  if (!half_sent) return close();
  setDeadline(BootTime::max());
  refuse({408, "request_timeout", "the request did not come in time"});
}

}  // namespace baton::net
