#include "net/http_client.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocket.h>

#include <algorithm>
#include <array>
#include <system_error>

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
  // Sends, and reads the answer up to its body; `data` is what came of that.
  Result<ResponseHead> begin(const std::string& wire, BootTime deadline, std::string_view& data);
  Result<HttpResponse> readBody(ResponseHead head, std::string_view data, BootTime deadline);
  // Empty when the server has closed.
  Result<std::string_view> readSome(BootTime deadline) {
    return guarded([&] { return read(deadline); });
  }
  int fd() const { return static_cast<int>(socket_.impl()->sockfd()); }
  const std::string& authority() const { return authority_; }
  bool reusable() const { return reusable_; }

 private:
  Result<Poco::Timespan> left(BootTime deadline, Micros cap = Micros::max()) const;
  Status write(const std::string& wire, BootTime deadline);
  // Empty when the server has closed.
  Result<std::string_view> read(BootTime deadline);
  Result<ResponseHead> readHead(bool head_request, BootTime deadline, std::string_view& data);
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
  std::string why;
  for (const SocketAddress& address : addresses) {
    ASSIGN_OR_RETURN(const Poco::Timespan timeout, left(deadline, options_.connect_timeout));
    try {
      socket_ = Poco::Net::StreamSocket();
      const Poco::Net::SocketAddress to(reinterpret_cast<const sockaddr*>(&address.storage),
                                        address.length);
      socket_.connect(to, timeout);
      socket_.setNoDelay(true);
      return {};
    } catch (const Poco::TimeoutException&) {
      why = "no answer in time";
    } catch (const Poco::Exception& e) {
      why = e.code() != 0 ? std::generic_category().message(e.code()) : e.displayText();
    }
  }
  return Error::unavailable("can't connect to {}: {}", authority_, why);
}

Result<HttpResponse> HttpClient::Link::exchange(const std::string& wire, bool head_request,
                                                BootTime deadline) {
  reusable_ = false;
  const Status written = guarded([&] { return write(wire, deadline); });
  if (!written.ok() && written.error().code() == ErrorCode::DeadlineExceeded) {
    return written.error();
  }
  // After a failed write the server's refusal may still be there to be read.
  auto answer = guarded([&]() -> Result<HttpResponse> {
    std::string_view data;
    ASSIGN_OR_RETURN(ResponseHead head, readHead(head_request, deadline, data));
    return readBody(std::move(head), data, deadline);
  });
  if (!answer.ok() && !written.ok()) return noAnswer(authority_);
  return answer;
}

Result<ResponseHead> HttpClient::Link::begin(const std::string& wire, BootTime deadline,
                                             std::string_view& data) {
  reusable_ = false;
  RETURN_IF_ERROR(guarded([&] { return write(wire, deadline); }));
  return guarded([&] { return readHead(false, deadline, data); });
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

Result<ResponseHead> HttpClient::Link::readHead(bool head_request, BootTime deadline,
                                                std::string_view& data) {
  HeadScanner scanner(options_.head);
  bool answered = false;
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
    if (head.response.status >= 200) return head;
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

struct HttpClient::Stream::Parts {
  Parts(Options of_link, const std::string& authority)
      : options(std::move(of_link)), link(authority, options) {}

  const Options options;
  Link link;
  std::optional<BodyReader> body;
};

HttpClient::Stream::Stream(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpClient::Stream::~Stream() = default;

bool HttpClient::Stream::ready() const {
  return parts_->body->bytes() > 0 || parts_->body->state() != BodyReader::State::More;
}

int HttpClient::Stream::fd() const { return parts_->link.fd(); }

Result<std::optional<std::string>> HttpClient::Stream::read(Micros timeout) {
  const BootTime deadline = SystemClock().bootNow() + timeout;
  BodyReader& body = *parts_->body;
  while (!ready()) {
    ASSIGN_OR_RETURN(const std::string_view data, parts_->link.readSome(deadline));
    size_t taken = 0;
    const BodyReader::State state = data.empty() ? body.finish() : body.feed(data, taken);
    if (data.empty() && state == BodyReader::State::Complete) return {std::nullopt};
    if (data.empty()) break;
  }
  if (body.bytes() > 0) return std::optional(body.takeBody());
  if (body.state() == BodyReader::State::Complete) return {std::nullopt};
  return Error::unavailable("the answer of {} was cut or is not well-formed",
                            parts_->link.authority());
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

Result<HttpClient::Opened> HttpClient::open(const HttpEndpoint& endpoint,
                                            const HttpRequest& request, Micros timeout) {
  const std::string authority = formatAuthority(endpoint.host, endpoint.port);
  ASSIGN_OR_RETURN(const std::string wire, formatRequest(request, authority));
  const BootTime deadline = SystemClock().bootNow() + timeout;
  auto parts = std::make_unique<Stream::Parts>(options_, authority);
  RETURN_IF_ERROR(parts->link.connect(endpoint, deadline));
  std::string_view data;
  ASSIGN_OR_RETURN(ResponseHead head, parts->link.begin(wire, deadline, data));
  if (head.response.status >= 300) {
    ASSIGN_OR_RETURN(HttpResponse response, parts->link.readBody(std::move(head), data, deadline));
    return Opened{std::move(response), nullptr};
  }
  BodyReader& body = parts->body.emplace(head.body, SIZE_MAX);
  size_t taken = 0;
  if (!data.empty()) body.feed(data, taken);
  return Opened{std::move(head.response), std::unique_ptr<Stream>(new Stream(std::move(parts)))};
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
