#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton::master::api {

// One delivery of a callback.
struct Webhook {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;        // JSON.
  Millis timeout{10'000};  // Of the whole exchange.
  // Asked right before the receiver is called, maybe long after send(); false: it is dropped.
  std::function<bool()> may_send;
};

// Sends webhooks. Body: webapi/webhook_sender (threads of its own, allow list).
class WebhookPort {
 public:
  virtual ~WebhookPort() = default;
  // Does not block. `done` comes on some thread, or never if the sender ends: ok for a 2xx answer;
  // PermissionDenied when the target is not on the allow list; Cancelled when it was not sent
  // because it no longer may; DeadlineExceeded, Unavailable (connection, other statuses).
  virtual void send(Webhook webhook, std::function<void(Status)> done) = 0;
  // Whether a receiver is one to which send() may go. Errors: PermissionDenied (not on the allow
  // list), InvalidArgument (no such address). Any thread.
  virtual Status checkReceiver(const std::string& url) const = 0;
};

}  // namespace baton::master::api
