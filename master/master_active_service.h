#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ha/active_service.h"
#include "ha/failover.h"
#include "master/active_term.h"

namespace baton::master {

// What zkFailover drives: builds an ActiveTerm for each term won, freezes and resumes it, and
// drops it when leadership ends. Between terms it holds nothing.
class MasterActiveService final : public ha::IMasterActiveService, private TermListener {
 public:
  struct Environment {
    Clock& clock;
    dao::Database& database;
    api::WebhookPort& webhooks;
    Metrics& metrics;
    std::string callback_signing_key;
  };

  // All outlive this.
  MasterActiveService(Environment environment, ActiveOptions options);
  ~MasterActiveService() override;
  // The election that drives this and hears of fencing; before it is started.
  void setFailover(ha::Failover& failover) { failover_ = &failover; }

  Status promote(const ha::Leadership& leadership, std::stop_token stop) override;
  void freeze(const std::string& why) noexcept override;
  bool resume(const ha::Leadership& leadership) noexcept override;
  bool drain(BootTime deadline) override;
  void demote(const std::string& why, BootTime deadline) override;
  ha::Health health() const noexcept override;

  // The term under way (recovering or open), or null. Any thread.
  std::shared_ptr<ActiveTerm> term() const;
  const ActiveOptions& options() const { return options_; }
  // What changes while this process leads.
  WatchLog& watchLog() { return watch_; }

 private:
  void onTermFenced() override;
  void onTermHigherEpoch(Epoch seen) override;
  void onTermBug(const std::string& what) override;
  void onTermDatabase(bool ok) override;
  bool mayAct() const override { return failover_->permission().may_act; }
  void recordTakeover(const ha::Leadership& leadership, const ActiveTerm& term, int64_t active_ms);

  WatchLog watch_;
  const Environment environment_;
  const ActiveOptions options_;
  ha::Failover* failover_ = nullptr;

  std::atomic<bool> database_ok_{true};
  mutable std::atomic<uint64_t> seen_progress_{0};
  mutable std::atomic<int64_t> progress_at_us_{0};
  std::atomic<int64_t> last_bug_us_{0};

  mutable std::mutex mutex_;
  std::shared_ptr<ActiveTerm> term_;  // Guarded by mutex_.
};

}  // namespace baton::master
