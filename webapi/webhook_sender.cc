#include "webapi/webhook_sender.h"

#include "net/http_client.h"
#include "net/target_guard.h"

namespace baton::webapi {

WebhookSender::WebhookSender(Options options)
    : Service("webhook sender"), options_(std::move(options)) {}

WebhookSender::~WebhookSender() { stop(); }

Status WebhookSender::onStart() {
  for (size_t i = 0; i < options_.threads; ++i) {
    threads_.emplace_back("webhook", [this](std::stop_token stop) { run(stop); });
  }
  return {};
}

void WebhookSender::onStop() noexcept {
  for (NamedThread& thread : threads_) thread.requestStop();
  wake_.notify_all();
  for (NamedThread& thread : threads_) thread.requestStopAndJoin();
}

void WebhookSender::send(master::api::Webhook webhook, std::function<void(Status)> done) {
  {
    std::lock_guard lock(mutex_);
    jobs_.emplace_back(std::move(webhook), std::move(done));
  }
  wake_.notify_one();
}

void WebhookSender::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, Millis(500), [&] { return stop.stop_requested() || !jobs_.empty(); });
      if (stop.stop_requested() || jobs_.empty()) continue;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.second(deliver(job.first));
  }
}

Status WebhookSender::deliver(const master::api::Webhook& webhook) const {
  auto target = net::checkTarget(webhook.url, options_.allow);
  if (!target.ok()) return target.status();
  if (target->url.scheme != "http") {
    return Error(ErrorCode::PermissionDenied, "https receivers are not supported by this version");
  }
  net::HttpRequest request;
  request.method = "POST";
  request.target = target->url.target;
  request.body = webhook.body;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("User-Agent", "baton/" + options_.version);
  for (const auto& [name, value] : webhook.headers) request.headers.add(name, value);
  if (!webhook.may_send()) return Error(ErrorCode::Cancelled, "it may no longer be sent");
  net::HttpClient client;
  const auto answer = client.send(target->endpoint, request, webhook.timeout);
  if (!answer.ok()) return answer.status();
  if (answer->status < 200 || answer->status > 299) {
    return Error::unavailable("the receiver answered {}", answer->status);
  }
  return {};
}

}  // namespace baton::webapi
