#include "net/http_client.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocket.h>

#include <algorithm>
#include <array>

#include "net/body_reader.h"
#include "net/resolver.h"

namespace baton::net {
namespace {

// The server had closed before it sent a byte: on a kept connection that means "stale".
constexpr std::string_view kNoAnswerField = "no_answer";

Error noAnswer(const std::string& peer) {
  return Error(ErrorCode::Unavailable, peer + " closed the connection without an answer",
               std::string(kNoAnswerField));
}

}  // namespace

// One connection. Poco's socket is used, its HTTPClientSession is not: its timeout is per read, so
// a server that drips has no limit, and it takes a chunked body that was cut for a whole one.
class HttpClient::Link {
 public:
  Link(std::string authority, const Options& options)
      : authority_(std::move(authority)), options_(options) {}

  Status connect(const HttpEndpoint& endpoint, BootTime deadline);
  Result<HttpResponse> exchange(const std::string& wire, bool head_request, BootTime deadline);
  const std::string& authority() const { return authority_; }
  bool reusable() const { return reusable_; }

 private:
  Result<Poco::Timespan> left(BootTime deadline, Micros cap = Micros::max()) const;
  Status write(const std::string& wire, BootTime deadline);
  // Empty when the server has closed.
  Result<std::string_view> read(BootTime deadline);
  Result<HttpResponse> readAnswer(bool head_request, BootTime deadline);
  Result<HttpResponse> readBody(ResponseHead head, std::string_view data, BootTime deadline);
  template <typename Body>
  auto guarded(Body body) -> decltype(body());

  const std::string authority_;
  const Options& options_;
  const SystemClock clock_;
  Poco::Net::StreamSocket socket_;
  std::array<char, 16 * 1024> buffer_;
  bool reusable_ = false;
};

template <typename Body>
auto HttpClient::Link::guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Poco::TimeoutException&) {
    return Error::make(ErrorCode::DeadlineExceeded, "{} did not answer in time", authority_);
  } catch (const Poco::Exception& e) {
    return Error::unavailable("connection to {}: {}", authority_, e.displayText());
  } catch (const std::exception& e) {
    return Error::internal("connection to {}: {}", authority_, e.what());
  }
}

Result<Poco::Timespan> HttpClient::Link::left(BootTime deadline, Micros cap) const {
  const Micros rest = std::min<Micros>(deadline - clock_.bootNow(), cap);
  if (rest <= Micros(0)) {
    return Error::make(ErrorCode::DeadlineExceeded, "{} did not answer in time", authority_);
  }
  return Poco::Timespan(rest.count());
}

Status HttpClient::Link::connect(const HttpEndpoint& endpoint, BootTime deadline) {
  ASSIGN_OR_RETURN(const auto addresses, resolveBlocking(endpoint.host, endpoint.port));
  Status last;
  for (const SocketAddress& address : addresses) {
    ASSIGN_OR_RETURN(const Poco::Timespan timeout, left(deadline, options_.connect_timeout));
    last = guarded([&]() -> Status {
      socket_ = Poco::Net::StreamSocket();
      const Poco::Net::SocketAddress to(reinterpret_cast<const sockaddr*>(&address.storage),
                                        address.length);
      socket_.connect(to, timeout);
      socket_.setNoDelay(true);
      return {};
    });
    if (last.ok()) return last;
  }
  return Error::unavailable("can't connect to {}: {}", authority_, last.error().message());
}

Result<HttpResponse> HttpClient::Link::exchange(const std::string& wire, bool head_request,
                                                BootTime deadline) {
  reusable_ = false;
  const Status written = guarded([&] { return write(wire, deadline); });
  if (!written.ok() && written.error().code() == ErrorCode::DeadlineExceeded) {
    return written.error();
  }
  // After a failed write the server's refusal may still be there to be read.
  auto answer = guarded([&] { return readAnswer(head_request, deadline); });
  if (!answer.ok() && !written.ok()) return noAnswer(authority_);
  return answer;
}

Status HttpClient::Link::write(const std::string& wire, BootTime deadline) {
  for (size_t sent = 0; sent < wire.size();) {
    ASSIGN_OR_RETURN(const Poco::Timespan timeout, left(deadline));
    socket_.setSendTimeout(timeout);
    const size_t piece = std::min<size_t>(wire.size() - sent, 64 * 1024);
    sent += static_cast<size_t>(socket_.sendBytes(wire.data() + sent, static_cast<int>(piece)));
  }
  return {};
}

Result<std::string_view> HttpClient::Link::read(BootTime deadline) {
  ASSIGN_OR_RETURN(const Poco::Timespan timeout, left(deadline));
  socket_.setReceiveTimeout(timeout);
  const int got = socket_.receiveBytes(buffer_.data(), static_cast<int>(buffer_.size()));
  return std::string_view(buffer_.data(), static_cast<size_t>(std::max(got, 0)));
}

Result<HttpResponse> HttpClient::Link::readAnswer(bool head_request, BootTime deadline) {
  HeadScanner scanner(options_.head);
  bool answered = false;
  std::string_view data;
  while (true) {
    if (data.empty()) {
      auto more = guarded([&] { return read(deadline); });
      if (!more.ok() && (answered || more.error().code() != ErrorCode::Unavailable)) {
        return more.error();
      }
      if (!more.ok() || (more->empty() && !answered)) return noAnswer(authority_);
      if (more->empty()) return Error::unavailable("{} closed the connection", authority_);
      data = *more;
      answered = true;
    }
    size_t taken = 0;
    const HeadScanner::State state = scanner.feed(data, taken);
    data.remove_prefix(taken);
    if (state == HeadScanner::State::More) continue;
    if (state == HeadScanner::State::Failed) {
      return Error::make(ErrorCode::Corrupt, "{} does not speak HTTP: {}", authority_,
                         scanner.fault().detail);
    }
    ASSIGN_OR_RETURN(ResponseHead head, parseResponseHead(scanner.text(), head_request));
    scanner.reset();
    // 100 Continue and its like: the answer follows.
    if (head.response.status >= 200) return readBody(std::move(head), data, deadline);
  }
}

Result<HttpResponse> HttpClient::Link::readBody(ResponseHead head, std::string_view data,
                                                BootTime deadline) {
  BodyReader body(head.body, options_.body_bytes_max);
  while (true) {
    size_t taken = 0;
    BodyReader::State state = body.feed(data, taken);
    data.remove_prefix(taken);
    const bool stray_bytes = !data.empty();
    if (state == BodyReader::State::More) {
      ASSIGN_OR_RETURN(data, read(deadline));
      if (!data.empty()) continue;
      state = body.finish();
    }
    switch (state) {
      case BodyReader::State::Complete:
        // Bytes behind the answer were not asked for: such a connection is not used again.
        reusable_ = head.keep_alive && !stray_bytes;
        head.response.body = body.takeBody();
        return std::move(head.response);
      case BodyReader::State::TooLarge:
        return Error::make(ErrorCode::TooLarge, "the answer of {} is over {} bytes", authority_,
                           options_.body_bytes_max);
      default:
        return Error::unavailable("the answer of {} was cut or is not well-formed", authority_);
    }
  }
}

HttpClient::HttpClient() : HttpClient(Options()) {}

HttpClient::HttpClient(Options options) : options_(std::move(options)) {}

HttpClient::~HttpClient() = default;

void HttpClient::disconnect() { link_.reset(); }

Result<HttpResponse> HttpClient::send(const HttpEndpoint& endpoint, const HttpRequest& request,
                                      Micros timeout, bool retry_stale) {
  const std::string authority = formatAuthority(endpoint.host, endpoint.port);
  ASSIGN_OR_RETURN(const std::string wire, formatRequest(request, authority));
  const BootTime deadline = SystemClock().bootNow() + timeout;
  if (link_ && link_->authority() != authority) link_.reset();
  const bool reused = link_ != nullptr;
  const bool head = request.method == "HEAD";
  auto answer = sendOnce(endpoint, wire, head, deadline);
  if (!answer.ok() && reused && retry_stale && answer.error().field() == kNoAnswerField) {
    answer = sendOnce(endpoint, wire, head, deadline);
  }
  if (!answer.ok() && answer.error().field() == kNoAnswerField) {
    return Error(answer.error().code(), answer.error().message());
  }
  return answer;
}

Result<HttpResponse> HttpClient::sendOnce(const HttpEndpoint& endpoint, const std::string& wire,
                                          bool head, BootTime deadline) {
  std::unique_ptr<Link> link = std::move(link_);
  if (!link) {
    link = std::make_unique<Link>(formatAuthority(endpoint.host, endpoint.port), options_);
    RETURN_IF_ERROR(link->connect(endpoint, deadline));
  }
  auto answer = link->exchange(wire, head, deadline);
  if (link->reusable()) link_ = std::move(link);
  return answer;
}

}  // namespace baton::net
