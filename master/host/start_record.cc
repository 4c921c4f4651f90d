#include "master/host/start_record.h"

#include <algorithm>

namespace baton::master {

void StartRecord::forgetOld(BootTime now, const Rules& rules) {
  while (!failures_.empty() && now - failures_.front().at >= rules.window) failures_.pop_front();
}

bool StartRecord::failed(uint64_t work, BootTime now, const Rules& rules, bool may_quarantine) {
  if (rules.failures_max == 0 || state_ == State::Quarantined) return false;
  forgetOld(now, rules);
  const bool known = std::any_of(failures_.begin(), failures_.end(),
                                 [&](const Failure& failure) { return failure.work == work; });
  if (!known) {
    failures_.push_back({now, work});
    if (failures_.size() > rules.failures_max) failures_.pop_front();
  }
  const bool too_many = state_ == State::Probing || failures_.size() >= rules.failures_max;
  if (!too_many || !may_quarantine) return false;
  state_ = State::Quarantined;
  until_ = now + rules.cooldown;
  failures_.clear();
  return true;
}

bool StartRecord::worked() {
  if (state_ == State::Quarantined) return false;  // Begun before it was.
  if (!failures_.empty()) failures_.pop_front();
  if (state_ == State::Open) return false;
  state_ = State::Open;
  failures_.clear();
  return true;
}

void StartRecord::resumeQuarantine(BootTime until) {
  state_ = State::Quarantined;
  until_ = until;
}

bool StartRecord::tick(BootTime now, const Rules& rules) {
  forgetOld(now, rules);
  if (state_ != State::Quarantined || now < until_) return false;
  state_ = State::Probing;
  return true;
}

}  // namespace baton::master
