#include "ha/role_runner.h"

#include <utility>

#include "common/base/log.h"
#include "common/base/stop_point.h"
#include "ha/election_state.h"

namespace baton::ha {
namespace {

constexpr Millis kDrainLimit{1000};
constexpr Millis kDemoteLimit{3000};
constexpr Millis kCancelLimit{3000};

}  // namespace

RoleRunner::RoleRunner(IMasterActiveService& service, const Clock& clock,
                       EpochStoreFactory make_store, std::function<void(Event)> sink)
    : service_(service),
      clock_(clock),
      make_store_(std::move(make_store)),
      sink_(std::move(sink)),
      hard_limit_us_(toMicros(kNever)),
      thread_("ha_role", [this](std::stop_token stop) { run(stop); }) {}

RoleRunner::~RoleRunner() {
  promote_stop_.request_stop();
  thread_.requestStopAndJoin();
}

void RoleRunner::enqueue(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  wake_.notify_one();
}

void RoleRunner::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, stop, [this] { return !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

Result<dao::EpochStore*> RoleRunner::store() {
  if (!store_) {
    ASSIGN_OR_RETURN(store_, make_store_());
  }
  return store_.get();
}

void RoleRunner::limitFrom(BootTime now, Millis limit) { hard_limit_us_ = toMicros(now + limit); }
void RoleRunner::clearLimit() { hard_limit_us_ = toMicros(kNever); }

void RoleRunner::bump(const StartBump& job) {
  enqueue([this, job] { runBump(job); });
}

void RoleRunner::runBump(const StartBump& job) {
  stopPoint("before_bump");
  const Result<dao::EpochStore*> opened = store();
  const Status status = opened.ok() ? (*opened)->bump(job.claim) : opened.status();
  if (status.ok()) {
    logInfo("epoch_bumped", field("epoch", job.claim.epoch), field("prev", job.claim.prev_epoch),
            field("reason", job.claim.reason));
    stopPoint("after_bump");
    return sink_(BumpReply{job.id, std::nullopt, {}});
  }
  logWarn("epoch_bump_failed", field("epoch", job.claim.epoch), field("error", status.text()));
  sink_(BumpReply{job.id, status.error().code(), status.error().message()});
}

void RoleRunner::promote(const StartPromote& job) {
  promote_stop_ = std::stop_source();
  enqueue([this, job, cancelled = promote_stop_.get_token()] { runPromote(job, cancelled); });
}

void RoleRunner::runPromote(const StartPromote& job, const std::stop_token& cancelled) {
  if (cancelled.stop_requested()) {
    return sink_(PromoteReply{job.id, ErrorCode::Cancelled, "cancelled"});
  }
  Status status = service_.promote(job.leadership, cancelled);
  if (status.ok()) {
    stopPoint("after_promote");
    const Result<dao::EpochStore*> opened = store();
    status = opened.ok() ? (*opened)->setState(job.leadership.epoch, dao::EpochState::Active)
                         : opened.status();
    // Only a moved row ends the role; the state is a hint for people.
    if (!status.ok() && status.error().code() != ErrorCode::Fenced) {
      logWarn("epoch_state_not_stored", field("error", status.text()));
      status = {};
    }
  }
  if (status.ok()) return sink_(PromoteReply{job.id, std::nullopt, {}});
  sink_(PromoteReply{job.id, status.error().code(), status.error().message()});
}

void RoleRunner::resume(std::function<bool()> go) {
  enqueue([this, go = std::move(go)] {
    if (!go()) sink_(ServiceFailed{"the service cannot go on with what it knows", false});
  });
}

void RoleRunner::drain(const StartDrain& job) {
  enqueue([this, job] {
    const BootTime now = clock_.bootNow();
    limitFrom(now, kDrainLimit + kDemoteLimit);
    const bool drained = service_.drain(now + kDrainLimit);
    clearLimit();
    if (!drained) logWarn("drain_incomplete", field("limit_ms", kDrainLimit.count()));
    sink_(DrainReply{job.id});
  });
}

void RoleRunner::demote(const StartDemote& job) {
  promote_stop_.request_stop();
  // Counts from now on, so that a promote that ignores its cancellation is noticed as well; the
  // start of the job itself begins its own count.
  limitFrom(clock_.bootNow(), kCancelLimit + kDemoteLimit);
  enqueue([this, job] { runDemote(job); });
}

void RoleRunner::runDemote(const StartDemote& job) {
  const BootTime now = clock_.bootNow();
  limitFrom(now, kDemoteLimit + Millis(100));
  service_.demote(job.why, now + kDemoteLimit);
  clearLimit();
  if (job.released_epoch > 0) {
    const Result<dao::EpochStore*> opened = store();
    const Status status = opened.ok()
                              ? (*opened)->setState(job.released_epoch, dao::EpochState::Released)
                              : opened.status();
    if (!status.ok()) logWarn("release_not_stored", field("error", status.text()));
  }
  sink_(DemoteReply{job.id});
}

}  // namespace baton::ha
