#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/base/named_thread.h"
#include "common/service/service.h"
#include "master/api/webhook_port.h"
#include "net/async_http_client.h"
#include "net/event_loop.h"
#include "net/resolver.h"
#include "net/target_guard.h"

namespace baton::webapi {

// Sends webhooks over HTTP to the receivers on the allow list, and to nobody else
// (net/target_guard). Never follows a redirect. One event loop drives all calls, so that a receiver
// that does not answer holds no thread, and each host has a resolver of its own, so that a slow
// name holds up only itself. Receivers that answered well the last time have places of their own:
// however many others are dead, they take none of these. send() from any thread, once started.
class WebhookSender final : public Service, public master::api::WebhookPort {
 public:
  struct Options {
    std::vector<std::string> allow;  // host or host:port; empty: nobody may be called.
    std::string version;             // For the User-Agent field.
    size_t calls_max = 128;          // At a time, to proven receivers and to the others each.
  };

  explicit WebhookSender(Options options);
  ~WebhookSender() override;

  void send(master::api::Webhook webhook, std::function<void(Status)> done) override;
  Status checkReceiver(const std::string& url) const override {
    return net::checkTarget(url, options_.allow).status();
  }

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  using Done = std::function<void(Status)>;
  // Calls that compete for the same places.
  struct Lane {
    std::deque<uint64_t> waiting;
    size_t under_way = 0;
  };
  struct Job {
    master::api::Webhook webhook;
    Done done;
    HttpUrl url;
    std::string receiver;  // host:port
    BootTime deadline{};
    net::EventLoop::TimerId timer = 0;  // Until the call has begun, which has a limit of its own.
    Lane* lane = nullptr;               // Set once the name is known.
    std::unique_ptr<net::AsyncHttpConnection> connection;  // Set once the call has begun.
  };

  // The loop's thread only, as all that follows.
  void accept(master::api::Webhook webhook, Done done);
  void onResolved(uint64_t id, const Status& resolved);
  void startWaiting(Lane& lane);
  void call(uint64_t id, Job& job);
  void onAnswer(uint64_t id, const Result<net::HttpResponse>& answer);
  void finish(uint64_t id, const Status& outcome);
  net::Resolver& resolverOf(const std::string& host);

  const Options options_;
  std::unique_ptr<net::EventLoop> loop_;
  std::map<std::string, std::unique_ptr<net::Resolver>> resolvers_;  // By host, all of the list.
  std::unordered_map<uint64_t, Job> jobs_;
  uint64_t next_job_ = 1;
  Lane proven_lane_;
  Lane other_lane_;
  std::unordered_set<std::string> proven_;  // Receivers whose last answer was a good one.
  NamedThread thread_;
};

}  // namespace baton::webapi
