#include "master/master_active_service.h"

#include "common/base/log.h"

namespace baton::master {
namespace {

// Two bugs of the writer within this time: another master shall try.
constexpr Seconds kBugWindow{60};
constexpr Seconds kStalledAfter{5};

}  // namespace

MasterActiveService::MasterActiveService(Environment environment, ActiveOptions options)
    : environment_(std::move(environment)), options_(std::move(options)) {}

MasterActiveService::~MasterActiveService() { demote("shutdown", environment_.clock.bootNow()); }

std::shared_ptr<ActiveTerm> MasterActiveService::term() const {
  std::lock_guard lock(mutex_);
  return term_;
}

Status MasterActiveService::promote(const ha::Leadership& leadership, std::stop_token stop) {
  const BootTime began = environment_.clock.bootNow();
  const TermEnvironment environment{environment_.clock,
                                    environment_.database,
                                    environment_.webhooks,
                                    environment_.metrics,
                                    watch_,
                                    *this,
                                    environment_.callback_signing_key};
  auto term = std::make_shared<ActiveTerm>(environment, options_, leadership, stop);
  {
    // From here on heartbeats reach the term and wait in it: nobody times out meanwhile.
    std::lock_guard lock(mutex_);
    term_ = term;
  }
  database_ok_ = true;
  progress_at_us_ = toMicros(environment_.clock.bootNow());
  const Status started = term->start();
  if (!started.ok()) {
    std::lock_guard lock(mutex_);
    term_.reset();
    return started;
  }
  const Micros took = environment_.clock.bootNow() - began;
  const int64_t active_ms = std::max<int64_t>(0, took.count() / 1000 - term->loadMs());
  recordTakeover(leadership, *term, active_ms);
  environment_.metrics.setRole(true, leadership.epoch);
  logInfo("active", field("node", options_.node_id), field("epoch", leadership.epoch),
          field("reason", leadership.reason), field("ms", took.count() / 1000));
  return {};
}

void MasterActiveService::recordTakeover(const ha::Leadership& leadership, const ActiveTerm& term,
                                         int64_t active_ms) {
  dao::EpochLogRow row;
  row.epoch = leadership.epoch;
  row.detect_ms = leadership.detect_ms;
  row.lock_ms = leadership.lock_ms;
  row.bump_ms = leadership.bump_ms;
  row.load_ms = term.loadMs();
  row.active_ms = active_ms;
  row.tasks_loaded = static_cast<int64_t>(term.recovered().tasks);
  row.attempts_in_doubt = static_cast<int64_t>(term.recovered().attempts_in_doubt);
  const auto store = environment_.database.makeEpochStore();
  if (const Status stored = store->recordTakeover(row); !stored.ok()) {
    logWarn("takeover_not_recorded", field("error", stored.text()));
  }
  const auto seconds = [](int64_t ms) { return static_cast<double>(ms) / 1000.0; };
  environment_.metrics.takeover(
      seconds(row.lock_ms), seconds(row.bump_ms), seconds(row.load_ms),
      seconds(row.detect_ms + row.lock_ms + row.bump_ms + row.load_ms + row.active_ms));
}

void MasterActiveService::freeze(const std::string& why) noexcept {
  if (const auto term = this->term()) {
    term->freeze();
    logWarn("frozen", field("node", options_.node_id), field("why", why));
  }
}

bool MasterActiveService::resume(const ha::Leadership& leadership) noexcept {
  const auto term = this->term();
  if (term == nullptr) return true;
  if (!term->resume(leadership)) return false;
  environment_.metrics.setRole(true, leadership.epoch);
  logInfo("resumed", field("node", options_.node_id), field("epoch", leadership.epoch));
  return true;
}

bool MasterActiveService::drain(BootTime deadline) {
  const auto term = this->term();
  return term == nullptr || term->drain(deadline);
}

void MasterActiveService::demote(const std::string& why, BootTime) {
  std::shared_ptr<ActiveTerm> term;
  {
    std::lock_guard lock(mutex_);
    term.swap(term_);
  }
  if (term == nullptr) return;
  term->stop();
  environment_.metrics.setRole(false, term->leadership().epoch);
  logInfo("demoted", field("node", options_.node_id), field("epoch", term->leadership().epoch),
          field("why", why));
}

ha::Health MasterActiveService::health() const noexcept {
  ha::Health health;
  health.database_ok = database_ok_;
  const auto term = this->term();
  if (term == nullptr || !term->open()) return health;
  const uint64_t progress = term->progress();
  const int64_t now = toMicros(environment_.clock.bootNow());
  if (seen_progress_.exchange(progress) != progress) progress_at_us_ = now;
  health.loop_ok = Micros(now - progress_at_us_.load()) < kStalledAfter;
  return health;
}

void MasterActiveService::onTermFenced() {
  logWarn("fenced", field("node", options_.node_id));
  failover_->onFenced(0);
}

void MasterActiveService::onTermHigherEpoch(Epoch seen) { failover_->onHigherEpoch(seen); }

void MasterActiveService::onTermBug(const std::string& what) {
  const int64_t now = toMicros(environment_.clock.bootNow());
  const int64_t last = last_bug_us_.exchange(now);
  const bool again = last != 0 && Micros(now - last) < kBugWindow;
  failover_->onServiceFailure(what, again);
}

void MasterActiveService::onTermDatabase(bool ok) { database_ok_ = ok; }

}  // namespace baton::master
