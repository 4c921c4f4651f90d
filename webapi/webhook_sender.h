#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/named_thread.h"
#include "common/service/service.h"
#include "master/api/webhook_port.h"

namespace baton::webapi {

// Sends webhooks over HTTP to the receivers on the allow list, and to nobody else
// (net/target_guard). Never follows a redirect. A few threads of its own; the callback-er sees to
// it that one receiver never takes them all. send() from any thread.
class WebhookSender final : public Service, public master::api::WebhookPort {
 public:
  struct Options {
    std::vector<std::string> allow;  // host or host:port; empty: nobody may be called.
    size_t threads = 16;
    std::string version;  // For the User-Agent field.
  };

  explicit WebhookSender(Options options);
  ~WebhookSender() override;

  void send(master::api::Webhook webhook, std::function<void(Status)> done) override;

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  using Job = std::pair<master::api::Webhook, std::function<void(Status)>>;

  void run(std::stop_token stop);
  Status deliver(const master::api::Webhook& webhook) const;

  const Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;  // Signalled when: a job is queued, the threads shall stop.
  std::deque<Job> jobs_;          // Guarded by mutex_; bounded by the callback-er's own limits.
  std::vector<NamedThread> threads_;
};

}  // namespace baton::webapi
