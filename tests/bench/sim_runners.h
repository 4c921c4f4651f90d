#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/named_thread.h"
#include "net/async_http_client.h"
#include "net/event_loop.h"
#include "net/resolver.h"

namespace baton::bench {

// Runners without processes: each beats over a connection of its own, and an order is FINISHED as
// soon as it has come. They follow the protocol: pairs rise, a result is repeated until it is
// acknowledged, no order is taken twice. One thread for all; the rest is the owner's.
class SimRunners {
 public:
  struct Options {
    std::string master;  // host:port of the active one.
    std::string token;   // Of workers.
    uint32_t count = 0;
    uint32_t per_worker = 64;
    std::string label;  // Of all of them: label=yes.
  };

  explicit SimRunners(Options options);
  ~SimRunners();

  Status start();
  void stop();
  // Orders that were carried out, by task. After stop().
  const std::unordered_map<uint64_t, uint32_t>& executed() const { return executed_; }
  // Answers that were no 200, or none at all. After stop().
  uint64_t failures() const { return failures_; }

 private:
  class Slot;

  const Options options_;
  const std::string name_;  // Of their workers: ids of an earlier run belong to other journals.
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<net::Resolver> resolver_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unordered_map<uint64_t, uint32_t> executed_;
  uint64_t failures_ = 0;
  bool stopping_ = false;  // The loop's.
  NamedThread thread_;
};

}  // namespace baton::bench
