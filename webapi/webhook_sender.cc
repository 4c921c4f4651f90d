#include "webapi/webhook_sender.h"

#include <algorithm>
#include <utility>

namespace baton::webapi {
namespace {

// A list entry without a port allows 65,535 receivers; past this the good ones are learned anew.
constexpr size_t kProvenMax = 10'000;
constexpr size_t kAnswerBytesMax = 1024 * 1024;

}  // namespace

WebhookSender::WebhookSender(Options options)
    : Service("webhook sender"), options_(std::move(options)) {}

WebhookSender::~WebhookSender() { stop(); }

Status WebhookSender::onStart() {
  ASSIGN_OR_RETURN(loop_, net::EventLoop::create());
  thread_ = NamedThread("webhook", [this](std::stop_token stop) { loop_->run(stop); });
  return {};
}

void WebhookSender::onStop() noexcept {
  thread_.requestStopAndJoin();
  jobs_.clear();
  resolvers_.clear();
}

void WebhookSender::send(master::api::Webhook webhook, Done done) {
  loop_->post([this, webhook = std::move(webhook), done = std::move(done)]() mutable {
    accept(std::move(webhook), std::move(done));
  });
}

void WebhookSender::accept(master::api::Webhook webhook, Done done) {
  auto url = net::checkTarget(webhook.url, options_.allow);
  if (!url.ok()) return done(url.status());
  if (url->scheme != "http") {
    return done(
        Error(ErrorCode::PermissionDenied, "https receivers are not supported by this version"));
  }
  const uint64_t id = next_job_++;
  Job& job = jobs_[id];
  job.deadline = loop_->now() + webhook.timeout;
  job.receiver = fmt::format("{}:{}", url->host, url->port);
  job.webhook = std::move(webhook);
  job.done = std::move(done);
  job.url = std::move(*url);
  job.timer = loop_->callAfter(job.webhook.timeout, [this, id] {
    const bool named = jobs_.at(id).lane != nullptr;
    finish(id, named ? Error(ErrorCode::Cancelled, "too many calls are under way")
                     : Error(ErrorCode::DeadlineExceeded, "the name was not resolved in time"));
  });
  // Answers at once or on the resolver's thread; the connection then finds the name remembered.
  resolverOf(job.url.host).resolve(job.url.host, job.url.port, [this, id](const auto& addresses) {
    loop_->post([this, id, resolved = addresses.status()] { onResolved(id, resolved); });
  });
}

void WebhookSender::onResolved(uint64_t id, const Status& resolved) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  if (!resolved.ok()) return finish(id, resolved);
  Job& job = it->second;
  job.lane = proven_.contains(job.receiver) ? &proven_lane_ : &other_lane_;
  job.lane->waiting.push_back(id);
  startWaiting(*job.lane);
}

void WebhookSender::startWaiting(Lane& lane) {
  while (lane.under_way < options_.calls_max && !lane.waiting.empty()) {
    const uint64_t id = lane.waiting.front();
    lane.waiting.pop_front();
    const auto it = jobs_.find(id);
    if (it == jobs_.end()) continue;  // Its time was over.
    if (it->second.webhook.may_send()) {
      call(id, it->second);
    } else {
      finish(id, Error(ErrorCode::Cancelled, "it may no longer be sent"));
    }
  }
}

void WebhookSender::call(uint64_t id, Job& job) {
  ++job.lane->under_way;
  loop_->cancel(std::exchange(job.timer, 0));
  net::AsyncHttpConnection::Options options;
  options.host = job.url.host;
  options.port = job.url.port;
  options.body_bytes_max = kAnswerBytesMax;
  job.connection = std::make_unique<net::AsyncHttpConnection>(*loop_, resolverOf(job.url.host),
                                                              std::move(options));
  net::AsyncHttpConnection::Call call;
  call.request.method = "POST";
  call.request.target = job.url.target;
  call.request.body = job.webhook.body;
  call.request.headers.add("Content-Type", "application/json");
  call.request.headers.add("User-Agent", "baton/" + options_.version);
  for (const auto& [name, value] : job.webhook.headers) call.request.headers.add(name, value);
  call.timeout = job.deadline - loop_->now();
  job.connection->request(std::move(call),
                          [this, id](const auto& answer) { onAnswer(id, answer); });
}

void WebhookSender::onAnswer(uint64_t id, const Result<net::HttpResponse>& answer) {
  if (!answer.ok()) return finish(id, answer.status());
  if (answer->status < 200 || answer->status > 299) {
    return finish(id, Error::unavailable("the receiver answered {}", answer->status));
  }
  finish(id, {});
}

void WebhookSender::finish(uint64_t id, const Status& outcome) {
  auto node = jobs_.extract(id);
  Job& job = node.mapped();
  loop_->cancel(job.timer);
  if (outcome.ok()) {
    if (proven_.size() >= kProvenMax) proven_.clear();
    proven_.insert(job.receiver);
  } else if (outcome.error().code() != ErrorCode::Cancelled) {
    proven_.erase(job.receiver);
  }
  job.done(outcome);
  if (job.connection == nullptr) return;
  --job.lane->under_way;
  startWaiting(*job.lane);
}

net::Resolver& WebhookSender::resolverOf(const std::string& host) {
  auto& resolver = resolvers_[host];
  if (resolver == nullptr) resolver = std::make_unique<net::Resolver>();
  return *resolver;
}

}  // namespace baton::webapi
