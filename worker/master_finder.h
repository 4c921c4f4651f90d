#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/protocol/heartbeat.h"
#include "net/async_http_client.h"

namespace baton::worker {

struct MasterAddress {
  std::string host;
  uint16_t port = 0;
  bool operator==(const MasterAddress&) const = default;
  std::string text() const { return fmt::format("{}:{}", host, port); }
};
// "host:port" or "[v6]:port". Errors: InvalidArgument.
Result<MasterAddress> parseMasterAddress(std::string_view text);

// Knows which master leads. While none is known it asks all of them every 100 ms; otherwise the
// others each second, so that a takeover is noticed although the old master keeps silent. Only a
// master's own word that it is active counts, and of two the one with the higher epoch; what
// others say about it decides who is asked next. Thread: the loop's.
class MasterFinder {
 public:
  struct Hooks {
    std::function<void()> on_active;  // Another master or a higher epoch than before.
    std::function<void()> on_lost;    // Nobody is known to lead any more.
    std::function<bool(const std::string& cluster_guid)> is_ours;
  };

  // References outlive this.
  MasterFinder(net::EventLoop& loop, net::Resolver& resolver, std::vector<MasterAddress> masters,
               std::string token, Hooks hooks);
  ~MasterFinder();

  void start();
  const std::optional<MasterAddress>& active() const { return active_; }
  Epoch epoch() const { return epoch_; }
  // A request to this master failed or it said that it does not lead.
  void noteFailure(const MasterAddress& master);
  // The body of a 503 not_active.
  void noteHint(const std::string& problem);

 private:
  struct Peer {
    MasterAddress address;
    std::unique_ptr<net::AsyncHttpConnection> connection;
  };

  void tick();
  void ask(Peer& peer);
  void onAnswer(size_t index, const Result<net::HttpResponse>& answer);
  void learn(const Json& cluster, size_t index);
  Peer& peerAt(const MasterAddress& address);

  net::EventLoop& loop_;
  net::Resolver& resolver_;
  const std::string token_;
  const Hooks hooks_;
  std::vector<Peer> peers_;
  std::optional<MasterAddress> active_;
  Epoch epoch_ = 0;
  net::EventLoop::TimerId timer_ = 0;
  bool refusal_logged_ = false;
};

}  // namespace baton::worker
