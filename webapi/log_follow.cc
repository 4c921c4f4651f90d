#include "webapi/log_follow.h"

#include <algorithm>

namespace baton::webapi {
namespace {

constexpr uint64_t kFollowStepBytes = 64 * 1024;
constexpr size_t kFollowThreads = 2;

const AttemptRecord* attemptOf(const std::vector<AttemptRecord>& attempts, int32_t number) {
  const auto found = std::find_if(attempts.begin(), attempts.end(),
                                  [&](const AttemptRecord& a) { return a.number == number; });
  return found == attempts.end() ? nullptr : &*found;
}

// The first attempt behind that number.
const AttemptRecord* attemptBehind(const std::vector<AttemptRecord>& attempts, int32_t number) {
  const AttemptRecord* next = nullptr;
  for (const AttemptRecord& attempt : attempts) {
    if (attempt.number > number && (next == nullptr || attempt.number < next->number)) {
      next = &attempt;
    }
  }
  return next;
}

}  // namespace

// Belongs to one thread at a time: whoever holds its `done`.
struct LogFollower::Follow {
  FollowStart at;
  std::unique_ptr<WorkerLogReader> reader;  // Of the attempt; null: not known yet.
  Millis pause{0};
  std::atomic<bool> gone{false};  // Nobody reads any more.
};

LogFollower::LogFollower(master::api::TaskPort& tasks, Options options)
    : tasks_(tasks),
      options_(std::move(options)),
      pool_("web-follow", kFollowThreads, options_.followers_max),
      delayer_("web-later") {}

void LogFollower::stop() noexcept {
  beginStop();
  delayer_.stop();
  pool_.stop();
}

Result<net::BodySource> LogFollower::follow(const FollowStart& start) {
  if (open_->fetch_add(1) >= options_.followers_max) {
    open_->fetch_sub(1);
    return Error::make(ErrorCode::Overloaded,
                       "{} outputs are being followed already, which is the most",
                       options_.followers_max);
  }
  const auto follow = std::make_shared<Follow>();
  follow->at = start;
  const std::shared_ptr<void> registered(nullptr, [count = open_, follow](void*) {
    follow->gone = true;
    count->fetch_sub(1);
  });
  return net::BodySource([this, follow, registered](size_t, net::BodyDone done) {
    follow->pause = options_.pause_min;
    next(follow, std::move(done));
  });
}

void LogFollower::next(const FollowRef& follow, net::BodyDone done) {
  // Where `done` goes uncalled the connection is cut.
  if (stopping_ || follow->gone) return;
  const auto shared = std::make_shared<net::BodyDone>(std::move(done));
  const bool posted = pool_.tryPost([this, follow, shared] { look(follow, *shared); });
  if (!posted && !stopping_) later(follow, std::move(*shared));
}

void LogFollower::later(const FollowRef& follow, net::BodyDone done) {
  const Millis pause = follow->pause;
  follow->pause = std::min(pause * 2, options_.pause_max);
  delayer_.after(pause, [this, follow, done = std::move(done)] { next(follow, done); });
}

void LogFollower::look(const FollowRef& follow, const net::BodyDone& done) {
  if (stopping_ || follow->gone) return;
  std::string bytes;
  Found found = read(*follow, bytes);
  if (found == Found::Nothing) found = advance(*follow, bytes);
  switch (found) {
    case Found::Bytes:
    case Found::End:
      return done(std::move(bytes));
    case Found::Nothing:
      return later(follow, done);
    case Found::Cut:
      return;
  }
}

LogFollower::Found LogFollower::read(Follow& follow, std::string& bytes) {
  if (follow.reader == nullptr) return Found::Nothing;
  auto piece = follow.reader->read(follow.at.offset, kFollowStepBytes);
  // Not there yet, gone, or out of reach: what the master knows of the attempt decides.
  if (!piece.ok() || piece->bytes.empty()) return Found::Nothing;
  follow.at.offset += piece->bytes.size();
  bytes = std::move(piece->bytes);
  return Found::Bytes;
}

LogFollower::Found LogFollower::advance(Follow& follow, std::string& bytes) {
  FollowStart& at = follow.at;
  // The task is read before its attempts: one that has ended has no later ones.
  const auto task = tasks_.task(at.task);
  const auto attempts = tasks_.attempts(at.task);
  if (!task.ok() || !attempts.ok()) {
    const ErrorCode code = task.ok() ? attempts.error().code() : task.error().code();
    return code == ErrorCode::Unavailable ? Found::Nothing : Found::Cut;
  }
  const AttemptRecord* attempt = attemptOf(*attempts, at.attempt);
  if (attempt != nullptr && !attempt->worker_address.empty()) {
    if (follow.reader == nullptr ||
        follow.reader->location().worker_address != attempt->worker_address) {
      follow.reader =
          std::make_unique<WorkerLogReader>(LogLocation{.worker_address = attempt->worker_address,
                                                        .task_id = at.task,
                                                        .attempt = at.attempt,
                                                        .stream = at.stream},
                                            options_.worker_token, options_.worker_timeout);
    }
    // Read again now that it is known whether the attempt has ended: all of it is there then.
    auto piece = follow.reader->read(at.offset, kFollowStepBytes);
    if (piece.ok() && !piece->bytes.empty()) {
      at.offset += piece->bytes.size();
      bytes = std::move(piece->bytes);
      return Found::Bytes;
    }
    if (isOpen(attempt->status)) return Found::Nothing;
    if (!piece.ok() && piece.error().code() != ErrorCode::NotFound) {
      // The worker may be on its way back; but nobody waits for ever for what has ended.
      return isTerminal(task->record.state.status) ? Found::Cut : Found::Nothing;
    }
  } else if (attempt != nullptr && isOpen(attempt->status)) {
    return Found::Nothing;
  }
  if (at.only) return Found::End;
  if (const AttemptRecord* next = attemptBehind(*attempts, at.attempt)) {
    at.attempt = next->number;
    at.offset = 0;
    follow.reader.reset();
    follow.pause = options_.pause_min;
    return advance(follow, bytes);
  }
  return isTerminal(task->record.state.status) ? Found::End : Found::Nothing;
}

}  // namespace baton::webapi
